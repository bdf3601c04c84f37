"""Reads about what has to be paid, by whom, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.utils.translation import gettext, gettext_lazy

from annotation.models import LedgerEntry, Payment, Project, Recruitment, Statement, Task
from annotation.payouts.actions.reasons import PROLIFIC_CATEGORIES
from annotation.payouts.details.selectors import PROLIFIC, hand_refusals_open
from annotation.payouts.selectors.accounts import ZERO
from annotation.payouts.selectors.balance import by_hand as by_hand_groups
from annotation.payouts.selectors.balance import hand_totals
from annotation.payouts.selectors.payable import Payable, payable
from annotation.payouts.selectors.statement_bookings import (
    amount_paid,
    corrections_by_payment,
    payment_entries,
)
from crowdqc.errors import Invalid, Missing
from crowdqc.web.terms import Words

State = Payment.State
# What a person sees -> the states behind it.
VIEWS = {
    "all": (gettext_lazy("All"), tuple(State.values)),
    "look": (gettext_lazy("To look at"), (State.UNCLEAR, State.FAILED)),
    "by_hand": (gettext_lazy("By hand"), (State.BY_HAND,)),
    "sending": (gettext_lazy("Being sent"), (State.PLANNED, State.PREPARED, State.SENDING)),
    "done": (gettext_lazy("Confirmed"), (State.DONE,)),
}
MARKS = {
    State.PLANNED: "waiting",
    State.PREPARED: "waiting",
    State.SENDING: "running",
    State.DONE: "done",
    State.FAILED: "bad",
    State.UNCLEAR: "warn",
    State.BY_HAND: "draft",
}


def of_project(project: Project) -> QuerySet[Payment]:
    """Return the project's payments, newest first."""
    return (
        Payment.objects.filter(assignment__task__project=project)
        .select_related("worker", "line__batch", "assignment__task__current", "recruitment")
        .select_related("assignment__visit")
        .order_by("-pk")
    )


def in_view(rows: QuerySet[Payment], view: str) -> QuerySet[Payment]:
    """Return the payments that belong to a view such as "to do" or "paid"."""
    return rows.filter(state__in=VIEWS[view][1])


@dataclass(frozen=True)
class View:
    """One view with how much is in it."""

    slug: str
    label: Words
    number: int
    amount: Decimal


def views(project: Project, due: Payable) -> list[View]:
    """Return every view of payments with its number and what is still to be paid of them."""
    rows = Payment.objects.filter(assignment__task__project=project)
    parts = {slug: Q(state__in=found) for slug, (_, found) in VIEWS.items()}
    numbers = rows.aggregate(
        **{f"n_{slug}": Count("pk", filter=part) for slug, part in parts.items()},
        **{f"s_{slug}": Sum("amount", filter=part) for slug, part in parts.items()},
    )
    amounts = {slug: numbers[f"s_{slug}"] or ZERO for slug in VIEWS}
    asked = {own: amount for own, amount, _held in hand_totals(by_hand_groups(project, due))}
    amounts["by_hand"] = asked.get(project.currency, ZERO)
    return [View(slug, VIEWS[slug][0], numbers[f"n_{slug}"], amounts[slug]) for slug in VIEWS]


def show_amounts(rows: Iterable[Any], project: Project, due: Payable) -> list[LedgerEntry]:
    """Set on payments ``shown``, what was paid or is still to be paid, and what changed it.

    Return the entries of what workers were paid besides: with all payments they add up to what
    the accounts say was paid. Those of corrections have ``shown`` too.
    """
    corrected = corrections_by_payment(project)
    keys = {f"payment:{row.pk}" for row in rows}
    booked = dict(project.ledger.filter(key__in=keys).values_list("key", "amount"))
    for row in rows:
        done = row.state == State.DONE
        row.corrections = corrected.get(row.pk, [])
        row.corrected = sum((one.amount for one in row.corrections), ZERO)
        row.shown = booked.get(f"payment:{row.pk}", ZERO) if done else due.amount_due(row)
        row.shown += row.corrected
        row.is_taken_back = done and row.corrected < 0 and not row.shown
        row.held_by = due.held.get(row.pk)
    in_rows = {one.entry.pk for own in corrected.values() for one in own}
    besides = payment_entries(project).exclude(pk__in=in_rows).exclude(key__startswith="payment:")
    found = list(besides.select_related("worker").order_by("-pk"))
    for entry in found:
        entry.shown = amount_paid(entry)  # type: ignore[attr-defined]
    return found


def get_payment(project: Project, pk: int) -> Payment:
    """One payment of the project, or Missing."""
    found = of_project(project).filter(pk=pk).first()
    if found is None:
        raise Missing(gettext("There is no such payment in this project."))
    return found


def by_hand(project: Project) -> QuerySet[Payment]:
    """What waits to be done by hand on a platform, the oldest first; not what was paid there."""
    rows = of_project(project).filter(
        state=State.BY_HAND, recruitment__kind=Recruitment.Kind.PROLIFIC
    )
    rows = rows.exclude(pk__in=payable(project).held)
    return rows.order_by("pk")


def approve_lines(project: Project) -> Iterator[list[object]]:
    """Submissions to approve on a platform, one a line, as its site takes them."""
    rows = by_hand(project).filter(what=Payment.What.BASE)
    for row in rows.select_related("assignment__visit"):
        yield [row.assignment.visit.session or row.assignment.visit.participant]


def bonus_lines(project: Project) -> Iterator[list[object]]:
    """``participant,amount`` of bonuses, as Prolific's site takes them."""
    rows, due = by_hand(project).filter(what=Payment.What.BONUS), payable(project)
    for row in rows.select_related("assignment__visit"):
        if due.amount_due(row):
            yield [row.assignment.visit.participant, f"{due.amount_due(row):.2f}"]
    for one in due.corrections:
        if one.way == PROLIFIC:
            yield [one.participant, f"{one.amount:.2f}"]


def reject_lines(project: Project) -> Iterator[list[object]]:
    """Submissions to reject on Prolific, each with its category there and the worker's reason."""
    yield ["submission_id", "category", "message"]
    open_ = hand_refusals_open().values("pk")
    for row in by_hand(project).filter(pk__in=open_).select_related("assignment__visit", "line"):
        visit = row.assignment.visit
        category = PROLIFIC_CATEGORIES.get(row.line.reason_code, "OTHER")
        yield [visit.session or visit.participant, category, row.line.reason]


FILES = {
    "approve": (gettext_lazy("Submissions to approve"), approve_lines),
    "reject": (gettext_lazy("Submissions to reject"), reject_lines),
    "bonus": (gettext_lazy("Bonuses"), bonus_lines),
}


def payments_of(project: Project, state: str = "") -> QuerySet[Payment]:
    """A project's payments with what a row names; ``state`` "" means all."""
    if state and state not in Payment.State.values:
        raise Invalid(
            gettext("There is no such state."), fields={"state": ", ".join(Payment.State.values)}
        )
    rows = Payment.objects.filter(assignment__task__project=project)
    rows = rows.filter(state=state) if state else rows
    return rows.select_related("worker", "line__batch", "recruitment")


def statements_of(task: Task) -> QuerySet[Statement]:
    """Return the statements that were checked against the task's books."""
    return Statement.objects.filter(task=task)


def get_recruitment_of_task(task: Task, recruitment_id: int) -> Recruitment:
    """Return a recruitment of the task, or raise Missing."""
    found = Recruitment.objects.filter(task=task, pk=recruitment_id).first()
    if found is None:
        raise Missing(gettext("It is not a way into this task."))
    return found
