"""What the builder shows of a think-aloud task: dimensions with their rubrics and samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.missing import lacks
from annotation.models import ItemGroup
from annotation.task_types.think_aloud import page as think_aloud


@dataclass(frozen=True)
class DimensionRow:
    """A dimension in the builder's table."""

    group: ItemGroup
    number: int

    @property
    def samples(self) -> int:
        return len(self.group.passages)

    @property
    def lacks(self) -> str:
        """What it needs before the task can be published; empty when nothing."""
        return lacks(self.group)


def thought(build: Build, place: Any) -> dict[str, Any]:
    """The open part of a think-aloud task, and the preview of one dimension; one query."""
    rows = [DimensionRow(group, number) for number, group in enumerate(build.groups, 1)]
    open_row = next((row for row in rows if row.group.key == place.text), None)
    shown = open_row or next(iter(rows), None)
    found: dict[str, Any] = {
        "settings": build.version.settings,
        "rows_of": rows,
        "open_row": open_row,
        "shown_group": shown.group if shown else None,
        "sample": None,
    }
    if open_row is not None:
        found["sample"] = next(
            (one for one in open_row.group.passages if one["key"] == place.question), None
        )
    if shown is not None:
        found |= think_aloud.page(shown.group, build.version.settings, {})
    return found
