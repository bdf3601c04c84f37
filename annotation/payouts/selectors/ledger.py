"""Reads of the ledger: its rows, filters, totals, and a task's last lines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Max, Min, QuerySet, Sum
from django.utils.translation import gettext as _

from annotation.models import LedgerEntry, Membership, Project, Role, Task
from annotation.models.payouts import OWED
from crowdqc.numbers import parse_whole, plural

ZERO = Decimal("0.00")


@dataclass(frozen=True)
class LedgerFilter:
    """A filter of the ledger; None or "" means all."""

    task_id: int | None = None
    worker_id: int | None = None
    month: str = ""  # 2026-11
    kind: str = ""

    @property
    def is_set(self) -> bool:
        """Whether some entries are left out, so that the shown ones do not balance accounts."""
        return self != LedgerFilter()


def parse_filter(raw: Mapping[str, str]) -> LedgerFilter:
    """The filter in a query string; what is not understood filters nothing."""

    def number(name: str) -> int | None:
        text = raw.get(name, "")
        return parse_whole(text)

    month = raw.get("month", "")
    kind = raw.get("kind", "")
    return LedgerFilter(
        number("task"),
        number("worker"),
        month if parse_month(month) else "",
        kind if kind in LedgerEntry.Kind.values else "",
    )


def parse_month(month: str) -> dt.date | None:
    """Return the first day of ``2026-11``, or None."""
    try:
        return dt.date.fromisoformat(f"{month}-01") if len(month) == 7 else None
    except ValueError:
        return None


def entries(project: Project, filters: LedgerFilter) -> QuerySet[LedgerEntry]:
    """The ledger's rows, the newest first, with everything a line names."""
    rows = project.ledger.select_related("task__current", "worker", "line__batch", "by")
    if filters.task_id:
        rows = rows.filter(task=filters.task_id)
    if filters.worker_id:
        rows = rows.filter(worker=filters.worker_id)
    if filters.kind:
        rows = rows.filter(kind=filters.kind)
    first = parse_month(filters.month)
    if first:
        after = (first.replace(day=28) + dt.timedelta(days=4)).replace(day=1)
        rows = rows.filter(at__date__gte=first, at__date__lt=after)
    return rows.order_by("-id")


def totals(rows: QuerySet[LedgerEntry]) -> list[dict[str, Any]]:
    """Entries and amount moved by currency, and what of it is owed to how many people."""
    return list(
        rows.order_by("currency")
        .values("currency")
        .annotate(
            entries=Count("pk"),
            owed=Sum("amount", filter=OWED),
            people=Count("worker", filter=OWED, distinct=True),
            amount=Sum("amount"),
        )
    )


def choices(project: Project) -> dict[str, list[Any]]:
    """Return the options of the ledger's filters: tasks, workers and months with entries."""
    return {
        "tasks": list(
            Task.objects.filter(ledger__project=project)
            .select_related("current")
            .distinct()
            .order_by("pk")
        ),
        "workers": list(
            Membership.objects.filter(ledger__project=project, role=Role.WORKER)
            .distinct()
            .order_by("pseudonym")
        ),
        "months": [f"{day:%Y-%m}" for day in project.ledger.dates("at", "month", order="DESC")],
    }


@dataclass(frozen=True)
class Booking:
    """Entries of one kind that one approval wrote, as one line."""

    first: int
    last: int
    at: dt.datetime
    what: str
    people: int
    amount: Decimal
    left: Decimal | None  # of the task's budget, after it; None without a budget
    by: str
    batch: int


def last_bookings(task: Task, limit: int = 6) -> list[Booking]:
    """The last lines of a task's ledger, oldest first, in two queries."""
    rows = list(
        task.ledger.owed()
        .order_by()
        .values("line__batch", "line__batch__number", "kind", "by__display_name", "by__username")
        .annotate(
            first=Min("pk"),
            last=Max("pk"),
            when=Max("at"),
            amount=Sum("amount"),
            n=Count("assignment", distinct=True),
            people=Count("worker", distinct=True),
        )
        .order_by("-first")[:limit]
    )
    left = None
    if task.budget is not None:
        left = task.budget - LedgerEntry.objects.cost_of(task)
    found = []
    for row in rows:
        name = _("Base") if row["kind"] == LedgerEntry.Kind.BASE else _("Bonus")
        found.append(
            Booking(
                first=row["first"],
                last=row["last"],
                at=row["when"],
                what=f"{name}, {plural(row['n'], 'assignment')}",
                people=row["people"],
                amount=row["amount"],
                left=left,
                by=row["by__display_name"] or row["by__username"],
                batch=row["line__batch__number"],
            )
        )
        if left is not None:
            left += row["amount"]
    return found[::-1]
