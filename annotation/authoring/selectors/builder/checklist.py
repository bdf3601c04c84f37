"""What the builder shows of a checklist task: its questions by component, its texts."""

from __future__ import annotations

from typing import Any

from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.pairs import (
    PairBuild,
    shown_item,
    sources_of,
    unused_topics,
)
from annotation.task_types.checklist import page as checking


def checked(build: Build, place: Any) -> dict[str, Any]:
    """The open part of a checklist task, and the preview of one text."""
    pairs, version = PairBuild(build), build.version
    item = shown_item(build, "")
    found: dict[str, Any] = {
        "pairs": pairs,
        "asked": checking.in_order(version.settings["questions"]),
        "components": list(
            dict.fromkeys(row["component"] for row in version.settings["questions"])
        ),
        "settings": version.settings,
        "shown_item": item,
        "shown_of": min(version.items_per_assignment, build.questions) or 1,
        **checking.lines_of(version.settings),
    }
    if item is not None:
        found |= checking.page(item, version.settings, {}, sources=version.settings["show_sources"])
    if place.part == "texts":
        page, topics = pairs.topics(place.page)
        texts, others = unused_topics(build.task, version)
        found |= {
            "page": page,
            "topics": topics,
            "answer_tasks": sources_of(build.task),
            "unused_texts": texts,
            "unused_topics": others,
        }
    return found
