"""Free-text answers as evaluation freezes them: one flat row an answer, in no order yet."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import (
    BigIntegerField,
    BooleanField,
    Case,
    CharField,
    Count,
    Exists,
    Func,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Sum,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, Left, Trim

from annotation.models import (
    Answer,
    AnswerCount,
    ChoiceValue,
    Membership,
    Task,
    TextValue,
)

ANSWER, DECLINED = "answer", "declined"
CHUNK = 10_000
REASON = 200  # characters that an answer keeps of the reason why it does not count
COLUMNS = (
    "answer_id",
    "answer__item_id",
    "answer__item__key",
    "answer__item__since",
    "answer__worker_id",
    "answer__system_id",
    "answer__replicate",
    "answer__answered_at",
    "text",
)


class AnswerText(NamedTuple):
    """One answer's text with who wrote it and what it answers."""

    answer_id: int
    item_id: int
    item_key: str
    item_since: int
    worker_id: int | None
    system_id: int | None
    replicate: int
    answered_at: dt.datetime
    text: str


def _rows(condition: Q) -> Iterator[AnswerText]:
    texts = TextValue.objects.filter(condition, field=ANSWER, index=0).values_list(*COLUMNS)
    return (AnswerText(*row) for row in texts.iterator(chunk_size=CHUNK))


def _counting(task: Task, at: str = "") -> Q:
    """Answers (those ``at`` which a row points) that count, without those of workers left out."""
    excluded = task.exclusions.in_force().values("worker")
    main = {f"{at}item__task": task, f"{at}counts": True, f"{at}stage": Answer.Stage.MAIN}
    theirs = {f"{at}worker__isnull": False, f"{at}worker__in": excluded}
    return Q(**main) & ~Q(**theirs)


def counting_texts(task: Task) -> list[AnswerText]:
    """Return every counting answer of workers and systems to the task, over all its versions.

    Answers of workers who are left out of results are not among them. Free-text versions differ in
    wording, pay and time only, so they are pooled: an item that no version changed is one row of
    items and thereby one question.
    """
    return list(_rows(_counting(task, "answer__")))


class Sorted(NamedTuple):
    """Every main answer of a task at one moment, as ``judgments.Sorted``."""

    rows: list[AnswerText]
    came: int
    left_out: Counter[str]


def uncounted_otherwise(task: Task) -> Q:
    """Return the condition that an answer does not count, and not because its worker is left out.

    Rejected work of a worker who was left out afterwards is one.
    """
    stopped = task.exclusions.in_force().annotate(why=Left(Trim("reason"), REASON))
    own = stopped.filter(worker=OuterRef("worker"), why=OuterRef("uncounted_reason"))
    return Q(counts=False) & Q(~Exists(own))


def sorted_out(task: Task) -> Sorted:
    """Read all main answers in one query: those that count, and counts of the others by reason.

    Which answers there are is read once; one that comes in meanwhile is not among them.
    """
    excluded = task.exclusions.in_force().values("worker")
    why = Case(
        When(uncounted_otherwise(task), then=Value("uncounted")),
        When(worker__isnull=False, worker__in=excluded, then=Value("excluded")),
        When(counts=False, then=Value("uncounted")),
        default=Value(""),
        output_field=CharField(),
    )
    main = Answer.objects.filter(item__task=task, stage=Answer.Stage.MAIN)
    reasons: dict[int, str] = {}
    people: set[int] = set()
    for pk, worker, reason in main.annotate(why=why).values_list("pk", "worker_id", "why"):
        reasons[pk] = reason
        if worker is not None:
            people.add(pk)
    rows = [row for row in counting_texts(task) if reasons.get(row.answer_id) == ""]
    with_text = {row.answer_id for row in rows}
    left_out = Counter(
        reasons[pk] or "no_text" for pk in people if reasons[pk] or pk not in with_text
    )
    return Sorted(rows, len(people), left_out)


def texts_of(answer_ids: Collection[int]) -> dict[int, AnswerText]:
    """Return the answers with these ids, by id, whether or not they still count."""
    ids = list(answer_ids)
    found: dict[int, AnswerText] = {}
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        found.update((row.answer_id, row) for row in _rows(Q(answer_id__in=chunk)))
    return found


def declined(answer_ids: Collection[int]) -> set[int]:
    """Return which of these answers are an honest "I don't know"."""
    ids = list(answer_ids)
    found: set[int] = set()
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        found |= set(
            ChoiceValue.objects.filter(answer_id__in=chunk, field=DECLINED).values_list(
                "answer_id", flat=True
            )
        )
    return found


def assignments_of(answer_ids: Collection[int]) -> dict[int, set[int]]:
    """The assignments in which these answers were given, by worker."""
    ids: list[int] = list(answer_ids)
    found: dict[int, set[int]] = {}
    for start in range(0, len(ids), CHUNK):
        pairs = (
            Answer.objects.filter(pk__in=ids[start : start + CHUNK], assignment__isnull=False)
            .values_list("worker_id", "assignment_id")
            .distinct()
        )
        for worker, assignment in pairs:
            if worker is not None and assignment is not None:
                found.setdefault(worker, set()).add(assignment)
    return found


@dataclass(frozen=True)
class Tally:
    """Answers that a snapshot would hold, around a mark: up to an id, and above it.

    ``digest`` is over the ids of those up to the mark. An answer never changes once it is stored,
    nor does its item, so the ids say all that a snapshot of them would.
    """

    before: int
    after: int
    digest: str


class _Hash(Func):
    """64 well-mixed bits of an id, as PostgreSQL spreads rows over partitions by."""

    template = "hashint8extended(%(expressions)s, 0)"
    output_field = BigIntegerField()


def tally_of(rows: QuerySet[Answer], max_id: int) -> Tally:
    """Count these answers around a mark and hash the set of ids up to it, in one query.

    The hash is a sum over the ids, so that they need not be sorted whenever a page is looked at.
    """
    seen = Q(pk__lte=max_id)
    found = rows.aggregate(
        before=Count("pk", filter=seen),
        after=Count("pk", filter=Q(pk__gt=max_id)),
        digest=Cast(Sum(_Hash("pk"), filter=seen), TextField()),
    )
    return Tally(found["before"], found["after"], found["digest"] or "")


def tally_from_counts(counts: QuerySet[AnswerCount], rows: QuerySet[Answer], max_id: int) -> Tally:
    """Tally answers up to ``max_id`` and newer ones from ``counts``, reading only new rows."""
    newer = Value(True, output_field=BooleanField())
    older = Value(False, output_field=BooleanField())
    columns = ("newer", "worker_id", "count", "hash")
    # By worker, as both sides have to be grouped by something.
    every = counts.order_by().annotate(newer=older).values("newer", "worker_id")
    found = every.annotate(count=Sum("n"), hash=Sum("digest")).values_list(*columns)
    if max_id:
        came = rows.filter(pk__gt=max_id).order_by().annotate(newer=newer)
        by_worker = came.values("newer", "worker_id")
        found = found.union(
            by_worker.annotate(count=Count("pk"), hash=Sum(_Hash("pk"))).values_list(*columns),
            all=True,
        )
    before = after = digest = 0
    for is_newer, _, n, hashed in found:
        sign = -1 if is_newer else 1
        before, digest = before + sign * n, digest + sign * int(hashed)
        after += n if is_newer else 0
    if not max_id:
        return Tally(0, before, "")
    return Tally(before, after, str(digest) if before else "")


def counting_rows(task: Task) -> QuerySet[Answer]:
    """Return the counting answers of a free-text task."""
    return Answer.objects.filter(_counting(task))


def arrivals(task: Task, *, max_id: int = 0) -> tuple[dt.datetime | None, dt.datetime | None]:
    """Return when the first and last counting answers above ``max_id`` arrived; None if none.

    The times are those of arrival: an imported answer's own date may be long ago.
    """
    arrived = Coalesce("assignment__submitted_at", "answered_at")
    found = Answer.objects.filter(
        item__task=task, stage=Answer.Stage.MAIN, counts=True, pk__gt=max_id
    ).aggregate(oldest=Min(arrived), newest=Max(arrived))
    return found["oldest"], found["newest"]


def counts_of(task: Task) -> QuerySet[AnswerCount]:
    """Return the running counts of the answers in ``counting_rows``."""
    excluded = task.exclusions.in_force().values("worker")
    rows = AnswerCount.objects.filter(version__task=task)
    return rows.exclude(worker__isnull=False, worker__in=excluded)


def answers_by_worker(task: Task) -> list[int]:
    """Return the number of counting answers of each worker, most first."""
    rows = AnswerCount.objects.filter(version__task=task, worker__isnull=False).order_by()
    given = rows.values("worker_id").annotate(given=Sum("n")).filter(given__gt=0)
    return sorted(given.values_list("given", flat=True), reverse=True)


def drifted_tallies(task: Task) -> dict[tuple[Any, ...], tuple[Any, Any]]:
    """Find running counts that differ from the answers: (stored, actual) by key."""
    rows = AnswerCount.objects.filter(version__task=task).order_by()
    kept = {
        tuple(key): (n, int(digest))
        for *key, n, digest in rows.values_list("version_id", "worker_id", "known").annotate(
            count=Sum("n"), hash=Sum("digest")
        )
        if n or digest
    }
    main = Answer.objects.filter(item__task=task, stage=Answer.Stage.MAIN, counts=True).order_by()
    known = main.annotate(known=Q(item__expected__isnull=False))
    real = {
        tuple(key): (n, int(digest))
        for *key, n, digest in known.values_list("version_id", "worker_id", "known").annotate(
            count=Count("pk"), hash=Sum(_Hash("pk"))
        )
    }
    every = {*kept, *real}
    return {key: (kept.get(key), real.get(key)) for key in every if kept.get(key) != real.get(key)}


def pseudonyms(worker_ids: Collection[int]) -> dict[int, str]:
    """The names under which these workers are shown."""
    return dict(Membership.objects.filter(pk__in=worker_ids).values_list("pk", "pseudonym"))
