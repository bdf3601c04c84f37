"""What the builder shows: the draft, a page of its questions, what it costs, what is missing."""

from __future__ import annotations

import math
import re
import statistics
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Avg, Count, Q
from django.db.models.functions import Length

from annotation.models import Answer, Item, ItemGroup, Task, TaskVersion
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.task_types import TaskType, get_type

from .tasks import QuestionChanges, question_changes

PER_PAGE = 100
TEXTS_PER_PAGE = 20
# Silent reading of plain prose, about 210 words a minute; composing on a keyboard.
CHARACTERS_A_MINUTE = 1200
WORDS_A_MINUTE = 25
MEASURED_FROM = 5  # submitted assignments, from which on their median replaces the estimate
_TWO_IN_ONE = re.compile(
    r"\b(?:and|or)\s+(?:when|what|how|why|who|where|which|whether|is|are|does|do|did|can)\b", re.I
)


def asks_twice(question: str) -> bool:
    """A gentle guess: two question marks, or "... and when ...?"."""
    return question.count("?") > 1 or bool(_TWO_IN_ONE.search(question))


@dataclass(frozen=True)
class Cost:
    """What filling every slot takes, in assignments, money and minutes."""

    questions: int
    assignments: int
    per_assignment: int
    pay: Decimal
    minutes: float
    measured: int  # assignments behind the minutes; 0: an estimate from lengths
    floor: Decimal | None

    @property
    def hourly(self) -> Decimal | None:
        if not self.minutes:
            return None
        return (self.pay * 60 / Decimal(str(self.minutes))).quantize(Decimal("0.01"))

    @property
    def whole_minutes(self) -> int:
        return max(1, round(self.minutes))

    @property
    def at_most(self) -> Decimal:
        return self.pay * self.assignments

    @property
    def under_floor(self) -> bool:
        return self.floor is not None and self.hourly is not None and self.hourly < self.floor


@dataclass(frozen=True)
class Missing:
    """What stands in the way of publishing, and where it is mended."""

    sentence: str
    part: str
    question: str = ""


@dataclass(frozen=True)
class QuestionRow:
    """A question in the builder's table."""

    item: Item
    number: int
    min_words: int | None
    max_words: int | None
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
        return self.version.published_at is None

    @property
    def editable(self) -> bool:
        return self.task.state != TaskState.CLOSED or self.is_draft

    @property
    def type(self) -> TaskType:
        return get_type(self.task.type)

    @cached_property
    def groups(self) -> Any:
        return self.task.groups.in_version(self.version.number).order_by("position", "pk")

    @cached_property
    def items(self) -> Any:
        return (
            self.task.items.in_version(self.version.number)
            .select_related("group")
            .order_by("group__position", "group_id", "position", "pk")
        )

    @cached_property
    def questions(self) -> int:
        return self.items.count()

    @cached_property
    def texts(self) -> int:
        return self.groups.count()

    def item(self, key: str) -> Item | None:
        return self.items.filter(key=key).first() if key else None

    def group(self, key: str) -> ItemGroup | None:
        return self.groups.filter(key=key).first() if key else None

    def text_page(self, number: Any) -> Page:
        return Paginator(
            self.groups.annotate(questions=_items_in(self.version.number)), TEXTS_PER_PAGE
        ).get_page(number)

    def page_of(self, item: Item) -> int:
        """The page of the table where a question stands."""
        keys = list(self.items.values_list("pk", flat=True))
        return keys.index(item.pk) // PER_PAGE + 1 if item.pk in keys else 1

    def question_page(self, number: Any) -> tuple[Page, list[QuestionRow]]:
        """A page of questions in the order in which they stand."""
        page = Paginator(self.items, PER_PAGE).get_page(number)
        rows: list[QuestionRow] = []
        last = None
        for place, item in enumerate(page.object_list, page.start_index() or 1):
            own = {**self.version.settings, **item.settings}
            rows.append(
                QuestionRow(
                    item=item,
                    number=place,
                    min_words=own.get("min_words"),
                    max_words=own.get("max_words"),
                    hint=asks_twice(item.question),
                    begins_text=item.group_id != last,
                )
            )
            last = item.group_id
        return page, rows

    def missing(self) -> list[Missing]:
        """The same conditions as actions.tasks.problems, each with the place to mend it."""
        found = []
        if not self.version.title.strip():
            found.append(Missing("The task has no title", "text"))
        if not self.questions:
            found.append(Missing("The task has no question", "questions"))
        empty = list(self.items.filter(question="").values_list("key", flat=True)[:4])
        if empty:
            order = list(self.items.values_list("key", flat=True))
            found += [
                Missing(f"Question {order.index(key) + 1:,} has no text", "questions", key)
                for key in empty[:3]
            ]
        if len(empty) > 3:
            found.append(Missing("More questions have no text", "questions", empty[3]))
        return found

    def answers(self) -> int:
        """Answers of workers to any version."""
        return Answer.objects.filter(item__task=self.task, worker__isnull=False).count()

    def changes(self) -> QuestionChanges:
        return question_changes(self.task, self.version.number)

    def touched_answers(self, changes: QuestionChanges) -> int:
        """Answers that stay with the older version since their question is worded anew."""
        ended = self.task.items.filter(until=self.version.number, key__in=changes.changed)
        return Answer.objects.filter(item__in=ended, worker__isnull=False).count()

    def cost(self) -> Cost:
        version = self.version
        per = min(version.items_per_assignment, self.questions) or version.items_per_assignment
        seconds = _measured(self.task)
        return Cost(
            questions=self.questions,
            assignments=math.ceil(self.questions * version.redundancy / per),
            per_assignment=per,
            pay=version.pay,
            minutes=statistics.median(seconds) / 60
            if len(seconds) >= MEASURED_FROM
            else self._estimated_minutes(per),
            measured=len(seconds) if len(seconds) >= MEASURED_FROM else 0,
            floor=self.task.project.hourly_floor,
        )

    def _estimated_minutes(self, per: int) -> float:
        """Reading the instructions, texts and questions, and writing the answers, in minutes."""
        if not self.questions:
            return 0.0
        length = self.items.aggregate(mean=Avg(Length("question")))["mean"] or 0
        texts = self.groups.aggregate(mean=Avg(Length("passage")), n=Count("pk"))
        read_texts = min(texts["n"], math.ceil(per * texts["n"] / self.questions))
        low = self.version.settings.get("min_words", 1)
        high = self.version.settings.get("max_words", 120)
        words = low + min(40, (high - low) / 4)
        characters = (
            len(self.version.instructions) + per * length + read_texts * (texts["mean"] or 0)
        )
        return characters / CHARACTERS_A_MINUTE + per * words / WORDS_A_MINUTE


def _items_in(number: int) -> Count:
    seen = Q(items__until__isnull=True) | Q(items__until__gt=number)
    return Count("items", filter=seen & Q(items__since__lte=number))


def _measured(task: Task) -> list[float]:
    """Seconds from opening to submitting of the newest browser assignments."""
    spent = (
        task.assignments.filter(
            state=AssignmentState.SUBMITTED, source="browser", opened_at__isnull=False
        )
        .order_by("-submitted_at")
        .values_list("submitted_at", "opened_at")[:200]
    )
    return [(done - opened).total_seconds() for done, opened in spent if done and opened]
