"""Money after the decision: the ledger, rejections, and whether an answer counts."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    QueryDict,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_access
from annotation.accounts.roles.selectors import list_managers
from annotation.models import Answer, Correction, LedgerEntry, Rejection, Task
from annotation.payouts import export as exports
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.ledger import check_correction, tasks_of_accounts
from annotation.payouts.actions.payments import correct_accounts
from annotation.payouts.actions.rules import require_decider, why_not_decide_in
from annotation.payouts.corrections.actions.propose import ABOVE_LIMIT
from annotation.payouts.corrections.selectors import correction_effects, waiting_corrections
from annotation.payouts.selectors import ledger as books
from annotation.payouts.selectors.balance import account_names, correctable_accounts, trial_balances
from annotation.payouts.selectors.proposals import rejections, rejections_owed
from annotation.work.actions import answers
from crowdqc import money, numbers
from crowdqc.errors import Invalid, Missing
from crowdqc.web.back import redirect_back

PAGE = 50


@login_required
@require_safe
def ledger(request: HttpRequest, project_id: int) -> HttpResponse:
    """The journal with both accounts of every entry, and the trial balance by currency."""
    access = get_access(request, project_id)
    return _ledger(request, access)


def _ledger(
    request: HttpRequest,
    access: Access,
    sent: QueryDict | None = None,
    error: Invalid | None = None,
) -> HttpResponse:
    filters = books.parse_filter(request.GET)
    rows = books.entries(access.project, filters)
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    codes = {code for row in page for code in (row.debit, row.credit)}
    names = account_names(access.project, codes)
    for row in page:
        row.from_to = (names[row.debit], names[row.credit])  # type: ignore[attr-defined]
    context = {
        "rows": page,
        "filters": filters,
        "kinds": LedgerEntry.Kind.choices,
        "totals": books.totals(rows),
        "trials": trial_balances(access.project),
        "choices": books.choices(access.project),
        "query": request.GET.urlencode(),
        "accounts": correctable_accounts(access.project),
        "tasks": access.project.tasks.filter(current__isnull=False).select_related("current"),
        "why_not": why_not_decide_in(access.project, access.user),
        "waiting": waiting_corrections(access.project, access.user),
        "key": sent.get("key", "") if sent else str(uuid.uuid4()),
        "sent": sent or {},
        "error": error,
    }
    status = 422 if error else 200
    return render(request, "annotation/payouts/ledger.html", context, status=status)


@login_required
@require_POST
def ledger_correct(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show what a correction will do, then book it: an amount between two accounts, and why."""
    access = get_access(request, project_id)
    require_decider(access.project, access.user)
    sent = request.POST
    try:
        accounts = {side: sent.get(side, "") for side in ("debit", "credit")}
        task = _task_to_correct(access, sent.get("task", ""), accounts)
        amount = money.parse_amount(sent.get("amount", ""), access.project.currency)
        memo, key = sent.get("memo", ""), _key(sent.get("key", ""))
        if "checked" not in sent:
            check_correction(by=access.user, task=task, **accounts, amount=amount, memo=memo)
            if "change" in sent:
                return _ledger(request, access, sent)
            context = {
                "effects": correction_effects(access.project, **accounts, amount=amount),
                "task": task,
                "amount": amount,
                "sent": sent,
            }
            return render(request, "annotation/payouts/correction_check.html", context)
        row = correct_accounts(
            by=access.user, task=task, **accounts, amount=amount, memo=memo, key=key
        )
    except Invalid as error:
        return _ledger(request, access, sent, error)
    if isinstance(row, Correction):
        messages.info(request, str(ABOVE_LIMIT))
        return redirect(reverse("ledger", args=[project_id]) + "#corrections")
    messages.success(request, _("The correction is booked. What stood there stands as it was."))
    return redirect("ledger", project_id)


def _task_to_correct(access: Access, text: str, accounts: dict[str, str]) -> Task:
    """The chosen task, or the one whose account is corrected."""
    chosen = {numbers.parse_whole(text) or 0} if text else set()
    pks = chosen or tasks_of_accounts(access.project, accounts.values())
    task = access.project.tasks.filter(pk__in=pks).first() if len(pks) == 1 else None
    if task is None:
        raise Invalid(_("A correction belongs to a task."), fields={"task": _("Choose one.")})
    task.project = access.project
    return task


def _key(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError as error:
        raise Invalid(_("The form’s key is missing. Load the page again.")) from error


@login_required
@require_safe
def ledger_export(request: HttpRequest, project_id: int) -> HttpResponseBase:
    """The ledger (as filtered) as CSV or Excel, with pseudonyms."""
    access = get_access(request, project_id)
    rows = books.entries(access.project, books.parse_filter(request.GET))
    names = dict(correctable_accounts(access.project))
    form = request.GET.get("format", "csv")
    table = exports.ledger_rows(rows, names)
    return exports.download_table(exports.LEDGER, table, name="ledger", form=form)


@login_required
@require_safe
def rejection_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """Rejections with their replies; those that are owed an answer first."""
    access = get_access(request, project_id)
    only_owed = request.GET.get("show") == "owed"
    rows = rejections(access.project, only_owed=only_owed)
    others = [str(one) for one in list_managers(access.project) if one.pk != access.user.pk]
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    for row in page:
        row.own = row.rejected_by_id == access.user.pk  # type: ignore[attr-defined]
    context = {
        "rows": page,
        "others": ", ".join(others),
        "only_owed": only_owed,
        "owed": rejections_owed(access.project),
        "reasons": payouts.REASONS,
        "why_not": why_not_decide_in(access.project, access.user),
    }
    return render(request, "annotation/payouts/rejections.html", context)


@login_required
@require_http_methods(["POST"])
def rejection_decide(request: HttpRequest, project_id: int, rejection_id: int) -> HttpResponse:
    """Answer a reply, or take a rejection back."""
    access = get_access(request, project_id)
    rejection = Rejection.objects.filter(
        pk=rejection_id, assignment__task__project=access.project
    ).first()
    if rejection is None:
        raise Missing(_("There is no such rejection in this project."))
    require_decider(access.project, access.user)  # before what was typed is looked at
    outcome = request.POST.get("outcome")
    if outcome not in Rejection.Outcome.values:
        raise Invalid(_("Say whether it stands."), fields={"outcome": _("stands or overturned")})
    try:
        payouts.decide_reply(
            by=access.user,
            rejection=rejection,
            overturn=outcome == Rejection.Outcome.OVERTURNED,
            note=request.POST.get("note", ""),
        )
    except Invalid as error:
        messages.error(request, _("Nothing was changed. %(message)s") % {"message": error.message})
    else:
        said = _("The worker can read your answer now.")
        if outcome == Rejection.Outcome.OVERTURNED:
            said += " " + _("Its work may be proposed for pay again.")
        messages.success(request, said)
    url = reverse("rejection_list", args=[access.project.pk])
    return redirect(f"{url}#rejection-{rejection.pk}")


@login_required
@require_POST
def answer_counts(request: HttpRequest, project_id: int, answer_id: int) -> HttpResponse:
    """Set whether an answer counts; its pay is not affected."""
    access = get_access(request, project_id)
    answer = (
        Answer.objects.filter(pk=answer_id, item__task__project=access.project)
        .select_related("item__task")
        .first()
    )
    if answer is None:
        raise Missing(_("There is no such answer in this project."))
    wanted = request.POST.get("counts")
    if wanted not in ("yes", "no"):
        raise Invalid(_("Say whether the answer counts."), fields={"counts": _("yes or no")})
    error = ""
    try:
        answer = answers.set_counts(
            by=access.user,
            answer=answer,
            counts=wanted == "yes",
            reason=request.POST.get("reason", ""),
        )
    except Invalid as refused:
        error = refused.fields.get("reason", refused.message)
    if request.htmx:  # type: ignore[attr-defined]
        context = {"answer": answer, "error": error, "changed": not error}
        status = 422 if error else 200
        return render(request, "annotation/payouts/_counts.html", context, status=status)
    if error:
        messages.error(request, error)
    return redirect_back(request, reverse("task", args=[project_id, answer.item.task_id]))
