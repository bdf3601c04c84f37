"""Statements of a month for accounting: all workers, or one. HTTP only."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotation.access import get_access, get_worker
from annotation.payouts import export as exports
from annotation.payouts.actions.rules import why_not_decide_in
from annotation.payouts.details.actions import read_details
from annotation.payouts.selectors import monthly

AT_ONCE = 100  # workers whose entries are read together for a file


@login_required
@require_safe
def month_statement(request: HttpRequest, project_id: int) -> HttpResponse:
    """What each worker was owed and paid in a month, with its files."""
    access = get_access(request, project_id)
    months = monthly.months_of(access.project)
    month = request.GET.get("month") or (months[0] if months else f"{timezone.localdate():%Y-%m}")
    context = {
        "months": months,
        "month": month,
        "found": monthly.month_statement(access.project, month),
        "why_not": why_not_decide_in(access.project, access.user),
    }
    return render(request, "annotation/payouts/months.html", context)


@login_required
@require_safe
def month_export(request: HttpRequest, project_id: int, month: str) -> HttpResponseBase:
    """A month as CSV or Excel (``format``): one row a worker, or with ``entries`` one an entry.

    With ``names`` the recipients and their payment details, for whoever may pay only.
    """
    access = get_access(request, project_id)
    found = monthly.month_statement(access.project, month)
    header: Sequence[str]
    kind, form = "workers", request.GET.get("format", "csv")
    if "entries" in request.GET:
        kind = "entries"
        workers = list(dict.fromkeys(row.worker for row in found.rows))
        statements = (
            one
            for at in range(0, len(workers), AT_ONCE)
            for one in monthly.person_statements(workers[at : at + AT_ONCE], month)
        )
        unapproved = monthly.unapproved_entries(access.project, month)
        header, rows = exports.ENTRIES, exports.entry_rows(statements, month, unapproved)
    else:
        details = {}
        if "names" in request.GET:
            kind = "recipients"
            workers_ids = {row.worker.pk for row in found.rows}
            details = read_details(by=access.user, project=access.project, workers=workers_ids)
        references = monthly.references_of(access.project, month)
        channels = monthly.channels_of(access.project, month)
        is_sheet = form == "xlsx"
        header = exports.MONTH
        rows = exports.month_rows(found, details, references, channels, totals=is_sheet)
        if is_sheet and "names" not in request.GET:
            header, rows = exports.without_recipients(header, rows)
    return exports.download_table(header, rows, name=f"statement-{month}-{kind}", form=form)


@login_required
@require_safe
def person_month(
    request: HttpRequest, project_id: int, month: str, membership_id: int
) -> HttpResponse:
    """One worker's statement of a month, entry by entry, to print."""
    access = get_access(request, project_id)
    worker = get_worker(access, membership_id)
    context = {
        "worker": worker,
        "month": month,
        "statements": monthly.person_statements([worker], month),
    }
    return render(request, "annotation/payouts/person_month.html", context)


@login_required
@require_safe
def person_month_export(
    request: HttpRequest, project_id: int, month: str, membership_id: int
) -> HttpResponseBase:
    """One worker's statement of a month as CSV or Excel, one row an entry."""
    access = get_access(request, project_id)
    worker = get_worker(access, membership_id)
    rows = exports.entry_rows(monthly.person_statements([worker], month))
    name, form = f"statement-{month}-{worker.pseudonym}", request.GET.get("format", "csv")
    return exports.download_table(exports.ENTRIES, rows, name=name, form=form)
