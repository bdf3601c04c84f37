"""Whoever started a run is told how it ended; other systems are, too."""

from __future__ import annotations

import pytest

from annotation.models import HookDelivery, Notice, Task
from annotation.notifications.actions import webhooks as hooks
from evaluation.models import Run, RunState
from evaluation.runs import engine as runs
from tests.evaluation.corpora import texts as corpus
from tests.support import factories
from tests.support.kept import kept

pytestmark = pytest.mark.django_db


@pytest.fixture
@kept
def task() -> Task:
    """One whose runs fail at once: nobody is there to compare with."""
    made = corpus.make_task()
    corpus.factories.make_answers(made, {"alone": corpus.answers([corpus.GOOD])})
    return made


def fails(task: Task, *, by_itself: bool) -> Run:
    by = None if by_itself else task.project.owner
    run = runs.start(
        by=by, task=task, params={"encoder": "char-svd", "resamples": 200}, trigger="answers"
    )
    assert runs.execute(run.pk) == RunState.FAILED
    return run


def told() -> list[tuple[str, str]]:
    return list(Notice.objects.order_by("pk").values_list("user__username", "kind"))


def test_a_failed_run_is_told_to_who_started_it_and_to_other_systems(task: Task) -> None:
    factories.make_member(task.project)
    hooks.add_hook(
        by=task.project.owner,
        project=task.project,
        url="https://hooks.example/a",
        events=["run.finished"],
    )
    run = fails(task, by_itself=False)
    assert told() == [(task.project.owner.username, "run.failed")]
    assert HookDelivery.objects.get().payload["data"] == {
        "run": run.number,
        "task": task.pk,
        "method": "aqer",
        "state": "failed",
    }


def test_of_runs_that_start_by_themselves_staff_learn_the_first_failure_alone(task: Task) -> None:
    manager = factories.make_member(task.project).user
    assert manager is not None
    run = fails(task, by_itself=True)
    both = {(task.project.owner.username, "run.failed"), (manager.username, "run.failed")}
    assert set(told()) == both
    fails(task, by_itself=True)
    assert len(told()) == 2
    Run.objects.filter(pk=run.pk + 1).update(state=RunState.DONE)
    fails(task, by_itself=True)
    assert len(told()) == 4


def test_a_finished_run_is_told_and_a_cancelled_one_is_not() -> None:
    task = corpus.make_answered()
    owner = task.project.owner
    owner.email = "owner@example.org"
    owner.save()
    begin = {"by": owner, "task": task, "params": {"encoder": "char-svd", "resamples": 200}}
    runs.cancel(by=owner, run=runs.start(**begin))  # type: ignore[arg-type]
    assert told() == []
    run = runs.start(**begin)  # type: ignore[arg-type]
    assert runs.execute(run.pk) == RunState.DONE
    assert told() == [(owner.username, "run.finished")]
    assert Notice.objects.get().mail_at is None  # it took seconds: they may still be looking
