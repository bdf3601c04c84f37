"""Judgments of pairs and ratings as evaluation freezes them: headers, and values beside them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Case, CharField, Count, Q, QuerySet, Sum, Value, When
from django.db.models.expressions import RawSQL

from annotation.models import (
    Answer,
    AnswerCount,
    AssignmentItem,
    Candidate,
    ChoiceValue,
    Item,
    JudgmentCount,
    System,
    Task,
    TaskVersion,
)
from annotation.models.assignments import AssignmentState
from annotation.task_types import get_type
from annotation.task_types.labels.fields import SINGLE_CODES
from annotation.task_types.labels.fields import codes_of as codes_offered
from annotation.task_types.pairwise.sides import STORED
from annotation.task_types.scales import scaled, written_points
from annotation.work.snapshots.answers import uncounted_otherwise

CHUNK = 20_000
HEADER = (
    "pk",
    "item_id",
    "worker_id",
    "system_id",
    "replicate",
    "flipped",
    "order_shown",
    "answered_at",
    "sides_known",
)
ITEM = ("pk", "key", "since", "first_id", "second_id", "side", "repeat", "group__category")
TEXT = ("pk", "key", "topic", "style", "origin", "system_id", "author_id")


class Judgment(NamedTuple):
    """One answer's header: who, what, shown how, as the how-manieth."""

    answer_id: int
    item_id: int
    worker_id: int | None
    system_id: int | None
    replicate: int
    flipped: bool
    position: int | None
    answered_at: dt.datetime
    sides_known: bool = True


class ItemRow(NamedTuple):
    """An item and what it puts to judgment; ``second_id`` is None for a rating."""

    item_id: int
    key: str
    since: int
    first_id: int
    second_id: int | None
    side: int
    repeat: bool
    category: str = ""  # of its topic

    @property
    def print(self) -> str:
        """Text that identifies the item's wording and category in a hash."""
        return f"{self.key}@{self.since}{f' {self.category}' if self.category else ''}"


class TextRow(NamedTuple):
    """A candidate without its text."""

    candidate_id: int
    key: str
    topic: str
    style: str
    origin: str
    system_id: int
    author_id: int | None


@dataclass(frozen=True)
class AskedDimension:
    """One dimension of a pairwise task, one scale of a rating task, or one field of labels."""

    name: str
    label: str
    neutral: bool = True
    points: tuple[int, ...] = ()
    codes: tuple[str, ...] = ()  # what a field of labels offers
    factor: int = 1  # by which points that are decimals are stored
    written: tuple[str, ...] = ()  # those points as files write them

    @cached_property
    def written_codes(self) -> dict[str | None, str]:
        """Stored points that files write otherwise: 3.50 for 35 of tenths."""
        return dict(zip(map(str, self.points), self.written, strict=False))

    def parse_point(self, said: str) -> int | None:
        """Return the point that a file writes so; None where the scale has none."""
        value = scaled(said, self.factor)
        return value if value in self.points else None


def version_items(version: TaskVersion) -> list[AskedDimension]:
    """Return the dimensions, scales or fields that a version asks of every item, in order."""
    if "scales" in version.settings:
        return [
            AskedDimension(
                row["name"],
                row["label"],
                points=tuple(p["value"] for p in row["points"]),
                factor=row.get("factor", 1),
                written=written_points(row),
            )
            for row in version.settings["scales"]
        ]
    if "fields" in version.settings:
        return [
            AskedDimension(row["name"], row["label"], codes=tuple(codes_offered(row)))
            for row in version.settings["fields"]
            if row["kind"] in SINGLE_CODES
        ]
    return [
        AskedDimension(row["name"], row["label"], row["neutral"])
        for row in version.settings.get("dimensions", [])
    ]


def pooled_versions(task: Task) -> list[int]:
    """Return the published versions that ask the same as the current one; their answers pool."""
    if task.current is None:
        return []
    now = {_dimension_key(one) for one in version_items(task.current)}
    return [
        version.pk
        for version in task.versions.filter(published_at__isnull=False)
        if {_dimension_key(one) for one in version_items(version)} == now
    ]


def _dimension_key(one: AskedDimension) -> tuple[Any, ...]:
    return one.name, one.neutral, one.points, one.codes, one.factor


def _known_aside(task: Task) -> Q:
    """Return the filter that leaves out items set aside because their answer is known.

    Labels of such items may have come from a file, and count then.
    """
    aside = get_type(task.type).judges_texts
    return Q(item__expected__isnull=True) if aside else Q()


def _counting(task: Task) -> Q:
    excluded = task.exclusions.in_force().values("worker")
    return (
        Q(item__task=task, counts=True, stage=Answer.Stage.MAIN, version__in=pooled_versions(task))
        & _known_aside(task)
        & ~(Q(worker__isnull=False) & Q(worker__in=excluded))
    )


def counting_judgments(task: Task) -> list[Judgment]:
    """Return every counting judgment of people and systems, without excluded workers."""
    return _headers(_counting(task))


class Sorted(NamedTuple):
    """Every main answer of a task at one moment: rows that count, and why those of people do not.

    ``came`` are people's answers: those among ``rows`` + the sum of ``left_out``.
    """

    rows: list[Judgment]
    came: int
    left_out: Counter[str]


def sorted_out(task: Task) -> Sorted:
    """Read all main answers in one query: those that count, and counts of the others by reason."""
    rows: list[Judgment] = []
    left_out: Counter[str] = Counter()
    came = 0
    main = Answer.objects.filter(item__task=task, stage=Answer.Stage.MAIN)
    found = main.annotate(why=_unused_reason(task)).values_list(*HEADER, "why")
    for *header, why in found.iterator(chunk_size=CHUNK):
        row = Judgment(*header)
        came += row.worker_id is not None
        if not why:
            rows.append(row)
        elif row.worker_id is not None:
            left_out[why] += 1
    return Sorted(rows, came, left_out)


def _unused_reason(task: Task) -> Case:
    """The reason why an answer is not used, the first that holds; empty where it is."""
    excluded = task.exclusions.in_force().values("worker")
    judged = get_type(task.type).judges_texts
    aside = [When(item__expected__isnull=False, then=Value("gold"))] if judged else []
    textless = [When(item__first__isnull=True, then=Value("no_text"))] if judged else []
    return Case(
        *aside,
        When(uncounted_otherwise(task), then=Value("uncounted")),
        When(worker__isnull=False, worker__in=excluded, then=Value("excluded")),
        When(counts=False, then=Value("uncounted")),
        When(~Q(version__in=pooled_versions(task)), then=Value("other_fields")),
        *textless,
        default=Value(""),
        output_field=CharField(),
    )


def of_answers(task: Task, answer_ids: Collection[int]) -> list[Judgment]:
    """Return the judgments with these ids, whether or not they still count."""
    wanted = set(answer_ids)
    rows = _headers(Q(item__task=task, stage=Answer.Stage.MAIN))
    return [row for row in rows if row.answer_id in wanted]


def _headers(condition: Q) -> list[Judgment]:
    rows = Answer.objects.filter(condition).values_list(*HEADER)
    return [Judgment(*row) for row in rows.iterator(chunk_size=CHUNK)]


def counting_rows(task: Task) -> QuerySet[Answer]:
    """Return the answers that a snapshot taken now would hold."""
    return Answer.objects.filter(_counting(task))


def counts_of(task: Task) -> QuerySet[AnswerCount]:
    """Return the running counts of the answers in ``counting_rows``."""
    excluded = task.exclusions.in_force().values("worker")
    rows = AnswerCount.objects.filter(version__in=pooled_versions(task))
    if get_type(task.type).judges_texts:
        rows = rows.filter(known=False)
    return rows.exclude(worker__isnull=False, worker__in=excluded)


def count_left_out(task: Task) -> dict[str, int]:
    """Count people's answers that a snapshot omits, one reason each."""
    main = Answer.objects.filter(item__task=task, stage=Answer.Stage.MAIN, worker__isnull=False)
    rows = (
        main.annotate(why=_unused_reason(task))
        .values_list("why")
        .annotate(n=Count("pk"))
        .order_by()
    )
    found = {why: n for why, n in rows if why}
    return {**dict.fromkeys(("uncounted", "excluded", "other_fields"), 0), **found}


def choice_values(task: Task) -> Iterator[tuple[int, str, int | None]]:
    """Yield (answer, field, ordinal) of every choice in the task."""
    rows = ChoiceValue.objects.filter(
        answer__item__task=task, answer__stage=Answer.Stage.MAIN
    ).values_list("answer_id", "field", "ordinal")
    return rows.iterator(chunk_size=CHUNK)


def codes(task: Task, *, people: bool | None = None) -> dict[int, dict[str, str]]:
    """Return the chosen codes by answer and field; only of people or of systems if asked."""
    rows = ChoiceValue.objects.filter(answer__item__task=task)
    if people is not None:
        rows = rows.filter(answer__worker__isnull=not people)
    found: dict[int, dict[str, str]] = {}
    for pk, field, code in rows.values_list("answer_id", "field", "code").iterator(CHUNK):
        found.setdefault(pk, {})[field] = code
    return found


def codes_of(answer_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    """Return the codes of a few answers, by answer and field."""
    found: dict[int, dict[str, str]] = {pk: {} for pk in answer_ids}
    # One array, where the framework would write and read a parameter for each.
    ids = RawSQL("SELECT unnest(%s::bigint[])", [list(answer_ids)])
    rows = ChoiceValue.objects.filter(answer_id__in=ids)
    for pk, field, code in rows.values_list("answer_id", "field", "code"):
        found[pk][field] = code
    return found


def votes(task: Task, dimension: str) -> Iterator[tuple[Any, ...]]:
    """Yield people's counting votes on a dimension in order of their ids, as tuples.

    Each is (pseudonym, item, code, ordinal, flipped, time, first text, second text).
    """
    rows = Answer.objects.filter(
        _counting(task), worker__isnull=False, choices__field=dimension
    ).order_by("pk")
    return rows.values_list(
        "worker__pseudonym",
        "item__key",
        "choices__code",
        "choices__ordinal",
        "flipped",
        "answered_at",
        "item__first_id",
        "item__second_id",
    ).iterator(chunk_size=CHUNK)


def items(task: Task) -> list[ItemRow]:
    """Return all items of all versions that show texts to judge, without attention items."""
    rows = Item.objects.filter(task=task, expected__isnull=True, first__isnull=False)
    return [ItemRow(*row) for row in rows.order_by("pk").values_list(*ITEM)]


def texts(task: Task) -> list[TextRow]:
    """Return the candidates that the task's items show, in order of their ids."""
    named = Q(pk__in=Item.objects.filter(task=task).values("first")) | Q(
        pk__in=Item.objects.filter(task=task).values("second")
    )
    rows = Candidate.objects.filter(named, project=task.project_id).order_by("pk")
    return [TextRow(*row) for row in rows.values_list(*TEXT)]


def candidate_texts(candidate_ids: Collection[int]) -> dict[int, str]:
    """Return the text of each candidate, by id."""
    return dict(Candidate.objects.filter(pk__in=candidate_ids).values_list("pk", "text"))


def item_metadata(task: Task) -> dict[int, dict[str, str]]:
    """Return extra data of each item by column: unread columns of its file, its topic's category.

    Of rows that each hold one answer, a column is the item's where all of its answers say the same.
    """
    found: dict[int, dict[str, str]] = {}
    own = task.items.filter(settings__has_key="meta").values_list("pk", "settings__meta")
    rows = Answer.objects.filter(item__task=task, meta__isnull=False).values_list("item", "meta")
    apart: set[tuple[int, str]] = set()
    for item, said in (*own, *rows.order_by().iterator(CHUNK)):
        known = found.setdefault(item, {})
        for name, value in said.items():
            if known.setdefault(name, str(value)) != str(value):
                apart.add((item, name))
    for item, name in apart:
        del found[item][name]
    kinds = task.items.exclude(group__category="").values_list("pk", "group__category")
    for item, category in kinds:
        found.setdefault(item, {}).setdefault("category", category)
    return found


def system_names(system_ids: Sequence[int]) -> dict[int, str]:
    """The names of sources of texts and of judging models."""
    return {system.pk: str(system) for system in System.objects.filter(pk__in=system_ids)}


def outcome_counts(task: Task, dimension: str) -> list[tuple[Any, ...]]:
    """Count people's counting judgments on a dimension as (item, code, n)."""
    rows = Answer.objects.filter(
        _counting(task), worker__isnull=False, choices__field=dimension
    ).values_list("item_id", "choices__code")
    return list(rows.annotate(n=Count("choices")).order_by())


class VoteCount(NamedTuple):
    """How often two systems got one vote; ``flipped``: the second's text stood left."""

    first_id: int
    second_id: int
    code: str
    flipped: bool
    n: int


def vote_counts(task: Task, dimension: str = "") -> list[VoteCount]:
    """Return the counts of people's votes between systems, without excluded workers.

    Votes on known answers and on designed repeats are left out. Those of excluded workers are in
    the counts, and are taken off here.
    """
    rows = JudgmentCount.objects.filter(version__in=pooled_versions(task), people=True)
    excluded = list(task.exclusions.in_force().values_list("worker", flat=True))
    if dimension:
        rows = rows.filter(field=dimension)
    found: Counter[tuple[Any, ...]] = Counter()
    for *key, n in rows.values_list(*COUNTED[1:]).annotate(n=Sum("n")).order_by():
        found[tuple(key)] += n
    if excluded:
        gone = counted_votes(task, dimension).filter(worker__in=excluded)
        for *key, n in gone.values_list(*VOTE[1:]).annotate(n=Count("choices")).order_by():
            found[tuple(key)] -= n
    return [VoteCount._make((*key, n)) for key, n in sorted(found.items()) if n]


COUNTED = ("field", "first_id", "second_id", "code", "flipped")
VOTE = (
    "choices__field",
    "item__first__system",
    "item__second__system",
    "choices__code",
    "flipped",
)


def counted_votes(task: Task, dimension: str = "") -> QuerySet[Answer]:
    """Return the answers whose votes the running counts include."""
    # In one filter, as a second one would join every vote with all votes of its answer.
    field = {"choices__field": dimension} if dimension else {}
    return Answer.objects.filter(
        **field,
        item__task=task,
        item__second__isnull=False,
        item__expected__isnull=True,
        item__repeat=False,
        version__in=pooled_versions(task),
        stage=Answer.Stage.MAIN,
        counts=True,
        choices__code__in=STORED,
    )


def drifted_counts(task: Task) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Find running vote counts that differ from the judgments: (stored, actual) by key; or {}."""
    kept: Counter[tuple[Any, ...]] = Counter()
    rows = JudgmentCount.objects.filter(version__in=pooled_versions(task))
    for *key, n in rows.values_list(*COUNTED, "people", "version_id", "n"):
        kept[tuple(key)] += n
    votes = counted_votes(task).values_list(*VOTE, "worker_id", "version_id")
    real: Counter[tuple[Any, ...]] = Counter()
    for *key, worker, version in votes.iterator(chunk_size=CHUNK):
        real[*key, worker is not None, version] += 1
    return {key: (kept[key], real[key]) for key in {*kept, *real} if kept[key] != real[key]}


def count_leases(task: Task) -> dict[int, int]:
    """Return by item how many answers are in work now."""
    rows = AssignmentItem.objects.filter(
        assignment__task=task, assignment__state=AssignmentState.LEASED, holds=True
    )
    return dict(rows.values_list("item_id").annotate(n=Count("pk")).order_by())


class LiveVote(NamedTuple):
    """One vote of a live evaluation: the systems of both texts, who judged, and the topic."""

    answer_id: int
    item_id: int
    first_id: int
    second_id: int
    code: str
    worker_id: int | None
    system_id: int | None
    topic: int | None


LIVE_VOTE = (
    *("pk", "item_id", "item__first__system", "item__second__system", "choices__code"),
    *("worker_id", "system_id", "item__group_id"),
)


def live_votes(task: Task, dimension: str) -> Iterator[LiveVote]:
    """Yield people's votes on a dimension that count, without excluded workers."""
    excluded = task.exclusions.in_force().values("worker")
    rows = counted_votes(task, dimension).filter(worker__isnull=False).exclude(worker__in=excluded)
    return _live(rows)


def model_votes(task: Task, dimension: str, system_ids: Sequence[int]) -> Iterator[LiveVote]:
    """Yield models' votes on a dimension that count, one for each order of a pair."""
    rows = counted_votes(task, dimension).filter(system__in=system_ids, replicate__in=(0, 1))
    return _live(rows)


def votes_among(task: Task, dimension: str, answer_ids: Sequence[int]) -> Iterator[LiveVote]:
    """Yield the votes in these answers, whether or not they still count."""
    rows = Answer.objects.filter(pk__in=answer_ids, item__task=task, choices__field=dimension)
    return _live(rows.filter(item__first__isnull=False, item__second__isnull=False))


def _live(rows: QuerySet[Answer]) -> Iterator[LiveVote]:
    found = rows.order_by("pk").values_list(*LIVE_VOTE).iterator(chunk_size=CHUNK)
    return map(LiveVote._make, found)
