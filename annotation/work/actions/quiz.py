"""The quiz before the first assignment: its next try, what came of one, and who is let in."""

from __future__ import annotations

from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Assignment, Membership, Task, TaskVersion, User
from annotation.models.assignments import AssignmentState
from annotation.notifications.actions.notices import notify
from annotation.records.actions.audit import record
from annotation.work.selectors.known import marked_of
from annotation.work.selectors.quiz import FAILED, needed_of, standings, terms_of
from crowdqc.errors import Conflict

__all__ = ["begun", "grade", "let_in", "next_try", "terms_of"]


def next_try(task: Task, version: TaskVersion, worker: Membership) -> int:
    """The number of the try that comes before any assignment; 0 where none has to.

    Part of the claim, which locks the worker. Conflict after the last one failed.
    """
    task.current = version
    standing = standings([task], [worker]).get(task.pk)
    if standing is None:
        return 0
    if standing.failed:
        raise Conflict(FAILED, code="quiz-failed")
    return standing.tried + 1


def begun(task: Task, worker: Membership) -> Assignment | None:
    """A try that was given back or ran out before it was submitted."""
    left = (AssignmentState.RETURNED, AssignmentState.EXPIRED)
    rows = Assignment.objects.filter(task=task, worker=worker, quiz__isnull=False, state__in=left)
    return rows.select_related("version").first()


def grade(assignment: Assignment) -> None:
    """Note what came of a try; part of its submit. Nothing is rejected by it, and pay stands."""
    right = marked_of(assignment)
    assignment.quiz_right = sum(right.values())
    of = assignment.entries.count()
    assignment.quiz_passed = assignment.quiz_right >= needed_of(assignment, of)
    if not assignment.pay:  # there is nothing to decide
        assignment.settled_at = assignment.submitted_at
    assignment.save(update_fields=["quiz_right", "quiz_passed", "settled_at"])


@transaction.atomic
def let_in(*, by: User, task: Task, worker: Membership) -> Assignment:
    """Let somebody start who did not pass the quiz. Conflict where there is nothing to let in."""
    rows = Assignment.objects.select_for_update(of=("self",), no_key=True).select_related("version")
    tried = rows.filter(
        task=task, worker=worker, quiz__isnull=False, state=AssignmentState.SUBMITTED
    )
    last = tried.order_by("-quiz").first()
    if last is None:
        raise Conflict(_("This worker has not taken the quiz."))
    if last.quiz_passed:
        return last
    if worker.user_id == by.pk:
        raise Conflict(_("Nobody lets themselves in."))
    last.quiz_passed = True
    last.save(update_fields=["quiz_passed"])
    record(by=by, project=task.project, action="quiz.let_in", on=last, right=last.quiz_right)
    notify(
        to=[worker.user],
        kind="quiz.let_in",
        project=task.project,
        key=f"quiz.let_in:{last.pk}",
        url=reverse("work_home"),
        text=lambda: (
            _("You can start “%(task)s” now: the requester let you in.")
            % {"task": last.version.title}
        ),
    )
    return last
