"""What more work on a task costs, with the fee of its platform, and how long it takes to come."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from django.utils.translation import gettext as _

from annotation.authoring.selectors.cost import (
    add_fee,
    documents_of,
    fee_percents,
    most_assignments,
    shown_items,
)
from annotation.authoring.selectors.forecast import read_paces
from annotation.models import Task, TaskVersion
from crowdqc.money import as_decimal, round_money
from crowdqc.numbers import money, percent, plural
from crowdqc.web.terms import Words
from evaluation.methods.core.params import Param, real_number

# Options of a plan: the pay of one answer, the platform's fee, and assignments per day.
PAY, FEE, A_DAY = "pay", "fee", "a_day"
UNITS = {FEE: "%"}
MOST_PAY, MOST_FEE, MOST_A_DAY = 10_000, 100, 100_000
EXACT_DIGITS = 6  # of the pay of one answer, where they do


@dataclass(frozen=True)
class Answers:
    """Answers to collect: ``n`` to ``items``, of which each gets at most ``per_item``.

    ``taken``: assignments of the same answers that are taken already.
    """

    n: int
    items: int
    per_item: int
    taken: int = 0

    @classmethod
    def fill_items(cls, per_item: int, items: int) -> Answers:
        """Make it of so many answers to every item."""
        return cls(per_item * items, items, per_item)


@dataclass(frozen=True)
class Price:
    """The pay of an assignment of so many answers, the fee on it, and answers a day."""

    pay: Decimal
    per_assignment: int
    fee: Decimal  # per cent
    currency: str
    a_day: float  # planned, else of late, by whole assignments; 0 where that is unknown
    is_planned: bool = False
    by_document: Fraction | None = None  # assignments an answer, where they end with documents

    @property
    def pay_per_answer(self) -> Decimal:
        """The pay of one answer: exact, or with digits enough for the pay of an assignment."""
        exact = self.pay / max(1, self.per_assignment)
        short = round(exact, EXACT_DIGITS)
        return short if short == exact else round(exact, 2 + len(str(self.per_assignment)))

    def cost(self, more: Answers) -> Decimal:
        """Return the highest price of so many answers in whole assignments, fee included."""
        return add_fee(self.pay * self.assignments(more), self.fee)

    def assignments(self, more: Answers) -> int:
        """Return the most assignments that so many answers take, where some are short."""
        if self.by_document is not None:
            return math.ceil(more.n * self.by_document)
        return most_assignments(
            more.n,
            items=more.items,
            size=max(1, self.per_assignment),
            workers=more.per_item,
            taken=more.taken,
        )

    def days(self, more: Answers) -> int:
        """Return the days that the assignments of so many answers take at this pace."""
        per_day = self.a_day / max(1, self.per_assignment)
        return math.ceil(round(self.assignments(more) / per_day, 6))

    def options(self, label: Words) -> tuple[Param, ...]:
        """Return the options of a plan: the pay of one answer (``label``), fee and pace."""
        usual = self.pay_per_answer
        pace = round(self.a_day / max(1, self.per_assignment), 1) or None
        source = _("As planned.") if self.is_planned else _("As in the last 7 days.")
        return (
            real_number(PAY, float(usual), 0, MOST_PAY, label=str(label)),
            real_number(FEE, float(self.fee), 0, MOST_FEE, label=_("Platform fee")),
            real_number(
                A_DAY,
                pace,
                0.1,
                MOST_A_DAY,
                label=_("Assignments per day"),
                help=source if pace else "",
            ),
        )

    def given(self, values: Mapping[str, Any]) -> Price:
        """Return the price with the values of a plan's options, to the cent of an assignment."""
        per, pace = max(1, self.per_assignment), values[A_DAY]
        return replace(
            self,
            pay=round_money(as_decimal(values[PAY]) * per),
            fee=as_decimal(values[FEE]),
            a_day=(pace or 0) * per,
        )

    def terms(self, more: Answers) -> str:
        """The cost with its factors: assignments, the pay of each, and the fee."""
        cost = money(self.cost(more), self.currency)
        if not self.pay:
            return cost
        values = {
            "cost": cost,
            "assignments": plural(self.assignments(more), "assignment"),
            "pay": money(self.pay, self.currency),
            "fee": percent(self.fee / 100, 1),
        }
        if self.fee:
            return _("%(cost)s (%(assignments)s ×\u00a0%(pay)s + %(fee)s fee)") % values
        return _("%(cost)s (%(assignments)s ×\u00a0%(pay)s)") % values

    def limit(self, more: Answers) -> str:
        """The highest cost of so many answers, and the days where a pace is known."""
        values = {"cost": self.terms(more)}
        if not self.a_day:
            return _("at most %(cost)s") % values
        values["days"] = plural(self.days(more), "day")
        return _("at most %(cost)s, %(days)s") % values


def price_of(task: Task, version: TaskVersion) -> Price:
    """Return the price of a version, with the highest fee of the task's open recruitments."""
    # By whole assignments: counting a week's answers took a third of a large board's time.
    pace = task.planned_per_day or read_paces([task]).get(task.pk, 0.0)
    documents = documents_of([task], {task.pk: version}).get(task.pk, 0)
    items = shown_items(task.items.filter(expected__isnull=True)).count() if documents else 0
    return Price(
        pay=version.pay,
        per_assignment=version.items_per_assignment,
        fee=fee_percents([task]).get(task.pk, Decimal(0)),
        currency=task.project.currency,
        a_day=pace * version.items_per_assignment,
        is_planned=task.planned_per_day is not None,
        by_document=Fraction(documents, items) if items else None,
    )
