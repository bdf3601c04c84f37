"""Count the words that an assignment's page showed, once after submission."""

from __future__ import annotations

from django.db import connection, transaction

from annotation.models import Assignment
from annotation.models.assignments import AssignmentState
from annotation.work.selectors.speed import paces_by_assignment

AT_ONCE = 500  # assignments in one transaction
_KEEP = """
UPDATE annotation_assignment a SET words_shown = counted.words
FROM unnest(%s::bigint[], %s::int[]) AS counted (id, words) WHERE a.id = counted.id
"""


def count_words_shown() -> int:
    """Count words of uncounted assignments; return how many."""
    counted = 0
    while more := _count_some():
        counted += more
    return counted


@transaction.atomic
def _count_some() -> int:
    due = (
        Assignment.objects.filter(state=AssignmentState.SUBMITTED, words_shown=None, quiz=None)
        .exclude(source="import")
        .select_for_update(of=("self",), skip_locked=True)
        .order_by("pk")
    )
    rows = dict(due.values_list("pk", "task_id")[:AT_ONCE])
    paces = paces_by_assignment(set(rows.values()), list(rows)) if rows else {}
    words = [paces[pk].words if pk in paces else 0 for pk in rows]
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, [list(rows), words])
    return len(rows)
