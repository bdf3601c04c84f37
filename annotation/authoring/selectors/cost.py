"""What a task takes to fill: assignments, money, and minutes, estimated or measured."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Avg, Count, F
from django.db.models.functions import Coalesce, Length

from annotation.models import Task, TaskVersion
from annotation.models.assignments import AssignmentState
from annotation.task_types.rating.explanation import EXPLANATION, REQUIRED
from annotation.task_types.rating.type import DOCUMENT, by_document

# Silent reading of plain prose, about 210 words a minute; composing on a keyboard.
READ_A_MINUTE = 210
CHARACTERS_A_MINUTE = 1200
WORDS_A_MINUTE = 25
SECONDS_A_LINE = 5  # to decide on one dimension or scale, once the texts are read
# Writing from sources goes faster than composing, since much is taken over, and of many passages
# only a part is read. Together they give 10 minutes for 250 words with 20 passages at hand, where
# Gienapp et al. (2025, 3.1) measured 10:22.
SOURCED_A_MINUTE = 40
READ_FOR_A_WORD = 3  # words of passages read for each word written, where there are so many
CHARACTERS_A_WORD = 6
WORDS_AN_ATTRIBUTE = 12  # of one attribute thought aloud, with the thinking
MEASURED_FROM = 5  # submitted assignments, from which on their median replaces the estimate


def an_hour(pay: Decimal, minutes: float | None) -> Decimal | None:
    """What ``pay`` for so many minutes comes to an hour; None where no time is known."""
    if not minutes:
        return None
    return (pay * 60 / Decimal(str(minutes))).quantize(Decimal("0.01"))


@dataclass(frozen=True)
class Cost:
    """What filling every slot takes, in assignments, money and minutes."""

    questions: int
    answers: int  # slots in all
    assignments: int
    per_assignment: int
    pay: Decimal
    minutes: float
    measured: int  # assignments behind the minutes; 0: an estimate from lengths
    floor: Decimal | None

    @property
    def hourly(self) -> Decimal | None:
        return an_hour(self.pay, self.minutes)

    @property
    def whole_minutes(self) -> int:
        return max(1, round(self.minutes))

    @property
    def hours(self) -> float:
        """Of work, over all assignments."""
        return self.assignments * self.minutes / 60

    @property
    def at_most(self) -> Decimal:
        return self.pay * self.assignments

    @property
    def under_floor(self) -> bool:
        return self.floor is not None and self.hourly is not None and self.hourly < self.floor


def cost_of(task: Task, version: TaskVersion, items: Any, groups: Any, shape: str) -> Cost:
    """The cost of a version that shows these items (a queryset without attention items)."""
    questions = items.count()
    per = min(version.items_per_assignment, questions) or version.items_per_assignment
    seconds = _measured(task)
    measured = len(seconds) if len(seconds) >= MEASURED_FROM else 0
    if measured:
        minutes = statistics.median(seconds) / 60
    elif version.expected_minutes:
        minutes = float(version.expected_minutes)
    elif not questions:
        minutes = 0.0
    elif shape == "texts":
        minutes = _writing(version, items, groups, per, questions)
    elif shape == "responses":
        minutes = _responding(version, groups, per)
    elif shape == "attributes":
        minutes = _thinking(version, groups, per)
    else:
        minutes = _judging(version, items, groups, per)
    answers = questions * version.redundancy
    return Cost(
        questions=questions,
        answers=answers,
        assignments=_assignments(version, items, per, answers),
        per_assignment=per,
        pay=version.pay,
        minutes=minutes,
        measured=measured,
        floor=task.project.hourly_floor,
    )


def _assignments(version: TaskVersion, items: Any, per: int, answers: int) -> int:
    """Bundles that fill every slot; one of documents ends where its document does."""
    if not by_document(version.settings):
        return math.ceil(answers / per)
    sizes = items.order_by().values("group").annotate(n=Count("pk")).values_list("n", flat=True)
    return sum(math.ceil(n / per) for n in sizes) * version.redundancy


def _writing(version: TaskVersion, items: Any, groups: Any, per: int, questions: int) -> float:
    """Reading the instructions, texts and questions, and writing the answers, in minutes."""
    length = items.aggregate(mean=Avg(Length("question")))["mean"] or 0
    texts = groups.aggregate(mean=Avg(Length("passage")), n=Count("pk"))
    read_texts = min(texts["n"], math.ceil(per * texts["n"] / questions))
    low = version.settings.get("min_words", 1)
    high = version.settings.get("max_words", 120)
    words = low + min(40, (high - low) / 4)
    characters = len(version.instructions) + per * length + read_texts * (texts["mean"] or 0)
    return characters / CHARACTERS_A_MINUTE + per * words / WORDS_A_MINUTE


def _responding(version: TaskVersion, groups: Any, per: int) -> float:
    """Reading instructions and passages, writing from them, and both forms, in minutes."""
    own = version.settings
    sample = groups.order_by("position", "pk")[:20].values_list("passages", flat=True)
    lengths = [sum(len(one["text"]) for one in passages) for passages in sample]
    there = statistics.mean(lengths) / CHARACTERS_A_WORD if lengths else 0
    target = own["target_words"]
    told = [len(style["instructions"].split()) for style in own["styles"]]
    read = statistics.mean(told) + min(there, READ_FOR_A_WORD * target)
    lines = len(own["entry"]) + len(own["exit"])
    one = read / READ_A_MINUTE + target / SOURCED_A_MINUTE + lines * SECONDS_A_LINE / 60
    return len(version.instructions.split()) / READ_A_MINUTE + per * one


def _thinking(version: TaskVersion, groups: Any, per: int) -> float:
    """Reading rubric, samples and their sources, and writing the attributes, in minutes."""
    sample = groups.order_by("position", "pk")[:20].values_list("passage", "passages")
    lengths = [
        len(rubric) + sum(len(one["text"]) + len(one["source"]) for one in passages)
        for rubric, passages in sample
    ]
    read = statistics.mean(lengths) / CHARACTERS_A_MINUTE if lengths else 0
    written = version.settings["min_attributes"] * WORDS_AN_ATTRIBUTE / WORDS_A_MINUTE
    return len(version.instructions) / CHARACTERS_A_MINUTE + per * (read + written)


def _judging(version: TaskVersion, items: Any, groups: Any, per: int) -> float:
    """Reading the instructions and every text shown, and deciding line by line, in minutes.

    Beside that, reading the document or the source beside it and writing why, where asked.
    """
    both = F("first__words") + Coalesce(F("second__words"), 0)
    words = items.order_by().aggregate(mean=Avg(both))["mean"] or 0
    shown = per + version.settings.get("gold_per_assignment", 0)
    own = version.settings
    lines = len(own.get("dimensions") or own.get("scales") or own.get("questions") or ())
    reading = len(version.instructions.split()) + shown * words
    if own.get("layout") == DOCUMENT:
        there = groups.aggregate(mean=Avg(Length("passage")))["mean"] or 0
        reading += there / CHARACTERS_A_WORD * (1 if by_document(own) else shown)
    elif own.get("questions") and own.get("show_sources"):  # its source stands beside each text
        there = items.order_by().aggregate(mean=Avg(Length("group__passage")))["mean"] or 0
        reading += there / CHARACTERS_A_WORD * shown
    asked = own.get(EXPLANATION) or {}
    said = asked.get("min_words", 1) if asked.get("wanted") == REQUIRED else 0
    writing = shown * said / WORDS_A_MINUTE
    return float(reading / READ_A_MINUTE + writing + shown * lines * SECONDS_A_LINE / 60)


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
