"""Labels that people decided by hand, beside those that a run estimates."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists

from annotation.models import Item, Task
from annotation.work.snapshots import labels as collected
from annotation.work.snapshots.labels import LabelField
from evaluation.labels.run import RUNS
from evaluation.models import LabelDecision

# Of rows of ItemLabel: that somebody decided the label of the item in the field.
IS_DECIDED = Exists(LabelDecision.objects.of_label())


@dataclass(frozen=True)
class Deciding:
    """An item's field with its decision, and what a form of it shows again."""

    item: Item
    field: LabelField
    decision: LabelDecision | None
    label: str = ""
    reason: str = ""
    error: str = ""
    changed: bool = False

    @property
    def word(self) -> str:
        """Decided label as pages show it."""
        code = self.decision.label if self.decision else ""
        return self.field.labels.get(code, code)

    @property
    def chosen(self) -> str:
        """The option that is chosen in the form."""
        return self.label or (self.decision.label if self.decision else "")


def fields_of(task: Task) -> list[LabelField]:
    """The fields of a labels task in which one option is chosen; none of other tasks."""
    return collected.fields_of(task.current) if RUNS.fits(task) else []


def field_named(task: Task, name: str) -> LabelField | None:
    """The field of this name in which one option is chosen."""
    return next((one for one in fields_of(task) if one.name == name), None)


def standing(field: str, items: Collection[int]) -> dict[int, LabelDecision]:
    """Return the decisions in force on these items, by item."""
    found = LabelDecision.objects.standing().filter(item__in=items, field=field)
    return {one.item_id: one for one in found.select_related("by")}


def deciding(item: Item, field: LabelField, **more: Any) -> Deciding:
    """Return an item's field with its decision; ``more`` are values for its form."""
    return Deciding(item, field, standing(field.name, [item.pk]).get(item.pk), **more)


def of_item(task: Task, item: Item) -> list[Deciding]:
    """List the task's label fields with this item's decisions."""
    fields = fields_of(task)
    if not fields:
        return []
    found = LabelDecision.objects.standing().filter(item=item).select_related("by")
    kept = {one.field: one for one in found}
    return [Deciding(item, field, kept.get(field.name)) for field in fields]
