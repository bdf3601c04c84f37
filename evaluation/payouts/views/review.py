"""The review queue of a task."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation.access import get_task
from annotation.models import Assignment
from annotation.models.decisions import Decision, with_decision
from annotation.payouts.selectors.next_steps import approval_context
from annotation.payouts.selectors.proposals import work_facts
from crowdqc.errors import Missing
from crowdqc.web.htmx import page_or_fragment
from evaluation.payouts.selectors import review as reads
from evaluation.payouts.selectors.evidence import gather_evidence, task_evidence
from evaluation.payouts.selectors.proposals import score_name
from evaluation.runs.adapters import adapter_of
from evaluation.runs.official.selectors import official_run

DECISION_MARKS = {
    Decision.APPROVED: "done",
    Decision.PAID: "done",
    Decision.UNPAID: "draft",
    Decision.REJECTED: "bad",
}


@login_required
@require_safe
def review(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Submitted work that waits for a decision, with its evidence."""
    access, task = get_task(request, project_id, task_id)
    queue = reads.queue(
        task,
        sort=request.GET.get("sort", ""),
        only_look=request.GET.get("show") == "look",
        number=request.GET.get("page"),
    )
    context = {
        "task": task,
        "queue": queue,
        "sorts": reads.sorts_of(task),
        "bulk": reads.BULK,
        "score_name": score_name(task) or gettext("Score"),
        **approval_context(access.project, access.user, access.user),
    }
    return page_or_fragment(
        request,
        "evaluation/payouts/review/review.html",
        "evaluation/payouts/review/_queue.html",
        context,
    )


@login_required
@require_safe
def review_answers(
    request: HttpRequest, project_id: int, task_id: int, assignment_id: int
) -> HttpResponse:
    """The answers of one assignment: in place under its row, or as a page of their own."""
    _, task = get_task(request, project_id, task_id)
    assignment = (
        with_decision(Assignment.objects.filter(pk=assignment_id, task=task, state="submitted"))
        .select_related("worker", "version")
        .first()
    )
    if assignment is None:
        raise Missing(gettext("There is no such submitted assignment in this task."))
    run = official_run(task)
    context = {
        "task": task,
        "known": adapter_of(task),
        "assignment": assignment,
        "decision": Decision(assignment.decision),
        "decision_mark": DECISION_MARKS.get(assignment.decision, "waiting"),
        "answers": reads.read_answers(assignment.pk, run),
        "run": run,
        "facts": work_facts([assignment.pk])[assignment.pk],
    }
    if not request.htmx:  # type: ignore[attr-defined]
        around = task_evidence(task)
        context["evidence"] = gather_evidence([assignment], around)[assignment.pk]
    return page_or_fragment(
        request,
        "evaluation/payouts/review/answers.html",
        "evaluation/payouts/review/_answers_row.html",
        context,
    )
