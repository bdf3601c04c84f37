"""The worker's pages of a think-aloud: rubric and samples beside the attributes so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.models import AssignmentItem
from annotation.task_types.think_aloud import page as think_aloud
from annotation.task_types.think_aloud.type import MAX_ATTRIBUTES
from annotation.work.views.parts import OpenItem, WorkerPages


class ThinkAloudPages(WorkerPages):
    """One dimension."""

    styles = ("css/pages/work/think.css",)
    scripts = ("js/think.js",)
    tells_all = False
    own_words = True
    submitted_noun = recorded_noun = "dimension"
    targets = {f"attribute-{n}": f"attribute {n + 1}" for n in range(MAX_ATTRIBUTES)}

    def context(self, opened: OpenItem) -> dict[str, Any]:
        entry = opened.entry
        return think_aloud.page(entry.item.group, opened.settings, entry.draft, named=opened.named)

    def materials(self, entry: AssignmentItem, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {"samples": think_aloud.samples(entry.item.group)}

    def recorded(self, settings: Mapping[str, Any]) -> str:
        return (
            "when you type, delete, paste, copy, scroll and leave this page, what you write as "
            "attributes and as a transcript, and when you mark a stretch of it."
        )


PAGES = ThinkAloudPages()
