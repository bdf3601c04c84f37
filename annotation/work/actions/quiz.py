"""The quiz before the first assignment: tries, grades and admission."""

from __future__ import annotations

from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Assignment, Membership, Task, TaskVersion, User
from annotation.models.assignments import AssignmentState
from annotation.notifications.actions.notices import notify
from annotation.records.actions.audit import record
from annotation.work.selectors.known import mark_assignment
from annotation.work.selectors.quiz import FAILED, pass_mark, quiz_standings, quiz_terms
from crowdqc.errors import Conflict

__all__ = ["admit_worker", "find_unfinished_try", "grade_try", "next_try_number", "quiz_terms"]


def next_try_number(task: Task, version: TaskVersion, worker: Membership) -> int:
    """Return the number of the required next try, 0 if none is required.

    Part of the claim, which locks the worker. Conflict after the last one failed.
    """
    task.current = version
    standing = quiz_standings([task], [worker]).get(task.pk)
    if standing is None:
        return 0
    if standing.failed:
        raise Conflict(FAILED, code="quiz-failed")
    return standing.tried + 1


def find_unfinished_try(task: Task, worker: Membership) -> Assignment | None:
    """Return a try that was returned or expired before submission."""
    left = (AssignmentState.RETURNED, AssignmentState.EXPIRED)
    rows = Assignment.objects.filter(task=task, worker=worker, quiz__isnull=False, state__in=left)
    return rows.select_related("version").first()


def grade_try(assignment: Assignment) -> None:
    """Grade a submitted try; nothing is rejected and pay stands."""
    right = mark_assignment(assignment)
    assignment.quiz_right = sum(right.values())
    of = assignment.entries.count()
    assignment.quiz_passed = assignment.quiz_right >= pass_mark(assignment, of)
    if not assignment.pay:  # there is nothing to decide
        assignment.settled_at = assignment.submitted_at
    assignment.save(update_fields=["quiz_right", "quiz_passed", "settled_at"])


@transaction.atomic
def admit_worker(*, by: User, task: Task, worker: Membership) -> Assignment:
    """Admit a worker who did not pass the quiz. Conflict if that is not needed."""
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
