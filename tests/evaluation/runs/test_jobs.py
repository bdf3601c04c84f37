"""Runs that start automatically: the first, after new answers once they have settled, by time."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Assignment, Task
from annotation.work.actions import answers as answer_actions
from crowdqc.errors import Invalid
from evaluation import jobs
from evaluation.embeddings import embeddings
from evaluation.methods.core.base import Cancelled
from evaluation.models import Embedding, Run, RunState, WorkerScore
from evaluation.runs import engine as runs
from evaluation.runs import schedules
from tests.evaluation.corpora import labels
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.support import encoders, factories
from tests.support.processes import Worker, queue_worker, until

QUICK = {"encoder": "char-svd", "resamples": 200}


def quiet(task: Task, seconds: float = 60) -> None:
    """Let all of the task's answers have come so long ago."""
    moment = timezone.now() - dt.timedelta(seconds=seconds)
    Assignment.objects.filter(task=task).update(submitted_at=moment)


def schedule(task: Task, **fields: Any) -> None:
    schedules.change_schedule(
        by=task.project.owner,
        task=task,
        **{
            "enabled": True,
            "after_answers": None,
            "every_minutes": None,
            "params": QUICK,
            **fields,
        },
    )


def scored(task: Task) -> Run:
    run = runs.start(by=task.project.owner, task=task, params=QUICK)
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.DONE
    return make_official(run)


@pytest.mark.django_db
def test_the_first_run_starts_by_itself_when_three_workers_have_five_answers() -> None:
    task = corpus.make_task()
    given = dict(list(corpus.people())[:2])
    given["third"] = corpus.answers([corpus.GOOD], some=slice(4))
    factories.make_answers(task, given)
    quiet(task)
    assert schedules.first_run(task).missing == 1
    assert jobs.start_due_runs() == 0
    factories.make_answers(task, {"third": corpus.answers([corpus.GOOD], some=slice(5))})
    quiet(task)
    assert jobs.start_due_runs() == 1
    run = Run.objects.get()
    assert (run.trigger, run.started_by) == ("answers", None)
    assert jobs.start_due_runs() == 0  # it is waiting already


@pytest.mark.django_db
def test_a_study_with_two_workers_an_item_is_scored_once_it_is_full() -> None:
    """Nothing more could come, and the page still waited for a third worker."""
    task = labels.make_task(items=8, redundancy=2)
    people = [factories.make_worker(project=task.project) for _ in range(2)]
    items = list(task.items.order_by("position"))
    labels.add_labels(task, people[0], [(one, "supported") for one in items])
    labels.add_labels(task, people[1], [(one, "supported") for one in items[:7]])
    labels.hold_slots(task)
    quiet(task)
    assert schedules.first_run(task).missing and jobs.start_due_runs() == 0
    labels.add_labels(task, people[1], [(items[7], "contradicted")])
    labels.hold_slots(task)
    quiet(task)
    assert jobs.start_due_runs() == 1
    run = Run.objects.get()
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.DONE


@pytest.mark.django_db
def test_new_answers_are_waited_for_until_they_have_settled_but_not_for_ever() -> None:
    task = corpus.make_answered(systems=False)
    schedule(task, after_answers=8)
    quiet(task)
    scored(task)
    factories.make_answers(task, {"new-1": corpus.answers([corpus.GOOD], some=slice(7))})
    quiet(task)
    assert jobs.start_due_runs() == 0  # seven are not eight
    factories.make_answers(task, {"new-2": corpus.answers([corpus.GOOD])})
    now = timezone.now()
    own = schedules.schedule_of(task)
    late = Assignment.objects.filter(task=task).latest("pk")

    def due(newest: float, oldest: float) -> str:
        Assignment.objects.filter(task=task).exclude(pk=late.pk).update(
            submitted_at=now - dt.timedelta(seconds=oldest)
        )
        Assignment.objects.filter(pk=late.pk).update(
            submitted_at=now - dt.timedelta(seconds=newest)
        )
        return schedules.due(task, own, now)

    assert due(newest=10, oldest=60) == ""  # still coming in
    assert due(newest=31, oldest=60) == "answers"
    assert due(newest=10, oldest=301) == "answers"  # they have come in for five minutes


@pytest.mark.django_db
def test_an_answer_that_stops_counting_is_a_change() -> None:
    task = corpus.make_answered(systems=False)
    run = scored(task)
    answer_actions.set_counts(
        by=task.project.owner,
        answer=task.items.first().answers.first(),
        counts=False,
        reason="off the point",
    )
    found = schedules.count_new_answers(task, schedules.last_run(task))
    assert (found.new, found.changed) == (0, 1)
    assert run.snapshot.counts["counting"] == 90


@pytest.mark.django_db
def test_a_timed_run_waits_for_its_time_and_for_something_new() -> None:
    task = corpus.make_answered(systems=False)
    schedule(task, every_minutes=10)
    run = scored(task)
    Run.objects.filter(pk=run.pk).update(created_at=timezone.now() - dt.timedelta(minutes=11))
    assert jobs.start_due_runs() == 0  # nothing is new
    factories.make_answers(task, {"new": corpus.answers([corpus.GOOD], some=slice(1))})
    assert jobs.start_due_runs() == 1
    assert Run.objects.latest("pk").params["resamples"] == 200


@pytest.mark.django_db
def test_a_schedule_that_is_off_starts_nothing() -> None:
    task = corpus.make_answered(systems=False)
    quiet(task)
    schedule(task, enabled=False, after_answers=1)
    assert jobs.start_due_runs() == 0


@pytest.mark.django_db
def test_a_cancelled_first_run_does_not_start_again_by_itself() -> None:
    task = corpus.make_answered(systems=False)
    quiet(task)
    jobs.start_due_runs()
    runs.cancel(by=task.project.owner, run=Run.objects.get())
    assert jobs.start_due_runs() == 0


@pytest.mark.django_db
def test_a_schedule_out_of_range_is_refused() -> None:
    task = corpus.make_task()
    with pytest.raises(Invalid) as refused:
        schedule(task, every_minutes=1)
    assert "every_minutes" in refused.value.fields


@pytest.mark.django_db
def test_a_cancelled_run_whose_worker_died_ends_as_cancelled() -> None:
    run = runs.start(by=None, task=corpus.make_answered(), params=QUICK)
    long_ago = timezone.now() - dt.timedelta(minutes=5)
    Run.objects.filter(pk=run.pk).update(
        state=RunState.RUNNING, heartbeat_at=long_ago, cancel_requested=True
    )
    assert jobs.resume_abandoned() == 0
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED


@pytest.mark.django_db
def test_a_run_is_taken_up_again_when_the_clock_was_set_back_after_its_worker_died() -> None:
    run = runs.start(by=None, task=corpus.make_answered(), params=QUICK)
    assert runs._claim(run.pk) is not None
    Run.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now() + dt.timedelta(hours=3))
    assert jobs.resume_abandoned() == 1
    assert runs._claim(run.pk) is not None


@pytest.mark.django_db
def test_a_run_at_which_three_workers_died_is_failed_and_not_taken_up_again() -> None:
    run = runs.start(by=None, task=corpus.make_answered(), params=QUICK)
    long_ago = timezone.now() - dt.timedelta(minutes=5)
    for taken_up in (1, 1, 0):
        claimed = runs._claim(run.pk)
        assert claimed is not None
        claimed.progress[0]["state"] = "running"
        Run.objects.filter(pk=run.pk).update(heartbeat_at=long_ago, progress=claimed.progress)
        assert runs.resume_abandoned() == taken_up
    run.refresh_from_db()
    assert (run.state, run.attempts) == (RunState.FAILED, 3)
    assert run.error.startswith("No heartbeat for 60 seconds, in each of 3 attempts")
    assert run.finished_at and run.progress[0]["state"] == "bad"
    assert runs.execute(run.pk) == "not mine"


@pytest.mark.django_db(transaction=True)
def test_a_run_without_progress_is_alive_while_its_process_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = runs.start(by=None, task=corpus.make_answered(), params=QUICK)
    long_ago = timezone.now() - dt.timedelta(minutes=5)

    def compute(run: Run, steps: Any) -> None:
        Run.objects.filter(pk=run.pk).update(heartbeat_at=long_ago)
        until(lambda: not runs.is_silent(Run.objects.get(pk=run.pk)), 30, "a heartbeat")
        assert runs.resume_abandoned() == 0
        raise Cancelled

    kind = runs.run_types.type_of(run.method)
    monkeypatch.setattr(
        runs.run_types, "type_of", lambda method: dataclasses.replace(kind, compute=compute)
    )
    monkeypatch.setattr(runs, "run_heartbeat", partial(runs.run_heartbeat, every=0.05))
    assert runs.execute(run.pk) == RunState.CANCELLED


@pytest.fixture(scope="module")
def slow_worker(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worker]:
    """A worker that also knows the encoder ``parts``, which waits after its first part."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch, django_db_blocker.unblock():
        patch.setattr(embeddings, "ENCODERS", dict(embeddings.ENCODERS))
        encoders.add_part_model()
        patch.setenv(encoders.GATE, str(folder / "go on"))
        with queue_worker(folder / "worker.log") as running:
            yield running


@pytest.mark.db
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_started_run_is_worked_on_by_the_queue(slow_worker: Worker) -> None:
    """With the sentence model, which is loaded in a process of its pool."""
    task = corpus.make_answered()
    run = runs.start(by=task.project.owner, task=task, params={**QUICK, "encoder": "minilm"})
    until(lambda: state_of(run) == RunState.DONE, 240, "the run was worked on")
    assert WorkerScore.objects.filter(run=run).count() == 12


@pytest.mark.db
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_run_whose_worker_was_killed_goes_on_with_the_vectors_it_had(
    slow_worker: Worker,
) -> None:
    task = corpus.make_answered()
    run = runs.start(by=task.project.owner, task=task, params={**QUICK, "encoder": "parts"})
    until(Embedding.objects.exists, 90, "a first batch of vectors was stored")
    slow_worker.kill_with_pool()
    kept = dict(Embedding.objects.values_list("text_hash", "pk"))
    assert state_of(run) == RunState.RUNNING and len(kept) == encoders.PartModel.batch
    long_ago = timezone.now() - dt.timedelta(minutes=5)
    Run.objects.filter(pk=run.pk).update(heartbeat_at=long_ago)
    assert runs.resume_abandoned() == 1
    slow_worker.log.with_name("go on").touch()
    slow_worker.start()
    until(lambda: state_of(run) == RunState.DONE, 90, "the run was taken up and finished")
    after = dict(Embedding.objects.values_list("text_hash", "pk"))
    assert kept.items() <= after.items()
    assert WorkerScore.objects.filter(run=run).count() == 12
    again = runs.start(by=task.project.owner, task=task, params={**QUICK, "encoder": "parts"})
    until(lambda: state_of(again) == RunState.DONE, 60, "a second run was worked on")
    hashes = Run.objects.filter(pk__in=[run.pk, again.pk]).values_list("result_hash", flat=True)
    assert len(set(hashes)) == 1


def state_of(run: Run) -> str:
    return Run.objects.values_list("state", flat=True).get(pk=run.pk)
