"""Reads of statements: what a file said, what became of each row, and what was booked for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.core.paginator import Paginator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Correction, LedgerEntry, Project, Recruitment, Statement
from annotation.payouts.actions.statements import is_matching, row_key
from annotation.payouts.selectors.statement_bookings import (
    booked_rows,
    payments_in,
    reversed_payments,
)
from crowdqc.money import as_decimal

PAGE = 50
ZERO = Decimal(0)
# What becomes of a row: its word, its mark, in the order in which the page offers them.
OUTCOMES = {
    "matched": (gettext_lazy("As here"), "done"),
    "different": (gettext_lazy("Different"), "warn"),
    "twice": (gettext_lazy("Paid twice"), "bad"),
    "unknown": (gettext_lazy("Unknown to us"), "warn"),
    "missing": (gettext_lazy("Not paid there"), "warn"),
}


PAID_THERE = gettext_lazy("Paid there, open here")


def count_outcomes(statement: Statement) -> list[tuple[str, str, str, int]]:
    """Count a statement's rows by outcome, each with its word and mark."""
    number = Counter(row["outcome"] for row in statement.rows)
    return [(key, str(word), mark, number[key]) for key, (word, mark) in OUTCOMES.items()]


def statements_of(project: Project) -> list[tuple[Statement, list[Any], int]]:
    """The project's statements, the newest first, with their outcomes and what is still open."""
    rows = list(
        Statement.objects.filter(task__project=project)
        .select_related("task__current", "recruitment", "by")
        .order_by("-pk")[:200]
    )
    booked = _Booked(rows)
    return [(row, count_outcomes(row), len(booked.open_rows(row))) for row in rows]


class _Booked:
    """What was booked for the rows of some statements of a project."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        projects = {one.task.project_id for one in statements}
        every = Statement.objects.filter(task__project__in=projects).order_by("pk")
        rows = booked_rows(list(every.values_list("pk", flat=True)))
        self.rows = rows
        self.reversed = reversed_payments(every.filter(pk__in=rows), rows) if rows else {}
        keys = [
            f"payment:{pk}"
            for one in statements
            for row in one.rows
            if row["waits"]
            for pk in payments_in(row)
        ]
        self.settled = dict(
            LedgerEntry.objects.filter(key__in=keys).values_list("key", "amount") if keys else ()
        )

    def is_booked(self, statement: Statement, place: int) -> bool:
        """Whether the books say by now what a row says."""
        row = statement.rows[place]
        if place in self.rows.get(statement.pk, ()):
            return True
        if row["outcome"] == "missing":
            return row["payment"] in self.reversed
        return row["waits"] and self._came_true(row)

    def _came_true(self, row: dict[str, Any]) -> bool:
        """Whether payments that had not left when the file was read are booked so by now."""
        keys = [f"payment:{pk}" for pk in payments_in(row)]
        parts = [part for part in row.get("parts") or () if part["payment"] is None]
        booked = sum((as_decimal(part["ours"]) for part in parts), ZERO)
        booked += sum((self.settled.get(key, ZERO) for key in keys), ZERO)
        return booked == as_decimal(row["amount"])

    def open_rows(self, statement: Statement) -> list[int]:
        """The places of rows for which there is something to book."""
        rows = enumerate(statement.rows)
        return [at for at, row in rows if row["books"] and not self.is_booked(statement, at)]


def open_rows(statement: Statement) -> list[int]:
    """Return the places of a statement's rows for which there is something to book."""
    return _Booked([statement]).open_rows(statement)


def ways_of(project: Project) -> list[tuple[str, str]]:
    """List what a statement may cover: a task's payments by hand, or those of one way into it."""
    tasks = project.tasks.filter(current__isnull=False).select_related("current").order_by("pk")
    ways: dict[int, list[Recruitment]] = {}
    for row in Recruitment.objects.filter(task__project=project).order_by("pk"):
        ways.setdefault(row.task_id, []).append(row)
    found = []
    for task in tasks:
        title = task.published_title
        found += [(f"{task.pk}-{way.pk}", f"{title}, {way.name}") for way in ways.get(task.pk, [])]
        found.append((str(task.pk), _("%(title)s, paid by hand") % {"title": title}))
    return found


def page_of(statement: Statement, *, show: str, number: Any) -> dict[str, Any]:
    """The statement's page: rows of one outcome or of all, with what was booked for them."""
    booked = _Booked([statement])
    waiting = statement.corrections.filter(state=Correction.State.PROPOSED)
    proposed = set(waiting.values_list("place", flat=True))
    rows = [
        {
            **row,
            "place": place,
            "word": PAID_THERE if is_matching(row) else OUTCOMES[row["outcome"]][0],
            "mark": OUTCOMES[row["outcome"]][1],
            "key": row_key(statement, place),
            "booked": booked.is_booked(statement, place),
            "proposed": place in proposed,
            "difference": _difference(row),
        }
        for place, row in enumerate(statement.rows)
    ]
    show = show if show in OUTCOMES else ""
    shown = [row for row in rows if not show or row["outcome"] == show]
    return {
        "statement": statement,
        "outcomes": count_outcomes(statement),
        "show": show,
        "rows": Paginator(shown, PAGE).get_page(number),
        "open": len(booked.open_rows(statement)),
        "matching": sum(
            is_matching(row) and not row["booked"] and not row["proposed"] for row in rows
        ),
    }


def _difference(row: dict[str, Any]) -> Decimal:
    """What the platform paid beyond what is ours; 0 where that is not known."""
    if row["outcome"] == "missing":
        return as_decimal(row["more"])
    if not row["amount"]:
        return ZERO
    told_of_nothing = row.get("status") and not row["payment"]
    if row["outcome"] in ("twice", "unknown") or told_of_nothing:
        return as_decimal(row["amount"])
    return as_decimal(row["amount"]) - as_decimal(row["ours"]) if row["ours"] else ZERO
