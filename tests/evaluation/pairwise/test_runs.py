"""Runs on pairwise tasks, from collected judgments to the rows that dashboards read."""

from __future__ import annotations

import numpy as np
import pytest
from django.db.models import F

from annotation.models import Answer, ChoiceValue, Item, Task
from annotation.task_types.pairwise.sides import ORDINALS, STORED
from annotation.work.actions import exclusions
from crowdqc.errors import Conflict, Invalid
from evaluation.models import (
    CandidateScore,
    ItemLabel,
    Run,
    RunFigure,
    RunState,
    SystemScore,
    WorkerScore,
)
from evaluation.pairwise import dataset as judged
from evaluation.runs import engine as runs
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.pair_study import CHECKS, QUICK

pytestmark = pytest.mark.django_db


def run_core(task: Task, **params: object) -> Run:
    quick = QUICK if task.type == "pairwise" else {"resamples": 200}
    run = runs.start(by=task.project.owner, task=task, params={**quick, **params})
    assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
    return Run.objects.get(pk=run.pk)


def test_the_order_of_the_sources_and_the_workers_who_do_not_look_are_found() -> None:
    task = pair_corpus.make_judged()
    run = run_core(task)
    found = SystemScore.objects.filter(run=run, dimension="overall").select_related("system")
    order = [(row.system.name, row.system.prompt_strategy) for row in found.order_by("-estimate")]
    assert order[0] in pair_corpus.SOURCES[:2]
    assert order[-1] in pair_corpus.SOURCES[-2:]
    assert all(row.low < row.estimate < row.high for row in found)
    workers = list(WorkerScore.objects.filter(run=run, dimension="overall").order_by("estimate"))
    careless = {m.pk for m in task.project.memberships.filter(role="worker").order_by("-pk")[:2]}
    assert workers[0].worker_id in careless
    assert ItemLabel.objects.filter(run=run, dimension="clarity").count() == task.items.count()
    assert CandidateScore.objects.filter(run=run, dimension="overall").count() == 24


@pytest.mark.fits_anew
def test_the_same_judgments_and_seed_give_the_same_rows_again() -> None:
    task = pair_corpus.make_judged(topics=2, workers=8)
    assert run_core(task).result_hash == run_core(task).result_hash


def test_turning_how_pairs_were_shown_and_every_vote_with_it_changes_no_stored_vote() -> None:
    """Stored votes are those of the pair: what was on the left is another matter."""
    task = pair_corpus.make_judged()
    before = judged.current_judgments(task)
    Answer.objects.filter(item__task=task).update(flipped=~F("flipped"))
    after = judged.current_judgments(task)
    canonical = before.data.votes.canonical()
    assert np.array_equal(canonical, after.data.votes.canonical())
    known = before.data.votes.vote >= 0
    assert np.array_equal(after.data.votes.vote[known], 2 - before.data.votes.vote[known])


def test_every_vote_of_the_arrays_is_the_one_that_is_stored() -> None:
    task = pair_corpus.make_judged(workers=6)
    frozen = judged.current_judgments(task)
    stored = {
        (answer, field): STORED.index(code)
        for answer, field, code in ChoiceValue.objects.values_list("answer_id", "field", "code")
    }
    canonical = frozen.data.votes.canonical()
    for at, answer in enumerate(frozen.answer_ids):
        for k, name in enumerate(frozen.dimensions):
            assert canonical[at, k] == stored[answer, name]
    assert [ORDINALS[code] for code in STORED] == [-1, 0, 1]


def test_an_excluded_worker_is_left_out_until_that_is_undone() -> None:
    task = pair_corpus.make_judged()
    whole = judged.freeze_judgments(task)
    worker = task.project.memberships.filter(role="worker").latest("pk")
    with pytest.raises(Invalid, match="why"):
        exclusions.exclude(by=task.project.owner, task=task, worker=worker, reason=" ")
    made = exclusions.exclude(
        by=task.project.owner, task=task, worker=worker, reason="one side throughout"
    )
    with pytest.raises(Conflict):
        exclusions.exclude(by=task.project.owner, task=task, worker=worker, reason="again")
    without = judged.freeze_judgments(task)
    assert without.counts["workers"] == whole.counts["workers"] - 1
    assert without.counts["left_out"]["excluded"] > 0
    exclusions.undo(by=task.project.owner, exclusion=made)
    assert judged.freeze_judgments(task).content_hash == whole.content_hash


def test_answers_to_attention_pairs_and_to_other_dimensions_are_not_pooled() -> None:
    task = pair_corpus.make_judged(workers=6)
    before = judged.freeze_judgments(task)
    item = task.items.first()
    assert item is not None
    Item.objects.filter(pk=item.pk).update(expected={"overall": "first"})
    after = judged.freeze_judgments(task)
    assert after.counts["answers"] < before.counts["answers"]


def test_nulls_and_intervals_follow_the_core_by_themselves_and_name_it() -> None:
    task = pair_corpus.make_judged()
    core = run_core(task)
    following = Run.objects.get(source=core)
    assert following.method == "pairwise_checks" and following.state == RunState.QUEUED
    Run.objects.filter(pk=following.pk).update(params={**following.params, **CHECKS})
    assert runs.execute(following.pk) == RunState.DONE, Run.objects.get(pk=following.pk).error
    following.refresh_from_db()
    assert following.snapshot_id == core.snapshot_id
    told = dict(RunFigure.objects.filter(run=following).values_list("name", "data"))
    [mean] = [row for row in told["corrected"] if row["dimension"] == ""]
    assert {"uncorrected", "corrected", "shuffled_null", "cross_fitted", "thin_share"} <= set(mean)
    assert {row["scorer"] for row in told["overlap"]} == {"BLEU", "ROUGE-L", "BERTScore"}
    assert told["recipe"]["source"] == core.result_hash
    assert all(step["state"] == "done" for step in following.progress)


def test_texts_rated_one_by_one_get_means_and_an_agreement() -> None:
    task = pair_corpus.make_rated()
    run = run_core(task)
    found = {
        (row.system.name, row.system.prompt_strategy): row.estimate
        for row in SystemScore.objects.filter(run=run).select_related("system")
    }
    assert found[pair_corpus.SOURCES[0]] > found[pair_corpus.SOURCES[-1]]
    [agreement] = RunFigure.objects.get(run=run, name="agreement").data
    assert 0 < agreement["alpha"] < 1 and agreement["low"] is None
    assert agreement["reason"] == "4 topics; an interval needs 15"
