"""What a task type is: its settings, its checks and the shape it hands to evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Task, TaskVersion
from annotation.task_types import pace
from annotation.task_types.known import KnownField
from annotation.task_types.label_studio import LabelStudio
from annotation.task_types.missing import Missing, missing_questions
from annotation.task_types.scales import truth
from crowdqc import money
from crowdqc.errors import Invalid
from crowdqc.web.terms import Words

# Set in what ``check`` gets as settings for an answer given on the worker's page, which records
# what was in view; programs have no page.
ON_PAGE = "on_page"
# The item's text, set in what ``check`` gets for a type whose ``check_reads`` fetches it.
ITEM_TEXT = "item_text"
# Whether speech is kept for the item, set in what ``check`` gets where a task asks for speech.
RECORDED = "recorded"
QUIZ_TRIES = 2
MOST_QUIZ_PAY = 1000


@dataclass(frozen=True)
class Values:
    """An answer's values in the three closed shapes (see annotation.models.answers)."""

    texts: list[tuple[str, int, str]] = field(default_factory=list)  # field, index, text
    choices: list[tuple[str, str, int | None]] = field(default_factory=list)  # field, code, ordinal
    spans: list[tuple[str, int, str, int, int]] = field(default_factory=list)


class TaskType:
    """What kind of work a task is: it answers for itself, so that nobody asks what it is.

    A type is a folder below ``annotation.task_types`` and one line in its registry. The folder
    holds ``type`` (this class: settings, checks, nouns, and what others need to know of it) and its
    parts of pages, which may import all packages and are found by name: see ``part_of``.
    """

    slug: str
    label: Words
    sentence: Words  # what it asks and what comes of it, for somebody who chooses a type
    # What the evaluation computes with: it has one adapter for each shape.
    shape: str

    item_noun: str = "question"  # what one item is called: a question, a pair, a text
    answer_noun: str = "answer"  # and what a person gives to one
    is_typed: bool = True  # people write their answer, where they do not choose it
    judges_texts: bool = False  # its items are texts of the project
    pairs_texts: bool = False  # two of them at a time
    models_beside: bool = False  # answers of models are compared with people's, and are no votes

    answer_template: str  # what the worker fills in, for one item
    item_template: str  # the worker's page around it
    builder_template: str  # the type's own settings in the builder

    # authoring
    add_words: Words = gettext_lazy("Add questions")  # what comes first in an empty draft
    begins_with: Mapping[str, Any] = {}  # rules of a first draft, where the usual ones would be odd
    known_noun: str = "known answer"  # an item whose answer is known, as its authors call it
    known_part: str = "known"  # and the part of the builder where they are chosen
    redundancy_part: str = "order"  # and the one where the number of answers per item is set
    has_checklist: bool = False  # it asks the yes/no questions of a list
    has_samples: bool = False  # its groups are dimensions with a rubric and scored samples
    has_styles: bool = False  # its items follow from it: one for each topic in each style
    numbers_by_text: bool = True  # its items are numbered text by text, or as they are handed out
    scales_in: str = ""  # the setting that holds its dimensions or scales, edited line by line
    # files
    exports: tuple[str, ...] = ("assignments", "events")  # formats, in the order of pages
    imports: tuple[str, ...] = ()  # the same of what it takes
    unlisted: tuple[str, ...] = ()  # taken too, and not named on the task's page
    import_words: Mapping[str, Mapping[str, Any]] = {}  # said of a format instead of the usual
    label_studio: LabelStudio = LabelStudio()  # how items and answers look there, where exported
    # money and privacy
    bonus_bases: tuple[str, ...] = ()  # the scores of its workers that a bonus can be given by
    # ... and why there is none by another one.
    no_bonus: Words = gettext_lazy("This type of task has no such score.")
    paid_noun: str = ""  # what a payout counts, where that is not called as an answer is
    # work
    keeps_groups_together: bool = False  # a random order is over topics, then within each
    draws_items: bool = False  # a random order is drawn over all items, not an assignment's alone
    overlaps_bundles: bool = False  # claims link workers by items that they have in common
    check_reads: tuple[str, ...] = ()  # of an entry's item, what a check needs beside its settings

    def exports_of(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """List the export formats of a task with these settings."""
        return self.exports

    def imports_of(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """The formats that a task of these settings takes."""
        return self.imports

    def imports_listed(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """List the import formats that the task's page shows."""
        return tuple(name for name in self.imports_of(settings) if name not in self.unlisted)

    def clean_settings(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a version or item with defaults filled in; Invalid names the field."""
        raise NotImplementedError

    def known_fields(self, settings: Mapping[str, Any]) -> list[KnownField]:
        """List the fields for which items can have known answers; empty if the type has none."""
        return []

    def clean_draft(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """A draft as stored; too long or of the wrong shape raises Invalid, unfinished is fine."""
        raise NotImplementedError

    def is_answered(self, draft: Mapping[str, Any]) -> bool:
        """Whether the worker did something with this item that is not skipping."""
        raise NotImplementedError

    def records_speech(self, settings: Mapping[str, Any]) -> bool:
        """Whether a worker may have their voice recorded for an item."""
        return False

    def reading_parts(self, settings: Mapping[str, Any]) -> frozenset[str]:
        """Parts of an item's topic that its page shows: "passage", "passages", or neither."""
        return frozenset()

    def check(
        self, draft: Mapping[str, Any], settings: Mapping[str, Any], *, flipped: bool = False
    ) -> Values | None:
        """The values to store, None for a permitted skip; Invalid says what is missing.

        ``flipped``: the item's two texts were shown the other way round than they are stored.
        """
        raise NotImplementedError

    def in_words(self, draft: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        """Summarise a draft in one line."""
        return str(draft.get("text", ""))

    def noun_in(self, settings: Mapping[str, Any]) -> str:
        """Return the noun for one item of a task with these settings."""
        return self.item_noun

    def lines(self, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
        """List the dimensions or scales asked of every item, as rows of the settings."""
        found: list[dict[str, Any]] = settings.get(self.scales_in, [])
        return found

    def new_line(self, name: str, label: str) -> dict[str, Any]:
        """Make an empty dimension or scale with this name and label."""
        return {"name": name, "label": label, "question": "", "description": ""}

    def template_lines(self, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The dimensions or scales of the study that brought them in."""
        return []

    def pooled_by(self, settings: Mapping[str, Any]) -> object:
        """Return the settings that versions must share for their answers to be pooled."""
        return None

    def pooled_whatever_wording(self, settings: Mapping[str, Any]) -> object:
        """Return the same, for versions that differ in wording only."""
        return self.pooled_by(settings)

    def wording(self, settings: Mapping[str, Any]) -> dict[str, object]:
        """Return how each field, dimension or scale is worded, by its name."""
        return {
            row["name"]: (row["label"], row.get("question", "")) for row in self.lines(settings)
        }

    def signature(self, task: Task, version: TaskVersion) -> str:
        """Hash everything that generated items depend on; "" for types that generate none."""
        return ""

    def missing(
        self, task: Task, version: TaskVersion, signature: str | None = None
    ) -> list[Missing]:
        """List what must be fixed before publishing; ``signature``: the version's, if known."""
        return missing_questions(task, version)

    def problems(self, task: Task, version: TaskVersion) -> list[str]:
        """List what must be fixed before publishing, as sentences for programs."""
        return [f"{lack.sentence}." for lack in self.missing(task, version)]

    def minutes(
        self, version: TaskVersion, items: Any, groups: Any, *, per: int, count: int
    ) -> float:
        """Estimate the minutes for ``per`` of the ``count`` items before any time is measured."""
        return pace.estimate_answering(version, items, groups, per, count)

    def pace_in_words(self, settings: Mapping[str, Any]) -> str:
        """Return the assumptions of ``minutes`` as text."""
        return _("reading at %(read)s words a minute, writing at %(written)s") % {
            "read": pace.READ_A_MINUTE,
            "written": pace.WORDS_A_MINUTE,
        }


@cache
def part_of(task_type: TaskType, name: str, default: str = "") -> ModuleType:
    """Load the ``builder_views`` or ``worker_views`` of a type, which may import all packages.

    Found in the folder of the type by its name, as the type itself may not import what is above it.
    ``default``: the module that stands in where the folder has none. Every page of a worker asks
    several times, so what was found is kept.
    """
    folder = type(task_type).__module__.rpartition(".")[0]
    part = f"{folder}.{name}"
    return import_module(default if default and find_spec(part) is None else part)


def whole_number(raw: Mapping[str, Any], name: str, default: int, low: int, high: int) -> int:
    """An integer setting within ``low..high``; Invalid names the field."""
    value = raw.get(name, default)
    if value in ("", None):
        return default
    try:
        number = int(str(value))
    except ValueError as error:
        raise Invalid(
            _("%(name)s is not a whole number.") % {"name": name},
            fields={name: _("A whole number, please.")},
        ) from error
    if not low <= number <= high:
        raise Invalid(
            _("%(name)s is out of range.") % {"name": name},
            fields={name: _("%(low)s to %(high)s.") % {"low": low, "high": high}},
        )
    return number


# Settings of a version alone, which no item has of its own.
KNOWN_RULES = (
    "gold_per_assignment",
    "known_feedback",
    "quiz_items",
    "quiz_pass",
    "quiz_pay",
    "quiz_minutes",
)


def known_rules(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of task types with known answers: mixing, feedback, quiz."""
    pay = money.parse_amount(raw.get("quiz_pay") or 0, field="quiz_pay", high=MOST_QUIZ_PAY)
    return {
        "gold_per_assignment": whole_number(raw, "gold_per_assignment", 0, 0, 20),
        "known_feedback": truth(raw.get("known_feedback", False)),
        "quiz_items": whole_number(raw, "quiz_items", 0, 0, 50),
        "quiz_pass": whole_number(raw, "quiz_pass", 1, 1, 50),
        "quiz_pay": f"{pay:.2f}",
        "quiz_minutes": whole_number(raw, "quiz_minutes", 0, 0, 120),
    }
