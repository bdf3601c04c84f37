"""Small studies of labels: leaves as texts or images, and a field that depends on another."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

from annotation.authoring.actions import items, media, tasks
from annotation.files.reading.media import read_media
from annotation.gallery.actions.examples import begin_task
from annotation.gallery.templates import get_template
from annotation.models import MediaFile, Project, Task

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


LEAVES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "leaf_fields.json").read_text(encoding="utf-8")
)


def begin_leaves(project: Project) -> Task:
    """The template of images as a draft, with a field of classes and a scale that follows it."""
    plain = get_template("image")
    rules = {**plain.rules, "settings": {"content": "image", "fields": LEAVES}}
    return begin_task(by=project.owner, project=project, template=replace(plain, rules=rules))


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


def png(color: str = "green", size: tuple[int, int] = (400, 300), **saved: Any) -> bytes:
    """Make a file of an image of one colour; ``saved`` goes to Pillow's ``save``."""
    out = io.BytesIO()
    mode, kind = saved.pop("mode", "RGB"), saved.pop("format", "PNG")
    Image.new(mode, size, color).save(out, kind, **saved)
    return out.getvalue()


def wav(seconds: float = 1.0) -> bytes:
    """Silence as a file, with a tag that says who recorded it."""
    samples = bytes(int(8000 * seconds))
    chunks = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
    chunks += b"LIST" + struct.pack("<I", 8) + b"INFOanna"
    chunks += b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WAVE" + chunks


def make_image(project: Project, name: str = "leaf.png", data: bytes | None = None) -> MediaFile:
    """A file of the project that no item shows."""
    read = read_media(data or png(), name)
    return media.store_media(by=project.owner, project=project, media=read, name=name)


def make_images(project: Project, colors: Sequence[str] = ("green", "brown"), **more: Any) -> Task:
    """A labels task over images, keyed by their colours, described for who cannot see them."""
    publish = more.pop("publish", True)
    more.setdefault("items_per_assignment", len(colors))
    task = make_labels(project, (), settings={"content": "image"}, publish=False, **more)
    files = [(f"{color}.png", png(color)) for color in colors]
    media.upload_media(by=project.owner, task=task, files=files)
    for item in task.items.all():
        items.save_item(by=project.owner, task=task, item=item, question=f"A leaf, {item.key}.")
    if publish:
        tasks.publish(by=project.owner, task=task)
    task.refresh_from_db()
    return task
