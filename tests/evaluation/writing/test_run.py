"""From responses to figures, through a real run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annotation.models import Answer, Task
from annotation.privacy.actions import retention
from annotation.work.actions import exclusions
from crowdqc.errors import Conflict
from evaluation.methods.writing.draws import Draws
from evaluation.models import AnswerScore, Run, RunFigure, RunState
from evaluation.runs import engine as runs
from evaluation.runs import schedules
from evaluation.writing import dataset as writing_data
from evaluation.writing.selectors.facts import length_verdict
from tests.evaluation.corpora import writing as writing_corpus

pytestmark = pytest.mark.django_db
PARAMS = {"resamples": 100}


def run_on(task: Task) -> Run:
    run = runs.start(by=task.project.owner, task=task, params=PARAMS)
    assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
    run.refresh_from_db()
    return run


def told(run: Run, name: str) -> Any:
    return RunFigure.objects.get(run=run, name=name).data


def test_a_run_describes_people_and_models_and_says_what_the_logs_show() -> None:
    task = writing_corpus.make_written()
    run = run_on(task)
    assert run.method == "writing" and all(step["state"] == "done" for step in run.progress)
    rows = {(row["group"], row["style"]): row for row in told(run, "general")}
    people, models = rows["people", ""], rows["models", ""]
    assert people["responses"] == 24 and models["responses"] == 12
    assert people["documents"]["mean"] == 4 and models["documents"]["mean"] == 7
    assert people["words"]["mean"] and people["words"]["mean_low"] is None
    assert people["words"]["reason"] == "6 topics; an interval needs 10"
    [cell] = [r for r in told(run, "ranks") if (r["group"], r["style"]) == ("people", "")]
    assert cell["cited"]["value"] < cell["uncited"]["value"]  # from the top of the ranking
    signals = told(run, "signals")
    outside = signals["outside_paste"]
    assert outside["judged"] == 24 and 0 < outside["fired"] < 24
    assert outside["low"] < outside["share"] < outside["high"] and outside["workers_fired"] == 1
    fired = AnswerScore.objects.filter(run=run, extra__states__outside_paste="fired")
    assert fired.count() == outside["fired"]
    assert all(row.extra["moments"]["outside_paste"] for row in fired)
    [pair] = [
        row
        for row in told(run, "forms")["correlations"]
        if (row["first"], row["second"]) == ("entry.knowledge", "entry.expertise")
    ]
    assert pair["rho"] == pytest.approx(1) and pair["n"] == 24


def test_the_page_says_who_writes_longer_where_the_means_have_intervals() -> None:
    draws = Draws(12, resamples=100, level=0.95, rng=np.random.default_rng(1))
    topic, edges = np.arange(12), np.linspace(0, 400, 5)
    short, long = (
        {"style": "", "words": draws.distribution(topic + mean, topic, edges)}
        for mean in (100.0, 200.0)
    )
    rows = [{"group": "people", **short}, {"group": "models", **long}]
    verdict = length_verdict(rows, "")
    assert verdict is not None and verdict.code == "people_write_shorter"
    rows = [{"group": "people", **long}, {"group": "models", **short}]
    verdict = length_verdict(rows, "")
    assert verdict is not None and verdict.code == "people_write_longer"


def test_who_is_excluded_and_what_does_not_count_leave_the_next_run() -> None:
    task = writing_corpus.make_written(models=False)
    whole = writing_data.freeze_responses(task)
    assert writing_data.freeze_responses(task).content_hash == whole.content_hash
    assert whole.counts["answers"] == 24 and whole.counts["logs"] == 24
    worker = task.assignments.earliest("pk").worker
    gone = exclusions.exclude(by=task.project.owner, task=task, worker=worker, reason="a test")
    without = writing_data.freeze_responses(task)
    assert without.counts["workers"] == whole.counts["workers"] - 1
    assert without.counts["left_out"]["excluded"] == 24 - without.counts["answers"]
    exclusions.undo(by=task.project.owner, exclusion=gone)
    assert writing_data.freeze_responses(task).content_hash == whole.content_hash
    Answer.objects.filter(pk=Answer.objects.earliest("pk").pk).update(
        counts=False, uncounted_reason="a test"
    )
    assert writing_data.freeze_responses(task).counts["answers"] == 23
    assert schedules.count_new_answers(task, None).new == 23


def test_a_log_that_is_gone_gives_another_snapshot_and_nothing_is_concluded_from_it() -> None:
    task = writing_corpus.make_written(models=False)
    whole = writing_data.freeze_responses(task)
    retention.erase_logs_of_project(by=task.project.owner, project=task.project)
    again = writing_data.freeze_responses(task)
    assert again.content_hash != whole.content_hash
    with pytest.raises(Conflict):
        writing_data.load(whole)
    signals = told(run_on(task), "signals")
    assert {row["not_recorded"] for row in signals.values()} == {24}
    assert {row["fired"] for row in signals.values()} == {0}


def test_numbers_of_no_passage_are_counted_and_left_out() -> None:
    task = writing_corpus.make_task(topics=1, styles=1)
    worker = writing_corpus.factories.make_worker(project=task.project)
    item = task.items.select_related("group").get()
    writing_corpus.respond(task, item, worker, "Bees dance [2]. They sleep, too [77].")
    data = writing_data.load(writing_data.freeze_responses(task)).data
    assert data.rank.tolist() == [1, -1] and data.unknown.tolist() == [1]


def test_a_task_without_responses_says_so() -> None:
    with pytest.raises(Conflict):
        writing_data.freeze_responses(writing_corpus.make_task(topics=1))


def test_the_first_run_starts_by_itself_after_five_responses() -> None:
    task = writing_corpus.make_task(topics=5, styles=1)
    worker = writing_corpus.factories.make_worker(project=task.project)
    items = list(task.items.select_related("group"))
    for item in items[:4]:
        writing_corpus.respond(task, item, worker, "Bees sleep in turns [1].")
    assert schedules.first_run(task).missing == 1 and not schedules.start_due()
    writing_corpus.respond(task, items[4], worker, "Bees sleep in turns [2].")
    assert [run.method for run in schedules.start_due()] == ["writing"]


def test_the_same_responses_give_the_same_result_again() -> None:
    task = writing_corpus.make_written()
    first, second = run_on(task), run_on(task)
    assert first.snapshot_id == second.snapshot_id
    assert first.result_hash and first.result_hash == second.result_hash
