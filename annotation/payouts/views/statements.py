"""What is paid by hand, and what platforms say they paid. HTTP only."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_access
from annotation.files.reading.limits import check_size
from annotation.models import Correction, Payment, Recruitment, Statement, Task
from annotation.payouts import export as exports
from annotation.payouts.actions import payments, statements
from annotation.payouts.actions import payments as actions
from annotation.payouts.actions.rules import BOOK, require_decider, why_not_decide_in
from annotation.payouts.details.actions import prepare_file, remind_of_details
from annotation.payouts.details.selectors import MISSING, REJECT, without_details
from annotation.payouts.selectors import balance
from annotation.payouts.selectors import payments as reads
from annotation.payouts.selectors.accounts import sum_accounts, worker_accounts
from annotation.payouts.selectors.payable import CorrectionPayment, Payable, payable
from annotation.payouts.selectors.statements import page_of, statements_of, ways_of
from annotation.payouts.statement_file import LIMITS
from crowdqc import numbers
from crowdqc.errors import Conflict, Invalid, Missing, NotAllowed
from crowdqc.files.cells import csv_lines
from crowdqc.money import parse_amount
from crowdqc.numbers import parse_whole, plural

# Paid by hand ----------------------------------------------------------------------------------


@login_required
@require_safe
def payment_by_hand(request: HttpRequest, project_id: int) -> HttpResponse:
    """Payments that people make, by way of payment, and how to say that they are made."""
    access = get_access(request, project_id)
    due = payable(access.project)
    rows = balance.by_hand(access.project, due)
    context = {
        "rows": rows,
        "totals": balance.hand_totals(rows),
        "overpaid": due.overpaid,
        "files": list(dict.fromkeys((row.way, row.word) for row in rows if _is_filed(row))),
        "missing": without_details(access.project) if any(row.is_missing for row in rows) else [],
        "why_not": why_not_decide_in(access.project, access.user),
    }
    return render(request, "annotation/payouts/by_hand.html", context)


def _is_filed(row: balance.HandPayments) -> bool:
    return row.has_file and not row.held_by


@login_required
@require_safe
def payment_by_hand_export(request: HttpRequest, project_id: int) -> HttpResponseBase:
    """The open payments by hand as CSV, of one proposal or of all, or of who gave no details.

    With a way of payment the file names where the money goes, for whoever may pay only.
    """
    access = get_access(request, project_id)
    project, way = access.project, request.GET.get("way")
    number = parse_whole(request.GET.get("proposal", ""))
    due = payable(project)
    rows = balance.hand_payments(project, number, way, due.held)
    corrections = [] if number else [one for one in due.corrections if way in (None, one.way)]
    if way in (None, MISSING):
        found = exports.by_hand_rows(rows, due, corrections)
        return exports.download_table(exports.BY_HAND, found, name="to-pay-by-hand")
    if way not in exports.HEADERS:
        raise Missing(gettext("There is no such list."))
    payments_ = list(rows)
    named = prepare_file(
        by=access.user,
        project=project,
        payments=[one.pk for one in payments_],
        way=way,
        corrected=[(one.worker.pk, one.currency) for one in corrections],
    )
    transfers = exports.transfer_rows(
        project,
        way,
        [one for one in payments_ if one.pk in named.payments],
        named.details,
        due=due,
        corrections=[
            one for one in corrections if (one.worker.pk, one.currency) in named.corrections
        ],
    )
    return exports.download_table(exports.HEADERS[way], transfers, name=f"to-pay-{way}")


@login_required
@require_POST
def payment_details_remind(request: HttpRequest, project_id: int) -> HttpResponse:
    """Ask workers whose approved pay waits for it to enter their payment details."""
    access = get_access(request, project_id)
    told = remind_of_details(
        by=access.user, project=access.project, workers=without_details(access.project)
    )
    if told:
        people = plural(told, "worker")
        messages.success(request, gettext("%(people)s asked.") % {"people": people})
    else:
        messages.info(request, gettext("They were asked today already."))
    return redirect("payment_by_hand", project_id)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def payment_by_hand_done(request: HttpRequest, project_id: int, number: int) -> HttpResponse:
    """Tick open payments by hand of a proposal (of one way), look at the sum, and book them.

    In place of a proposal's number ``CORRECTIONS`` means what corrections add to people's pay.
    """
    access = get_access(request, project_id)
    if request.method == "POST":
        require_decider(access.project, access.user, BOOK)
    way = request.POST.get("way", request.GET.get("way"))
    due = payable(access.project)
    rows = _to_book(access, number, way, due)
    ticked = set((request.POST or request.GET).getlist("payment"))
    chosen = [row for row in rows if str(row.pk) in ticked]
    earliest = max((row.owed_since for row in chosen or rows), default=None)
    error: Invalid | None = None
    memo = ""
    if request.method == "POST":
        try:
            memo = actions.describe_hand_payment(
                way=way or "",
                paid_on=request.POST.get("paid_on", ""),
                reference=request.POST.get("reference", ""),
                earliest=earliest,
            )
            if not ticked:
                raise Invalid(gettext("Nothing is ticked."))
        except Invalid as refused:
            error = refused
    amount = sum((row.amount_due for row in chosen), start=balance.ZERO)
    if request.method == "POST" and not error and "expected_total" in request.POST:
        return _book_by_hand(request, access, chosen, amount, memo)
    if not rows:
        messages.info(request, gettext("They were noted before; nothing is open."))
        return redirect("payment_by_hand", project_id)
    context = {
        "number": number,
        "way": way,
        "is_rejection": way == REJECT,
        "rows": rows,
        "chosen": chosen,
        "ticked": {row.pk for row in chosen or rows},
        "people": len({row.worker.pk for row in chosen}),
        "amount": amount,
        "checked": request.method == "POST" and not error,
        "earliest": earliest.isoformat() if earliest else "",
        "paid_on": request.POST.get("paid_on") or timezone.localdate().isoformat(),
        "reference": request.POST.get("reference", ""),
        "error": error,
        "why_not": why_not_decide_in(access.project, access.user),
    }
    status = 422 if error else 200
    return render(request, "annotation/payouts/by_hand_done.html", context, status=status)


def _to_book(access: Access, number: int, way: str | None, due: Payable) -> list[Any]:
    """The open payments, or corrections, each with ``asked`` and ``owed_since``."""
    if number == balance.CORRECTIONS:
        return [one for one in due.corrections if way in (None, one.way)]
    if not access.project.payout_batches.filter(number=number).exists():
        raise Missing(gettext("There is no proposal of this number in the project."))
    rows: list[Any] = list(balance.hand_payments(access.project, number, way, due.held))
    for row in rows:
        decided = row.line.batch.decided_at or row.created_at
        row.amount_due, row.owed_since = due.amount_due(row), timezone.localtime(decided).date()
        row.deducted = row.amount - row.amount_due
    return rows


def _book_by_hand(
    request: HttpRequest, access: Access, chosen: list[Any], amount: Decimal, memo: str
) -> HttpResponse:
    """Book the payments at the sum that was seen; those booked before are left as they are."""
    if chosen:
        seen = parse_amount(request.POST["expected_total"], field="expected_total")
        if seen != amount:
            raise Conflict(
                gettext("The open payments are %(amount)s by now. Look again, then say so.")
                % {"amount": amount}
            )
    asked = {row.pk: row.amount_due for row in chosen}
    if chosen and isinstance(chosen[0], CorrectionPayment):
        done = payments.pay_corrections(
            by=access.user, project=access.project, chosen=asked, memo=memo
        )
    else:
        done = payments.mark_sent(by=access.user, payments=chosen, memo=memo, seen=asked)
    if not done:
        said = gettext("They were marked before; nothing was written twice.")
        messages.info(request, said)
    elif request.POST.get("way") == REJECT:
        rejections = plural(done, "rejection")
        said = gettext("%(rejections)s marked as rejected.") % {"rejections": rejections}
        messages.success(request, said)
    else:
        said = gettext("%(done)s marked as paid.") % {"done": plural(done, "payment")}
        messages.success(request, said)
    return redirect("payment_by_hand", access.project.pk)


# Statements ------------------------------------------------------------------------------------


def _parse_channel(access: Access, text: str) -> tuple[Task, Recruitment | None]:
    """The task and its way in that ``12`` or ``12-3`` names."""
    task_text, _, way = text.partition("-")
    task = (
        access.project.tasks.filter(pk=parse_whole(task_text) or 0)
        .select_related("project")
        .first()
    )
    if task is None:
        raise Invalid(
            gettext("Choose whose payments these are."), fields={"way": gettext("Choose one.")}
        )
    if not way:
        return task, None
    found = task.recruitments.filter(pk=parse_whole(way) or 0).first()
    if found is None:
        raise Invalid(
            gettext("Choose whose payments these are."), fields={"way": gettext("Choose one.")}
        )
    return task, found


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def statement_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """Page of checked statements, with a form to upload the next."""
    access = get_access(request, project_id)
    error: Invalid | None = None
    if request.method == "POST":
        require_decider(access.project, access.user)
        try:
            task, recruitment = _parse_channel(access, request.POST.get("way", ""))
            file = request.FILES.get("file")
            if file is None:
                raise Invalid(gettext("Choose a file."), fields={"file": gettext("A CSV file.")})
            check_size(file.size or 0, LIMITS.size)
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
                messages.info(
                    request, gettext("This file was read before; nothing was done again.")
                )
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
        raise Missing(gettext("There is no such statement in this project."))
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
    """Book the difference of a statement's row."""
    access = get_access(request, project_id)
    found = _statement(access, statement_id)
    booked = statements.book_difference(by=access.user, statement=found, place=place)
    if isinstance(booked, Correction):
        messages.info(request, str(statements.ABOVE_LIMIT))
    elif booked:
        messages.success(request, gettext("The difference is booked."))
    else:
        messages.info(request, gettext("It was booked before; nothing was booked twice."))
    return redirect("statement", project_id, statement_id)


@login_required
@require_POST
def statement_book_matching(
    request: HttpRequest, project_id: int, statement_id: int
) -> HttpResponse:
    """Book all rows at once that say what was approved here."""
    access = get_access(request, project_id)
    found = _statement(access, statement_id)
    booked, waiting = statements.book_matching(by=access.user, statement=found)
    if booked:
        rows = plural(booked, "row")
        messages.success(request, gettext("%(rows)s booked.") % {"rows": rows})
    if waiting:
        messages.info(request, str(statements.ABOVE_LIMIT))
    if not booked and not waiting:
        messages.info(request, gettext("They were booked before; nothing was booked twice."))
    return redirect("statement", project_id, statement_id)


PAGE = 50


@login_required
@require_safe
def payment_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """Every payment with its state; what needs a person first."""
    access = get_access(request, project_id)
    due = payable(access.project)
    views = reads.views(access.project, due)
    look = next(view for view in views if view.slug == "look")
    slug = request.GET.get("view", "look" if look.number else "all")
    slug = slug if slug in reads.VIEWS else "all"
    rows = reads.in_view(reads.of_project(access.project), slug)
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    besides = reads.show_amounts(page.object_list, access.project, due)
    held = balance.hand_totals(row for row in balance.by_hand(access.project, due) if row.held_by)
    context = {
        "page": page,
        "besides": besides if slug in ("all", "done") and not page.has_next() else [],
        "views": views,
        "totals": sum_accounts(worker_accounts(access.project).values()),
        "held": held,
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


def _redirect_to_view(project_id: int, view: str) -> HttpResponse:
    return redirect(f"{reverse('payment_list', args=[project_id])}?view={view}")


@login_required
@require_POST
def payment_send(request: HttpRequest, project_id: int) -> HttpResponse:
    """Start sending payments now; with ``failed`` also retry refused ones."""
    access = _decider(request, project_id)
    refused = 0
    if request.POST.get("failed"):
        rows = reads.of_project(access.project).filter(state=Payment.State.FAILED)
        for row in rows.exclude(what=Payment.What.REFUSAL):
            actions.try_again(by=access.user, payment=row)
            refused += 1
    actions.send_soon()
    said = [gettext("What is due is being sent.")]
    if refused:
        said.append(
            gettext("%(payments)s are tried again.")
            % {"payments": numbers.plural(refused, "payment")}
        )
    said.append(gettext("You can close this page."))
    messages.success(request, " ".join(said))
    return _redirect_to_view(project_id, "sending")


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
            messages.success(request, gettext("It is sent once more."))
        else:
            note = request.POST.get("note", "")
            actions.resolve(by=access.user, payment=row, outcome=outcome, note=note)
            messages.success(request, gettext("That is noted."))
    except (Invalid, Conflict) as error:
        messages.error(
            request, gettext("Nothing was changed. %(message)s") % {"message": error.message}
        )
    return _redirect_to_view(project_id, "look")


@login_required
@require_safe
def payment_export(request: HttpRequest, project_id: int, what: str) -> HttpResponse:
    """A list for whoever pays by hand, with the platform's own ids."""
    access = get_access(request, project_id)
    why_not = why_not_decide_in(access.project, access.user)
    if why_not:
        raise NotAllowed(why_not)
    if what not in reads.FILES:
        raise Missing(gettext("There is no such list."))
    lines = csv_lines(reads.FILES[what][1](access.project), ends="\n")
    response = HttpResponse("".join(lines), content_type="text/csv")
    response["Content-Disposition"] = f'attachment; filename="{what}.csv"'
    return response
