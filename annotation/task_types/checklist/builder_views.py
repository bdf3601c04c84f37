"""The builder of checklists: its questions by component, and its texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.views.builder.parts import KNOWN, LAST, TEXT, Part
from annotation.models import Item
from annotation.task_types.checklist import page as checking
from annotation.task_types.pairwise.builder_views import TEXTS, JudgingBuilder

FOLDER = "annotation/authoring/checklist"


class ChecklistBuilder(JudgingBuilder):
    """Texts beside their source, and the list that is asked of each."""

    parts: Mapping[str, Part] = {
        "text": Part(TEXT, f"{FOLDER}/_part_text.html"),
        "asked": Part(gettext_lazy("Questions"), f"{FOLDER}/_part_asked.html", "task_build_line"),
        "texts": TEXTS,
        **KNOWN,
        **LAST,
    }
    preview_template = f"{FOLDER}/_preview.html"
    page_template = f"{FOLDER}/_preview_page.html"
    saved_template = f"{FOLDER}/_saved.html"
    simulates_precision = False
    redundancy_help = gettext_lazy(
        "So many different workers check each %(noun)s. A lower number never takes away what is "
        "answered or in progress."
    )
    redundancy_label = gettext_lazy("People per text")
    beside_pay = ("redundancy", "items_per_assignment")

    def preview_context(self, build: Build, item: Item | None) -> dict[str, Any]:
        settings = build.version.settings
        return {
            "asked": checking.in_order(settings["questions"]),
            "components": list(dict.fromkeys(row["component"] for row in settings["questions"])),
            **checking.lines_of(settings),
        }

    def read(self, item: Item, settings: dict[str, Any]) -> dict[str, Any]:
        return checking.page(item, settings, {}, sources=settings["show_sources"])


BUILDER = ChecklistBuilder()
