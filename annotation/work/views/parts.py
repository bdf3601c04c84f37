"""What a type adds to the worker's pages, and what stands there for a type that adds nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from annotation.models import Assignment, AssignmentItem, Task
from annotation.task_types import get_type, part_of
from annotation.work.selectors import work
from crowdqc.web.terms import Words


@dataclass(frozen=True)
class OpenItem:
    """An item as its worker has it open."""

    assignment: Assignment
    entry: AssignmentItem
    settings: dict[str, Any]
    passage: str  # whether its passage is open, closed, or there is none
    steps: Sequence[work.Step]
    query: Mapping[str, str]  # of its address

    @property
    def named(self) -> bool:
        """Whether the page marks what is missing beside its fields."""
        return "check" in self.query

    @property
    def total(self) -> int:
        return len(self.steps)


class WorkerPages:
    """The pages of an assignment; this base class serves types with free text.

    A type that needs more has ``worker_views`` in its folder, with one of these as ``PAGES``.
    """

    reads: bool = False  # passages are read first, text by text, and items belong to them
    may_stay_open: bool = False  # an item that is left open may be passed over for now
    numbers_items: bool = True  # the list of items names them by their numbers
    tells_all: bool = True  # a draft in one line says all that was given
    own_words: bool = False  # and that line is what the worker wrote
    # Words, in which {noun} is what one item is called.
    verb: Words = gettext_lazy("complete")  # what is to do with items
    progress: Words = gettext_lazy("%(answered)s of %(steps)s complete")
    go_on: Words = gettext_lazy("Continue")  # on the button to an open one
    submitted_noun: str = ""  # what is handed in, where that is not called as an answer is
    recorded_noun: str = ""  # and what is kept of it
    targets: Mapping[str, Words] = {}  # what the log can point at within an item, and its name

    def template(self, opened: OpenItem) -> str:
        """Name of the template for an item's page."""
        return get_type(opened.assignment.task.type).item_template

    def context(self, opened: OpenItem) -> dict[str, Any]:
        """Return what a type adds to the context of an item's page."""
        return {}

    def materials(self, entry: AssignmentItem, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a type adds to an item in the API."""
        return {}

    def features(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Features of the browser that the scripts of these pages use, as policies name them."""
        return ()

    def not_recorded(self, settings: Mapping[str, Any]) -> str:
        """Text on what is not recorded, continuing a sentence."""
        return gettext("other tabs, your screen, camera or microphone.")

    def recorded(self, settings: Mapping[str, Any]) -> str:
        """Text on what the page's scripts record, continuing a sentence."""
        return gettext(
            "when you type, delete, paste, copy, scroll and leave this page, and the text of your "
            "answers."
        )

    def segments(self, found: Assignment, steps: Sequence[work.Step]) -> list[dict[str, Any]]:
        """Return the progress bar of the assignment: state and address of each item."""
        return [
            {
                "state": step.state,
                "label": step.label,
                "url": reverse("work_item", args=[found.pk, step.number]),
            }
            for step in steps
        ]

    def next_step(
        self, found: Assignment, entry: AssignmentItem, form: Mapping[str, str]
    ) -> HttpResponse | None:
        """Return the redirect within an item of several pages; None to leave the item."""
        return None


# Of a type that has no pages of its own.
PAGES = WorkerPages()


def pages_of(task: Task) -> WorkerPages:
    """The worker's pages that the task's type brings."""
    pages: WorkerPages = part_of(get_type(task.type), "worker_views", default=__name__).PAGES
    return pages
