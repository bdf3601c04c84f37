"""The worker's pages of a checklist: a text beside its source, and yes or no to every question."""

from __future__ import annotations

from typing import Any

from annotation.task_types.checklist import page as checking
from annotation.task_types.pairwise.worker_views import JudgingPages
from annotation.work.views.parts import OpenItem


class ChecklistPages(JudgingPages):
    """One text and the list."""

    tells_all = False

    def context(self, opened: OpenItem) -> dict[str, Any]:
        entry = opened.entry
        text = checking.page(
            entry.item,
            opened.settings,
            entry.draft,
            sources=opened.passage == "open",
            named=opened.named,
        )
        return text | super().context(opened)


PAGES = ChecklistPages()
