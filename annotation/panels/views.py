"""Qualification rounds for who decides, the panels of a task, and words to requesters."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_task
from annotation.models import Assignment, Qualification, Role, Task
from annotation.models.assignments import AssignmentState
from annotation.panels import selectors
from annotation.panels.actions import panels
from annotation.panels.actions import qualification as actions
from annotation.task_types import get_type
from annotation.work.actions import quiz
from annotation.work.selectors import quiz as quizzes
from crowdqc.errors import Conflict, Invalid, Missing
from crowdqc.numbers import parse_whole

PAGE = 50


@login_required
@require_safe
def task_rounds(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Submitted rounds: those that wait first, then what was decided."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    rows = selectors.rounds(task)
    waiting = [row for row in rows if not hasattr(row, "qualification")]
    decided = [row for row in rows if hasattr(row, "qualification")]
    context = {
        "access": access,
        "project": access.project,
        "task": task,
        "version": task.version_or_draft(),
        "waiting": waiting,
        "decided": decided,
        "panels": access.project.panels.all(),
        "editable": not selectors.is_at_work(task),
    }
    return render(request, "annotation/authoring/rating/rounds.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def task_quiz(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Page of a task's quiz results; POST admits a worker who failed."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    if request.method == "POST":
        pk = parse_whole(request.POST.get("worker", ""), 1)
        if pk is None:
            raise Invalid(_("No worker is chosen."), fields={"worker": _("Choose a worker.")})
        worker = selectors.workers_of(access.project, [pk])[0]
        quiz.admit_worker(by=access.user, task=task, worker=worker)
        messages.success(
            request, _("%(pseudonym)s can start the task now.") % {"pseudonym": worker.pseudonym}
        )
        return redirect("task_quiz", project_id, task_id)
    version = task.version_or_draft()
    rows = Paginator(quizzes.list_tries(task), PAGE).get_page(request.GET.get("page"))
    context = {
        "access": access,
        "project": access.project,
        "task": task,
        "version": version,
        "terms": quizzes.quiz_terms(version),
        "page": rows,
        "rows": quizzes.describe_tries(task, list(rows)),
        "noun": get_type(task.type).noun_in(version.settings),
    }
    return render(request, "annotation/authoring/quiz.html", context)


def _round(task: Task, assignment_id: int) -> Assignment:
    found = (
        Assignment.objects.filter(task=task, pk=assignment_id, state=AssignmentState.SUBMITTED)
        .select_related("worker", "version", "qualification")
        .first()
    )
    if found is None:
        raise Missing(_("There is no such round in this task."))
    return found


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def task_round(
    request: HttpRequest, project_id: int, task_id: int, assignment_id: int
) -> HttpResponse:
    """Page of one qualification round beside its document; POST decides it."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    found, error = _round(task, assignment_id), None
    verdict, words = request.POST.get("verdict", ""), request.POST.get("feedback", "")
    if request.method == "POST":
        try:
            actions.decide(by=access.user, assignment=found, verdict=verdict, feedback=words)
        except Invalid as refused:
            error = refused
        else:
            messages.success(
                request,
                _("%(pseudonym)s reads it on their work page.")
                % {"pseudonym": found.worker.pseudonym},
            )
            return redirect("task_rounds", project_id, task_id)
    decided = getattr(found, "qualification", None)
    context = {
        "access": access,
        "project": access.project,
        "task": task,
        "version": found.version,
        "assignment": found,
        "documents": selectors.read_round(found),
        "decided": decided,
        "number": decided.round if decided else selectors.number_of(found),
        "verdicts": Qualification.Verdict.choices,
        "error": error,
        "verdict": verdict,
        "words": words,
        "panel": task.qualifies,
    }
    status = error.status if error else 200
    return render(request, "annotation/authoring/rating/round.html", context, status=status)


@login_required
@require_POST
def task_panels(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Name the panel that alone may work and, where the form asks it, whom passing leads to."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    try:
        panels.set_panels(
            by=access.user,
            task=task,
            qualifies=request.POST.get("qualifies"),
            asks_for=request.POST.get("panel", ""),
        )
    except (Invalid, Conflict) as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("Saved."))
    if "qualifies" in request.POST:
        return redirect("task_rounds", project_id, task_id)
    return redirect(reverse("task", args=[project_id, task_id]) + "#who")


@login_required
@require_safe
def task_feedback(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """What workers wrote to the people who made the task, the newest first."""
    access, task = get_task(request, project_id, task_id)
    page = Paginator(selectors.feedback(task), PAGE).get_page(request.GET.get("page"))
    context = {
        "access": access,
        "project": access.project,
        "task": task,
        "page": page,
        "version": task.version_or_draft(),
    }
    return render(request, "annotation/authoring/rating/feedback.html", context)
