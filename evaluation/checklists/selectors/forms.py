"""The rows of a stage's form, from the entries that it shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.checklists.making import stages
from evaluation.checklists.making.editing import QUESTIONS
from evaluation.checklists.making.pipeline import Standing
from evaluation.checklists.making.stages import Entries, Entry


def form(kind: str, entries: Entries, found: Mapping[str, Standing]) -> dict[str, Any]:
    """Return the context of stage.html for a stage."""
    row = found[kind].row
    data = {name: one.data for name, one in found.items()}
    made = {"stale": found[kind].stale, "components": data[stages.COMPONENTS]}
    if kind == stages.CLUSTERS:
        return {**made, "rows": _places(entries, data)}
    if kind == stages.KEY_QUESTIONS:
        return {**made, "rows": _key_rows(entries, data)}
    if kind in QUESTIONS:
        return {
            **made,
            "rows": _question_rows(entries, data),
            "picks": True,
            "copies": kind == stages.VALIDATION and row is not None,
            "room": len(entries) < stages.MAX_QUESTIONS,
        }
    # What was refused before it had an id stands among the new lines again.
    new = [one["text"] for one in entries if not one.get("id")]
    rows = [one for one in entries if one.get("id")]
    room = stages.MAX_COMPONENTS - len(rows) if kind == stages.COMPONENTS else None
    return {
        **made,
        "rows": rows,
        "picks": kind == stages.ATTRIBUTES,
        "room": room,
        "new": "\n".join(new),
    }


def _places(entries: Entries, data: stages.Data) -> list[dict[str, Any]]:
    """A row for each attribute and component that it stands in, the loose ones first."""
    held: dict[str, list[str]] = {}
    for one in entries:
        for pk in one["attributes"]:
            held.setdefault(pk, []).append(one["component"])
    rows = [
        {
            "attribute": one,
            "at": at,
            "name": f"place-{one['id']}-{at}",
            "twice": len(held.get(one["id"], [])) > 1,
        }
        for one in data[stages.ATTRIBUTES]
        for at in held.get(one["id"], [""])
    ]
    return sorted(rows, key=lambda row: bool(row["at"]))


def _key_rows(entries: Entries, data: stages.Data) -> list[dict[str, Any]]:
    asked = {one["component"]: one["text"] for one in entries}
    attributes = stages.by_id(data[stages.ATTRIBUTES])
    held = {one["component"]: one["attributes"] for one in data[stages.CLUSTERS]}
    return [
        {
            "component": one,
            "text": asked.get(one["id"], ""),
            "attributes": [attributes[pk] for pk in held.get(one["id"], []) if pk in attributes],
        }
        for one in data[stages.COMPONENTS]
    ]


def _question_rows(entries: Entries, data: stages.Data) -> list[dict[str, Any]]:
    """A row a question, and an empty one; each with the attributes that it may name."""
    subs = stages.by_id(data[stages.SUB_QUESTIONS])
    rows = [
        {
            "at": at,
            "entry": one,
            "options": _options(one, data),
            "named": len(one["attributes"]),
            "from": [subs[pk] for pk in one.get("from", []) if pk in subs],
        }
        for at, one in enumerate(entries)
    ]
    empty = {"text": "", "component": "", "attributes": []}
    rows.append(
        {
            "at": len(entries),
            "entry": empty,
            "options": _options(empty, data),
            "named": 0,
            "from": [],
            "new": True,
        }
    )
    return rows


def _options(one: Entry, data: stages.Data) -> list[dict[str, Any]]:
    """The attributes of its component, of all components for a new one, and those it names."""
    named = set(one["attributes"])
    wanted = set(named)
    for held in data[stages.CLUSTERS]:
        if one["component"] in ("", held["component"]):
            wanted |= set(held["attributes"])
    return [
        {**row, "named": row["id"] in named}
        for row in data[stages.ATTRIBUTES]
        if row["id"] in wanted
    ]
