"""What programs are told of the items that were drawn for people."""

from __future__ import annotations

from typing import Any

from annotation.models import Item, Task
from evaluation.models import ItemDraw
from evaluation.replacement import next_items

SHOWN = 20  # draws of a task


def draws_of(task: Task) -> list[dict[str, Any]]:
    """The newest draws of a task."""
    return [draw_payload(one, task) for one in ItemDraw.objects.filter(task=task)[:SHOWN]]


def draw_payload(draw: ItemDraw, task: Task) -> dict[str, Any]:
    """Return a draw for the API: how it was made, its items, and their cost."""
    recipe = draw.recipe
    ways = {mix: way for way, mix in next_items.WAYS.items()}
    cost = next_items.cost_of(task, len(draw.drawn))
    keys = Item.objects.filter(pk__in=draw.drawn).order_by("position", "pk")
    return {
        "id": draw.pk,
        "field": draw.field,
        "model": recipe["model"],
        "way": ways[recipe["mix"]],
        "seed": recipe["seed"],
        "trusted": recipe["trusted"],
        "items": list(keys.values_list("key", flat=True)),
        "answers": cost["answers"],
        "pay": cost["pay"],
        "created_at": draw.created_at,
    }
