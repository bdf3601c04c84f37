"""Small studies of labels: a task of leaves with a field that depends on another, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.authoring.actions import items, tasks
from annotation.models import Project, Task

TEXTS = (
    "A leaf with brown spots.",
    "A leaf that something has eaten from.",
    "A green leaf, as it should be.",
)
DAMAGE: dict[str, Any] = {
    "name": "damage",
    "label": "Main damage",
    "question": "What is the main damage?",
    "kind": "choose_one",
    "unsure": True,
    "options": [
        {"value": "spots", "label": "Brown spots", "description": "round and dry"},
        {"value": "holes", "label": "Holes", "description": "eaten through"},
        {"value": "none", "label": "None of these", "description": "the leaf looks healthy"},
    ],
}
MORE: dict[str, Any] = {
    "name": "more",
    "label": "What else",
    "question": "What else do you see?",
    "kind": "choose_several",
    "unsure": True,
    "options": [
        {"value": "yellow", "label": "Yellowing"},
        {"value": "curled", "label": "Curled edges"},
    ],
    "ask_if": [{"field": "damage", "is": "none_of", "values": ["none", "unsure"]}],
}
PLACES: dict[str, Any] = {
    "name": "places",
    "label": "Places",
    "question": "Mark every place and date",
    "kind": "spans",
    "options": [{"value": "place", "label": "Place"}, {"value": "date", "label": "Date"}],
}


def make_labels(
    project: Project,
    texts: Sequence[str] = TEXTS,
    *,
    fields: Sequence[Mapping[str, Any]] = (DAMAGE, MORE),
    settings: Mapping[str, Any] | None = None,
    publish: bool = True,
    **rules: Any,
) -> Task:
    """A labels task over these texts, keyed leaf-1, leaf-2, ..., published."""
    by = project.owner
    task = tasks.create_task(by=by, project=project, type="labels", title="Leaf damage")
    asked = {"fields": [dict(row) for row in fields], **(settings or {})}
    usual = {
        "redundancy": 2,
        "items_per_assignment": max(1, len(texts)),
        "order": "fixed",
        "pay": "1.00",
    }
    tasks.edit_draft(by=by, task=task, fields={**usual, **rules, "settings": asked})
    for number, text in enumerate(texts, 1):
        items.save_item(by=by, task=task, key=f"leaf-{number}", question=text)
    if publish:
        tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task
