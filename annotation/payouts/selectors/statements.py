"""Reads of statements: what a file said, what became of each row, and what was booked for it."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

from django.core.paginator import Paginator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Correction, Payment, Project, Recruitment, Statement
from annotation.payouts.selectors.statement_bookings import StatementBookings, row_key
from crowdqc.money import as_decimal
from crowdqc.numbers import mid_sentence

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


def count_outcomes(
    statement: Statement, booked: StatementBookings
) -> list[tuple[str, str, str, int]]:
    """Count a statement's rows by outcome, each with its word and mark."""
    number = Counter(_outcome(statement, at, booked) for at in range(len(statement.rows)))
    return [(key, str(word), mark, number[key]) for key, (word, mark) in OUTCOMES.items()]


def statements_of(project: Project) -> list[tuple[Statement, list[Any], int]]:
    """The project's statements, the newest first, with their outcomes and what is still open."""
    rows = list(
        Statement.objects.filter(task__project=project)
        .select_related("task__current", "recruitment", "by")
        .order_by("-pk")[:200]
    )
    booked = StatementBookings(rows)
    return [(row, count_outcomes(row, booked), len(booked.open_rows(row))) for row in rows]


def open_rows(statement: Statement) -> list[int]:
    """Return the places of a statement's rows for which there is something to book."""
    return StatementBookings([statement]).open_rows(statement)


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
    booked = StatementBookings([statement])
    rows = [_row_of(statement, place, booked) for place in range(len(statement.rows))]
    waiting = Correction.objects.filter(
        state=Correction.State.PROPOSED, statement__in=booked.statements
    )
    proposed = set(waiting.values_list("statement", "place"))
    for row in rows:
        source, place = booked.origin(statement, row["place"])
        row["proposed"] = (source.pk, place) in proposed
    show = show if show in OUTCOMES else ""
    shown = [row for row in rows if not show or row["outcome"] == show]
    return {
        "statement": statement,
        "lacks_fees": any(row.get("status") for row in statement.rows),
        "outcomes": count_outcomes(statement, booked),
        "show": show,
        "rows": Paginator(shown, PAGE).get_page(number),
        "open": len(booked.open_rows(statement)),
        "matching": sum(
            row["matching"] and not row["booked"] and not row["proposed"] for row in rows
        ),
    }


def _outcome(statement: Statement, place: int, booked: StatementBookings) -> str:
    """A row's outcome; of one that only repeats an earlier file's, what became of that."""
    row = statement.rows[place]
    is_settled = row.get("before") and booked.is_booked(statement, place)
    return "matched" if is_settled else str(row["outcome"])


def _row_of(statement: Statement, place: int, booked: StatementBookings) -> dict[str, Any]:
    """A row as its page shows it."""
    row, outcome = statement.rows[place], _outcome(statement, place, booked)
    matching = booked.is_matching(statement, place) and outcome != "matched"
    is_booked = booked.is_booked(statement, place)
    return {
        **row,
        "paid_for": mid_sentence(Payment.WORDS.get(row["kind"], row["kind"])),
        "outcome": outcome,
        "place": place,
        "word": PAID_THERE if matching else OUTCOMES[outcome][0],
        "mark": OUTCOMES[outcome][1],
        "key": row_key(statement.pk, place),
        "booked": is_booked and not row.get("before"),
        "books": booked.can_book(statement, place),
        "is_undecided": booked.is_undecided(statement, place),
        "matching": matching,
        "difference": ZERO if matching or outcome == "matched" else _difference(row),
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
