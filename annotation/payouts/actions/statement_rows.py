"""Rows of a statement against the payments of a task: which is which, and what differs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import (
    Assignment,
    LedgerEntry,
    Membership,
    Payment,
    Recruitment,
    Role,
    Statement,
    Task,
    Visit,
)
from annotation.models.decisions import Decision, with_decision
from annotation.payouts.statement_file import Reported, ReportedPayment, ReportedSubmission
from crowdqc.money import as_decimal
from crowdqc.numbers import money

ZERO = Decimal("0.00")
State = Payment.State


@dataclass
class _Known:
    """What the books hold, and which payments a row has taken already."""

    task: Task
    payments: dict[int, Payment] = field(default_factory=dict)
    of_assignment: dict[int, list[int]] = field(default_factory=dict)  # assignment -> payments
    submissions: dict[str, list[int]] = field(default_factory=dict)  # their name -> assignments
    participants: dict[str, list[int]] = field(default_factory=dict)
    people: dict[str, str] = field(default_factory=dict)  # participant -> pseudonym
    titles: dict[int, str] = field(default_factory=dict)  # of the project's tasks
    works: dict[int, Any] = field(default_factory=dict)  # assignments, with what was decided
    fees: dict[int, Decimal] = field(default_factory=dict)  # payment -> fee that is booked
    before: dict[tuple[str, ...], list[dict[str, Any]]] = field(default_factory=dict)
    before_elsewhere: dict[tuple[str, ...], list[dict[str, Any]]] = field(default_factory=dict)
    unapproved: dict[str, dict[str, Any]] = field(default_factory=dict)  # submission -> its row
    taken_back: dict[int, str] = field(default_factory=dict)  # booked back, as a file lacked it
    taken: set[int] = field(default_factory=set)

    def is_base(self, pk: int) -> bool:
        """Whether a payment is base pay."""
        return self.payments[pk].what == Payment.What.BASE

    def is_elsewhere(self, payment: Payment) -> bool:
        """Whether a payment belongs to another task of the project."""
        return payment.assignment.task_id != self.task.pk

    def assignments_of(self, one: ReportedPayment | ReportedSubmission) -> list[int]:
        """The assignments that a row may be about."""
        found = self.submissions.get(one.submission) or self.participants.get(one.participant)
        return found or []

    def add(self, payments: Iterable[Payment], *, named: bool) -> None:
        """Note payments; with ``named`` the rows name them by assignment or worker."""
        for row in payments:
            self.payments[row.pk] = row
            self.of_assignment.setdefault(row.assignment_id, []).append(row.pk)
            if named:
                _add(self.submissions, str(row.assignment_id), row.assignment_id)
                _add(self.participants, row.worker.pseudonym, row.assignment_id)
                _add(self.participants, row.worker.external_id, row.assignment_id)


def hold_against(
    task: Task, recruitment: Recruitment | None, reported: Reported
) -> list[dict[str, Any]]:
    """What becomes of every row, and behind them a row for each payment that the file lacks.

    A row may name work or a worker of another task of the project. A file of submissions tells
    of base pay alone.
    """
    known = _known(task, recruitment, reported)
    rows, days, kinds = [], [], {str(Payment.What.BASE)}
    for one in reported:
        if isinstance(one, ReportedSubmission):
            rows.append(_held_submission(one, known))
            days.append(one.at)
        else:
            rows.append(_held(one, known))
            days.append(one.paid_at)
            kinds.add(str(Payment.What.BONUS))
    return rows + [_lacking(one, known) for one in _missing(known, days, kinds)]


def is_unapproved(row: Mapping[str, Any]) -> bool:
    """Whether a row tells of work that was paid there and that nobody had approved here."""
    return bool(row.get("assignment")) and not row["payment"]


def refresh_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows as decisions since then have made them.

    Work that was paid there without an approval here is booked as such once it is rejected;
    once it is approved, the row is about its payment.
    """
    rows = list(rows)
    ids = {row["assignment"] for row in rows if is_unapproved(row)}
    if not ids:
        return rows
    base = Payment.objects.filter(assignment__in=ids, what=Payment.What.BASE, amount__gt=0)
    payments = {one.assignment_id: one for one in base.filter(line__live=True)}
    works = with_decision(Assignment.objects.filter(pk__in=ids))
    decisions = dict(works.values_list("pk", "decision"))
    return [
        _refreshed(row, payments.get(row["assignment"]), decisions[row["assignment"]])
        if is_unapproved(row)
        else row
        for row in rows
    ]


def _refreshed(row: dict[str, Any], payment: Payment | None, decision: str) -> dict[str, Any]:
    books = not row["again"] and bool(as_decimal(row["more"]) or as_decimal(row["more_fee"]))
    if payment is None:
        rejected = decision == Decision.REJECTED
        return {**row, "undecided": not rejected, "books": books and rejected}
    ours = str(payment.amount)
    return {**row, "payment": payment.pk, "ours": ours, "waits": True, "books": books}


def _held_submission(one: ReportedSubmission, known: _Known) -> dict[str, Any]:
    """One submission of the file with its outcome, and what there is to book."""
    ids, currency = known.assignments_of(one), known.task.project.currency
    work = known.works[ids[0]] if len(ids) == 1 else None
    if one.is_approved:
        pay = work.pay if work else _reward(known.task)
        row = _held(one.payment(pay, currency), known, once=True)
        if not pay:
            row["amount"] = ""
        return {**row, "status": one.status}
    row = {
        **_told(one.payment(ZERO, currency)),
        "amount": "",
        "status": one.status,
        "worker": work.worker.pseudonym if work else known.people.get(one.participant, ""),
    }
    if work is None:
        return _row(row, "matched", _("nobody known here came by this submission"))
    base = [pk for pk in known.of_assignment.get(work.pk, []) if known.is_base(pk)]
    word = str(Decision(work.decision).label).lower()
    done = [known.payments[pk] for pk in base if known.payments[pk].state == State.DONE]
    if done:
        known.taken.add(done[0].pk)
        lacks = _lacking(done[0], known)
        names = {name: row[name] for name in ("line", "submission", "participant", "status")}
        note = _("not approved there, and here: %(state)s") % {"state": word}
        return {**lacks, **names, "note": note}
    known.taken.update(base)
    differs = {
        "REJECTED": work.decision != Decision.REJECTED,
        "AWAITING REVIEW": work.decision == Decision.REJECTED,
    }.get(one.status, work.decision != Decision.NONE)
    note = _("here: %(state)s") % {"state": word}
    return _row(row, "different" if differs else "matched", note)


def _reward(task: Task) -> Decimal:
    """What a submission that nobody here knows was paid: the reward of the study."""
    return task.current.pay if task.current else ZERO


def _known(task: Task, recruitment: Recruitment | None, reported: Reported) -> _Known:
    payments = (
        Payment.objects.filter(
            assignment__task__project=task.project_id,
            amount__gt=0,
            what__in=(Payment.What.BASE, Payment.What.BONUS),
        )
        .select_related("worker", "assignment")
        .order_by("pk")
    )
    known, by_hand = _Known(task), recruitment is None
    known.titles = dict(task.project.tasks.values_list("pk", "current__title"))
    known.add(payments.filter(assignment__task=task, recruitment=recruitment), named=by_hand)
    visits = Visit.objects.filter(recruitment=recruitment, assignment__isnull=False)
    for session, participant, pk in visits.values_list("session", "participant", "assignment"):
        _add(known.submissions, session, pk)
        _add(known.participants, participant, pk)
    if reported:
        if recruitment is None:
            _name_by_hand(known, payments.filter(recruitment=None), reported)
        else:
            _name_visits(known, payments, recruitment, reported)
        ids = {pk for one in reported for pk in known.assignments_of(one)}
        works = Assignment.objects.filter(pk__in=ids)
        known.works = {row.pk: row for row in with_decision(works.select_related("worker"))}
    known.fees = _fees({row.assignment.task_id for row in known.payments.values()} | {task.pk})
    _remember(known, recruitment)
    return known


def _name_by_hand(known: _Known, payments: QuerySet[Payment], reported: Reported) -> None:
    """What rows name beyond the task's payments by hand: work and workers of the project."""
    numbers = {int(one.submission) for one in reported if _is_number(one.submission)}
    names = {one.participant for one in reported if one.participant}
    named = Q(worker__pseudonym__in=names) | Q(worker__external_id__in=names)
    elsewhere = payments.exclude(assignment__task=known.task)
    known.add(elsewhere.filter(named | Q(assignment__in=numbers)), named=True)
    works = Assignment.objects.filter(pk__in=numbers, task__project=known.task.project_id)
    for pk in works.filter(visit=None).values_list("pk", flat=True):
        _add(known.submissions, str(pk), pk)
    members = Membership.objects.filter(project=known.task.project_id, role=Role.WORKER)
    called = members.filter(Q(pseudonym__in=names) | Q(external_id__in=names))
    for pseudonym, external_id in called.values_list("pseudonym", "external_id"):
        known.people |= dict.fromkeys({external_id, pseudonym} & names, pseudonym)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 15


def _name_visits(
    known: _Known, payments: QuerySet[Payment], recruitment: Recruitment, reported: Reported
) -> None:
    """What rows name beyond the study: submissions and participants of the project's others."""
    sessions = {one.submission for one in reported} - known.submissions.keys() - {""}
    names = {one.participant for one in reported} - known.participants.keys() - {""}
    alone = {one.participant for one in reported if not one.submission} & names
    visits = (
        Visit.objects.filter(recruitment__task__project=known.task.project_id)
        .exclude(recruitment=recruitment)
        .filter(Q(session__in=sessions) | Q(participant__in=names))
    )
    found = set()
    for session, participant, pk, pseudonym in visits.values_list(
        "session", "participant", "assignment", "worker__pseudonym"
    ):
        known.people[participant] = pseudonym
        if pk and session in sessions:
            _add(known.submissions, session, pk)
            found.add(pk)
        if pk and participant in alone:
            _add(known.participants, participant, pk)
            found.add(pk)
    known.add(payments.filter(assignment__in=found), named=False)


def reversing_statement(statement: Statement, payment_id: int) -> str:
    """Return the file since which this payment is reversed, or ""."""
    known = _known(statement.task, statement.recruitment, [])
    return known.taken_back.get(payment_id, "")


def _remember(known: _Known, recruitment: Recruitment | None) -> None:
    """Note rows of earlier files: the same row again is no second payment.

    Files of other tasks are remembered for the payments that they share with this one.
    """
    statements = Statement.objects.filter(task__project=known.task.project_id)
    statements = (
        statements.filter(recruitment=None)
        if recruitment is None
        else statements.filter(recruitment__kind=recruitment.kind)
    )
    keys = LedgerEntry.objects.filter(
        project=known.task.project_id, kind=LedgerEntry.Kind.CORRECTION
    )
    booked = set(keys.filter(key__startswith="statement:").values_list("key", flat=True))
    for statement in statements.order_by("pk"):
        own = (statement.task_id, statement.recruitment_id) == (
            known.task.pk,
            recruitment.pk if recruitment else None,
        )
        _remember_rows(statement, known, booked, own=own)


def _remember_rows(statement: Statement, known: _Known, booked: set[str], *, own: bool) -> None:
    told: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for place, row in enumerate(statement.rows):
        if row["outcome"] == "missing":
            if f"statement:{statement.pk}:{place}" in booked:
                known.taken_back[row["payment"]] = statement.name
            continue
        if not own and row["payment"] not in known.payments:
            continue
        named = {**row, "statement": statement.name}
        if _is_paid_unapproved(row):
            known.unapproved.setdefault(row["submission"] or row["participant"], named)
        if row.get("status") and not row["payment"]:
            continue  # it told of no payment
        identity = tuple(row[name] for name in IDENTITY)
        told.setdefault(identity, []).append(named)
        if row["payment"] and row["outcome"] in ("matched", "different"):
            known.taken.add(row["payment"])
            known.taken_back.pop(row["payment"], None)
    before = known.before if own else known.before_elsewhere
    for identity, rows in told.items():
        if len(rows) > len(before.get(identity, ())):
            before[identity] = rows


def _is_paid_unapproved(row: Mapping[str, Any]) -> bool:
    paid = row["outcome"] in ("unknown", "different") and not row["payment"]
    return bool(paid and row["kind"] == Payment.What.BASE and as_decimal(row["amount"] or 0))


IDENTITY = ("submission", "participant", "kind", "amount", "currency", "paid_at")


def _add(into: dict[str, list[int]], name: str, pk: int) -> None:
    if name and pk not in into.setdefault(name, []):
        into[name].append(pk)


def _fees(tasks: Iterable[int]) -> dict[int, Decimal]:
    rows = (
        LedgerEntry.objects.filter(
            task__in=tasks, kind=LedgerEntry.Kind.FEE, key__startswith="fee:"
        )
        .order_by()
        .values_list("key")
        .annotate(s=Sum("amount"))
    )
    return {int(key.removeprefix("fee:")): amount for key, amount in rows}


def _held(one: ReportedPayment, known: _Known, *, once: bool = False) -> dict[str, Any]:
    """One row of the file with its outcome, in words, and what there is to book.

    ``once``: it is a submission, which is paid once whatever tells of it.
    """
    row = _told(one)
    own = _payments_of(one, known)
    free = [pk for pk in own if pk not in known.taken]
    again = known.before.get(one.identity)
    if not again and not any(_is_same(known.payments[pk], one, known) for pk in free):
        again = known.before_elsewhere.get(one.identity)
    if again:
        return _said_before(row, again.pop(0))
    if not own:
        return _unapproved(row, one, known, once=once)
    payment = known.payments[_best(free, one, known) if free else own[0]]
    row |= {"payment": payment.pk, "worker": payment.worker.pseudonym, "ours": str(payment.amount)}
    if known.is_elsewhere(payment):
        row["elsewhere"] = known.titles[payment.assignment.task_id]
    if not free:
        note = _("the same payment left a second time")
        return _row(row, "twice", note, one.amount, one.fee or ZERO)
    known.taken.add(payment.pk)
    row["waits"] = payment.state != State.DONE and one.currency == payment.currency
    if payment.pk in known.taken_back:
        note = _("booked back since %(taken_back)s lacked it") % {
            "taken_back": known.taken_back[payment.pk]
        }
        return _row(row, "different", note, one.amount, one.fee or ZERO)
    return _row(row, *_compared(one, payment, known.fees.get(payment.pk, ZERO)))


def _said_before(row: dict[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """A row that an earlier file told of as well: it books nothing."""
    names = ("outcome", "payment", "ours", "worker", "assignment", "elsewhere")
    same = {name: told[name] for name in names if name in told}
    note = _("as %(statement)s said before: %(note)s") % {
        "statement": told["statement"],
        "note": told["note"],
    }
    return _row({**row, **same, "again": True}, note=note)


def _unapproved(
    row: dict[str, Any], one: ReportedPayment, known: _Known, *, once: bool
) -> dict[str, Any]:
    """A row of which the books hold no payment: what left is a difference all the same."""
    ids, fee, base = known.assignments_of(one), one.fee or ZERO, one.kind == Payment.What.BASE
    work = known.works[ids[0]] if len(ids) == 1 else None
    row["worker"] = work.worker.pseudonym if work else known.people.get(one.participant, "")
    told = known.unapproved.get(one.submission or one.participant) if base else None
    if told and (once or told.get("status")):
        return _said_before(row, told)
    foreign = one.currency != known.task.project.currency
    more = (ZERO, ZERO) if foreign else (one.amount, fee)
    if work is None or not base:
        note = _("the books hold no such payment")
        return _row(row, "unknown", note, *more)
    state = str(Decision(work.decision).label).lower()
    if not one.amount:
        return _row(row, "matched", _("here: %(state)s") % {"state": state})
    row |= {"assignment": work.pk, "task": work.task_id}
    if work.task_id != known.task.pk:
        row["elsewhere"] = known.titles[work.task_id]
    row = _row(row, "different", _("paid there, and here: %(state)s") % {"state": state}, *more)
    return {**row, "books": row["books"] and work.decision == Decision.REJECTED}


def _is_same(payment: Payment, one: ReportedPayment, known: _Known) -> bool:
    """Whether a row tells of this payment of the task, to the cent."""
    return payment.amount == one.amount and not known.is_elsewhere(payment)


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
        "worker": "",
        "payment": None,
        "ours": None,
        "waits": False,
        "assignment": None,  # of work that was paid there, and not approved here
        "elsewhere": "",  # the title of another task that it is about
        "again": False,
    }


def _payments_of(one: ReportedPayment, known: _Known) -> list[int]:
    return [
        pk
        for assignment in known.assignments_of(one)
        for pk in known.of_assignment.get(assignment, [])
        if known.payments[pk].what == one.kind
    ]


def _best(free: Iterable[int], one: ReportedPayment, known: _Known) -> int:
    """Choose one of several payments: of the same amount, of this task, and rather a paid one."""

    def rank(pk: int) -> tuple[bool, bool, bool, int]:
        row = known.payments[pk]
        return row.amount != one.amount, known.is_elsewhere(row), row.state != State.DONE, pk

    return min(free, key=rank)


def _compared(
    one: ReportedPayment, payment: Payment, fee: Decimal
) -> tuple[str, str, Decimal, Decimal]:
    ours = payment.amount
    if one.currency != payment.currency:
        note = _("in %(currency)s, and ours is in %(ours)s; correct it by hand") % {
            "currency": one.currency,
            "ours": payment.currency,
        }
        return "different", note, ZERO, ZERO
    if payment.state != State.DONE:
        state = payment.get_state_display().lower()
        return (
            "different",
            _("paid there, and here: %(state)s") % {"state": state},
            one.amount,
            one.fee or ZERO,
        )
    more, more_fee = one.amount - ours, ZERO if one.fee is None else one.fee - fee
    said = []
    if more:
        said.append(_("ours is %(ours)s") % {"ours": money(ours, payment.currency)})
    if more_fee:
        said.append(
            _("fee %(fee)s, booked %(booked)s")
            % {"fee": money(one.fee, one.currency), "booked": money(fee, one.currency)}
        )
    return "different" if said else "matched", "; ".join(said), more, more_fee


def _missing(known: _Known, days: Sequence[str], kinds: Set[str]) -> list[Payment]:
    """Payments that we hold for done, or sent, up to the file's last day, and that it lacks."""
    last = max((day[:10] for day in days), default="")
    return [
        row
        for row in known.payments.values()
        if row.pk not in known.taken
        and not known.is_elsewhere(row)
        and row.what in kinds
        and row.state in (State.DONE, State.SENDING)
        and (not last or _day(row) <= last)
    ]


def _day(payment: Payment) -> str:
    moment = payment.done_at or payment.sent_at or payment.created_at
    return timezone.localtime(moment).date().isoformat()


def _lacking(payment: Payment, known: _Known) -> dict[str, Any]:
    done = payment.state == State.DONE
    row = {
        "line": None,
        "submission": "",
        "participant": "",
        "kind": payment.what,
        "amount": str(payment.amount),
        "currency": payment.currency,
        "fee": None,
        "paid_at": "",
        "worker": payment.worker.pseudonym,
        "payment": payment.pk,
        "ours": str(payment.amount),
        "waits": False,
        "assignment": None,
        "elsewhere": "",
        "again": False,
    }
    note = (
        _("booked as paid %(day)s, and the file lacks it")
        if done
        else _("sent %(day)s, and the file lacks it")
    ) % {"day": _day(payment)}
    back = (-payment.amount, -known.fees.get(payment.pk, ZERO)) if done else (ZERO, ZERO)
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
