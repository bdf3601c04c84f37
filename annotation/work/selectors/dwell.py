"""How long each judgment took, from the interaction log; nothing where nothing was recorded.

Sides are those of the worker: left is what stood left for them. A figure here is evidence for a
reader, never a verdict, and pays or rejects nobody by itself.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection

from annotation.models import Task


@dataclass(frozen=True)
class PairTimes:
    """What the log says of one answer to a pair or a rating; times of all openings together."""

    seconds_total: float  # with the page before the worker, away and idle times left out
    left_ms: int  # the pointer over the response, or on a phone the response on screen
    right_ms: int
    first_ms: int | None  # from the first showing to the first choice, on the clock
    last_ms: int | None  # and to the last one
    changes: int  # choices made, on all lines together
    revised: int  # of these, beyond the first of each line


# One pass over the batches, kept: where the database knows no figures of these tables yet, it would
# read them again for every answer, which took 4 s for one pair of the demo instead of 10 ms.
# The dwell of one event is bounded where it comes in (actions.events).
TIMES_SQL = """
WITH told AS (
    SELECT s.assignment_id, e ->> 'target' AS target, e ->> 'method' AS method,
           e ->> 'name' AS name, (e ->> 'time')::bigint AS time,
           CASE WHEN e ->> 'method' = 'dwell' THEN (e ->> 'comment')::bigint END AS ms
    FROM annotation_assignment a
    JOIN annotation_eventstream s ON s.assignment_id = a.id
    JOIN annotation_eventbatch b ON b.stream_id = s.id,
         jsonb_array_elements(b.events) e
    WHERE a.task_id = %(task)s AND (%(own)s::bigint[] IS NULL OR a.id = ANY(%(own)s))
      AND e ->> 'method' IN ('show', 'change', 'dwell')),
summed AS MATERIALIZED (
    SELECT assignment_id, target,
           coalesce(sum(ms) FILTER (WHERE name = 'page'), 0) AS page,
           coalesce(sum(ms) FILTER (WHERE name = 'left'), 0) AS lefts,
           coalesce(sum(ms) FILTER (WHERE name = 'right'), 0) AS rights,
           min(time) FILTER (WHERE method = 'show') AS shown,
           min(time) FILTER (WHERE method = 'change') AS first,
           max(time) FILTER (WHERE method = 'change') AS last,
           count(*) FILTER (WHERE method = 'change') AS changes,
           count(DISTINCT name) FILTER (WHERE method = 'change') AS lines
    FROM told GROUP BY assignment_id, target)
SELECT w.id, page, lefts, rights, CASE WHEN first >= shown THEN first - shown END,
       CASE WHEN last >= shown THEN last - shown END, changes, changes - lines
FROM summed
JOIN annotation_answer w
  ON w.assignment_id = summed.assignment_id AND summed.target = 'item-' || w.item_id
WHERE w.stage = 'main'
"""


def times_of(task: Task, assignments: Collection[int] | None = None) -> dict[int, PairTimes]:
    """For each answer that has a log, its times (one query): of the task, or of ``assignments``."""
    own = None if assignments is None else list(assignments)
    with connection.cursor() as cursor:
        cursor.execute(TIMES_SQL, {"task": task.pk, "own": own})
        return {
            answer: PairTimes(float(page) / 1000, int(left), int(right), first, last, made, again)
            for answer, page, left, right, first, last, made, again in cursor.fetchall()
        }
