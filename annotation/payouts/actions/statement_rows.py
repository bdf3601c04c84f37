"""Rows of a statement against the payments of a task: which is which, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import (
    Assignment,
    LedgerEntry,
    Membership,
    Payment,
    Project,
    Recruitment,
    Statement,
    Task,
    Visit,
)
from annotation.models.decisions import Decision, with_decision
from annotation.payouts.actions.ledger import CORRECTION_PAYMENT, HAND
from annotation.payouts.notes import english
from annotation.payouts.selectors.payable import payable
from annotation.payouts.selectors.statement_bookings import (
    UNDECIDED,
    StatementBookings,
    booked_rows,
    decision_differs,
    payments_in,
    reversed_payments,
)
from annotation.payouts.statement_file import Reported, ReportedPayment, ReportedSubmission
from crowdqc.money import as_decimal
from crowdqc.numbers import money

ZERO = Decimal("0.00")
State = Payment.State


CORRECTION = "correction"
MOST_SUMS = 2000  # of one worker's payments; with more, only all of them together are tried


@dataclass(frozen=True)
class _Item:
    """A payment, or one that was made for corrections, which a row may tell of."""

    payment: Payment | None
    entry: int | None  # of a payment for corrections
    worker: Membership
    currency: str
    ours: Decimal  # what is booked of it; of one that is open, what is to be paid

    @property
    def kind(self) -> str:
        return self.payment.what if self.payment else CORRECTION

    @property
    def is_open(self) -> bool:
        """Whether it is not booked as paid."""
        return self.payment is not None and self.payment.state != State.DONE


@dataclass
class _Known:
    """What the books hold, and what rows have taken already.

    Items are called by their payment's number, those for corrections by minus their entry's.
    """

    items: dict[int, _Item]
    is_by_hand: bool
    of_assignment: dict[int, list[int]]  # assignment -> payments
    corrections: dict[int, list[int]]  # worker -> items
    submissions: dict[str, list[int]]  # their name of it -> assignments
    participants: dict[str, list[int]]
    workers: dict[str, list[int]]  # name -> workers to whom a correction was paid
    fees: dict[int, Decimal]  # payment -> fee that is booked
    before: dict[tuple[str, ...], list[dict[str, Any]]]  # rows of earlier statements
    taken_back: dict[int, str] = field(default_factory=dict)  # booked back, as a file lacked it
    taken: set[int] = field(default_factory=set)
    now: set[int] = field(default_factory=set)  # of ``taken``, by rows of this file
    # Payments of which an export said that the work was approved: it says so of each once.
    approved: set[int] = field(default_factory=set)
    # By payment, assignment or name, the row that says already what an export says of it; None
    # where that is a row of this file.
    by_payment: dict[int, dict[str, Any]] = field(default_factory=dict)
    by_work: dict[int, dict[str, Any] | None] = field(default_factory=dict)
    by_name: dict[tuple[str, str], dict[str, Any] | None] = field(default_factory=dict)
    sums: dict[tuple[int, ...], dict[Decimal, list[int] | None]] = field(default_factory=dict)

    def is_base(self, pk: int) -> bool:
        """Whether a payment is base pay."""
        return self.items[pk].kind == Payment.What.BASE

    def is_paid(self, key: int) -> bool:
        """Whether the books hold an item for paid."""
        return not self.items[key].is_open and key not in self.taken_back

    def forget(self, payment: int) -> None:
        """Forget what rows said of a payment before it was booked back."""
        self.by_payment.pop(payment, None)
        self.taken.discard(payment)
        self.approved.discard(payment)
        for identity, rows in self.before.items():
            self.before[identity] = [row for row in rows if payment not in payments_in(row)]

    def candidates(self, one: ReportedPayment) -> list[int]:
        """List the items of whom a row names: of the submission, else of the participant."""
        works = self.submissions.get(one.submission) or self.participants.get(one.participant, [])
        found = [pk for work in works for pk in self.of_assignment.get(work, [])]
        workers = {self.items[pk].worker.pk for pk in found}
        workers |= set(self.workers.get(one.participant, ()))
        return found + [
            key for worker in sorted(workers) for key in self.corrections.get(worker, ())
        ]


@english
def hold_against(
    task: Task, recruitment: Recruitment | None, reported: Reported
) -> list[dict[str, Any]]:
    """What becomes of every row, and behind them a row for each payment that the file lacks.

    A file of what was paid by hand may tell of any payment of the project; what it lacks is asked
    of this task alone. A file of submissions tells of base pay alone.
    """
    known = _known(task, recruitment)
    currency = task.project.currency
    is_export = any(isinstance(one, ReportedSubmission) for one in reported)
    works = _works(known, task) if is_export else {}
    rows, days, kinds = [], [], {str(Payment.What.BASE)}
    for one in reported:
        if isinstance(one, ReportedSubmission):
            rows.append(_held_submission(one, known, works, task))
            days.append(one.at)
        else:
            rows.append(_held(one, known, currency))
            days.append(one.paid_at)
            kinds.add(str(Payment.What.BONUS))
    return rows + [_lacking(one, known) for one in _missing(known, task, days, kinds)]


def _works(known: _Known, task: Task) -> dict[int, Any]:
    """The assignments that a file may name, with what was decided about them."""
    names = (*known.submissions.values(), *known.participants.values())
    ids = {pk for found in names for pk in found}
    rows = Assignment.objects.filter(pk__in=ids, task=task).select_related("worker")
    return {row.pk: row for row in with_decision(rows)}


def _held_submission(
    one: ReportedSubmission, known: _Known, works: Mapping[int, Any], task: Task
) -> dict[str, Any]:
    """One submission of the file with its outcome, and what there is to book."""
    currency = task.project.currency
    named = known.submissions.get(one.submission) or known.participants.get(one.participant, [])
    ids = [pk for pk in named if pk in works]
    work = works[ids[0]] if len(ids) == 1 else None
    base = [pk for pk in known.of_assignment.get(work.pk, []) if known.is_base(pk)] if work else []
    names = _names_of(one.submission, one.participant)
    pay = work.pay if work else _reward(works, task)
    if one.is_approved and pay:
        before = _first_of(known.by_work, [work.pk] if work else [])
        before = before or [
            told
            for told in _first_of(known.by_name, names)
            if told is None or told["booked"] or not base
        ]
        if before:
            known.approved.update(base)
            return _as_earlier(one, pay, currency, before[0])
        if work is not None and base:
            row = _held(one.payment(pay, currency), known, currency, once=base)
            return {**row, "status": one.status}
    row = {
        **_told(one.payment(ZERO, currency)),
        "amount": "",
        "status": one.status,
        "worker": work.worker.pseudonym if work else "",
        "assignment": work.pk if work else None,
    }
    if one.is_approved and pay:
        row["amount"] = str(pay)
        known.by_name |= dict.fromkeys(names[:1])
        known.by_work |= dict.fromkeys([work.pk] if work else [])
    if work is None:
        note = _("nobody known here came by this submission")
        return _row(row, "unknown", note, pay) if one.is_approved else _row(row, "matched", note)
    if one.is_approved and pay:
        return _paid_there(row, work, pay)
    word = str(Decision(work.decision).label).lower()
    paid = [item.payment for pk in base if (item := known.items[pk]).payment and not item.is_open]
    if paid:
        known.taken.add(paid[0].pk)
        known.now.add(paid[0].pk)
        lacks = _lacking(paid[0], known)
        kept = {name: row[name] for name in ("line", "submission", "participant", "status")}
        note = _("not approved there, and here: %(state)s") % {"state": word}
        return {**lacks, **kept, "note": note}
    known.taken.update(base)
    known.now.update(base)
    differs = decision_differs(one.status, work.decision, work.pay)
    note = _("here: %(state)s") % {"state": word}
    return {**_row(row, "different" if differs else "matched", note), "differs": differs}


def _paid_there(row: dict[str, Any], work: Any, pay: Decimal) -> dict[str, Any]:
    """A submission that was approved there and has no payment here: what is booked follows."""
    told = {"state": str(Decision(work.decision).label).lower()}
    if work.decision in UNDECIDED:
        note = _("paid there, and here: %(state)s; decide about the work here") % told
        return {**_row(row, "different", note), "differs": True}
    note = _("paid there, and here: %(state)s") % told
    if work.decision == Decision.REJECTED:
        note = _("paid there although it is rejected here")
    return _row(row, "different", note, pay)


def _reward(works: Mapping[int, Any], task: Task) -> Decimal:
    """What an approval of a submission that nobody knows paid: the study's one reward."""
    pays = {work.pay for work in works.values()}
    if len(pays) == 1:
        return pays.pop()
    return task.current.pay if task.current else ZERO


def _names_of(submission: str, participant: str) -> list[tuple[str, str]]:
    """What a payment without a payment here is recognised by: its submission if there is one."""
    if submission:
        return [("submission", submission), ("alone", participant)]
    return [("participant", participant)]


def _first_of(known: Mapping[Any, dict[str, Any] | None], keys: Sequence[Any]) -> list[Any]:
    """The earlier row under the first of these keys, in a list; empty where there is none."""
    return next(([known[key]] for key in keys if key in known), [])


def _as_earlier(
    one: ReportedSubmission, pay: Decimal, currency: str, told: Mapping[str, Any] | None
) -> dict[str, Any]:
    """A submission of which another row tells; the payment is booked by that row."""
    row = {**_told(one.payment(pay, currency)), "status": one.status}
    if told is None:
        return _row(row, "matched", _("told of before"))
    return _repeated(row, told)


def _repeated(row: dict[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """A row that says what a row of an earlier file says, which is booked there."""
    same = {name: told[name] for name in ("outcome", "payment", "ours", "worker")}
    same |= {name: told[name] for name in ("parts", "correction") if name in told}
    note = _("as %(statement)s said before: %(note)s") % {
        "statement": told["statement"],
        "note": told["note"],
    }
    if told["settled"]:
        same |= {"outcome": "matched", "ours": row["amount"]}
        note = _("as %(statement)s said before") % {"statement": told["statement"]}
    return {**_row({**row, **same}, note=note), "before": told["origin"]}


def _known(task: Task, recruitment: Recruitment | None) -> _Known:
    project = task.project
    rows = Payment.objects.filter(
        assignment__task__project=project,
        recruitment=recruitment,
        amount__gt=0,
        what__in=(Payment.What.BASE, Payment.What.BONUS),
    ).select_related("worker", "assignment")
    kind = LedgerEntry.Kind
    paid = _booked(project, kind.PAYMENT, "payment:")
    due = payable(project)
    known = _Known(
        items={}, is_by_hand=recruitment is None, of_assignment={}, corrections={},
        submissions={}, participants={}, workers={}, fees=_booked(project, kind.FEE, "fee:"),
        before={},
    )  # fmt: skip
    # Of the task that the file is about first.
    for row in sorted(rows.order_by("pk"), key=lambda row: row.assignment.task_id != task.pk):
        ours = paid.get(row.pk, ZERO) if row.state == State.DONE else due.amount_due(row)
        known.items[row.pk] = _Item(row, None, row.worker, row.currency, ours)
        known.of_assignment.setdefault(row.assignment_id, []).append(row.pk)
        if recruitment is None:
            _add(known.submissions, str(row.assignment_id), row.assignment_id)
            _add(known.participants, row.worker.pseudonym, row.assignment_id)
            _add(known.participants, row.worker.external_id, row.assignment_id)
    through = HAND if recruitment is None else f"{recruitment.kind}-{recruitment.pk}"
    entries = LedgerEntry.objects.filter(
        project=project, key__startswith=CORRECTION_PAYMENT, credit=f"paid:{through}"
    ).select_related("worker")
    for entry in entries.order_by("pk"):
        worker = entry.worker
        if worker is None:
            continue  # the key names a worker
        known.items[-entry.pk] = _Item(None, entry.pk, worker, entry.currency, entry.amount)
        known.corrections.setdefault(worker.pk, []).append(-entry.pk)
        if recruitment is None:
            _add(known.workers, worker.pseudonym, worker.pk)
            _add(known.workers, worker.external_id, worker.pk)
    visits = Visit.objects.filter(recruitment=recruitment, assignment__isnull=False)
    for session, participant, pk in visits.values_list("session", "participant", "assignment"):
        _add(known.submissions, session, pk)
        _add(known.participants, participant, pk)
    _remember(task, recruitment, known)
    return known


def _statements(task: Task, recruitment: Recruitment | None) -> list[Statement]:
    """The statements of the same payments, in their order: by hand, all of the project."""
    found = Statement.objects.filter(recruitment=recruitment).order_by("pk")
    if recruitment is None:
        return list(found.filter(task__project=task.project))
    return list(found.filter(task=task))


def reversing_statement(statement: Statement, payment_id: int) -> str:
    """Return the file since which this payment is reversed, or ""."""
    found = _statements(statement.task, statement.recruitment)
    booked = booked_rows([row.pk for row in found])
    return reversed_payments(found, booked).get(payment_id, "")


def _remember(task: Task, recruitment: Recruitment | None, known: _Known) -> None:
    """Note rows of earlier files: the same row again is no second payment."""
    statements = _statements(task, recruitment)
    booked = booked_rows([row.pk for row in statements])
    known.taken_back = reversed_payments(statements, booked)
    bookings = StatementBookings(statements)
    for statement in statements:
        told: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for place, row in enumerate(statement.rows):
            is_booked = place in booked.get(statement.pk, ())
            if row["outcome"] == "missing" and is_booked:
                known.forget(row["payment"])  # a later row tells of it anew
            if row["outcome"] == "missing" or (row.get("status") and not row["amount"]):
                continue  # it told of no payment
            named = {
                **row,
                "statement": statement.name,
                "booked": is_booked,
                "settled": not bookings.is_open(statement, place),
                "origin": row.get("before") or [statement.pk, place],
            }
            if row["outcome"] in ("matched", "different"):
                into = known.approved if row.get("status") else known.taken
                items = _items_of(row, known)
                into.update(items)
                for pk in items:
                    known.by_payment.setdefault(pk, named)
            is_mine = statement.task_id == task.pk or row["outcome"] != "unknown" or is_booked
            if not row["payment"] and row["kind"] in ("", Payment.What.BASE) and is_mine:
                _remember_name(named, known)
            if row.get("status") and not row["payment"]:
                continue
            if not is_mine:
                continue  # it may be a payment of this task
            told.setdefault(_identity(row), []).append(named)
        for identity, rows in told.items():
            if len(rows) > len(known.before.get(identity, ())):
                known.before[identity] = rows


def _remember_name(row: dict[str, Any], known: _Known) -> None:
    """Note a row that told of base pay and was matched with no payment of ours."""
    if row.get("correction") or row.get("payments"):
        return
    if row.get("assignment"):
        known.by_work.setdefault(row["assignment"], row)
        own = known.of_assignment.get(row["assignment"], ())
        known.approved.update(pk for pk in own if known.is_base(pk))
    for name in _names_of(row["submission"], row["participant"])[:1]:
        known.by_name.setdefault(name, row)
    if not row["submission"]:
        known.by_name.setdefault(("alone", row["participant"]), row)
    elif row["participant"]:
        known.by_name.setdefault(("participant", row["participant"]), row)


def _items_of(row: Mapping[str, Any], known: _Known) -> list[int]:
    """The items that a stored row was matched with."""
    if row.get("parts"):
        return [part["payment"] or -part["entry"] for part in row["parts"]]
    if row["payment"]:
        return [row["payment"]]
    # Rows of earlier versions name a correction by its worker.
    amount = as_decimal(row["amount"] or 0)
    return [
        key
        for key in known.corrections.get(row.get("correction") or 0, [])
        if key not in known.taken and known.items[key].ours == amount
    ][:1]


def _identity(row: Mapping[str, Any]) -> tuple[str, ...]:
    """A stored row's ``ReportedPayment.identity``; earlier versions kept no ``payments``."""
    names = ("submission", "participant", "kind", "amount", "currency", "paid_at")
    found = {name: row[name] for name in names} | {"kind": row["kind"] or "base"}
    return (*found.values(), row.get("payments", ""))


def _add(into: dict[str, list[int]], name: str, pk: int) -> None:
    if name and pk not in into.setdefault(name, []):
        into[name].append(pk)


def _booked(project: Project, kind: str, prefix: str) -> dict[int, Decimal]:
    """What is booked of each payment of a project under a key of this prefix."""
    rows = (
        LedgerEntry.objects.filter(project=project, kind=kind, key__startswith=prefix)
        .order_by()
        .values_list("key")
        .annotate(s=Sum("amount"))
    )
    return {int(key.removeprefix(prefix)): amount for key, amount in rows}


def _held(
    one: ReportedPayment, known: _Known, currency: str, *, once: Sequence[int] = ()
) -> dict[str, Any]:
    """One row of the file with its outcome, in words, and what there is to book.

    ``once``: the payments of a submission of which the row tells a state, not an amount that left,
    so that it is never a second payment.
    """
    row = _told(one)
    own = list(once) or known.candidates(one)
    said = known.by_payment.keys() | known.now if once else known.taken
    free = [key for key in own if key not in said]
    again = None if once else known.before.get(one.identity)
    if again:
        return _as_before(row, one, known, free, again.pop(0))
    wrong = _unknown_payments(one, own)
    if not own or wrong:
        note = wrong or _("the books hold no such payment")
        foreign = one.currency != currency
        amounts = (ZERO, ZERO) if foreign else (one.amount, one.fee or ZERO)
        told = _first_of(known.by_name, _names_of(one.submission, one.participant))
        if told and not wrong and one.kind in ("", Payment.What.BASE) and told[0].get("status"):
            return _beside_status(row, one, told[0])
        return {**_row(row, "unknown", note, *amounts), "differs": foreign}
    chosen = free[:1] if once else _choose(one, free, known)
    if not chosen:
        return _not_free(row, one, own, known, is_told=bool(once))
    (known.approved if once else known.taken).update(chosen)
    known.now.update(chosen)
    return _compared({**row, **_parts(chosen, known)}, one, chosen, known)


def _beside_status(
    row: dict[str, Any], one: ReportedPayment, told: dict[str, Any]
) -> dict[str, Any]:
    """The amount of a submission of which an export told the status: not a second payment."""
    more = one.amount - as_decimal(told["amount"])
    if one.currency == told["currency"] and not more and not one.fee:
        return _repeated(row, told)
    note = _("as %(statement)s said before: %(note)s") % {
        "statement": told["statement"],
        "note": told["note"],
    }
    return _row({**row, "worker": told["worker"]}, "unknown", note, more, one.fee or ZERO)


def _as_before(
    row: dict[str, Any],
    one: ReportedPayment,
    known: _Known,
    free: Sequence[int],
    told: Mapping[str, Any],
) -> dict[str, Any]:
    # Nobody had approved it when that file was read, and nothing was booked for it.
    if free and told["outcome"] == "unknown" and not told["booked"]:
        known.taken.update(_choose(one, free, known))
    return _repeated(row, told)


def _unknown_payments(one: ReportedPayment, own: Sequence[int]) -> str:
    """Say which payments a row names that are not of whom it names; "" where all are."""
    lacks = [pk for pk in one.payment_ids if pk not in own]
    if not lacks:
        return ""
    numbers = ", ".join(map(str, lacks))
    return _("not a payment of this worker: %(numbers)s") % {"numbers": numbers}


def _parts(chosen: Sequence[int], known: _Known) -> dict[str, Any]:
    """What a row keeps of the items that it was matched with."""
    items = [known.items[key] for key in chosen]
    payments = [item.payment.pk for item in items if item.payment]
    return {
        "payment": payments[0] if payments else None,
        "correction": None if payments else items[0].worker.pk,
        "worker": items[0].worker.pseudonym,
        "ours": str(sum((item.ours for item in items), ZERO)),
        "parts": [
            {
                "payment": item.payment.pk if item.payment else None,
                "entry": item.entry,
                "ours": str(item.ours),
            }
            for item in items
        ],
    }


def _not_free(
    row: dict[str, Any], one: ReportedPayment, own: Sequence[int], known: _Known, *, is_told: bool
) -> dict[str, Any]:
    """A row about items that other rows have taken, or about a correction that nobody paid here."""
    in_kind = one.payment_ids or _of_kind(own, _kinds(one), known)
    row |= {**_parts((in_kind or own)[:1], known), "parts": []}
    if is_told:
        told = _first_of(known.by_payment, [key for key in own if key not in known.now])
        if told:
            return _repeated(row, told[0])
        return _row(row, "matched", _("told of before"))
    if in_kind:
        note = _("the same payment left a second time")
        if known.items[in_kind[0]].currency != one.currency:
            foreign = _in_other_currency(one, known.items[in_kind[0]])
            return {**_row(row, "different", foreign), "differs": True}
        return _row(row, "twice", note, one.amount, one.fee or ZERO)
    row |= {"payment": None, "correction": known.items[own[0]].worker.pk, "ours": None}
    return _row(row, "different", _("not booked as paid here"), one.amount, one.fee or ZERO)


# Which payments a row pays ------------------------------------------------------------------------


def _kinds(one: ReportedPayment) -> Set[str]:
    """What a row may pay by its kind; without one, anything."""
    if one.pays_correction and not one.payment_ids:
        return {CORRECTION}
    return {one.kind} if one.kind else {Payment.What.BASE, Payment.What.BONUS, CORRECTION}


def _choose(one: ReportedPayment, free: Sequence[int], known: _Known) -> list[int]:
    """Choose what a row pays: what it names, else what comes to its amount, else the nearest.

    What is booked as paid comes before what is open, one payment before several together, and
    what was booked back since another file lacked it last.
    """
    if one.payment_ids:
        return _named(one, free, known)
    kinds = _kinds(one)
    in_kind = [key for key in free if known.items[key].kind in kinds]
    same = [key for key in free if known.items[key].currency == one.currency]
    back = [key for key in same if key in known.taken_back]
    done = [key for key in same if known.is_paid(key)]
    open_ = [key for key in same if key not in back and known.items[key].is_open]
    paid = [key for key in done if known.items[key].kind == CORRECTION]
    for pool in (_of_kind(done, kinds, known), paid, _of_kind(open_, kinds, known)):
        exact = [key for key in pool if known.items[key].ours == one.amount]
        if exact:
            return [min(exact, key=lambda key: known.items[key].kind != Payment.What.BASE)]
    any_kind = {*kinds, *(known.items[key].kind for key in same)} if known.is_by_hand else kinds
    for pool in (done, done + open_):
        for allowed in (kinds, any_kind):
            together = _adding_up(one.amount, _of_kind(pool, allowed, known), known)
            if together:
                return together
    rest = [key for key in in_kind if known.items[key].kind != CORRECTION]

    def rank(key: int) -> tuple[bool, bool, bool, bool, int]:
        item = known.items[key]
        is_back, differs = key in known.taken_back, item.ours != one.amount
        return is_back and differs, differs, item.is_open, item.kind != Payment.What.BASE, key

    nearest = [min(rest, key=rank)] if rest else []
    owed = _of_kind(done or open_, kinds, known) if known.is_by_hand else []
    chosen = [nearest, [key for key in owed if known.items[key].kind != CORRECTION]]
    return min(chosen, key=lambda keys: (not keys, abs(one.amount - _sum(keys, known))))


def _named(one: ReportedPayment, free: Sequence[int], known: _Known) -> list[int]:
    """The payments that a row names, and the correction that it pays beside them."""
    named = [key for key in one.payment_ids if key in free]
    rest = one.amount - sum((known.items[key].ours for key in named), ZERO)
    paid = [key for key in free if known.items[key].kind == CORRECTION]
    beside = [key for key in paid if known.items[key].ours == rest] if one.pays_correction else []
    return named + beside[:1]


def _sum(keys: Sequence[int], known: _Known) -> Decimal:
    return sum((known.items[key].ours for key in keys), ZERO)


def _of_kind(keys: Sequence[int], kinds: Set[str], known: _Known) -> list[int]:
    return [key for key in keys if known.items[key].kind in kinds]


def _adding_up(amount: Decimal, keys: Sequence[int], known: _Known) -> list[int]:
    """Several items that come to an amount: all, or the only choice of amounts that does.

    Of items with the same amount the first ones are taken.
    """
    keys = [key for key in keys if known.items[key].ours > 0]
    if len(keys) < 2:
        return []
    if sum((known.items[key].ours for key in keys), ZERO) == amount:
        return keys
    cache = tuple(keys)
    if cache not in known.sums:
        known.sums[cache] = _sums_of(keys, known)
    found = known.sums[cache].get(amount)
    return found if found and len(found) > 1 else []


def _sums_of(keys: Sequence[int], known: _Known) -> dict[Decimal, list[int] | None]:
    """By sum, the items that come to it; None where several choices of amounts do."""
    same: dict[Decimal, list[int]] = {}
    for key in keys:
        same.setdefault(known.items[key].ours, []).append(key)
    sums: dict[Decimal, list[int] | None] = {ZERO: []}
    for ours, own in same.items():
        added: dict[Decimal, list[int] | None] = {}
        for total, chosen in sums.items():
            for n in range(1, len(own) + 1):
                more = total + n * ours
                is_new = more not in sums and more not in added
                added[more] = chosen + own[:n] if is_new and chosen is not None else None
        sums |= added
        if len(sums) > MOST_SUMS:
            return {}
    return sums


def _told(one: ReportedPayment) -> dict[str, Any]:
    """A row of the file as it is kept, before it is known whose it is."""
    return {
        "line": one.line,
        "submission": one.submission,
        "participant": one.participant,
        "kind": one.kind,
        "amount": str(one.amount),
        "currency": one.currency,
        "fee": None if one.fee is None else str(one.fee),
        "paid_at": one.paid_at,
        "payments": one.payments,
        "worker": "",
        "payment": None,
        "ours": None,
        "waits": False,
    }


def _in_other_currency(one: ReportedPayment, item: _Item) -> str:
    return _("in %(currency)s, and ours is in %(ours)s; correct it by hand") % {
        "currency": one.currency,
        "ours": item.currency,
    }


def _compared(
    row: dict[str, Any], one: ReportedPayment, chosen: Sequence[int], known: _Known
) -> dict[str, Any]:
    """A row with its outcome beside what it pays."""
    items = [known.items[key] for key in chosen]
    if one.currency != items[0].currency:
        return {**_row(row, "different", _in_other_currency(one, items[0])), "differs": True}
    back = [known.taken_back[key] for key in chosen if key in known.taken_back]
    open_ = [item.payment for item in items if item.payment and item.is_open]
    row["waits"] = bool(open_)
    done = sum((known.items[key].ours for key in chosen if known.is_paid(key)), ZERO)
    fee = sum((known.fees.get(key, ZERO) for key in chosen if key not in known.taken_back), ZERO)
    more, more_fee = one.amount - done, ZERO if one.fee is None else one.fee - fee
    if back:
        note = _("booked back since %(taken_back)s lacked it") % {"taken_back": back[0]}
        return _row(row, "different", note, more, more_fee)
    if open_:
        state = str(open_[0].get_state_display()).lower()
        note = _("paid there, and here: %(state)s") % {"state": state}
        return _row(row, "different", note, more, more_fee)
    said = []
    if more:
        said.append(_("ours is %(ours)s") % {"ours": money(as_decimal(row["ours"]), one.currency)})
    if more_fee:
        said.append(
            _("fee %(fee)s, booked %(booked)s")
            % {"fee": money(one.fee, one.currency), "booked": money(fee, one.currency)}
        )
    return _row(row, "different" if said else "matched", "; ".join(said), more, more_fee)


def _missing(known: _Known, task: Task, days: Sequence[str], kinds: Set[str]) -> list[Payment]:
    """Payments that we hold for done, or sent, up to the file's last day, and that it lacks."""
    last = max((day[:10] for day in days), default="")
    payments = [item.payment for item in known.items.values() if item.payment]
    return [
        row
        for row in payments
        if row.pk not in known.taken | known.approved | known.taken_back.keys()
        and row.assignment.task_id == task.pk
        and row.what in kinds
        and row.state in (State.DONE, State.SENDING)
        and (not last or _day(row) <= last)
    ]


def _day(payment: Payment) -> str:
    moment = payment.done_at or payment.sent_at or payment.created_at
    return timezone.localtime(moment).date().isoformat()


def _lacking(payment: Payment, known: _Known) -> dict[str, Any]:
    done, ours = payment.state == State.DONE, known.items[payment.pk].ours
    row = {
        "line": None,
        "submission": "",
        "participant": "",
        "kind": payment.what,
        "amount": str(ours),
        "currency": payment.currency,
        "fee": None,
        "paid_at": "",
        "worker": payment.worker.pseudonym,
        "payment": payment.pk,
        "ours": str(ours),
        "waits": False,
    }
    note = (
        _("booked as paid %(day)s, and the file lacks it")
        if done
        else _("sent %(day)s, and the file lacks it")
    ) % {"day": _day(payment)}
    back = (-ours, -known.fees.get(payment.pk, ZERO)) if done else (ZERO, ZERO)
    return _row(row, "missing", note, *back)


def _row(
    row: dict[str, Any],
    outcome: str = "",
    note: str = "",
    more: Decimal = ZERO,
    more_fee: Decimal = ZERO,
) -> dict[str, Any]:
    """The row as it is kept; ``books``: there is something to book for it."""
    return {
        **row,
        "outcome": outcome or row["outcome"],
        "note": note,
        "more": str(more),
        "more_fee": str(more_fee),
        "books": bool(more or more_fee),
    }
