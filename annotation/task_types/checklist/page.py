"""What the page of a checklist shows: a text beside its source, and a yes/no line a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.models import Item
from annotation.task_types.checklist.type import NO, PREFIX, YES
from annotation.task_types.pairwise.page import Line, Option, candidate_context, sources_of

OFFERED = ((YES, gettext_lazy("Yes"), "y"), (NO, gettext_lazy("No"), "n"))
OPEN = gettext_lazy("Not answered yet: yes or no.")


@dataclass(frozen=True)
class Part:
    """The lines of one component, which stand together; its name may be empty."""

    component: str
    lines: list[Line]


def lines(settings: Mapping[str, Any], draft: Mapping[str, Any]) -> list[Line]:
    """Return the checklist's questions as numbered lines with the draft's answers."""
    return [
        Line(
            number=number,
            field=PREFIX + row["name"],
            label=row["label"],
            question="",
            description="",
            options=tuple(
                Option(value, label, key, draft.get(PREFIX + row["name"]) == value)
                for value, label, key in OFFERED
            ),
        )
        for number, row in enumerate(in_order(settings["questions"]), 1)
    ]


def in_order(questions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort the questions by component, components in the order of their first question."""
    components = list(dict.fromkeys(row["component"] for row in questions))
    return sorted(questions, key=lambda row: components.index(row["component"]))


def parts(settings: Mapping[str, Any], draft: Mapping[str, Any]) -> list[Part]:
    """Group the checklist's lines by component."""
    rows = zip(in_order(settings["questions"]), lines(settings, draft), strict=True)
    return [
        Part(component, [line for _, line in members])
        for component, members in groupby(rows, key=lambda pair: pair[0]["component"])
    ]


def page(
    item: Item,
    settings: Mapping[str, Any],
    draft: Mapping[str, Any],
    *,
    sources: bool = True,
    named: bool = False,
) -> dict[str, Any]:
    """Return the context of check.html for an item whose text and group are fetched.

    ``sources``: the passage of its group may be shown; ``named``: say beside the lines that are
    open what is missing. Asks the database nothing.
    """
    passage = item.group.passage if sources else ""
    return {
        "text": candidate_context(item.first, "left", set()) if item.first else None,
        "beside": sources_of(passage),
        **lines_of(settings, draft, named=named),
    }


def lines_of(
    settings: Mapping[str, Any], draft: Mapping[str, Any] | None = None, *, named: bool = False
) -> dict[str, Any]:
    """The lines alone, as checklist_answer.html needs them."""
    found = parts(settings, draft or {})
    asked = [line for part in found for line in part.lines]
    still_open = sum(not line.answered for line in asked)
    return {
        "parts": found,
        "lines": asked,
        "answered": len(asked) - still_open,
        "still_open": still_open,
        "current": next((line.number for line in asked if not line.answered), 1),
        "dimension": settings["dimension"],
        "named": named and still_open > 0,
        "open_words": OPEN,
    }
