"""The worker's pages of judgments: the texts, and the lines to choose on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from annotation.task_types.pairwise import page as judging
from annotation.work.views.parts import OpenItem, WorkerPages


class JudgingPages(WorkerPages):
    """Whatever is chosen line by line, with its keys and its suggested breaks."""

    verb, go_on = pgettext_lazy("action", "judge"), pgettext_lazy("action", "Judge")
    progress = gettext_lazy("%(answered)s of %(steps)s judged")

    def context(self, opened: OpenItem) -> dict[str, Any]:
        entry = opened.entry
        seen = (timezone.now() - entry.shown_at).total_seconds() if entry.shown_at else 0
        return {
            "break_due": judging.break_is_due(opened.settings, entry.position, opened.total),
            "seen_seconds": math.floor(seen),
        }

    def recorded(self, settings: Mapping[str, Any]) -> str:
        return gettext(
            "each choice, and when you make or change it; how long the page is on screen; when you "
            "open the sources, press keys, click, copy, scroll and leave this page."
        )


class TextsPages(JudgingPages):
    """Two texts side by side, or one text."""

    judged = "pairs"  # the name that style sheets and scripts know them by

    def context(self, opened: OpenItem) -> dict[str, Any]:
        entry = opened.entry
        texts = judging.page(
            entry.item,
            opened.settings,
            entry.draft,
            flipped=entry.flipped,
            sources=opened.passage == "open",
        )
        # Explanations stand open on the first page.
        return {**texts, "brief": entry.position > 0, **super().context(opened)}


class PairwisePages(TextsPages):
    """A pair."""

    submitted_noun = "pair"

    def recorded(self, settings: Mapping[str, Any]) -> str:
        return gettext(
            "each choice, and when you make or change it; how long the page and each response are "
            "on screen or under the pointer; when you open the sources, mark differences, press "
            "keys, click, copy, scroll and leave this page."
        )


PAGES = PairwisePages()
