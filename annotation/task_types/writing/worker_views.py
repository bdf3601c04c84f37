"""The worker's pages of a response: its parts, which one is shown, and where a button leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from annotation.authoring.selectors.steps import settings_of
from annotation.models import Assignment, AssignmentItem
from annotation.task_types.writing import page as writing
from annotation.work.selectors import work
from annotation.work.views.parts import OpenItem, WorkerPages


class WritingPages(WorkerPages):
    """Questions before it, the text, questions after it."""

    def context(self, opened: OpenItem) -> dict[str, Any]:
        """Return the context of the part asked for, or of the earlier part that must come first."""
        entry, settings = opened.entry, opened.settings
        part = writing.first_open(entry.draft, settings, opened.query.get("part", ""))
        return {
            **writing.page(entry, settings, part, opened.total, named=opened.named),
            "segments": _segments(opened.assignment, opened.steps, (entry.position, part)),
        }

    def materials(self, entry: AssignmentItem, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the item's style and, once the questions before it are answered, its passages."""
        seen = writing.may_see_passages(entry.draft, settings)
        rows = writing.passages(entry.item.group, settings) if seen else None
        return {"style": writing.style_of(settings), "passages": rows}

    def recorded(self, settings: Mapping[str, Any]) -> str:
        return gettext(
            "when you type, delete, paste, copy, cite, scroll and leave this page, and the text of "
            "your response; each choice, and when you make or change it; which passages you open, "
            "how long each is in view, and that you search them, not for what."
        )

    def segments(self, found: Assignment, steps: Sequence[work.Step]) -> list[dict[str, Any]]:
        return _segments(found, steps)

    def next_step(
        self, found: Assignment, entry: AssignmentItem, form: Mapping[str, str]
    ) -> HttpResponse | None:
        """Redirect to the next part, or back to this one if it is incomplete.

        None to leave the item.
        """
        part, go = form.get("part", ""), form.get("go", "next")
        to = writing.step(part, go, entry.draft, settings_of(found, entry))
        asked = "&check=1" if go == "next" and to == part else ""
        return redirect(_url(found, entry.position + 1, to) + asked) if to else None


PAGES = WritingPages()


def _url(found: Assignment, number: int, part: str) -> str:
    return f"{reverse('work_item', args=[found.pk, number])}?part={part}"


def _segments(
    found: Assignment, steps: Sequence[work.Step], here: tuple[int, str] = (-1, "")
) -> list[dict[str, Any]]:
    """Return the parts of the work, marked at ``here`` (position and part of the page)."""
    rows = [(step.entry, settings_of(found, step.entry)) for step in steps]
    parts = writing.segments(rows, steps[0].noun if steps else "", here)
    return [{**row, "url": _url(found, row["number"], row["part"])} for row in parts]
