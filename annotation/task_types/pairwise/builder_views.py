"""The builder of tasks that judge texts, one by one or in pairs: lines, texts, pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.pairs import (
    PairBuild,
    shown_item,
    sources_of,
    unused_topics,
)
from annotation.authoring.views.builder.parts import (
    LAST,
    TEXT,
    BuilderParts,
    BuilderState,
    Part,
    bundle_size,
    entry_of,
    segments,
)
from annotation.models import Item, Task, User
from annotation.pairs.actions.pair_items import redraw_pairs
from annotation.task_types.pairwise import page as judging

FOLDER = "annotation/authoring/pairs"
JUDGED_TEXT = Part(TEXT, f"{FOLDER}/_part_text.html")
TEXTS = Part(gettext_lazy("Texts"), f"{FOLDER}/_part_texts.html")


class JudgingBuilder(BuilderParts):
    """What builders have in common where texts of the project are judged line by line."""

    opens_at = "asked"
    preview_template = f"{FOLDER}/_preview.html"
    page_template = f"{FOLDER}/_preview_page.html"
    instructions_help = gettext_lazy(
        "Shown before the first %(noun)s, and on each behind “Instructions”."
    )
    order_help = gettext_lazy("Random order is over topics, then over the %(nouns)s within each.")
    beside_pay: tuple[str, ...] = ("items_per_assignment",)
    passages_are_sources = True
    # Words of the list of lines.
    line_noun = "scale"
    line_new, line_add = gettext_lazy("Name of a new scale"), gettext_lazy("Add a scale")
    line_help = gettext_lazy(
        "Each is one line below the text, from its lowest point to its highest."
    )
    line_choice = gettext_lazy("Points")
    line_template_offer = ""  # offers the lines of a study
    no_item_help = gettext_lazy("A text appears here once there is one.")

    def counts(self, build: Build, shown: Mapping[str, Any]) -> dict[str, int]:
        return {"asked": len(shown["asked"]), "texts": shown["pairs"].texts}

    def shown(self, build: Build, place: BuilderState) -> dict[str, Any]:
        pairs, settings = PairBuild(build), build.version.settings
        item = shown_item(build, place.question if place.part == "pairs" else "")
        found: dict[str, Any] = {
            "pairs": pairs,
            "settings": settings,
            "shown_item": item,
            "shown_of": bundle_size(build),
            **self.preview_context(build, item),
        }
        if item is not None:
            found |= self.read(item, settings)
        if place.part == "texts":
            page, topics = pairs.topics(place.page)
            texts, others = unused_topics(build.task, build.version)
            found |= {
                "page": page,
                "topics": topics,
                "answer_tasks": sources_of(build.task),
                "unused_texts": texts,
                "unused_topics": others,
            }
        return found

    def preview_context(self, build: Build, item: Item | None) -> dict[str, Any]:
        """Return the context of the preview: the lines asked, with nothing chosen."""
        settings = build.version.settings
        return {
            "asked": build.type.lines(settings),
            "segments": segments(bundle_size(build), 0, build.noun),
            "entry": entry_of(item, 0),
            "brief": True,
            "answered": 0,
            "lines": judging.lines(settings, {}),
        }

    def read(self, item: Item, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the preview of an item as its judges read it."""
        return judging.page(item, settings, {}, sources=settings["show_sources"])

    def previewed(
        self, build: Build, item: Item, settings: dict[str, Any], size: int
    ) -> dict[str, Any]:
        return self.read(item, settings)


class PairwiseBuilder(JudgingBuilder):
    """Dimensions, texts, and the pairs that are drawn of them."""

    parts: Mapping[str, Part] = {
        "text": JUDGED_TEXT,
        "asked": Part(gettext_lazy("Dimensions"), f"{FOLDER}/_part_asked.html", "task_build_asked"),
        "texts": TEXTS,
        "pairs": Part(
            gettext_lazy("Pairs"),
            f"{FOLDER}/_part_pairs.html",
            "task_build_pairs",
            counts_items=True,
        ),
        **LAST,
    }
    saved_template = f"{FOLDER}/_saved.html"
    task_links_template = f"{FOLDER}/_task_links.html"
    redundancy_help = gettext_lazy(
        "So many different workers judge each %(noun)s. A lower number never takes away what is "
        "answered or in progress."
    )
    redundancy_label = gettext_lazy("Judges per pair")
    line_noun = "dimension"
    line_new, line_add = gettext_lazy("Name of a new dimension"), gettext_lazy("Add a dimension")
    line_help = gettext_lazy(
        "Each is one line below the two texts: left, neutral or right. All stand on one page."
    )
    line_choice = gettext_lazy("Neutral")
    line_template_offer = f"{FOLDER}/_seven_dimensions.html"
    no_item_help = gettext_lazy(
        "Two texts of a topic appear here side by side once pairs are made."
    )

    def renew_items(self, user: User, task: Task) -> None:
        redraw_pairs(by=user, task=task)

    def shown(self, build: Build, place: BuilderState) -> dict[str, Any]:
        found = super().shown(build, place)
        if place.part == "pairs":
            pairs: PairBuild = found["pairs"]
            page, rows = pairs.pairs(place.page)
            found |= {"page": page, "rows": rows, "attention_topic": pairs.topic(place.text)}
        return found


BUILDER = PairwiseBuilder()
