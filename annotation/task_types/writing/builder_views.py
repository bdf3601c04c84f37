"""The builder of tasks that ask for responses: styles, topics with their passages, forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.writing import WritingBuild
from annotation.authoring.views.builder.parts import (
    LAST,
    TEXT,
    BuilderParts,
    BuilderState,
    Part,
    entry_of,
)
from annotation.models import Item
from annotation.task_types.writing import page as writing
from annotation.task_types.writing.type import ENTRY, EXIT, FORBIDDEN

FOLDER = "annotation/authoring/writing"


class WritingBuilder(BuilderParts):
    """Topics in styles, with a questionnaire before and after."""

    parts: Mapping[str, Part] = {
        "text": Part(TEXT, f"{FOLDER}/_part_text.html"),
        "styles": Part(gettext_lazy("Styles and rules"), f"{FOLDER}/styles/_part_styles.html"),
        "topics": Part(
            gettext_lazy("Topics and passages"),
            f"{FOLDER}/topics/_part_topics.html",
            "task_build_topic",
        ),
        "forms": Part(
            gettext_lazy("Questionnaires"),
            f"{FOLDER}/questionnaires/_part_forms.html",
            "task_build_rows",
        ),
        "order": Part(gettext_lazy("People and order"), f"{FOLDER}/_part_order.html"),
        **LAST,
    }
    opens_at = "topics"
    preview_template = f"{FOLDER}/_preview.html"
    page_template = f"{FOLDER}/_preview_page.html"
    saved_template = f"{FOLDER}/_saved.html"
    summary_template = f"{FOLDER}/_summary_items.html"
    simulates_precision = False
    task_facts_template = f"{FOLDER}/_task_facts.html"
    instructions_help = gettext_lazy(
        "Shown before the first %(noun)s, and on each behind “Instructions”."
    )
    order_help = gettext_lazy("Random order is over the topics of an assignment.")
    redundancy_help = gettext_lazy(
        "So many different workers write on each topic in each style. A lower number never takes "
        "away what is written or in progress."
    )
    redundancy_label = gettext_lazy("Writers per topic and style")
    passages_are_sources = True
    begin_words = gettext_lazy("Add a topic in the builder; it appears here as a worker sees it.")

    def counts(self, build: Build, shown: Mapping[str, Any]) -> dict[str, int]:
        own: WritingBuild = shown["writing"]
        return {"styles": len(own.styles), "topics": build.texts, "forms": own.form_questions}

    def shown(self, build: Build, place: BuilderState) -> dict[str, Any]:
        own = WritingBuild(build)
        topic = build.group(place.text)
        style = place.question if place.part == "styles" else ""
        found: dict[str, Any] = {
            "writing": own,
            "settings": build.version.settings,
            "place": place,
            "topic": topic,
            **_previewed(build, own.shown(topic, style), style),
        }
        if place.part == "forms":
            stage = place.question.partition(".")[0]
            stage = stage if stage in (ENTRY, EXIT) else ENTRY
            found |= {"stage": stage, "shown_form": found[f"{stage}_form"]}
        if place.part == "topics":
            if topic is not None and place.page == "1":
                found["place"] = place = place.with_changes(page=str(own.page_of(topic)))
            page, rows = own.topics(place.page)
            found |= {"page": page, "rows": rows, "cited": own.passages(topic) if topic else []}
        return found

    def previewed(
        self, build: Build, item: Item, settings: dict[str, Any], size: int
    ) -> dict[str, Any]:
        return _previewed(build, item)


BUILDER = WritingBuilder()


def _previewed(build: Build, item: Item | None, style: str = "") -> dict[str, Any]:
    """What the preview shows of a response: query, style, rules, passages, both forms."""
    settings: dict[str, Any] = {**build.version.settings, **(item.settings if item else {})}
    if item is None:
        settings["style"] = style or settings["styles"][0]["name"]
    return {
        "shown_item": item,
        "shown_settings": settings,
        "entry": entry_of(item, 0),
        "style": writing.style_of(settings),
        "forbidden": settings["tools"] == FORBIDDEN,
        "passages": writing.passages(item.group, settings) if item else [],
        "entry_form": writing.form(ENTRY, {}, settings, named=False),
        "exit_form": writing.form(EXIT, {}, settings, named=False),
    }
