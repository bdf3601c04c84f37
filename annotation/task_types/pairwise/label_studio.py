"""Pairs in Label Studio: a ``pairwise`` control whose left is the first text as stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotation.task_types.label_studio import PAIRWISE, Control, TextsInLabelStudio
from annotation.task_types.pairwise.sides import STORED

SIDES = dict(zip(STORED, ("left", "none", "right"), strict=True))


class PairsInLabelStudio(TextsInLabelStudio):
    """Two texts, and a control a dimension."""

    columns = ("item_id", "query", "text1", "text2", "topic", "key1", "key2", "source1", "source2")
    about = "text1,text2"
    texts = ("text1", "text2")
    told_by = frozenset({PAIRWISE})
    scored = PAIRWISE

    def choice(
        self, code: str, ordinal: int | None, points: Sequence[int]
    ) -> tuple[str, dict[str, Any]]:
        return PAIRWISE, {"pairwise": SIDES[code], "selected": SIDES[code]}

    def settings(self, controls: Sequence[Control]) -> dict[str, Any]:
        dimensions = [
            {"name": one.name, "label": one.label, "neutral": True}
            for one in controls
            if one.kind == PAIRWISE
        ]
        return {"dimensions": dimensions, "show_sources": False}
