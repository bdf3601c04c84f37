"""The texts of a checklist task as models are shown them, and what the dimension means."""

from __future__ import annotations

from django.utils.translation import gettext as _

from annotation.models import Item, Task, TaskVersion
from crowdqc.errors import Conflict
from evaluation.models import ChecklistVersion

BY_HAND = "written by hand"


def shown_version(task: Task) -> TaskVersion:
    """The version in force, or the draft of a task that was never published."""
    return task.current if task.current is not None else task.versions.latest("number")


def texts_of(task: Task) -> list[Item]:
    """The items that put a text to judgment, in their order; each text once."""
    rows = task.items.in_version(shown_version(task).number).filter(
        expected__isnull=True, first__isnull=False
    )
    found: dict[int | None, Item] = {}
    for item in rows.select_related("group", "first").order_by(
        "group__position", "group_id", "position", "pk"
    ):
        found.setdefault(item.first_id, item)
    if not found:
        raise Conflict(_("The task has no text to score."))
    return list(found.values())


def source_of(item: Item, task: Task) -> str:
    """Return the source of the item's text if people are shown it; else ""."""
    shown = shown_version(task).settings.get("show_sources", True)
    return item.group.passage.strip() if shown else ""


def text_of(item: Item) -> str:
    """Return the text under judgment in an item."""
    assert item.first is not None  # noqa: S101 (texts_of takes only such)
    return item.first.text


def frozen_version(task: Task) -> ChecklistVersion | None:
    """The frozen checklist that the task's questions are of; None for one written by hand."""
    pk = shown_version(task).settings.get("version") or 0
    if not pk:
        return None
    rows = ChecklistVersion.objects.filter(pk=pk, checklist__project=task.project_id)
    return rows.select_related("checklist__item__group").first()


def rubric_of(task: Task) -> str:
    """Return the rubric of the dimension that the checklist was made for; "" if there is none."""
    version = frozen_version(task)
    return version.checklist.item.group.passage.strip() if version is not None else ""


def condition_of(task: Task) -> str:
    """Return whose attributes the checklist was made from, in words."""
    version = frozen_version(task)
    if version is None:
        return BY_HAND
    return str(version.made_of.get("condition") or BY_HAND)
