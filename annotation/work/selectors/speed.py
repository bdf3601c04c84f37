"""Detect work that is faster than reading allows.

A median of the task's own says nothing where a whole crowd hurries. Two floors do: the time that
reading what stood on the page takes at 400 words a minute, and a third of what the requester
expects. Adults read prose silently at 238 words a minute, and hardly anybody above 400 (Brysbaert
2019, "How many words do we read per minute?", Journal of Memory and Language 109). A floor is
evidence for a reader, never a verdict, and rejects or pays nobody.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

from django.db import connection
from django.db.models import QuerySet

from annotation.models import Project, Task, TaskVersion
from annotation.task_types import get_type
from crowdqc.money import as_decimal, round_money

READ_AT_MOST = 400  # words a minute
READ_SHARE = 3 / 4  # of the time that this takes: times just below it say nothing
EXPECTED_SHARE = 1 / 3  # of the requester's own estimate
HOUR = Decimal(3600)


@dataclass(frozen=True)
class Pace:
    """Words, expected time and actual time of one submitted assignment."""

    task_id: int
    worker_id: int
    seconds: float  # from opening to submitting; from the claim where it was never opened
    words: int  # that stood open on the page, of what was answered
    expected_minutes: int  # the requester's estimate; 0: none
    pay: Decimal
    waits: bool  # nobody has decided about it

    @property
    def reading_seconds(self) -> float:
        """Least seconds that reading the assignment takes."""
        return self.words * 60 / READ_AT_MOST

    @property
    def expected_seconds(self) -> float:
        """Seconds that the requester expects an assignment to take."""
        return self.expected_minutes * 60.0

    @property
    def is_unread(self) -> bool:
        """Whether it took clearly less than reading does."""
        return self.seconds < READ_SHARE * self.reading_seconds

    @property
    def is_under_estimate(self) -> bool:
        """Whether it took under a third of the estimate."""
        return self.seconds < EXPECTED_SHARE * self.expected_seconds

    @property
    def is_too_fast(self) -> bool:
        """Whether it is below either limit."""
        return self.is_unread or self.is_under_estimate

    @property
    def hourly(self) -> Decimal | None:
        """The hourly pay; None without a measured time."""
        exact = as_decimal(round(self.seconds, 3))
        return round_money(self.pay * HOUR / exact) if exact > 0 else None


# Chinese and Japanese are written without spaces: three signs are read about as fast as two words.
SIGNS = "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
UNSPACED = f"((length({{0}}) - length(regexp_replace({{0}}, '{SIGNS}', '', 'g'))) * 2 / 3)"
WORDS = f"(cardinality(array_remove(regexp_split_to_array({{0}}, '\\s+'), '')) + {UNSPACED})"
# Per assignment what its page showed openly of the items that were answered: every question, text
# under judgment, passage and sample once, however many items share it. Counting them of a thousand
# assignments takes half a second, so a job keeps the count, and only the newest are counted here.
PACES = f"""
WITH shown AS (SELECT * FROM unnest(%(versions)s, %(passages)s, %(samples)s)
               AS shown (id, passage, samples)),
own AS (
    SELECT a.id, a.task_id, a.worker_id, a.version_id, a.pay, a.words_shown,
           a.settled_at IS NULL AS waits,
           extract(epoch FROM a.submitted_at - coalesce(a.opened_at, a.leased_at))::float
               AS seconds
    FROM annotation_assignment a
    WHERE a.version_id = ANY(%(versions)s) AND a.state = 'submitted' AND a.source <> 'import'
      AND a.quiz IS NULL
      AND (%(own)s::bigint[] IS NULL OR a.id = ANY(%(own)s))),
given AS (
    SELECT own.id, own.version_id, i.group_id, i.question, i.first_id, i.second_id
    FROM own JOIN annotation_answer w ON w.assignment_id = own.id AND w.stage = 'main'
    JOIN annotation_item i ON i.id = w.item_id
    WHERE own.words_shown IS NULL),
topics AS (
    SELECT g.id, {WORDS.format("g.passage")} AS passage,
           (SELECT coalesce(sum({WORDS.format("s ->> 'text'")}), 0)
            FROM jsonb_array_elements(g.passages) s) AS samples
    FROM annotation_itemgroup g WHERE g.id IN (SELECT group_id FROM given)),
parts AS (
    SELECT DISTINCT id, group_id AS of, question AS what, {WORDS.format("question")} AS n
    FROM given
    UNION ALL
    SELECT DISTINCT given.id, c.id, 'candidate',
           CASE WHEN c.words > 0 AND c.text !~ '{SIGNS}' THEN c.words
                ELSE {WORDS.format("c.text")} END
    FROM given JOIN annotation_candidate c ON c.id IN (given.first_id, given.second_id)
    UNION ALL
    SELECT DISTINCT given.id, t.id, 'topic',
           (CASE WHEN shown.passage THEN t.passage ELSE 0 END
            + CASE WHEN shown.samples THEN t.samples ELSE 0 END)::int
    FROM given JOIN topics t ON t.id = given.group_id JOIN shown ON shown.id = given.version_id),
read AS (SELECT id, sum(n)::int AS n FROM parts GROUP BY id),
paces AS (
    SELECT own.id, own.task_id, own.worker_id, own.seconds,
           coalesce(own.words_shown, read.n, 0) AS words, v.expected_minutes, own.pay, own.waits
    FROM own JOIN annotation_taskversion v ON v.id = own.version_id
    LEFT JOIN read ON read.id = own.id)
SELECT * FROM paces
WHERE NOT %(only_fast)s OR seconds < words * 60.0 / {READ_AT_MOST} * {READ_SHARE}
   OR seconds < expected_minutes * 60 * {EXPECTED_SHARE}
"""  # noqa: S608 (constants alone)


def paces_by_assignment(
    task_ids: Collection[int], assignments: Collection[int] | None = None
) -> dict[int, Pace]:
    """Return the pace of each submitted assignment by id (two queries).

    ``assignments``: of these alone. Imported work has none.
    """
    return _paces(TaskVersion.objects.filter(task__in=task_ids), assignments)


def list_too_fast(project: Project) -> list[Pace]:
    """Return the project's submitted work below a limit (two queries)."""
    return list(_paces(TaskVersion.objects.filter(task__project=project), only_fast=True).values())


def _paces(
    versions: QuerySet[TaskVersion],
    assignments: Collection[int] | None = None,
    *,
    only_fast: bool = False,
) -> dict[int, Pace]:
    published = versions.filter(published_at__isnull=False)
    rows = list(published.values_list("pk", "task__type", "settings"))
    if not rows:
        return {}
    parts = [get_type(kind).reading_parts(settings) for _, kind, settings in rows]
    with connection.cursor() as cursor:
        cursor.execute(
            PACES,
            {
                "versions": [pk for pk, _, _ in rows],
                "passages": ["passage" in one for one in parts],
                "samples": ["passages" in one for one in parts],
                "own": None if assignments is None else list(assignments),
                "only_fast": only_fast,
            },
        )
        return {pk: Pace(*row) for pk, *row in cursor.fetchall()}


@dataclass(frozen=True)
class PairTimes:
    """Logged times of one answer to a pair or rating, all openings together."""

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


def pair_times(task: Task, assignments: Collection[int] | None = None) -> dict[int, PairTimes]:
    """Return the times of each logged answer (one query)."""
    own = None if assignments is None else list(assignments)
    with connection.cursor() as cursor:
        cursor.execute(TIMES_SQL, {"task": task.pk, "own": own})
        return {
            answer: PairTimes(float(page) / 1000, int(left), int(right), first, last, made, again)
            for answer, page, left, right, first, last, made, again in cursor.fetchall()
        }
