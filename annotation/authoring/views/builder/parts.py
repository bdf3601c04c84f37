"""What a type's part of the builder is, and what it is of a type that has none of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy, pgettext

from annotation.authoring.selectors.builder.frame import Build, asks_twice
from annotation.models import Item, Task, TaskVersion, User
from annotation.task_types import get_type, part_of
from crowdqc.numbers import several
from crowdqc.web.terms import Words


@dataclass(frozen=True)
class BuilderState:
    """A part of the builder, and what is open in it."""

    part: str = "questions"
    question: str = ""  # key of the open question or pair; name of the open dimension or scale
    text: str = ""  # key of the text or topic that is shown
    page: str = "1"
    device: str = "phone"

    @classmethod
    def of(cls, request: HttpRequest, parts: Collection[str], usual: str) -> BuilderState:
        """Read the place in a builder with these parts from a request.

        ``usual`` part by default.
        """
        get = request.GET.get
        part, device = get("part", usual), get("as", "phone")
        return cls(
            part=part if part in parts else usual,
            question=get("question", "")[:80],
            text=get("text", "")[:80],
            page=get("page", "1")[:8],
            device=device if device in ("phone", "desktop") else "phone",
        )

    def with_changes(self, **changes: Any) -> BuilderState:
        return replace(self, **changes)

    @property
    def query(self) -> str:
        """The place as ``?part=...``."""
        pairs = {
            "part": self.part,
            "question": self.question,
            "text": self.text,
            "page": "" if self.page == "1" else self.page,
            "as": "" if self.device == "phone" else self.device,
        }
        return "?" + urlencode({name: value for name, value in pairs.items() if value})

    @property
    def as_phone(self) -> str:
        """Return the query of the address that previews on a phone."""
        return self.with_changes(device="phone").query

    @property
    def as_desktop(self) -> str:
        """Return the query of the address that previews on a wide screen."""
        return self.with_changes(device="desktop").query


FOLDER = "annotation/authoring/free_text"
FRAME = "annotation/authoring/builder"


@dataclass(frozen=True)
class Part:
    """A part of the builder: its name, its form, and where that goes without scripts."""

    label: Words
    template: str
    saves_to: str = "task_build"
    counts_items: bool = False  # beside its name stands how many items there are


TEXT = gettext_lazy("Text and instructions")
KNOWN = {"known": Part(gettext_lazy("Known answers"), f"{FRAME}/_part_known.html")}
LAST = {
    "time": Part(gettext_lazy("Time and pay"), f"{FRAME}/_part_time.html"),
    "consent": Part(gettext_lazy("Consent and log"), f"{FRAME}/_part_consent.html"),
}
WORDS = ("instructions_help", "order_help", "redundancy_help")


class BuilderParts:
    """The builder of one type; as it stands here, of questions on texts.

    A type that needs more has ``builder_views`` in its folder, with one of these as ``BUILDER``.
    """

    parts: Mapping[str, Part] = {
        "text": Part(TEXT, f"{FOLDER}/_part_text.html"),
        "questions": Part(
            gettext_lazy("Questions"), f"{FOLDER}/_part_questions.html", counts_items=True
        ),
        "order": Part(gettext_lazy("People per question"), f"{FOLDER}/_part_order.html"),
        **KNOWN,
        **LAST,
    }
    opens_at = "questions"
    preview_template = f"{FOLDER}/_preview.html"
    page_template = f"{FOLDER}/_preview_page.html"  # the same, as a page of its own
    saved_template = ""  # what a save changes besides note, preview and cost
    summary_template = f"{FOLDER}/_summary_items.html"
    simulates_precision = True
    task_facts_template = f"{FOLDER}/_task_facts.html"
    task_links_template = ""
    # Words, in which %(noun)s is what one item is called and %(nouns)s what several are.
    instructions_help: Words = gettext_lazy(
        "Shown above the text, and again behind “Instructions”."
    )
    order_help: Words = gettext_lazy(
        "Random order is over texts, then over the questions within each."
    )
    redundancy_help: Words = gettext_lazy(
        "So many different workers answer each %(noun)s. A lower number never takes away what is "
        "answered or in progress."
    )
    redundancy_label: Words = gettext_lazy("Answers per question")
    redrawn_by: frozenset[str] = frozenset()  # settings that show other rows when they are saved
    beside_pay: tuple[str, ...] = ()  # rules that stand with time and pay
    passages_are_sources = False  # texts cite the numbered lines of a passage
    begin_words: Words = gettext_lazy(
        "Add one in the builder; it appears here as a worker sees it."
    )

    def variant(self, task: Task, version: TaskVersion | None = None) -> BuilderParts:
        """Return the builder for this task, if its type has several."""
        return self

    def renew_items(self, user: User, task: Task) -> None:
        """Make items that follow from the draft anew, after somebody changed it."""

    def words(self, build: Build) -> dict[str, str]:
        """Return the builder's texts with the noun of the task's items filled in."""
        told = {"noun": pgettext("noun", build.noun), "nouns": several(build.noun)}
        return {name: str(getattr(self, name)) % told for name in WORDS}

    def tabs(
        self, build: Build, place: BuilderState, shown: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """The parts with their addresses and what each counts."""
        counts = {**self.counts(build, shown)}
        if "known" in self.parts:
            counts["known"] = build.known.count()
        return [
            {
                "slug": slug,
                "label": part.label,
                "query": BuilderState(part=slug, device=place.device).query,
                "current": slug == place.part,
                "counts_items": part.counts_items,
                "count": build.questions if part.counts_items else counts.get(slug),
            }
            for slug, part in self.parts.items()
        ]

    def counts(self, build: Build, shown: Mapping[str, Any]) -> dict[str, int]:
        """Return the numbers beside the names of parts that count something other than items."""
        return {}

    def shown(self, build: Build, place: BuilderState) -> dict[str, Any]:
        """Return the context of the open part and of the preview."""
        item = build.item(place.question)
        if item is not None and place.page == "1":
            place = place.with_changes(page=str(build.page_of(item)))
        page, rows = build.question_page(place.page)
        shown = item or next((row.item for row in rows), None)
        group = build.group(place.text) or (shown.group if shown else build.groups.first())
        if place.text and shown and group and shown.group_id != group.pk:
            shown = build.items.filter(group=group).first() or shown
        return {
            "place": place,
            "page": page,
            "rows": rows,
            "open_item": item,
            "group": group,
            "texts": build.text_page(place.page if place.part == "text" else 1),
            **_previewed_question(build, shown, rows),
        }

    def previewed(
        self, build: Build, item: Item, settings: dict[str, Any], size: int
    ) -> dict[str, Any]:
        """Return what the preview of an item needs besides the usual.

        ``size`` items fill an assignment.
        """
        return {}


# Of a type that has no builder of its own.
BUILDER = BuilderParts()


def builder_of(task: Task, version: TaskVersion | None = None) -> BuilderParts:
    """The builder that the task's type brings; ``version``: the one that is shown, if known."""
    found = part_of(get_type(task.type), "builder_views", default=__name__)
    builder: BuilderParts = found.BUILDER
    return builder.variant(task, version)


def _previewed_question(build: Build, item: Item | None, rows: list[Any]) -> dict[str, Any]:
    """One question as a worker sees it, with the ones before and after it."""
    keys = [row.item.key for row in rows]
    number = keys.index(item.key) if item and item.key in keys else 0
    size = bundle_size(build)
    first = number // size * size
    return {
        "shown": item,
        "shown_settings": {**build.version.settings, **(item.settings if item else {})},
        "segments": segments(size, number - first, build.noun),
        "shown_number": number - first + 1,
        "shown_of": size,
        "before": keys[number - 1] if number else "",
        "after": keys[number + 1] if number + 1 < len(keys) else "",
        "entry": entry_of(item, number - first),
        "open_hint": item is not None and asks_twice(item.question),
    }


def bundle_size(build: Build) -> int:
    """Return how many items an assignment gets: the set number, or all if there are fewer."""
    return min(build.version.items_per_assignment, build.questions) or 1


def segments(size: int, current: int, noun: str) -> list[dict[str, str]]:
    """Return the progress bar of an assignment of ``size`` items, one of them open."""
    return [
        {
            "state": "done" if n < current else "current" if n == current else "open",
            "label": gettext("%(noun)s %(number)s")
            % {"noun": pgettext("noun", noun).capitalize(), "number": n + 1},
        }
        for n in range(size)
    ]


def entry_of(item: Item | None, position: int) -> SimpleNamespace | None:
    """Make an unanswered entry for an item, as the worker's templates take it."""
    if item is None:
        return None
    return SimpleNamespace(item=item, public_id=position + 1, position=position, draft={})
