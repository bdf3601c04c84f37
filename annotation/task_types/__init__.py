"""The registry of task types: one file, one line here."""

from __future__ import annotations

from crowdqc.errors import Invalid

from .base import TaskType, Values
from .checklist import Checklist
from .free_text import FreeText
from .pairwise import Pairwise
from .rating import Rating
from .think_aloud import ThinkAloud
from .writing import Writing

TYPES: dict[str, TaskType] = {
    FreeText.slug: FreeText(),
    Pairwise.slug: Pairwise(),
    Rating.slug: Rating(),
    Writing.slug: Writing(),
    ThinkAloud.slug: ThinkAloud(),
    Checklist.slug: Checklist(),
}


def get_type(slug: str) -> TaskType:
    """The task type of this name, or Invalid."""
    try:
        return TYPES[slug]
    except KeyError:
        raise Invalid(f"There is no task type {slug!r}.", fields={"type": "Choose one."}) from None


__all__ = ["TYPES", "TaskType", "Values", "get_type"]
