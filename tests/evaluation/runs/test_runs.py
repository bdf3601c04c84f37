"""Runs: repeatable to the byte, resumed after a kill, cancelled, failed with a reason."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.utils import timezone

from annotation.models import Task
from crowdqc.errors import Conflict, Invalid
from crowdqc.jobs.queues import queue_name
from evaluation import jobs
from evaluation.bundles.checking import verify
from evaluation.free_text import run as text_runs
from evaluation.models import (
    AnswerScore,
    Embedding,
    ItemScore,
    Run,
    RunFigure,
    RunState,
    SystemScore,
    WorkerScore,
)
from evaluation.registry import RUN_TYPES
from evaluation.runs import engine as runs
from evaluation.runs.official import actions as official
from tests.evaluation.bundles.files import written
from tests.evaluation.corpora import texts as corpus
from tests.support import factories

pytestmark = pytest.mark.django_db
QUICK = {"encoder": "char-svd", "resamples": 200}
COLUMNS = ("component", "estimate", "low", "high", "n", "extra")
RANKED = (*COLUMNS, "rank_low", "rank_high", "group")


def start(task: Task, **params: Any) -> Run:
    return runs.start(by=task.project.owner, task=task, params={**QUICK, **params})


def finished(task: Task, **params: Any) -> Run:
    run = start(task, **params)
    runs.execute(run.pk)
    run.refresh_from_db()
    return run


def rows_of(run: Run) -> list[list[tuple[Any, ...]]]:
    """Everything that a run wrote, without its own keys."""
    return [
        list(WorkerScore.objects.filter(run=run).order_by("pk").values_list("worker", *RANKED)),
        list(SystemScore.objects.filter(run=run).order_by("pk").values_list("system", *RANKED)),
        list(AnswerScore.objects.filter(run=run).order_by("pk").values_list("answer", *COLUMNS)),
        list(
            ItemScore.objects.filter(run=run)
            .order_by("pk")
            .values_list("item", "best_answer", *COLUMNS)
        ),
        list(RunFigure.objects.filter(run=run).order_by("name").values_list("name", "data")),
    ]


def test_a_run_scores_workers_systems_answers_and_questions() -> None:
    task = corpus.make_answered()
    run = finished(task)
    assert (run.state, run.error) == (RunState.DONE, "")
    scores = {
        row.worker.external_id: row
        for row in WorkerScore.objects.filter(run=run).select_related("worker")
    }
    good = min(row.estimate for name, row in scores.items() if name.startswith("good"))
    wrong = max(row.estimate for name, row in scores.items() if name.startswith("wrong"))
    assert good > wrong
    assert all(row.low < row.estimate < row.high for row in scores.values() if row.low)
    assert scores["two-answers"].low is None
    assert scores["two-answers"].extra["no_interval"] == "2 answers; an interval needs 5"
    systems = SystemScore.objects.filter(run=run).order_by("-estimate").select_related("system")
    assert str(systems[0].system) == "Tern-2, plain"
    assert AnswerScore.objects.filter(run=run).count() == 90 + 24
    best = ItemScore.objects.filter(run=run).select_related("best_answer__worker")
    assert all(row.best_answer.worker.external_id.startswith(("good", "mixed")) for row in best)
    assert [step["state"] for step in run.progress] == ["done"] * 6
    assert run.progress[3]["count"].startswith("converged, ")
    line = RunFigure.objects.get(run=run, name="convergence").data["components"][0]
    assert line["trace"][-1] < 1e-6
    assert len(line["resamples"]) == 14


@pytest.mark.fits_anew
def test_the_same_inputs_give_the_same_rows_to_the_byte() -> None:
    task = corpus.make_answered()
    first, second = finished(task), finished(task)
    assert first.snapshot_id == second.snapshot_id
    assert first.result_hash == second.result_hash
    assert rows_of(first) == rows_of(second)
    other = runs.start(by=task.project.owner, task=task, params=QUICK, seed=7)
    runs.execute(other.pk)
    other.refresh_from_db()
    assert other.result_hash != first.result_hash


def test_spelling_correction_is_in_the_recipe_and_its_vectors_are_bundled(
    tmp_path: Path,
) -> None:
    task = corpus.make_answered()
    plain, corrected = finished(task), finished(task, encoder="char-svd+spelling")
    assert corrected.state == RunState.DONE and corrected.result_hash != plain.result_hash
    recipe = RunFigure.objects.get(run=corrected, name="recipe").data
    assert recipe["encoder"].startswith("char-svd+spelling1.")
    again = finished(task, encoder="char-svd+spelling")
    assert again.result_hash == corrected.result_hash
    assert verify(written(corrected, tmp_path)).good
    with pytest.raises(Invalid):
        start(task, encoder="unknown+spelling")


def test_texts_are_encoded_once_and_then_come_from_the_cache(word_vectors: None) -> None:
    task = corpus.make_answered()
    first = finished(task, encoder="minilm")
    texts = Embedding.objects.count()
    assert f"0 from the cache, {texts} new" == first.progress[1]["sub"]
    second = finished(task, encoder="minilm")
    assert second.progress[1]["sub"] == f"{texts} from the cache, 0 new"
    assert Embedding.objects.count() == texts
    assert rows_of(first) == rows_of(second)


def test_a_run_whose_worker_died_is_taken_up_and_doubles_nothing() -> None:
    task = corpus.make_answered()
    whole = finished(task)
    run = start(task)
    long_ago = timezone.now() - dt.timedelta(minutes=5)
    Run.objects.filter(pk=run.pk).update(
        state=RunState.RUNNING, started_at=long_ago, heartbeat_at=long_ago
    )
    assert runs.resume_abandoned() == 1
    assert runs.execute(run.pk) == RunState.DONE
    assert runs.execute(run.pk) == "not mine"
    run.refresh_from_db()
    assert run.result_hash == whole.result_hash
    assert rows_of(run) == rows_of(whole)


def test_a_run_that_is_worked_on_is_left_alone() -> None:
    run = start(corpus.make_answered())
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING, started_at=now, heartbeat_at=now)
    assert runs.execute(run.pk) == "not mine"
    assert runs.resume_abandoned() == 0
    assert not WorkerScore.objects.exists()


def test_a_process_that_lost_its_run_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    run = start(corpus.make_answered())
    fit = text_runs.compute

    def overtaken(*args: Any) -> Any:
        done = fit(*args)
        Run.objects.filter(pk=run.pk).update(started_at=timezone.now())
        return done

    monkeypatch.setitem(RUN_TYPES, "aqer", replace(text_runs.RUNS, compute=overtaken))
    assert runs.execute(run.pk) == "not mine"
    assert not WorkerScore.objects.exists()
    run.refresh_from_db()
    assert run.state == RunState.RUNNING


def test_a_waiting_run_is_cancelled_at_once_and_a_running_one_at_its_next_step() -> None:
    task = corpus.make_answered()
    waiting = runs.cancel(by=task.project.owner, run=start(task))
    assert waiting.state == RunState.CANCELLED
    assert runs.execute(waiting.pk) == "not mine"
    running = start(task)
    Run.objects.filter(pk=running.pk).update(cancel_requested=True)
    runs.execute(running.pk)
    running.refresh_from_db()
    assert running.state == RunState.CANCELLED
    assert not WorkerScore.objects.exists()


def test_a_cancelled_run_stops_in_the_midst_of_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    task = corpus.make_answered()
    run = start(task)
    load = text_runs.snapshots.load

    def then_cancelled(snapshot: Any) -> Any:
        runs.cancel(by=task.project.owner, run=run)
        return load(snapshot)

    monkeypatch.setattr(text_runs.snapshots, "load", then_cancelled)
    assert runs.execute(run.pk) == RunState.CANCELLED
    run.refresh_from_db()
    assert run.finished_at
    assert not WorkerScore.objects.exists()


def test_a_run_that_takes_too_long_is_stopped_with_words_and_can_be_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """(B8) What Celery raises at a job's limit ends the run; it is not left as being worked on."""

    def endless(run: Run, steps: Any) -> None:
        raise SoftTimeLimitExceeded

    task = corpus.make_answered()
    run = start(task)
    with monkeypatch.context() as slow:
        slow.setitem(RUN_TYPES, "aqer", replace(text_runs.RUNS, compute=endless))
        assert runs.execute(run.pk) == RunState.FAILED
    run.refresh_from_db()
    assert run.state == RunState.FAILED and "longer than a run may" in run.error
    assert start(task).state == RunState.QUEUED


@pytest.mark.parametrize(
    ("method", "params", "asks"),
    [
        ("aqer", {"encoder": "minilm"}, False),
        ("aqer", {"encoder": "endpoint:7"}, True),
        ("judge_pairs", {"model": 1}, True),
        ("pairwise", {}, False),
    ],
)
def test_runs_that_ask_models_wait_in_their_own_queue_and_may_take_longer(
    method: str,
    params: dict[str, Any],
    asks: bool,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    """(B8) A model that is slow holds up no run that computes."""
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(jobs.run_job, "apply_async", lambda args, **more: sent.append(more))
    task = factories.make_task(n=3)
    run = Run.objects.create(
        project=task.project, task=task, number=1, method=method, version="1", params=params
    )
    with django_capture_on_commit_callbacks(execute=True):
        runs.enqueue(run.pk)
    (more,) = sent
    assert more["queue"] == queue_name("models" if asks else "runs")
    wanted = settings.CROWDQC_MODEL_RUN_LIMIT if asks else settings.CROWDQC_RUN_LIMIT
    assert more["soft_time_limit"] == wanted < more["time_limit"]


def test_a_run_that_does_not_converge_fails_and_says_so() -> None:
    run = finished(corpus.make_answered(), max_rounds=2)
    assert run.state == RunState.FAILED
    assert run.error.startswith("Did not converge: after 2 rounds the weights still change by")
    assert not WorkerScore.objects.filter(run=run).exists()
    figure = RunFigure.objects.get(run=run)
    assert figure.name == "convergence"
    assert len(figure.data["components"][0]["trace"]) == 2
    assert [step["state"] for step in run.progress if step["name"] == "Iterating"] == ["bad"]


def test_one_worker_alone_fails_with_the_reason() -> None:
    task = corpus.make_task()
    corpus.factories.make_answers(task, {"alone": corpus.answers([corpus.GOOD])})
    run = finished(task)
    assert run.state == RunState.FAILED
    assert run.error == "One worker alone answered; there is nobody to compare with."


def test_a_second_run_waits_for_the_first() -> None:
    task = corpus.make_answered()
    first = start(task)
    with pytest.raises(Conflict, match=f"Run {first.number} of this task is not finished"):
        start(task)


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"encoder": "word2vec"}, "encoder"),
        ({"encoder": "path:/etc"}, "encoder"),
        ({"similarity": "angle"}, "similarity"),
        ({"resamples": 5}, "resamples"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_bad_option_is_refused_with_its_name(params: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        start(corpus.make_task(), **params)
    assert field in refused.value.fields
    assert not Run.objects.exists()


def test_workers_who_share_no_question_stand_on_two_boards() -> None:
    task = corpus.make_task()
    given = {}
    for name, told in corpus.people():
        half = slice(4) if name.endswith(("0", "2")) else slice(4, None)
        given[name] = dict(list(told.items())[half])
    corpus.factories.make_answers(task, given)
    run = finished(task)
    assert run.state == RunState.DONE
    assert set(WorkerScore.objects.filter(run=run).values_list("component", flat=True)) == {1, 2}


def test_a_run_killed_before_its_results_are_committed_is_done_again_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = start(corpus.make_answered())

    def killed(_: Run) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(official, "settle_official", killed)
        with pytest.raises(KeyboardInterrupt):
            runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    assert not WorkerScore.objects.filter(run=run).exists()
    Run.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now() - dt.timedelta(minutes=5))
    assert runs.resume_abandoned() == 1
    assert runs.execute(run.pk) == RunState.DONE
    assert WorkerScore.objects.filter(run=run).exists()
