"""Items whose answer is known, as their authors see them, and what of them is missing."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Item, Task, TaskVersion
from annotation.task_types import get_type
from annotation.task_types.known import KnownField, in_words, wrong_in
from annotation.task_types.missing import Missing
from crowdqc.numbers import several

LISTED, CHOICES = 100, 500  # known answers, and items that could have one
MOST_NAMED = 3  # known answers that no longer fit, named one by one


class KnownBuild:
    """The known answers of a draft. ``build`` is a ``Build``."""

    def __init__(self, build: Any) -> None:
        self.build = build
        self.settings = build.version.settings

    @property
    def fields(self) -> list[KnownField]:
        """Fields of an item for which the task takes known answers."""
        return self.build.type.known_fields(self.settings)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Items with their known answers in words, the first of them."""
        items = self.build.items.filter(expected__isnull=False).select_related("first")
        return [
            {"item": item, "words": in_words(self.fields, item.expected)}
            for item in items.order_by("position", "pk")[:LISTED]
        ]

    @cached_property
    def count(self) -> int:
        """How many known answers there are."""
        return int(self.build.known.count())

    @property
    def needed(self) -> int:
        """Number of known answers needed so that none is shown more often than other items."""
        mixed_in = self.build.questions * self.settings.get("gold_per_assignment", 0)
        return math.ceil(mixed_in / self.build.version.items_per_assignment)

    @property
    def shown_to(self) -> int:
        """Number of workers that each known answer is shown to, on average over all slots."""
        return round(self.build.version.redundancy * self.needed / self.count) if self.count else 0

    @property
    def choices(self) -> list[Item]:
        """Items that could have one, the first of them."""
        asked = self.build.counted_items.select_related("first").order_by("position", "pk")
        return list(asked[:CHOICES])

    @property
    def lists_all(self) -> bool:
        """Whether ``choices`` are all: else the id of one is typed."""
        return bool(self.build.questions <= CHOICES)


def missing_known(task: Task, version: TaskVersion) -> list[Missing]:
    """List what is missing in known answers: too few, or answers that no longer fit the fields."""
    task_type, own = get_type(task.type), version.settings
    fields, noun = task_type.known_fields(own), task_type.known_noun
    if not fields:
        return []
    known = task.items.in_version(version.number).filter(expected__isnull=False).order_by("pk")
    rows = list(known.values_list("key", "expected"))
    there = len(rows)
    wanted, quiz, part = own.get("gold_per_assignment", 0), own.get("quiz_items", 0), task_type
    found = []
    if wanted > there:
        told = {"known": f"{wanted} {several(noun)}", "there": there}
        if not there:
            wants = _("%(known)s an assignment, there are none")
        else:
            wants = ngettext(
                "%(known)s an assignment, there is %(there)s",
                "%(known)s an assignment, there are %(there)s",
                there,
            )
        found.append(Missing(wants % told, part.known_part))
    if quiz > there:
        told = {"known": f"{quiz} {several(noun)}", "there": there}
        if not there:
            asks = _("The quiz asks %(known)s, there are none")
        else:
            asks = ngettext(
                "The quiz asks %(known)s, there is %(there)s",
                "The quiz asks %(known)s, there are %(there)s",
                there,
            )
        found.append(Missing(asks % told, part.known_part))
    if quiz and own.get("quiz_pass", 1) > quiz:
        wrong = _("The quiz is passed from %(needed)s right, and asks %(quiz)s") % {
            "needed": own["quiz_pass"],
            "quiz": quiz,
        }
        found.append(Missing(wrong, part.known_part))
    unfit = [(key, wrong) for key, expected in rows if (wrong := wrong_in(fields, expected, noun))]
    return found + [Missing(wrong, part.known_part, key) for key, wrong in unfit[:MOST_NAMED]]
