"""What the page of a labels item shows: its content, and the fields with their options.

Pure; asks the database nothing but the row of an item's file.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.html import linebreaks
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _

from annotation.chats.page import view_chat
from annotation.chats.storage import chat_for_workers
from annotation.models import Item
from annotation.task_types.labels.content import (
    CONVERSATION,
    FILES,
    MARKDOWN,
    TABLE,
    caption_of,
    render_table,
)
from annotation.task_types.labels.fields import (
    CHOOSE_ONE,
    CHOOSE_SEVERAL,
    CHOOSE_TURN,
    NUMBER,
    RANK,
    SCALE,
    SPANS,
    UNSURE,
    item_fields,
    label_of,
    points_of,
)
from annotation.task_types.labels.rules import PREFIX, asked_fields, is_open, reason_asked
from crowdqc.web.markdown import render_markdown

KEYED = 9  # options that a digit chooses
SEGMENTS = 11  # points of a scale that stand side by side; more are a number
LINE_STYLES = ("solid", "dashed", "dotted", "double")
COLOR_ORDER = ("blue", "orange", "purple", "green", "red", "grey")


@dataclass(frozen=True)
class Choice:
    """An option, a point or "Unsure" as the page offers it; ``place`` counts options from 1."""

    value: str
    label: str
    description: str
    key: str
    place: int
    name: str  # of its form field
    chosen: bool
    held: str = ""  # what the draft holds: the rank
    color: str = ""
    line: str = ""


@dataclass(frozen=True)
class FieldLine:
    """A field as the page shows it."""

    number: int
    name: str
    key: str  # of its form field
    kind: str
    question: str
    hint: str
    reason: str  # what was chosen that it is asked for, where it depends on others
    conditions: Sequence[Mapping[str, Any]]
    labels: Mapping[str, str]  # of codes that conditions of later fields look at
    options: Sequence[Choice]
    unsure: Choice | None
    value: str
    asked: bool
    is_open: bool
    required: bool
    low: Any
    high: Any
    step: Any
    least: int
    most: int
    unit: str = ""  # the turn or call of a conversation that it is about
    corrects: bool = False  # its answer is a better text for that turn

    @property
    def segmented(self) -> bool:
        """Whether the scale is short enough to be shown in one row."""
        return self.kind == SCALE and len(self.options) <= SEGMENTS

    @property
    def script_json(self) -> str:
        """JSON that the page's script reads for this field."""
        own = {
            "kind": self.kind,
            "required": self.required,
            "conditions": list(self.conditions),
            "labels": dict(self.labels),
            "min": self.least,
            "max": self.most,
        }
        return json.dumps(own)


def lines(
    fields: Sequence[Mapping[str, Any]], draft: Mapping[str, Any], *, seed: str = ""
) -> list[FieldLine]:
    """Return all fields as lines of the page, each with whether the draft makes it asked.

    ``seed``: of the order of options, where a field shuffles them; the same seed, the same order.
    """
    asked = {row["name"] for row in asked_fields(draft, fields)}
    return [
        _line(number, row, draft, fields, asked=row["name"] in asked, seed=seed)
        for number, row in enumerate(fields, 1)
    ]


def page(
    item: Item,
    settings: Mapping[str, Any],
    draft: Mapping[str, Any],
    *,
    seed: str = "",
    named: bool = False,
) -> dict[str, Any]:
    """Return the context of label.html for an item."""
    found = lines(item_fields(settings), draft, seed=seed)
    still = [line for line in found if line.asked and line.is_open]
    marked = next((line for line in found if line.kind == SPANS), None)
    by_unit: dict[str, list[FieldLine]] = {}
    for line in found:
        if line.unit:
            by_unit.setdefault(line.unit, []).append(line)
    return {
        "lines": [line for line in found if not line.unit],
        "named": named,
        "still_open": len(still),
        "current": next(iter([*still, *(line for line in found if line.asked)]), None),
        "marked": marked,
        **_shown(item, settings, by_unit, plain=marked is not None),
        "about": render_markdown(item.group.passage) if item.group.passage.strip() else "",
        "has_units": bool(by_unit),
        "has_keys": any(line.options for line in found),
        "unsure_offered": any(line.unsure for line in found),
    }


def _shown(
    item: Item,
    settings: Mapping[str, Any],
    by_unit: Mapping[str, list[FieldLine]],
    *,
    plain: bool,
) -> dict[str, Any]:
    """The item's text as HTML, its conversation or its file; ``kind``: which of these."""
    kind = settings.get("content")
    if item.chat is not None and not plain:
        hides, chat = bool(settings.get("hide_system")), chat_for_workers(item)
        return {"kind": CONVERSATION, "chat": view_chat(chat, by_unit, hides_system=hides)}
    if kind in FILES:
        media = item.media if item.media_id else None
        caption = caption_of(settings, item.settings.get("meta", {}))
        return {"kind": kind, "media": media, "item": item, "caption": caption}
    return {"kind": kind, "content": _content(item, settings, plain=plain)}


def _content(item: Item, settings: Mapping[str, Any], *, plain: bool) -> str:
    """The item's text as HTML; as plain text where it is marked, since offsets count its own."""
    if plain:
        return item.question
    if settings.get("content") == MARKDOWN:
        return render_markdown(item.question)
    if settings.get("content") == TABLE:
        return render_table(item.question)
    return mark_safe(linebreaks(item.question, autoescape=True))  # noqa: S308 (just escaped)


def _line(
    number: int,
    row: Mapping[str, Any],
    draft: Mapping[str, Any],
    fields: Sequence[Mapping[str, Any]],
    *,
    asked: bool,
    seed: str,
) -> FieldLine:
    key = PREFIX + row["name"]
    value = str(draft.get(key) or "")
    options = _options(row, draft, seed)
    unsure = None
    if row["unsure"]:
        unsure = Choice(UNSURE, _("Unsure"), "", "0", 0, key, chosen=value == UNSURE)
    depends = {name for one in fields for name in (c["field"] for c in one["ask_if"])}
    codes = [*(option.value for option in options), *([UNSURE] if unsure else [])]
    return FieldLine(
        number=number,
        name=row["name"],
        key=key,
        kind=row["kind"],
        question=row["question"],
        hint=hint(row),
        reason=reason_asked(draft, row, fields) if asked else "",
        conditions=row["ask_if"],
        labels={code: label_of(row, code) for code in codes} if row["name"] in depends else {},
        options=options,
        unsure=unsure,
        value=value,
        asked=asked,
        is_open=is_open(draft, row),
        required=row["required"],
        low=row["low"],
        high=row["high"],
        step=row["step"],
        least=row["min"],
        most=row["max"],
        unit=row.get("unit", ""),
        corrects=row.get("corrects", False),
    )


def _options(row: Mapping[str, Any], draft: Mapping[str, Any], seed: str) -> list[Choice]:
    key = PREFIX + row["name"]
    if row["kind"] == SCALE:
        named = {option["value"]: option for option in row["options"]}
        listed = [named.get(str(point), {"value": str(point)}) for point in points_of(row)]
    else:
        listed = list(row["options"])
    places = list(range(len(listed)))
    if row["shuffle"] and seed:
        random.Random(f"{seed}:{row['name']}").shuffle(places)  # noqa: S311 (an order, no secret)
    several = row["kind"] in (CHOOSE_SEVERAL, RANK)
    found = []
    for shown, at in enumerate(places, 1):
        one = listed[at]
        name = f"{key}.{one['value']}" if several else key
        held = str(draft.get(name) or "")
        found.append(
            Choice(
                value=one["value"],
                label=one.get("label") or one["value"],
                description=one.get("description", ""),
                key=_key(row["kind"], one["value"], shown),
                place=at + 1,
                name=name,
                chosen=bool(held) if several else held == one["value"],
                held=held,
                color=one.get("color") or COLOR_ORDER[at % len(COLOR_ORDER)],
                line=LINE_STYLES[at % len(LINE_STYLES)],
            )
        )
    return found


def _key(kind: str, value: str, shown: int) -> str:
    """The digit that chooses an option: its place, or the number of the turn that it is."""
    if kind == CHOOSE_TURN:
        return value if len(value) == 1 else ""
    return str(shown) if shown <= KEYED else ""


def hint(row: Mapping[str, Any]) -> str:
    """Return a short hint on how to answer a field, such as "choose one"."""
    low, high = row["min"], row["max"]
    told = {
        CHOOSE_ONE: _("choose one"),
        CHOOSE_TURN: _("choose one"),
        SCALE: "",
        SPANS: "",
        RANK: _("rank all, 1 is best"),
    }
    said = told.get(row["kind"], "")
    if row["kind"] == CHOOSE_SEVERAL:
        some = _("choose %(how_many)s") % {"how_many": _range_words(low, high)}
        said = some if low or high else _("choose all that apply")
    elif row["kind"] == SPANS and (low or high):
        said = _("mark %(how_many)s") % {"how_many": _range_words(low, high)}
    elif row["kind"] == NUMBER and not (row["low"] is None and row["high"] is None):
        said = _range(row["low"], row["high"])
    elif row["kind"] not in told and (low or high):
        said = _("%(how_many)s words") % {"how_many": _range_words(low, high)}
    return said if row["required"] else ", ".join(filter(None, (said, _("optional"))))


def _range_words(low: int, high: int) -> str:
    if not high:
        return _("at least %(low)s") % {"low": low}
    if not low:
        return _("at most %(high)s") % {"high": high}
    return _("%(low)s to %(high)s") % {"low": low, "high": high} if low != high else str(low)


def _range(low: Any, high: Any) -> str:
    if low is None:
        return _("at most %(high)s") % {"high": high}
    if high is None:
        return _("at least %(low)s") % {"low": low}
    return _("%(low)s to %(high)s") % {"low": low, "high": high}
