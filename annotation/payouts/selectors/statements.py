"""Reads of statements: what a file said, what became of each row, and what was booked for it."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

from django.core.paginator import Paginator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Correction, LedgerEntry, Project, Recruitment, Statement
from annotation.payouts.actions.statements import is_matching, row_key
from crowdqc.money import as_decimal

PAGE = 50
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
    booked = booked_rows([row.pk for row in rows])
    return [
        (row, count_outcomes(row), len(_bookable(row) - booked.get(row.pk, set()))) for row in rows
    ]


def _bookable(statement: Statement) -> set[int]:
    return {place for place, row in enumerate(statement.rows) if row["books"]}


def booked_rows(statement_ids: list[int]) -> dict[int, set[int]]:
    """Return by statement the rows for which a correction was booked."""
    found: dict[int, set[int]] = {}
    if not statement_ids:
        return found
    keys = LedgerEntry.objects.filter(kind="correction", key__startswith="statement:").filter(
        project__tasks__statements__in=statement_ids
    )
    for key in keys.values_list("key", flat=True).distinct():
        _, pk, place, *_ = key.split(":")
        found.setdefault(int(pk), set()).add(int(place))
    return found


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
    booked = booked_rows([statement.pk]).get(statement.pk, set())
    waiting = statement.corrections.filter(state=Correction.State.PROPOSED)
    proposed = set(waiting.values_list("place", flat=True))
    settled = dict(
        LedgerEntry.objects.filter(
            key__in=[f"payment:{row['payment']}" for row in statement.rows if row["payment"]]
        ).values_list("key", "amount")
    )
    rows = [
        {
            **row,
            "place": place,
            "word": PAID_THERE if is_matching(row) else OUTCOMES[row["outcome"]][0],
            "mark": OUTCOMES[row["outcome"]][1],
            "key": row_key(statement, place),
            "booked": place in booked or _came_true(row, settled),
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
        "open": sum(row["books"] and not row["booked"] for row in rows),
        "matching": sum(
            is_matching(row) and not row["booked"] and not row["proposed"] for row in rows
        ),
    }


def _difference(row: dict[str, Any]) -> Decimal:
    """What the platform paid beyond what is ours; 0 where that is not known."""
    if not row["line"] or not row["amount"]:
        return Decimal(0)
    if row["outcome"] == "twice" or (row.get("status") and not row["payment"]):
        return as_decimal(row["amount"])
    return as_decimal(row["amount"]) - as_decimal(row["ours"]) if row["ours"] else Decimal(0)


def _came_true(row: dict[str, Any], settled: dict[str, Decimal]) -> bool:
    """Whether a payment that had not left when the file was read is booked so by now."""
    return row["waits"] and settled.get(f"payment:{row['payment']}") == as_decimal(row["amount"])
