"""The worker's pages of ratings: of a text by itself, or of an answer beside its document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from annotation.task_types.pairwise.worker_views import TextsPages
from annotation.task_types.rating import page as rating
from annotation.task_types.rating.explanation import EXPLANATION, NONE
from annotation.task_types.rating.type import asks_beside
from annotation.work.views.parts import OpenItem


class RatingPages(TextsPages):
    """A text and its scales, perhaps with an explanation and evidence."""

    tells_all = False
    judged = "ratings"

    def template(self, opened: OpenItem) -> str:
        beside = asks_beside(opened.settings)
        return "annotation/work/rate/rate.html" if beside else super().template(opened)

    def context(self, opened: OpenItem) -> dict[str, Any]:
        found = super().context(opened)
        if asks_beside(opened.settings):
            found |= rating.page(opened.entry, opened.settings, opened.total, named=opened.named)
        return found

    def recorded(self, settings: Mapping[str, Any]) -> str:
        if (settings.get(EXPLANATION) or {}).get("wanted", NONE) == NONE:
            return super().recorded(settings)
        return gettext(
            "each choice, the sentences you choose, and when you make or change it; when you type, "
            "delete, paste, copy, scroll, click and leave this page, how long it is on screen, and "
            "the text of your explanations."
        )


PAGES = RatingPages()
