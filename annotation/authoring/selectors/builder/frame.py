"""What the builder shows: the draft, a page of its questions, what it costs, what is missing."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q
from django.utils.translation import gettext as _

from annotation.authoring.selectors.builder.known import missing_known
from annotation.authoring.selectors.cost import Cost, cost_of
from annotation.authoring.selectors.tasks import QuestionChanges, question_changes
from annotation.models import Answer, Item, ItemGroup, Task, TaskVersion
from annotation.models.tasks import TaskState
from annotation.task_types import TaskType, get_type
from annotation.task_types.missing import Missing

PER_PAGE = 100
TEXTS_PER_PAGE = 20
_TWO_IN_ONE = re.compile(
    r"\b(?:and|or)\s+(?:when|what|how|why|who|where|which|whether|is|are|does|do|did|can)\b", re.I
)


def asks_twice(question: str) -> bool:
    """Guess whether a question asks two things: two question marks, or "... and when ...?"."""
    return question.count("?") > 1 or bool(_TWO_IN_ONE.search(question))


@dataclass(frozen=True)
class QuestionRow:
    """A question in the builder's table."""

    item: Item
    number: int
    words: str  # how many are wanted; empty where nothing is said of it
    hint: bool
    begins_text: bool


class Build:
    """A task in the builder: its draft, or the published version until something is changed."""

    def __init__(self, task: Task) -> None:
        self.task = task
        version = task.versions.order_by("-number").first()
        assert version is not None  # noqa: S101 (a task is born with a draft)
        self.version: TaskVersion = version

    @property
    def is_draft(self) -> bool:
        """Whether the version that is edited was never published."""
        return self.version.published_at is None

    @property
    def editable(self) -> bool:
        """Whether the task can still be changed: it is not closed, or this is a draft."""
        return self.task.state != TaskState.CLOSED or self.is_draft

    @property
    def type(self) -> TaskType:
        return get_type(self.task.type)

    @property
    def shape(self) -> str:
        """Shape of the task's answers, such as "texts", "pairs" or "ratings"."""
        return self.type.shape

    @property
    def noun(self) -> str:
        """Return what the task calls its items, such as "question"."""
        return self.type.noun_in(self.version.settings)

    @property
    def nouns(self) -> str:
        """Singular and plural of the item's noun, for the template filter ``plural``."""
        return f"{self.noun},{self.noun}s"

    @property
    def answer_nouns(self) -> str:
        """Singular and plural of the answer's noun, for the template filter ``plural``."""
        return f"{self.type.answer_noun},{self.type.answer_noun}s"

    @property
    def pace_in_words(self) -> str:
        """Sentence on what the estimated minutes assume besides reading."""
        return self.type.pace_in_words(self.version.settings)

    @cached_property
    def groups(self) -> Any:
        """Return the version's groups of items (texts, topics) in their order."""
        return self.task.groups.in_version(self.version.number).order_by("position", "pk")

    @cached_property
    def items(self) -> Any:
        """Return the version's items in the order in which they are shown."""
        return (
            self.task.items.in_version(self.version.number)
            .select_related("group")
            .order_by("group__position", "group_id", "position", "pk")
        )

    @cached_property
    def counted_items(self) -> Any:
        """Items without attention items, which are counted and paid for."""
        return self.items.filter(expected__isnull=True)

    @property
    def known(self) -> Any:
        """The items whose answer is known."""
        return self.items.filter(expected__isnull=False)

    @cached_property
    def questions(self) -> int:
        """Count the version's items that workers are paid to answer."""
        return self.counted_items.count()

    @cached_property
    def texts(self) -> int:
        """Count the version's groups of items."""
        return self.groups.count()

    def item(self, key: str) -> Item | None:
        """Return the item with this key; None if there is none."""
        return self.items.filter(key=key).first() if key else None

    def nth(self, number: int) -> Item | None:
        """Return an item by its number from 1, counted as the builder shows them."""
        rows = self.items
        if not self.type.numbers_by_text:
            rows = self.counted_items.select_related("group", "first", "second").order_by(
                "position", "pk"
            )
        return rows[number - 1 : number].first() if self.questions else None

    def group(self, key: str) -> ItemGroup | None:
        """Return the group of items with this key; None if there is none."""
        return self.groups.filter(key=key).first() if key else None

    def text_page(self, number: Any) -> Page:
        """Return a page of the groups, each with its number of items."""
        return Paginator(
            self.groups.annotate(questions=_items_in(self.version.number)), TEXTS_PER_PAGE
        ).get_page(number)

    def page_of(self, item: Item) -> int:
        """Return the page of the table that shows an item."""
        keys = list(self.items.values_list("pk", flat=True))
        return keys.index(item.pk) // PER_PAGE + 1 if item.pk in keys else 1

    def question_page(self, number: Any) -> tuple[Page, list[QuestionRow]]:
        """Return a page of the questions in order."""
        page = Paginator(self.items, PER_PAGE).get_page(number)
        rows: list[QuestionRow] = []
        last = None
        for place, item in enumerate(page.object_list, page.start_index() or 1):
            own = {**self.version.settings, **item.settings}
            rows.append(
                QuestionRow(
                    item=item,
                    number=place,
                    words=f"{own['min_words']}–{own['max_words']}" if "max_words" in own else "",
                    hint=asks_twice(item.question),
                    begins_text=item.group_id != last,
                )
            )
            last = item.group_id
        return page, rows

    def missing(self) -> list[Missing]:
        """List what must be fixed before publishing, each with the place to do it."""
        found = []
        if not self.version.title.strip():
            found.append(Missing(_("The task has no title"), "text"))
        found += self.type.missing(self.task, self.version, self.signature)
        return found + missing_known(self.task, self.version)

    @cached_property
    def signature(self) -> str:
        """Hash of everything that the generated pairs depend on; "" for types without pairs."""
        return self.type.signature(self.task, self.version)

    @property
    def design_hash(self) -> str:
        """Hash of everything that the simulated precision depends on, usable as an element id."""
        version = self.version
        what = (
            self.task.pk,
            self.questions,
            version.redundancy,
            version.items_per_assignment,
            version.settings.get("made"),
        )
        return hashlib.sha256(repr(what).encode()).hexdigest()[:12]

    def changes(self) -> QuestionChanges:
        """Return how the items differ from those of the version before."""
        return question_changes(self.task, self.version.number)

    def touched_answers(self, changes: QuestionChanges) -> int:
        """Count the answers that stay with the older version because their question changed."""
        ended = self.task.items.filter(until=self.version.number, key__in=changes.changed)
        return Answer.objects.filter(item__in=ended, worker__isnull=False).count()

    def cost(self, open_answers: int | None = None) -> Cost:
        """Cost of filling every slot: assignments, money and minutes."""
        return cost_of(self.task, self.version, self.counted_items, self.groups, open_answers)


def _items_in(number: int) -> Count:
    seen = Q(items__until__isnull=True) | Q(items__until__gt=number)
    return Count("items", filter=seen & Q(items__since__lte=number))


def tasks_of_type(task: Task) -> list[tuple[int, str]]:
    """The other tasks of the project that are of this type, the newest first: id and title."""
    rows = TaskVersion.objects.filter(task__project=task.project_id, task__type=task.type)
    latest = rows.exclude(task=task).order_by("-task_id", "-number").distinct("task_id")
    return list(latest.values_list("task_id", "title"))
