"""Ratings in Label Studio: stars where points count from 1, else labels to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotation.models import Item
from annotation.task_types.label_studio import RATING, Control, TextsInLabelStudio

STARS = 5  # of a rating where nobody gave more


class RatingsInLabelStudio(TextsInLabelStudio):
    """One text, its document if it has one, and a control a scale."""

    columns = ("item_id", "query", "text", "topic", "key", "source", "document")
    about = "text"
    texts = ("text",)
    told_by = frozenset({RATING})
    scored = RATING

    def data(self, item: Item) -> dict[str, Any]:
        return {**super().data(item), "document": item.group.passage}

    def choice(
        self, code: str, ordinal: int | None, points: Sequence[int]
    ) -> tuple[str, dict[str, Any]]:
        if tuple(points) == tuple(range(1, len(points) + 1)):
            return RATING, {"rating": ordinal}
        return super().choice(code, ordinal, points)

    def settings(self, controls: Sequence[Control]) -> dict[str, Any]:
        scales = []
        for one in controls:
            if one.kind == RATING:
                most = max(STARS, *one.said)
                points = [{"value": n, "label": str(n)} for n in range(1, most + 1)]
            else:
                points = [{"value": n, "label": x} for n, x in enumerate(sorted(one.said), 1)]
                if len(points) < 2:
                    points.append({"value": 2, "label": "another"})
            scales.append({"name": one.name, "label": one.label, "points": points})
        return {"scales": scales}
