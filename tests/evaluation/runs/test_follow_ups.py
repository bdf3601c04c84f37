"""What a finished run leads to is never lost, whatever dies in between or is in the way."""

from __future__ import annotations

import datetime as dt
import os
import signal

import pytest
from django.utils import timezone

from annotation.models import Answer, Assignment, Task
from annotation.work.actions import answers as answer_actions
from evaluation.models import Run, RunState, WatchNote
from evaluation.panels import choosing as panels
from evaluation.panels import watch as panel_watch
from evaluation.panels.rules import RuleRequest
from evaluation.runs import engine as runs
from evaluation.runs import schedules
from tests.evaluation.corpora import pair_study
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.corpora.official_runs import QUICK, finish, make_official, use_recipe
from tests.support.processes import killed


def started(task: Task) -> Run:
    return runs.start(by=task.project.owner, task=task, params=pair_study.QUICK)


def killed_while(run: Run) -> int:
    """Work on the run in a process of its own that is killed; the signal that ended it."""

    def act() -> None:
        runs.take_up_follow_ups = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore
        runs.execute(run.pk)

    return killed(act)


@pytest.mark.django_db(transaction=True)
def test_checks_and_notes_are_there_after_a_kill_between_the_results_and_the_follow_up() -> None:
    task = pair_corpus.make_judged(topics=2, workers=8)
    run = started(task)
    assert killed_while(run) == signal.SIGKILL
    run.refresh_from_db()
    assert run.state == RunState.DONE and run.follow_up_due
    assert not run.followers.exists()
    runs.resume_abandoned()
    assert [one.method for one in run.followers.all()] == ["pairwise_checks"]
    run.refresh_from_db()
    assert not run.follow_up_due
    runs.resume_abandoned()
    assert run.followers.count() == 1


@pytest.mark.django_db
def test_a_fault_in_what_follows_leaves_the_results_and_is_made_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = corpus.make_answered()
    first = make_official(finish(task, **QUICK))
    made, _ = panels.select(
        by=task.project.owner, run=first, wanted=RuleRequest("top", k=2), panel_name="Best"
    )
    panel_watch.watch(
        by=task.project.owner,
        panel=made.panel,
        task=task,
        threshold=5.0,
        ranks=None,
        incentive=None,
    )

    def broken(*_: object) -> int:
        raise RuntimeError("a fault of ours")

    with monkeypatch.context() as patch:
        patch.setattr(panel_watch, "_note", broken)
        again = finish(task, **QUICK)
    assert not WatchNote.objects.exists()
    assert runs.take_up_follow_ups() == 1
    assert set(WatchNote.objects.values_list("run", flat=True)) == {again.pk}


@pytest.mark.django_db
@pytest.mark.parametrize("end", ["done", "failed", "cancelled"])
def test_checks_of_a_newer_core_come_when_those_of_an_older_one_have_ended(end: str) -> None:
    task = pair_corpus.make_judged(topics=2, workers=8)
    first = pair_study.scored(task)
    second = pair_study.scored(task)  # the checks of the first are queued
    assert first.followers.count() == 1 and not second.followers.exists()
    if end == "done":
        pair_study.checked(first)
    else:
        first.followers.update(state=end, finished_at=timezone.now())
        runs.resume_abandoned()
    assert second.followers.filter(method="pairwise_checks").count() == 1


@pytest.mark.django_db
def test_one_answer_uncounted_and_another_counted_is_a_change_that_a_run_is_due_for() -> None:
    """The counts are the same; what would be frozen is not."""
    task = corpus.make_answered()
    owner = task.project.owner
    rows = list(Answer.objects.filter(item__task=task, worker__isnull=False).order_by("pk"))
    answer_actions.set_counts(by=owner, answer=rows[0], counts=False, reason="Looked at it")
    use_recipe(task, **QUICK)
    run = finish(task, **QUICK)
    assert not schedules.count_new_answers(task, run).any
    answer_actions.set_counts(by=owner, answer=rows[0], counts=True, reason="")
    answer_actions.set_counts(by=owner, answer=rows[1], counts=False, reason="Looked at it")
    since = schedules.count_new_answers(task, schedules.last_run(task))
    assert (since.new, since.changed) == (0, 2)
    moment = timezone.now() + dt.timedelta(hours=2)
    Assignment.objects.filter(task=task).update(submitted_at=timezone.now() - dt.timedelta(days=1))
    schedules.change_schedule(
        by=owner, task=task, enabled=True, after_answers=None, every_minutes=60, params=QUICK
    )
    assert schedules.due(task, schedules.schedule_of(task), moment) == "schedule"
    again = finish(task, **QUICK)
    assert again.snapshot_id != run.snapshot_id
    assert not schedules.count_new_answers(task, again).any
