"""What platforms and people have to pay, and what became of it. HTTP only."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation.access import Access, get_access
from annotation.models import Payment
from annotation.payouts.actions import payments as actions
from annotation.payouts.actions.rules import require_decider, why_not_decide_in
from annotation.payouts.selectors import payments as reads
from crowdqc import numbers
from crowdqc.errors import Conflict, Invalid, Missing, NotAllowed
from crowdqc.files.cells import csv_lines

PAGE = 50


@login_required
@require_safe
def payment_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """Every payment with its state; what needs a person first."""
    access = get_access(request, project_id)
    views = reads.views(access.project)
    look = next(view for view in views if view.slug == "look")
    slug = request.GET.get("view", "look" if look.number else "all")
    slug = slug if slug in reads.VIEWS else "all"
    rows = reads.in_view(reads.of_project(access.project), slug)
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "views": views,
        "view": slug,
        "by": {view.slug: view for view in views},
        "why_not": why_not_decide_in(access.project, access.user),
        "files": reads.FILES,
        "marks": reads.MARKS,
    }
    return render(request, "annotation/recruitment/ways_in/payments.html", context)


def _decider(request: HttpRequest, project_id: int) -> Access:
    access = get_access(request, project_id)
    require_decider(access.project, access.user)
    return access


def _back(project_id: int, view: str) -> HttpResponse:
    return redirect(f"{reverse('payment_list', args=[project_id])}?view={view}")


@login_required
@require_POST
def payment_send(request: HttpRequest, project_id: int) -> HttpResponse:
    """Begin to send now, and try again what was refused when asked to."""
    access = _decider(request, project_id)
    refused = 0
    if request.POST.get("failed"):
        rows = reads.of_project(access.project).filter(state=Payment.State.FAILED)
        for row in rows.exclude(what=Payment.What.REFUSAL):
            actions.try_again(by=access.user, payment=row)
            refused += 1
    actions.send_soon()
    more = f" {numbers.plural(refused, 'payment')} are tried again." if refused else ""
    messages.success(request, f"What is due is being sent.{more} You can close this page.")
    return _back(project_id, "sending")


@login_required
@require_POST
def payment_resolve(request: HttpRequest, project_id: int, payment_id: int) -> HttpResponse:
    """Try again what was refused, or say what a look at the platform showed."""
    access = _decider(request, project_id)
    row = reads.get_payment(access.project, payment_id)
    outcome = request.POST.get("outcome", "")
    try:
        if outcome == "again":
            actions.try_again(by=access.user, payment=row)
            messages.success(request, "It is sent once more.")
        else:
            note = request.POST.get("note", "")
            actions.resolve(by=access.user, payment=row, outcome=outcome, note=note)
            messages.success(request, "That is noted.")
    except (Invalid, Conflict) as error:
        messages.error(request, f"Nothing was changed. {error.message}")
    return _back(project_id, "look")


@login_required
@require_safe
def payment_export(request: HttpRequest, project_id: int, what: str) -> HttpResponse:
    """A list for whoever pays by hand, with the platform's own ids."""
    access = get_access(request, project_id)
    why_not = why_not_decide_in(access.project, access.user)
    if why_not:
        raise NotAllowed(why_not)
    if what not in reads.FILES:
        raise Missing("There is no such list.")
    lines = csv_lines(reads.FILES[what][1](access.project), ends="\n")
    response = HttpResponse("".join(lines), content_type="text/csv")
    response["Content-Disposition"] = f'attachment; filename="{what}.csv"'
    return response
