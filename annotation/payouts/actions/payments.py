"""What a platform or a person has to do about each approved line, and what became of it.

Planned in the transaction that approves, so that it exists exactly when the ledger's entries do.
Sending is in ``payment_sending``; here stand the states that people see and change.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Count, Min, Sum
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import (
    Assignment,
    Correction,
    LedgerEntry,
    Membership,
    Payment,
    PayoutBatch,
    PayoutLine,
    Project,
    Recruitment,
    Rejection,
    Role,
    Task,
    User,
    Visit,
)
from annotation.notifications.actions.notices import notify, people_of
from annotation.notifications.actions.webhooks import emit
from annotation.payouts.actions import ledger as books
from annotation.payouts.actions.rules import BOOK, lock_workers, require_decider
from annotation.payouts.details.actions import ask_for_details
from annotation.payouts.details.selectors import without_details
from annotation.payouts.selectors.payable import CorrectionPayment, payable
from annotation.records.actions.audit import record
from annotation.records.cleaning import clean_text
from crowdqc import numbers
from crowdqc.errors import Conflict, Invalid, NotAllowed
from crowdqc.queue import enqueue

State, What = Payment.State, Payment.What
OPEN = (State.PLANNED, State.PREPARED, State.SENDING)
PARTIAL = gettext_lazy(
    "Prolific approves whole rewards only. Ask for the submission to be "
    "returned, and pay this as a bonus."
)
TAKEN_BACK = gettext_lazy("The rejection was taken back before it was sent. Nothing was sent.")


def has_api(recruitment: Recruitment | None) -> bool:
    """Whether decisions about people who came this way leave by an API."""
    return bool(
        recruitment
        and recruitment.kind == Recruitment.Kind.PROLIFIC
        and recruitment.api_url
        and recruitment.token_sealed
    )


def plan_payments(
    *, batch: PayoutBatch, paid: Sequence[PayoutLine], rejected: Sequence[PayoutLine]
) -> int:
    """Plan the payments and refusals for lines that were just settled; return how many.

    Part of the approval's transaction. Sending begins after its commit.
    """
    ids = [line.assignment_id for line in (*paid, *rejected)]
    visits = {
        visit.assignment_id: visit
        for visit in Visit.objects.filter(assignment_id__in=ids).select_related("recruitment")
    }
    rows: list[Payment] = []
    for line in paid:
        rows += _planned(batch, line, visits.get(line.assignment_id))
    for line in rejected:
        visit = visits.get(line.assignment_id)
        if visit is not None:  # a person without a platform reads it here
            rows.append(_row(batch, line, visit, What.REFUSAL))
    Payment.objects.filter(
        assignment_id__in=[line.assignment_id for line in paid],
        what=What.REFUSAL,
        state=State.PLANNED,
    ).update(state=State.FAILED, error=TAKEN_BACK)
    Payment.objects.bulk_create(rows)
    if any(row.state == State.PLANNED for row in rows):
        send_soon()
    return len(rows)


def ask_for_missing_details(batch: PayoutBatch) -> int:
    """Ask whoever is paid by hand for an approved proposal, and has not said where; how many."""
    rows = Payment.objects.filter(line__batch=batch)
    workers = without_details(batch.project, rows)
    return ask_for_details(project=batch.project, workers=workers, key=f"{batch.pk}")


def _planned(batch: PayoutBatch, line: PayoutLine, visit: Visit | None) -> list[Payment]:
    """Base and bonus of one line that is paid."""
    rows = []
    # An approval of the platform is owed even where the pay is 0.
    if line.base > 0 or (visit is not None and not line.assignment.pay):
        base = _row(batch, line, visit, What.BASE)
        if base.state == State.PLANNED and line.base != line.assignment.pay:
            base.state, base.error = State.BY_HAND, str(PARTIAL)
        rows.append(base)
    if line.bonus > 0:
        rows.append(_row(batch, line, visit, What.BONUS))
    return rows


def _row(batch: PayoutBatch, line: PayoutLine, visit: Visit | None, what: str) -> Payment:
    recruitment = visit.recruitment if visit else None
    by_api = has_api(recruitment) and bool(visit and visit.session)
    return Payment(
        recruitment=recruitment,
        line=line,
        assignment_id=line.assignment_id,
        worker_id=line.assignment.worker_id,
        what=what,
        amount={What.BASE: line.base, What.BONUS: line.bonus}.get(What(what), books.ZERO),
        currency=batch.project.currency,
        state=State.PLANNED if by_api else State.BY_HAND,
    )


def send_soon() -> None:
    """Queue the sending of payments for after this transaction's commit."""
    enqueue("annotation.jobs.send_payments")


@transaction.atomic
def confirm(
    *,
    payment: Payment,
    by: User | None = None,
    memo: str = "",
    amount: Decimal | None = None,
    fee: Decimal = books.ZERO,
) -> bool:
    """Book a payment that was made, or a decision that took effect, and notify the worker, once.

    ``amount`` is what was really paid, where that is known to differ from what was planned.
    """
    payment = _locked(payment)
    if payment.state == State.DONE:
        return False
    amount = payment.amount if amount is None else amount
    payment.state, payment.done_at = State.DONE, timezone.now()
    payment.held_until, payment.error = None, ""
    payment.save(update_fields=["state", "done_at", "held_until", "error"])
    if payment.what != What.REFUSAL:
        books.book_payment(payment=payment, amount=amount, by=by, fee=fee, memo=memo)
    project = payment.assignment.task.project
    record(
        by=by,
        project=project,
        action="payment.done",
        on=payment,
        what=payment.what,
        amount=str(amount),
    )
    if payment.what != What.REFUSAL and amount > 0:
        _notify_paid(
            project,
            payment.worker,
            payment.pk,
            lambda: (
                _("%(amount)s was paid for “%(task)s”.")
                % {
                    "amount": numbers.money(amount, payment.currency),
                    "task": payment.assignment.version.title,
                }
            ),
        )
    _emit_done(
        project, payment.worker, payment.what, amount, payment.currency,
        payment=payment.pk, assignment=payment.assignment_id,
    )  # fmt: skip
    return True


def _notify_paid(
    project: Project, worker: Membership, key: object, text: Callable[[], str]
) -> None:
    """Notify a worker of a payment, once for each key."""
    notify(
        to=[worker.user],
        kind="payment.done",
        text=text,
        project=project,
        key=f"payment.done:{key}",
        url=reverse("work_earnings") + "#approved",
    )


def _emit_done(
    project: Project,
    worker: Membership,
    what: str,
    amount: Decimal,
    currency: str,
    *,
    payment: int | None = None,
    assignment: int | None = None,
) -> None:
    """Send programs that something was paid; corrections have neither payment nor assignment."""
    emit(
        project=project,
        event="payment.done",
        data={
            "payment": payment,
            "what": what,
            "worker": worker.pseudonym,
            "assignment": assignment,
            "amount": str(amount),
            "currency": currency,
        },
    )


def _locked(payment: Payment) -> Payment:
    return (
        Payment.objects.select_for_update(of=("self",), no_key=True)
        .select_related("recruitment", "worker__user", "assignment__version")
        .select_related("assignment__task__project")
        .get(pk=payment.pk)
    )


def _require_permission(payment: Payment, by: User) -> None:
    require_decider(payment.assignment.task.project, by, BOOK)
    if payment.worker.user_id == by.pk:
        raise NotAllowed(_("It is pay of your own; somebody else must do this."))


@transaction.atomic
def try_again(*, by: User, payment: Payment) -> Payment:
    """Send once more what the platform refused; nothing of it was done there."""
    payment = _locked(payment)
    _require_permission(payment, by)
    if payment.state in OPEN:
        return payment
    if payment.state != State.FAILED:
        raise Conflict(_("Only what was refused can be tried again."))
    rejection = Rejection.objects.filter(assignment=payment.assignment_id).first()
    if payment.what == What.REFUSAL and rejection and rejection.outcome == "overturned":
        raise Conflict(_("The rejection was taken back; there is nothing to send."))
    _reset(payment, State.PLANNED)
    record(by=by, project=payment.assignment.task.project, action="payment.retry", on=payment)
    send_soon()
    return payment


def _reset(payment: Payment, state: str, error: str = "") -> None:
    payment.state, payment.error, payment.held_until = state, error, None
    # ``seen_before`` stays: what appears there since then may be this very payment.
    payment.reference, payment.sent_at = "", None
    payment.attempts += 1  # whoever still works on it finds that it is theirs no more
    payment.save(
        update_fields=[
            "state",
            "error",
            "held_until",
            "reference",
            "sent_at",
            "attempts",
        ]
    )


@transaction.atomic
def resolve(*, by: User, payment: Payment, outcome: str, note: str) -> Payment:
    """Record what the platform shows of an unclear payment: ``paid``, ``not_paid``, ``by_hand``."""
    payment = _locked(payment)
    _require_permission(payment, by)
    refusal = payment.what == What.REFUSAL and payment.state == State.BY_HAND
    if payment.state not in (State.UNCLEAR, State.FAILED) and not refusal:
        raise Conflict(_("This needs nobody’s look any more."))
    note = clean_text(note, "note", 200)
    if not note:
        raise Invalid(_("Say where you looked."), fields={"note": _("Write a sentence.")})
    if outcome not in ("paid", "not_paid", "by_hand"):
        raise Invalid(_("Say what you found."), fields={"outcome": _("Choose one.")})
    record(
        by=by,
        project=payment.assignment.task.project,
        action="payment.resolve",
        on=payment,
        outcome=outcome,
        note=note,
    )
    if outcome == "paid":
        confirm(payment=payment, by=by, memo=note)
    elif outcome == "not_paid":
        _reset(payment, State.PLANNED)
        send_soon()
    else:
        _reset(payment, State.BY_HAND, note)
    return payment


def describe_hand_payment(
    *, way: str, paid_on: str, reference: str, earliest: dt.date | None = None
) -> str:
    """What a booking keeps of a payment by hand.

    Invalid for a day that is none, is to come or is before ``earliest``, when the pay was approved.
    """
    parts = [f"by hand: {way}" if way else "by hand"]
    if paid_on:
        try:
            day = dt.date.fromisoformat(paid_on)
        except ValueError:
            day = dt.date.max
        if day > timezone.localdate():
            raise Invalid(_("Enter a past day, or today."), fields={"paid_on": _("As 2026-11-22.")})
        if earliest and day < earliest:
            raise Invalid(
                _("It was approved on %(day)s, so it was not paid before.") % {"day": earliest},
                fields={"paid_on": _("%(day)s at the earliest.") % {"day": earliest}},
            )
        parts.append(day.isoformat())
    reference = clean_text(reference, "reference", 120)
    return ", ".join([*parts, reference] if reference else parts)


_MEMO = re.compile(r"by hand(?:: [a-z]+)?(?:, \d{4}-\d\d-\d\d)?(?:, (?P<reference>.+))?", re.DOTALL)


def reference_in(memo: str) -> str:
    """The reference that somebody entered for a payment by hand; "" for none."""
    found = _MEMO.fullmatch(memo)
    return (found["reference"] or "") if found else ""


@transaction.atomic
def mark_sent(
    *,
    by: User,
    payments: Iterable[Payment],
    memo: str = "by hand",
    seen: Mapping[int, Decimal] | None = None,
) -> int:
    """Note that these were done by hand, each once; gives how many were not noted before.

    What workers were paid too much before is deducted. ``seen`` are the amounts that a person
    looked at: Conflict where another is to be paid by now, or where a statement says that a
    payment was made already.
    """
    chosen = sorted(payments, key=lambda one: one.pk)
    workers = lock_workers({one.worker_id for one in chosen})
    rows = [_locked(one) for one in chosen]
    for payment in rows:
        _require_permission(payment, by)
        if payment.state in (State.DONE, State.BY_HAND):  # done: a double click
            continue
        raise Conflict(
            _("Payment %(payment_pk)s is not one to be done by hand.") % {"payment_pk": payment.pk}
        )
    waiting = [row for row in rows if row.state == State.BY_HAND]
    if not waiting:
        return 0
    due = payable(waiting[0].assignment.task.project, workers)
    done = 0
    for payment in waiting:
        if payment.what == Payment.What.REFUSAL and overturned(payment.assignment):
            raise Conflict(_("This rejection was overturned; there is nothing to reject there."))
        if payment.pk in due.held:
            raise Conflict(
                _("%(statement)s says that payment %(number)s was made. Book that first.")
                % {"statement": due.held[payment.pk].name, "number": payment.pk},
                code="paid-there",
            )
        amount = due.amount_due(payment)
        if seen is not None and seen.get(payment.pk, amount) != amount:
            raise Conflict(
                _("The open payments are %(amount)s by now. Look again, then say so.")
                % {"amount": amount}
            )
        done += confirm(payment=payment, by=by, memo=memo, amount=amount)
    return done


@transaction.atomic
def correct_accounts(*, by: User, task: Task, **fields: Any) -> LedgerEntry | Correction:
    """Book or propose a correction, and settle payments that it leaves empty.

    ``fields`` and what is raised are those of ``ledger.book_correction``.
    """
    row = books.book_correction(by=by, task=task, **fields)
    if isinstance(row, LedgerEntry):
        settle_corrected(task.project, fields["debit"], fields["credit"])
    return row


def settle_corrected(project: Project, *accounts: str) -> None:
    """Settle payments of which a correction of these accounts leaves nothing."""
    workers = [int(one.partition(":")[2]) for one in accounts if one.startswith("worker:")]
    settle_deducted(project=project, workers=workers)


def settle_deducted(*, project: Project, workers: Collection[int]) -> int:
    """Settle the payments by hand of which deductions leave nothing; return how many.

    Part of the transaction that books or approves what the deductions come from.
    """
    due = payable(project, lock_workers(workers))
    rows = Payment.objects.filter(pk__in=due.deducted, state=State.BY_HAND).order_by("pk")
    empty = [row for row in rows if not due.amount_due(row)]
    return sum(confirm(payment=row, memo="deducted", amount=books.ZERO) for row in empty)


@transaction.atomic
def pay_corrections(
    *, by: User, project: Project, chosen: Mapping[str, Decimal], memo: str = "by hand"
) -> int:
    """Note that what corrections add was paid by hand; gives how many were not noted before.

    ``chosen`` are the amounts that a person looked at, by ``CorrectionPayment.pk``. Each is paid
    once: what is booked is owed no more. Conflict where another amount is owed by now.
    """
    require_decider(project, by, BOOK)
    workers = {int(pk.split("-")[1]) for pk in chosen}
    found = {one.pk: one for one in payable(project, lock_workers(workers)).corrections}
    done = 0
    for pk, amount in sorted(chosen.items()):
        one = found.get(pk)
        if one is None:
            continue  # a double click
        if one.worker.user_id == by.pk:
            raise NotAllowed(_("It is pay of your own; somebody else must do this."))
        if one.amount != amount:
            raise Conflict(
                _("The open payments are %(amount)s by now. Look again, then say so.")
                % {"amount": one.amount}
            )
        _book_correction_payment(by, project, one, memo)
        done += 1
    return done


def _book_correction_payment(
    by: User, project: Project, one: CorrectionPayment, memo: str
) -> LedgerEntry:
    entry = books.book_correction_payment(
        project=project,
        worker=one.worker,
        recruitment=one.recruitment,
        amount=one.amount,
        currency=one.currency,
        by=by,
        memo=memo,
    )
    what = "correction"
    record(
        by=by, project=project, action="payment.done", on=entry, what=what, amount=str(one.amount)
    )
    _notify_paid(
        project,
        one.worker,
        entry.key,
        lambda: (
            _("%(amount)s was paid for a correction in %(project)s.")
            % {"amount": numbers.money(one.amount, one.currency), "project": project.name}
        ),
    )
    _emit_done(project, one.worker, what, one.amount, one.currency)
    return entry


def overturned(assignment: Assignment) -> bool:
    """Whether a rejection of this work was taken back."""
    return Rejection.objects.filter(assignment=assignment, outcome="overturned").exists()


LATE_AFTER = dt.timedelta(days=14)  # since the approval


@transaction.atomic
def remind_of_late() -> int:
    """Remind managers once a week of approved pay that waits for them; return how many projects.

    What a platform sends is not theirs to see to, unless it failed or is unclear.
    """
    now = timezone.now()
    late = (
        Payment.objects.filter(
            state__in=(State.BY_HAND, State.FAILED, State.UNCLEAR),
            amount__gt=0,
            created_at__lt=now - LATE_AFTER,
            worker__project__deleted_at__isnull=True,
        )
        .order_by("worker__project")
        .values("worker__project")
        .annotate(total=Sum("amount"))
        .annotate(people=Count("worker", distinct=True), since=Min("created_at"))
    )
    for row in late:
        project = Project.objects.select_related("owner").get(pk=row["worker__project"])
        notify(
            to=[*people_of(project, Role.MANAGER), project.owner],
            kind="payment.late",
            text=partial(_late_words, project, row),
            key=f"payment.late:{project.pk}:{now:%G-%V}",
            project=project,
            url=reverse("payment_by_hand", args=[project.pk]),
        )
    return len(late)


def _late_words(project: Project, row: Mapping[str, Any]) -> str:
    return _("%(amount)s to %(people)s in %(project)s is approved and unpaid since %(day)s.") % {
        "amount": numbers.money(row["total"], project.currency),
        "people": numbers.plural(row["people"], "worker"),
        "project": project.name,
        "day": numbers.short_date(row["since"]),
    }
