"""What the builder shows of a task that judges texts: the texts, the design, the graph."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.cache import caches
from django.core.paginator import Page, Paginator
from django.db.models import Count, Q
from django.db.models.functions import Left
from django.utils.translation import get_language, gettext_lazy

from annotation.authoring.selectors.builder.frame import Build
from annotation.models import Answer, Candidate, Item, ItemGroup, Task, TaskVersion
from annotation.pair_design import Pair, Summary, graph, ring, summary
from annotation.pair_design.model import topic_pairs
from annotation.task_types.pairwise.sides import FIRST, NEUTRAL, SECOND
from annotation.task_types.pairwise.texts import (
    as_text,
    attention_pairs,
    design_of,
    texts_of,
)
from annotation.task_types.ready_made import translate_ready_made

TOPICS_PER_PAGE, PAIRS_PER_PAGE = 10, 50
BEGINNING = 60  # characters of a text by which it is known in a list
EXPECTED = {
    FIRST: gettext_lazy("the first"),
    NEUTRAL: gettext_lazy("neutral"),
    SECOND: gettext_lazy("the second"),
}


# Texts -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextRow:
    """A text in the builder's list."""

    candidate: Candidate
    left_out: bool
    of_answer: bool


@dataclass(frozen=True)
class Topic:
    """A topic with its texts."""

    group: ItemGroup
    rows: list[TextRow]

    @property
    def query(self) -> str:
        """Question that the topic's texts answer."""
        asked = (row.candidate.query for row in self.rows)
        return next(filter(None, asked), "") or self.group.title or self.group.key

    @property
    def used(self) -> int:
        """Count the topic's texts that are not left out."""
        return sum(not row.left_out for row in self.rows)


@dataclass(frozen=True)
class Source:
    """An earlier task whose answers can be judged."""

    task: Task
    title: str
    people: int  # counting answers of people
    systems: int  # answers of systems


def sources_of(task: Task) -> list[Source]:
    """Free-text tasks of the project that have answers; two queries."""
    answered = Q(stage=Answer.Stage.MAIN, texts__field="answer")
    counts = {
        row["item__task"]: row
        for row in Answer.objects.filter(answered, item__task__project=task.project_id)
        .exclude(item__task=task)
        .order_by()
        .values("item__task")
        .annotate(
            people=Count("pk", filter=Q(worker__isnull=False, counts=True), distinct=True),
            systems=Count("pk", filter=Q(system__isnull=False), distinct=True),
        )
    }
    tasks = Task.objects.filter(pk__in=counts, current__isnull=False).select_related("current")
    return [
        Source(one, one.current.title, counts[one.pk]["people"], counts[one.pk]["systems"])
        for one in tasks.order_by("-pk")
        if one.current is not None
    ]


def unused_topics(task: Task, version: TaskVersion) -> tuple[int, int]:
    """Texts and topics of the project that the task does not hold."""
    own = task.groups.in_version(version.number).values("key")
    rows = Candidate.objects.filter(project=task.project_id).exclude(topic__in=own)
    found = rows.aggregate(texts=Count("pk"), topics=Count("topic", distinct=True))
    return found["texts"], found["topics"]


# Pairs -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairRow:
    """A pair in the builder's table."""

    item: Item
    number: int
    begins_topic: bool


class PairBuild:
    """The texts and pairs of a task in the builder."""

    def __init__(self, build: Build) -> None:
        self.build, self.task, self.version = build, build.task, build.version

    @cached_property
    def left_out(self) -> set[int]:
        """Ids of the texts that are left out of the pairs."""
        return set(self.version.settings.get("left_out", []))

    @cached_property
    def by_topic(self) -> dict[str, int]:
        """Texts of each topic that are not left out, for topics that have any."""
        rows = texts_of(self.task, self.version).exclude(pk__in=self.left_out)
        return dict(rows.order_by().values_list("topic").annotate(n=Count("pk")))

    @property
    def texts(self) -> int:
        """Texts that are not left out."""
        return sum(self.by_topic.values())

    @cached_property
    def sources(self) -> int:
        """Number of different sources (systems) of the texts."""
        rows = texts_of(self.task, self.version).exclude(pk__in=self.left_out)
        return int(rows.aggregate(n=Count("system", distinct=True))["n"])

    def topics(self, number: Any) -> tuple[Page, list[Topic]]:
        """A page of topics with their texts; three queries."""
        page = Paginator(self.build.groups, TOPICS_PER_PAGE).get_page(number)
        return page, self._topics(list(page.object_list))

    def _topics(self, groups: list[ItemGroup]) -> list[Topic]:
        rows: dict[str, list[TextRow]] = {}
        keys = [group.key for group in groups]
        texts = Candidate.objects.filter(project_id=self.task.project_id, topic__in=keys)
        for one in texts.select_related("system", "author").order_by("origin", "style", "pk"):
            row = TextRow(one, one.pk in self.left_out, one.source_answer_id is not None)
            rows.setdefault(one.topic, []).append(row)
        return [Topic(group, rows.get(group.key, [])) for group in groups]

    def topic(self, key: str) -> Topic | None:
        """Return one topic with its texts; None if the key is unknown."""
        group = self.build.group(key)
        return self._topics([group])[0] if group else None

    def all_topics(self) -> list[ItemGroup]:
        return list(self.build.groups.only("key", "title", "task"))

    @cached_property
    def would_make(self) -> tuple[int, int]:
        """Number of pairs and repeats that the design would make of the present texts."""
        design = design_of(self.version)
        pairs = sum(topic_pairs(design, size) for size in self.by_topic.values())
        return pairs, round(design.reversed_share * pairs)

    @cached_property
    def stale(self) -> bool:
        """Whether making the pairs now would change them."""
        made = self.version.settings.get("made")
        return not made or made != self.build.signature

    @cached_property
    def repeats(self) -> int:
        """Count the pairs that are shown a second time."""
        return int(self.build.counted_items.filter(repeat=True).count())

    def pairs(self, number: Any) -> tuple[Page, list[PairRow]]:
        """A page of pairs, topic by topic."""
        asked = self.build.counted_items.select_related("group", "first__system", "second__system")
        asked = asked.annotate(
            first_begins=Left("first__text", BEGINNING),
            second_begins=Left("second__text", BEGINNING),
        )
        asked = asked.defer("first__text", "second__text").order_by(
            "group__position", "group_id", "first_id", "second_id", "repeat", "pk"
        )
        page = Paginator(asked, PAIRS_PER_PAGE).get_page(number)
        rows, last = [], None
        for place, item in enumerate(page.object_list, page.start_index() or 1):
            rows.append(PairRow(item, place, item.group_id != last))
            last = item.group_id
        return page, rows

    @cached_property
    def gold(self) -> list[Item]:
        """Return the pairs with a known answer that check attention."""
        return attention_pairs(self.task, self.version)

    @property
    def gold_rows(self) -> list[dict[str, Any]]:
        """Attention pairs with the expected sides, as stored (first text on the left)."""
        labels = {
            row["name"]: translate_ready_made(row["label"])
            for row in self.version.settings["dimensions"]
        }
        return [
            {
                "item": item,
                "expected": [
                    {"label": labels.get(name, name), "words": EXPECTED[code]}
                    for name, code in (item.expected or {}).items()
                ],
            }
            for item in self.gold
        ]

    @property
    def votes(self) -> int:
        """Number of votes in all: dimensions times judgments."""
        lines = self.build.type.lines(self.version.settings)
        return self.build.questions * self.version.redundancy * len(lines)

    @cached_property
    def components(self) -> int:
        """Number of unconnected parts of workers and items, if everybody takes one assignment."""
        version, items = self.version, self.build.questions
        claim, item = ring.slots(items, version.items_per_assignment, version.redundancy)
        part, _ = graph.components(claim, item, int(claim[-1]) + 1, items)
        return int(part.max())

    @cached_property
    def summary(self) -> Summary | None:
        """Summary of the generated pairs (counts, links between sources); None without pairs."""
        version = self.version
        made = version.settings.get("made")
        size = f"{self.build.questions}:{version.items_per_assignment}:{version.redundancy}"
        key = f"pairs:2:{made}:{size}:{get_language()}"  # it holds sentences
        known: Summary | None = caches["default"].get(key) if made else None
        if known is None:
            known = self._summary()
            if made:
                caches["default"].set(key, known)
        return known

    def _summary(self) -> Summary | None:
        rows = list(
            self.build.counted_items.filter(second__isnull=False)
            .order_by("position", "pk")
            .values_list("first_id", "second_id", "group__key", "repeat")
        )
        if not rows:
            return None
        named = {pk for row in rows for pk in row[:2]}
        texts = Candidate.objects.filter(pk__in=named).select_related("system").defer("text")
        return summary(
            design_of(self.version),
            [as_text(text) for text in texts.order_by("pk")],
            self.version.items_per_assignment,
            self.version.redundancy,
            [Pair(str(a), str(b), topic, again, "") for a, b, topic, again in rows],
        )

    @property
    def thinnest(self) -> dict[str, Any] | None:
        """Return the weakest link between sources: the ``side`` that fewest ``pairs`` connect."""
        found = self.summary
        if found is None or found.sources.components > 1 or found.sources.thinnest is None:
            return None
        names, link = found.sources.names, found.sources.thinnest
        return {"pairs": link.comparisons, "side": [f"“{names[index]}”" for index in link.side]}

    def meetings(self) -> Counter[tuple[int, int]]:
        """Two different sources (ids, the smaller first) -> pairs of them; repeats not counted."""
        rows = self.build.counted_items.filter(second__isnull=False, repeat=False).values_list(
            "first__system", "second__system"
        )
        return Counter((min(a, b), max(a, b)) for a, b in rows.order_by() if a != b)


def shown_item(build: Build, key: str) -> Item | None:
    """Return the item of the live preview: the one named, else the first."""
    rows = build.items.select_related("group", "first", "second")
    found = rows.filter(key=key).first() if key else None
    return found or build.nth(1)
