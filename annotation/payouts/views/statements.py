"""What is paid by hand, and what platforms say they paid. HTTP only."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_access
from annotation.models import Correction, Recruitment, Statement, Task
from annotation.payouts import export as exports
from annotation.payouts.actions import payments, statements
from annotation.payouts.actions.rules import require_decider, why_not_decide_in
from annotation.payouts.selectors import balance
from annotation.payouts.selectors.statements import page_of, statements_of, ways_of
from crowdqc.errors import Conflict, Invalid, Missing
from crowdqc.numbers import plural, whole

MAX_BYTES = 5 * 1024 * 1024


# Paid by hand ----------------------------------------------------------------------------------


@login_required
@require_safe
def payment_by_hand(request: HttpRequest, project_id: int) -> HttpResponse:
    """Payments that people make, by proposal, and how to say that they are made."""
    access = get_access(request, project_id)
    context = {
        "rows": balance.by_hand(access.project),
        "why_not": why_not_decide_in(access.project, access.user),
    }
    return render(request, "annotation/payouts/by_hand.html", context)


@login_required
@require_safe
def payment_by_hand_export(request: HttpRequest, project_id: int) -> HttpResponseBase:
    """The open payments by hand as CSV, of one proposal or of all."""
    access = get_access(request, project_id)
    rows = balance.hand_payments(access.project, whole(request.GET.get("proposal", "")))
    response = StreamingHttpResponse(
        exports.lines(exports.BY_HAND, exports.by_hand_rows(rows)), content_type="text/csv"
    )
    response["Content-Disposition"] = 'attachment; filename="to-pay-by-hand.csv"'
    return response


@login_required
@require_POST
def payment_by_hand_done(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """Say that all open payments by hand of a proposal are paid, at the total that was seen."""
    access = get_access(request, project_id)
    require_decider(access.project, access.user)
    if not access.project.payout_batches.filter(number=number).exists():
        raise Missing("There is no proposal of this number in the project.")
    rows = list(balance.hand_payments(access.project, number))
    amount = sum((row.amount for row in rows), start=balance.ZERO)
    if rows and request.POST.get("expected_total") != str(amount):
        raise Conflict(f"The open payments are {amount} by now. Look again, then say so.")
    done = payments.mark_sent(by=access.user, payments=rows)
    if done:
        messages.success(request, f"{plural(done, 'payment')} noted as paid, and booked.")
    else:
        messages.info(request, "They were noted as paid before; nothing was booked twice.")
    return redirect("payment_by_hand", project_id)


# Statements ------------------------------------------------------------------------------------


def _way(access: Access, text: str) -> tuple[Task, Recruitment | None]:
    """The task and its way in that ``12`` or ``12-3`` names."""
    task_text, _, way = text.partition("-")
    task = access.project.tasks.filter(pk=whole(task_text) or 0).select_related("project").first()
    if task is None:
        raise Invalid("Choose whose payments these are.", fields={"way": "Choose one."})
    if not way:
        return task, None
    found = task.recruitments.filter(pk=whole(way) or 0).first()
    if found is None:
        raise Invalid("Choose whose payments these are.", fields={"way": "Choose one."})
    return task, found


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def statement_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """Statements that were held against the books, and the form for the next one."""
    access = get_access(request, project_id)
    error: Invalid | None = None
    if request.method == "POST":
        require_decider(access.project, access.user)
        try:
            task, recruitment = _way(access, request.POST.get("way", ""))
            file = request.FILES.get("file")
            if file is None:
                raise Invalid("Choose a file.", fields={"file": "A CSV file."})
            if (file.size or 0) > MAX_BYTES:
                raise Invalid("The file is too large.", fields={"file": "5 MB at most."})
            statement, new = statements.import_statement(
                by=access.user,
                task=task,
                recruitment=recruitment,
                name=file.name or "file",
                content=file.read(),
            )
        except Invalid as refused:
            error = refused
        else:
            if not new:
                messages.info(request, "This file was read before; nothing was done again.")
            return redirect("statement", project_id, statement.pk)
    context = {
        "rows": statements_of(access.project),
        "ways": ways_of(access.project),
        "way": request.POST.get("way", request.GET.get("way", "")),
        "error": error,
        "why_not": why_not_decide_in(access.project, access.user),
    }
    status = 422 if error else 200
    return render(request, "annotation/payouts/statements.html", context, status=status)


def _statement(access: Access, statement_id: int) -> Statement:
    found = (
        Statement.objects.filter(pk=statement_id, task__project=access.project)
        .select_related("task__current", "task__project", "recruitment", "by")
        .first()
    )
    if found is None:
        raise Missing("There is no such statement in this project.")
    return found


@login_required
@require_safe
def statement(request: HttpRequest, project_id: int, statement_id: int) -> HttpResponse:
    """What became of every row of a statement."""
    access = get_access(request, project_id)
    context = {
        **page_of(
            _statement(access, statement_id),
            show=request.GET.get("show", ""),
            number=request.GET.get("page"),
        ),
        "why_not": why_not_decide_in(access.project, access.user),
    }
    return render(request, "annotation/payouts/statement.html", context)


@login_required
@require_POST
def statement_book(
    request: HttpRequest, project_id: int, statement_id: int, place: int
) -> HttpResponse:
    """Book the difference of one row."""
    access = get_access(request, project_id)
    found = _statement(access, statement_id)
    booked = statements.book_difference(by=access.user, statement=found, place=place)
    if isinstance(booked, Correction):
        messages.info(request, statements.ABOVE_LIMIT)
    elif booked:
        messages.success(request, "The difference is booked.")
    else:
        messages.info(request, "It was booked before; nothing was booked twice.")
    return redirect("statement", project_id, statement_id)
