"""What judgments of a task cost, with the fee of its platform, and how long they take to come."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal

from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.authoring.selectors.builder.frame import Build
from annotation.models import Answer, Recruitment
from crowdqc.numbers import count, money, percent, plural

WEEK = dt.timedelta(days=7)


@dataclass(frozen=True)
class Price:
    """The pay of an assignment of so many judgments, the fee on it, and judgments a day."""

    pay: Decimal
    per_assignment: int
    fee: Decimal  # per cent
    currency: str
    a_day: float  # of the last week; 0 where none came

    def cost(self, judgments: int) -> Decimal:
        """Of whole assignments, fee included."""
        whole = math.ceil(judgments / max(1, self.per_assignment))
        return self.pay * whole * (1 + self.fee / 100)

    def days(self, judgments: int) -> int:
        """At the rate of the last week."""
        return math.ceil(judgments / self.a_day)

    def cells(self, judgments: int) -> list[str]:
        """Judgments, cost and, where a rate is known, days."""
        cells = [count(judgments), money(self.cost(judgments), self.currency)]
        return [*cells, count(self.days(judgments))] if self.a_day else cells

    def sentence(self, judgments: int) -> str:
        """What so many judgments take."""
        told = {
            "judgments": plural(judgments, "judgment"),
            "cost": money(self.cost(judgments), self.currency),
        }
        if not self.a_day:
            return _("That takes %(judgments)s for %(cost)s.") % told
        told |= {"days": plural(self.days(judgments), "day"), "rate": count(round(self.a_day))}
        return (
            _("That takes %(judgments)s for %(cost)s, about %(days)s at last week’s rate.") % told
        )

    @property
    def basis(self) -> str:
        """What the cost is made of."""
        told = {
            "pay": money(self.pay, self.currency),
            "n": plural(self.per_assignment, "pair"),
            "fee": percent(self.fee / 100, 1),
        }
        if self.fee:
            return (
                _("Cost: these pairs alone, %(pay)s per assignment of %(n)s, plus %(fee)s fee.")
                % told
            )
        return _("Cost: these pairs alone, %(pay)s per assignment of %(n)s, without fees.") % told


def price_of(build: Build) -> Price:
    """That of the version in the builder; the fee of the dearest way into the task that is open."""
    task = build.task
    fees = Recruitment.objects.filter(task=task, active=True).values_list("fee_percent", flat=True)
    came = Answer.objects.filter(
        item__task=task,
        stage=Answer.Stage.MAIN,
        worker__isnull=False,
        answered_at__gte=timezone.now() - WEEK,
    ).exclude(assignment__source="import")
    return Price(
        pay=build.version.pay,
        per_assignment=build.version.items_per_assignment,
        fee=max(fees, default=Decimal(0)),
        currency=task.project.currency,
        a_day=came.count() / WEEK.days,
    )
