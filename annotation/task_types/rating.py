"""Ratings: one text, judged by itself on ordinal scales whose points are described."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdqc.errors import Invalid

from .base import Values, whole_number
from .scales import MAX_LABEL, drafted, given, ids, labelled, rows, text, truth

PREFIX = "r-"
TEMPLATE: tuple[dict[str, Any], ...] = (
    {"name": "quality_overall", "label": "Overall quality", "question": "How good is this text?",
     "points": [{"value": 1, "label": "poor"}, {"value": 2, "label": "weak"},
                {"value": 3, "label": "fair"}, {"value": 4, "label": "good"},
                {"value": 5, "label": "very good"}]},
)  # fmt: skip


class Rating:
    """One text and its scales."""

    slug = "rating"
    label = "Ratings on scales"
    sentence = (
        "One text at a time, rated on scales whose points are described; also as a pilot beside "
        "a pairwise study."
    )
    shape = "ratings"
    item_noun = "text"
    answer_template = "annotation/types/rating_answer.html"
    item_template = "annotation/worker/judge.html"
    builder_template = "annotation/types/rating_settings.html"

    def clean_settings(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "scales": _scales(raw.get("scales", list(TEMPLATE))),
            "show_sources": truth(raw.get("show_sources", True)),
            "break_after": whole_number(raw, "break_after", 0, 0, 200),
            "skippable": truth(raw.get("skippable", False)),
            "left_out": ids(raw.get("left_out"), "left_out"),
        }

    def clean_draft(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        return drafted(raw, PREFIX, _is_whole, "A point of the scale.")

    def is_answered(self, draft: Mapping[str, Any]) -> bool:
        return bool(given(draft, PREFIX))

    def check(
        self, draft: Mapping[str, Any], settings: Mapping[str, Any], *, flipped: bool = False
    ) -> Values | None:
        values = given(draft, PREFIX)
        if not values and draft.get("skipped") and settings["skippable"]:
            return None
        scales = {scale["name"]: scale for scale in settings["scales"]}
        unknown = sorted(set(values) - set(scales))
        if unknown:
            raise Invalid(f"There is no scale {unknown[0]!r} in this task.")
        choices: list[tuple[str, str, int | None]] = []
        for name, scale in scales.items():
            if name not in values:
                raise Invalid(f"“{scale['label']}” is not rated yet.")
            if int(values[name]) not in {point["value"] for point in scale["points"]}:
                raise Invalid(f"“{scale['label']}” has no point {values[name]}.")
            choices.append((name, values[name], int(values[name])))
        return Values(choices=choices)


def _is_whole(value: Any) -> bool:
    return str(value).lstrip("-").isdecimal()


def _scales(raw: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    taken: list[str] = []
    for number, row in enumerate(rows(raw, "scales"), 1):
        where = f"scale {number}"
        points: list[dict[str, Any]] = [
            {"value": whole_number(point, "value", at, -100, 100),
             "label": text(point, "label", where, MAX_LABEL)}
            for at, point in enumerate(rows(row.get("points", []), "points"), 1)
        ]  # fmt: skip
        if len({point["value"] for point in points}) < max(2, len(points)):
            raise Invalid(
                f"{where} needs two points or more, each with its own value.",
                fields={where: "Two points at least."},
            )
        points.sort(key=lambda point: point["value"])
        described = text(row, "description", where)
        found.append({**labelled(row, where, taken), "description": described, "points": points})
    if not found:
        raise Invalid("There is nothing to rate.", fields={"scales": "One at least."})
    return found
