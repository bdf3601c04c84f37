"""What the database's planner knows after many rows came at once."""

from __future__ import annotations

from django.db import connection

MANY = 2_000
TABLES = (
    "annotation_item",
    "annotation_assignment",
    "annotation_assignmentitem",
    "annotation_answer",
    "annotation_textvalue",
    "annotation_choicevalue",
    "annotation_spanvalue",
)


def fresh_plans(rows: int) -> None:
    """Let the planner look at the tables of answers where so many rows are new.

    Until the database's own housekeeping comes by, its plans are those of empty tables: reading
    an import of 12,000 ratings took minutes instead of a second. A table that somebody else is
    looking at is passed over.
    """
    if rows < MANY:
        return
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE (SKIP_LOCKED) {', '.join(TABLES)}")
