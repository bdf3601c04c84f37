"""Bookings: every amount moves from one account to another, each once, under a key of its own."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext

from annotation.models import (
    Correction,
    LedgerEntry,
    Membership,
    Payment,
    Project,
    Recruitment,
    Task,
    User,
)
from annotation.notifications.actions.notices import notify
from annotation.payouts.actions.rules import require_decider
from annotation.payouts.corrections.actions.propose import propose_above_limit
from annotation.records.actions.audit import record
from annotation.records.cleaning import clean_amount, clean_text
from crowdqc.errors import Conflict, Invalid, NotAllowed
from crowdqc.numbers import money, parse_whole

ZERO = Decimal("0.00")
HAND = "hand"  # the channel of what people paid by hand
CORRECTION_PAYMENT = "correction-payment:"  # begins the keys of payments for corrections
MIN_MEMO = 10


def work(task_id: int) -> str:
    """The account of what a task's work cost."""
    return f"work:{task_id}"


def payable_account(worker_id: int) -> str:
    """The account of what one worker is owed."""
    return f"worker:{worker_id}"


def channel(payment: Payment) -> str:
    """Return the ledger channel that pays a payment, such as ``prolific-3`` or ``hand``."""
    if payment.recruitment_id is None or payment.recruitment is None:
        return HAND
    return f"{payment.recruitment.kind}-{payment.recruitment_id}"


@transaction.atomic
def book_payment(
    *, payment: Payment, amount: Decimal, by: User | None, fee: Decimal = ZERO, memo: str = ""
) -> bool:
    """Book that a payment really went out; the same payment is booked once. True: booked now.

    The worker's account is debited and the channel credited; a fee of the platform goes to an
    account of its own. An amount of 0 (a submission approved without reward) books nothing.
    """
    through = channel(payment)
    common = {
        "project_id": payment.assignment.task.project_id,
        "task_id": payment.assignment.task_id,
        "worker_id": payment.worker_id,
        "assignment_id": payment.assignment_id,
        "line_id": payment.line_id,
        "currency": payment.currency,
        "memo": memo,
        "by": by,
    }
    rows = []
    if amount > 0:
        rows.append(
            LedgerEntry(
                kind="payment",
                debit=payable_account(payment.worker_id),
                credit=f"paid:{through}",
                amount=amount,
                key=f"payment:{payment.pk}",
                **common,
            )
        )
    if fee > 0:
        rows.append(
            LedgerEntry(
                kind="fee",
                debit=f"fees:{through}",
                credit=f"paid:{through}",
                amount=fee,
                key=f"fee:{payment.pk}",
                **common,
            )
        )
    before = LedgerEntry.objects.filter(key__in=[row.key for row in rows]).count()
    LedgerEntry.objects.bulk_create(rows, ignore_conflicts=True)
    return bool(rows) and before == 0


def book_correction_payment(
    *,
    project: Project,
    worker: Membership,
    recruitment: Recruitment | None,
    amount: Decimal,
    currency: str,
    by: User,
    memo: str,
) -> LedgerEntry:
    """Book that what corrections owe a worker was paid, for the task of their last entry.

    The caller has locked the worker and looked at what is owed. The key names the entry up to
    which it is paid, so that the same debt is paid once.
    """
    account = payable_account(worker.pk)
    entries = project.ledger.filter(Q(debit=account) | Q(credit=account), currency=currency)
    last = entries.latest("pk")  # it is owed by an entry
    through = HAND if recruitment is None else f"{recruitment.kind}-{recruitment.pk}"
    return LedgerEntry.objects.create(
        project=project,
        task_id=last.task_id,
        worker=worker,
        kind=LedgerEntry.Kind.PAYMENT,
        debit=account,
        credit=f"paid:{through}",
        amount=amount,
        currency=currency,
        key=f"{CORRECTION_PAYMENT}{worker.pk}:{last.pk}",
        memo=memo,
        by=by,
    )


@transaction.atomic
def book_correction(
    *,
    by: User,
    task: Task,
    debit: str,
    credit: str,
    amount: Decimal,
    memo: str,
    key: UUID,
) -> LedgerEntry | Correction:
    """Move an amount between two accounts of the project; nothing that stands is ever edited.

    It sends nothing. What a worker is owed more is then offered as a payment by hand, what they are
    owed less is deducted from their next ones. Above what one person may book in a day it becomes a
    proposal for a second one.
    Raises NotAllowed without a manager's role or for one's own account, Invalid naming the
    account, Conflict where the key stands for another correction.
    """
    wanted = check_correction(
        by=by, task=task, debit=debit, credit=credit, amount=amount, memo=memo
    )
    name = f"correction:{key}"
    if not LedgerEntry.objects.filter(key=name).exists():
        proposal = propose_above_limit(
            by=by,
            task=task,
            key=name,
            debit=debit,
            credit=credit,
            amount=wanted["amount"],
            memo=wanted["memo"],
        )
        if proposal is not None:
            same = {at: value for at, value in wanted.items() if at != "by_id"}
            _check_same(proposal, {**same, "proposed_by_id": by.pk})
            return proposal
    return write_correction(
        by=by, task=task, debit=debit, credit=credit, amount=amount, memo=memo, key=name
    )


def write_correction(
    *, by: User, task: Task, debit: str, credit: str, amount: Decimal, memo: str, key: str
) -> LedgerEntry:
    """Write the entry, once a key: for what one person may book, or a second one approved.

    From one worker to another it goes over the task's work, in two entries: each entry is about
    one worker at most, whose account it belongs to.
    """
    wanted = check_correction(
        by=by, task=task, debit=debit, credit=credit, amount=amount, memo=memo
    )
    if debit.startswith("worker:") and credit.startswith("worker:"):
        between = work(task.pk)
        first = _write_once(by, task, {**wanted, "credit": between}, key)
        _write_once(by, task, {**wanted, "debit": between}, f"{key}:to")
        return first
    return _write_once(by, task, wanted, key)


def _write_once(by: User, task: Task, wanted: dict[str, Any], key: str) -> LedgerEntry:
    accounts = wanted["debit"], wanted["credit"]
    owners = [_owner(task.project, code, "debit") for code in accounts]
    worker = next((one for one in owners if one is not None), None)
    entry, new = LedgerEntry.objects.get_or_create(
        key=key,
        defaults={
            **wanted,
            "kind": LedgerEntry.Kind.CORRECTION,
            "project_id": task.project_id,
            "worker": worker,
        },
    )
    if not new:
        _check_same(entry, wanted)
        return entry
    record(
        by=by,
        project=task.project,
        action="ledger.correct",
        on=entry,
        debit=entry.debit,
        credit=entry.credit,
        amount=str(entry.amount),
        currency=entry.currency,
    )
    if worker is not None:
        _tell_worker(entry, worker)
    return entry


def _tell_worker(entry: LedgerEntry, worker: Membership) -> None:
    """The worker whose account a correction changed."""
    more = entry.credit == payable_account(worker.pk)
    notify(
        to=[worker.user],
        kind="pay.corrected",
        key=f"pay.corrected:{entry.pk}",
        project=entry.project,
        url=reverse("work_earnings"),
        text=lambda: (
            (
                gettext("A correction in %(project)s adds %(amount)s to what you are owed.")
                if more
                else gettext("A correction in %(project)s takes %(amount)s from what you are owed.")
            )
            % {"project": entry.project.name, "amount": money(entry.amount, entry.currency)}
        ),
    )


def _check_same(row: LedgerEntry | Correction, wanted: dict[str, Any]) -> None:
    """Raise Conflict where this key was used for something else."""
    if any(getattr(row, name) != value for name, value in wanted.items()):
        raise Conflict(
            gettext("This form was sent before, with other amounts. Reload it."), code="key-used"
        )


def check_correction(
    *, by: User, task: Task, debit: str, credit: str, amount: Decimal, memo: str
) -> dict[str, Any]:
    """Return what the entry will say; raise where this person may not book it."""
    require_decider(task.project, by)
    amount, memo = clean_amount(amount, "amount"), clean_text(memo, "memo", 300)
    if not amount:
        raise Invalid(gettext("Nothing is moved."), fields={"amount": gettext("More than 0.")})
    if len(memo) < MIN_MEMO:
        raise Invalid(
            gettext("A correction says why."),
            fields={"memo": gettext("At least %(min_memo)s characters.") % {"min_memo": MIN_MEMO}},
        )
    owners = [_owner(task.project, debit, "debit"), _owner(task.project, credit, "credit")]
    if debit == credit:
        raise Invalid(
            gettext("Both are the same account."),
            fields={"credit": gettext("Choose another account.")},
        )
    named = tasks_of_accounts(task.project, (debit, credit))
    if named and task.pk not in named:
        raise Invalid(
            gettext("The account belongs to another task."),
            fields={"task": gettext("Choose the task of the account.")},
        )
    workers = [one for one in owners if one is not None]
    if any(one.user_id == by.pk for one in workers):
        raise NotAllowed(gettext("It is about an account of yours; somebody else must book it."))
    return {
        "task_id": task.pk,
        "debit": debit,
        "credit": credit,
        "amount": amount,
        "currency": task.project.currency,
        "memo": memo,
        "by_id": by.pk,
    }


def tasks_of_accounts(project: Project, codes: Iterable[str]) -> set[int]:
    """Return the tasks whose cost these accounts are: work, and what left through a way in."""
    found = set()
    for code in codes:
        kind, _, rest = code.partition(":")
        if kind == "work":
            found.add(parse_whole(rest) or 0)
        elif kind in ("fees", "unknown") and rest != HAND:
            way = parse_whole(rest.rpartition("-")[2]) or 0
            ways = Recruitment.objects.filter(pk=way, task__project=project)
            found.update(ways.values_list("task", flat=True))
    return found


def _owner(project: Project, code: str, field: str) -> Membership | None:
    """The worker whose account this is, None for the others; Invalid where there is no such."""
    kind, _, rest = code.partition(":")
    number = int(rest) if rest.isascii() and rest.isdigit() and len(rest) < 15 else 0
    if kind == "work" and number and project.tasks.filter(pk=number).exists():
        return None
    if kind == "worker" and number:
        found = project.memberships.filter(pk=number, role="worker").first()
        if found is not None:
            return found
    if kind in ("paid", "fees", "unknown") and rest in channels(project):
        return None
    raise Invalid(
        gettext("There is no account %(code)s.") % {"code": repr(code)},
        fields={field: gettext("Choose an account.")},
    )


def channels(project: Project) -> dict[str, str]:
    """Return all ledger channels of the project with their names."""
    rows = Recruitment.objects.filter(task__project=project).order_by("pk")
    return {HAND: gettext("by hand")} | {
        f"{row.kind}-{row.pk}": gettext("through %(name)s (%(kind)s)")
        % {"kind": row.get_kind_display(), "name": row.name}
        for row in rows
    }
