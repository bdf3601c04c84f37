"""The builder of ratings: of texts by themselves, or of answers beside their documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy, pgettext_lazy

from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.pairs import PairBuild
from annotation.authoring.selectors.builder.rating import RatingBuild
from annotation.authoring.views.builder.parts import (
    KNOWN,
    LAST,
    BuilderState,
    Part,
    bundle_size,
    entry_of,
    segments,
)
from annotation.models import Item, Task, TaskVersion
from annotation.task_types.pairwise import builder_views as pairwise
from annotation.task_types.pairwise import page as judging
from annotation.task_types.pairwise.builder_views import JUDGED_TEXT, TEXTS, JudgingBuilder
from annotation.task_types.rating import page as rating
from annotation.task_types.rating.explanation import EXPLANATION, NONE, REQUIRED
from annotation.task_types.rating.type import DOCUMENT, asks_beside

FOLDER = "annotation/authoring/rating"
WANTED = (
    ("none", pgettext_lazy("explanation", "None")),
    ("optional", pgettext_lazy("explanation", "Optional")),
    ("required", pgettext_lazy("explanation", "Required")),
)
SCALES = Part(gettext_lazy("Scales"), f"{pairwise.FOLDER}/_part_asked.html", "task_build_asked")
RULES = Part(gettext_lazy("Page and rules"), f"{FOLDER}/_part_rules.html", "task_build_rating")


class RatingBuilder(JudgingBuilder):
    """Texts by themselves."""

    parts: Mapping[str, Part] = {
        "text": JUDGED_TEXT,
        "asked": SCALES,
        "rules": RULES,
        "texts": TEXTS,
        **KNOWN,
        **LAST,
    }
    task_links_template = f"{FOLDER}/_task_links.html"
    redundancy_help = gettext_lazy(
        "So many different workers rate each %(noun)s. A lower number never takes away what is "
        "answered or in progress."
    )
    redundancy_label = gettext_lazy("Ratings per text")
    beside_pay = ("redundancy", "items_per_assignment")

    def variant(self, task: Task, version: TaskVersion | None = None) -> RatingBuilder:
        version = version or task.versions.latest("number")
        return DOCUMENTS if version.settings.get("layout") == DOCUMENT else BUILDER

    def shown(self, build: Build, place: BuilderState) -> dict[str, Any]:
        return {**super().shown(build, place), "wanted": WANTED}

    def previewed(
        self, build: Build, item: Item, settings: dict[str, Any], size: int
    ) -> dict[str, Any]:
        if not asks_beside(settings):
            return super().previewed(build, item, settings, size)
        template = f"{FOLDER}/_preview_page.html"
        return {**_beside(item, build.version.settings, size), "page_template": template}


class DocumentBuilder(RatingBuilder):
    """Answers beside their documents."""

    parts: Mapping[str, Part] = {
        "text": JUDGED_TEXT,
        "asked": SCALES,
        "rules": RULES,
        "documents": Part(
            gettext_lazy("Documents"), f"{FOLDER}/_part_documents.html", "task_build_document"
        ),
        **KNOWN,
        **LAST,
    }
    opens_at = "documents"
    preview_template = f"{FOLDER}/_preview.html"

    def counts(self, build: Build, shown: Mapping[str, Any]) -> dict[str, int]:
        return {"asked": len(shown["asked"])}

    def shown(self, build: Build, place: BuilderState) -> dict[str, Any]:
        own, settings = RatingBuild(build), build.version.settings
        group = build.group(place.text)
        item = own.shown(group, place.question)
        size = bundle_size(build)
        found: dict[str, Any] = {
            "pairs": PairBuild(build),
            "asked": build.type.lines(settings),
            "settings": settings,
            "segments": segments(size, 0, "answer"),
            "document": group,
            "shown_item": item,
            "wanted": WANTED,
            **_beside(item, settings, size),
        }
        if place.part == "documents":
            if group is not None and place.page == "1":
                found["place"] = place = place.with_changes(page=str(own.page_of(group)))
            page, rows = own.documents(place.page)
            answers = own.answers(group) if group else []
            found |= {"page": page, "rows": rows, "answers_of": answers}
        return found


BUILDER, DOCUMENTS = RatingBuilder(), DocumentBuilder()


def _beside(item: Item | None, settings: dict[str, Any], size: int) -> dict[str, Any]:
    """Return a preview of an answer beside its document; without an answer, of the scales alone."""
    if item is None:
        asked = settings.get(EXPLANATION) or {}
        return {
            "lines": judging.lines(settings, {}),
            "brief": True,
            "answered": 0,
            "evidence": NONE,
            "wants_explanation": asked.get("wanted", NONE) != NONE,
            "explanation_required": asked.get("wanted") == REQUIRED,
            "least_words": asked.get("min_words", 1),
            "explanation_words": 0,
        }
    own: dict[str, Any] = {**settings, **item.settings}
    entry: Any = entry_of(item, 0)
    return {
        **judging.page(item, own, {}, sources=False),
        **rating.page(entry, own, size),
        "entry": entry,
        "brief": True,
    }
