"""The builder of think-aloud tasks: dimensions with their rubrics and samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.views.builder.parts import LAST, TEXT, BuilderParts, BuilderState, Part
from annotation.models import Item, ItemGroup
from annotation.task_types.think_aloud import page as think_aloud
from annotation.task_types.think_aloud.type import LACKS, RECORDINGS, missing_fields

FOLDER = "annotation/authoring/think"


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
        """What the dimension lacks before the task can be published; "" if nothing."""
        lack = missing_fields(self.group)
        return str(LACKS[lack][0]) if lack else ""


class ThinkAloudBuilder(BuilderParts):
    """Rubrics and scored samples."""

    parts: Mapping[str, Part] = {
        "text": Part(TEXT, f"{FOLDER}/_part_text.html"),
        "dimensions": Part(
            gettext_lazy("Dimensions and samples"),
            f"{FOLDER}/_part_dimensions.html",
            "task_build_dimension",
        ),
        "order": Part(gettext_lazy("People and order"), f"{FOLDER}/_part_order.html"),
        **LAST,
    }
    opens_at = "dimensions"
    preview_template = f"{FOLDER}/_preview.html"
    page_template = f"{FOLDER}/_preview_page.html"
    saved_template = f"{FOLDER}/_saved.html"
    simulates_precision = False
    instructions_help = gettext_lazy(
        "Shown before the first %(noun)s, and on each behind “Instructions”."
    )
    order_help = gettext_lazy("Random order is over topics, then over the %(nouns)s within each.")
    redundancy_help = gettext_lazy(
        "So many different workers think aloud on each %(noun)s. A lower number never takes away "
        "what is answered or in progress."
    )
    redundancy_label = gettext_lazy("People per dimension")
    passages_are_sources = True

    def counts(self, build: Build, shown: Mapping[str, Any]) -> dict[str, int]:
        return {"dimensions": build.texts}

    def shown(self, build: Build, place: BuilderState) -> dict[str, Any]:
        """Return the context of the open dimension and of the preview (one query)."""
        rows = [DimensionRow(group, number) for number, group in enumerate(build.groups, 1)]
        open_row = next((row for row in rows if row.group.key == place.text), None)
        shown = open_row or next(iter(rows), None)
        samples = open_row.group.passages if open_row else []
        found: dict[str, Any] = {
            "settings": build.version.settings,
            "recordings": RECORDINGS,
            "rows_of": rows,
            "open_row": open_row,
            "shown_group": shown.group if shown else None,
            "sample": next((one for one in samples if one["key"] == place.question), None),
        }
        if shown is not None:
            found |= self._page(shown.group, build.version.settings)
        return found

    def _page(self, group: ItemGroup, settings: Mapping[str, Any]) -> dict[str, Any]:
        shown = think_aloud.page(group, settings, {})
        return shown | {"recorder": think_aloud.recorder(settings)}

    def previewed(
        self, build: Build, item: Item, settings: dict[str, Any], size: int
    ) -> dict[str, Any]:
        return self._page(item.group, settings)


BUILDER = ThinkAloudBuilder()
