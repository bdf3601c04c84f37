"""What a task type is: its settings, its checks and the shape it hands to evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from crowdqc.errors import Invalid

# Set in what ``check`` gets as settings for an answer given on the worker's page, which records
# what was in view; programs have no page.
ON_PAGE = "on_page"


@dataclass(frozen=True)
class Values:
    """An answer's values in the three closed shapes (see annotation.models.answers)."""

    texts: list[tuple[str, int, str]] = field(default_factory=list)  # field, index, text
    choices: list[tuple[str, str, int | None]] = field(default_factory=list)  # field, code, ordinal
    spans: list[tuple[str, int, str, int, int]] = field(default_factory=list)


class TaskType(Protocol):
    """One file and one registry line make a task type."""

    slug: str
    label: str
    sentence: str  # what it asks and what comes of it, for somebody who chooses a type
    shape: str  # "texts", "responses", "pairs" or "ratings": what the snapshot is made of
    item_noun: str  # what one item is called: a question, a pair, a text
    answer_template: str  # what the worker fills in, for one item
    item_template: str  # the worker's page around it
    builder_template: str  # the type's own settings in the builder

    def clean_settings(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a version or item with defaults filled in; Invalid names the field."""
        ...

    def clean_draft(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """A draft as stored; too long or of the wrong shape raises Invalid, unfinished is fine."""
        ...

    def is_answered(self, draft: Mapping[str, Any]) -> bool:
        """Whether the worker did something with this item that is not skipping."""
        ...

    def reading_parts(self, settings: Mapping[str, Any]) -> frozenset[str]:
        """What of an item's topic stands open on its page: "passage", "passages", or neither."""
        ...

    def check(
        self, draft: Mapping[str, Any], settings: Mapping[str, Any], *, flipped: bool = False
    ) -> Values | None:
        """The values to store, None for a permitted skip; Invalid says what is missing.

        ``flipped``: the item's two texts were shown the other way round than they are stored.
        """
        ...


def whole_number(raw: Mapping[str, Any], name: str, default: int, low: int, high: int) -> int:
    """An integer setting within ``low..high``; Invalid names the field."""
    value = raw.get(name, default)
    if value in ("", None):
        return default
    try:
        number = int(str(value))
    except ValueError as error:
        raise Invalid(
            f"{name} is not a whole number.", fields={name: "A whole number, please."}
        ) from error
    if not low <= number <= high:
        raise Invalid(f"{name} is out of range.", fields={name: f"{low} to {high}."})
    return number
