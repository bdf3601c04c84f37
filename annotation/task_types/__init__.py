"""The registry of task types: a type is a folder, and one line here."""

from __future__ import annotations

from django.utils.translation import gettext as _

from annotation.task_types.base import TaskType, Values, part_of
from annotation.task_types.checklist.type import Checklist
from annotation.task_types.free_text.type import FreeText
from annotation.task_types.labels.type import Labels
from annotation.task_types.pairwise.type import Pairwise
from annotation.task_types.rating.type import Rating
from annotation.task_types.think_aloud.type import ThinkAloud
from annotation.task_types.writing.type import Writing
from crowdqc.errors import Invalid

TYPES: dict[str, TaskType] = {
    FreeText.slug: FreeText(),
    Pairwise.slug: Pairwise(),
    Rating.slug: Rating(),
    Writing.slug: Writing(),
    ThinkAloud.slug: ThinkAloud(),
    Checklist.slug: Checklist(),
    Labels.slug: Labels(),
}


def get_type(slug: str) -> TaskType:
    """The task type of this name, or Invalid."""
    try:
        return TYPES[slug]
    except KeyError:
        raise Invalid(
            _("There is no task type %(slug)s.") % {"slug": repr(slug)},
            fields={"type": _("Choose one.")},
        ) from None


__all__ = ["TYPES", "TaskType", "Values", "get_type", "part_of"]
