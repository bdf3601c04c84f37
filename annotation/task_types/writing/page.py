"""What the page of a response shows: two questionnaires and, between them, editor and passages.

A response is written in up to three parts: questions before the passages are seen, the text, and
questions after it. A part opens once those before it are complete, so no passage is shown to who
has not said yet what they knew. Pure; asks the database nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext

from annotation.models import AssignmentItem, ItemGroup
from annotation.task_types.ready_made import translate_ready_made
from annotation.task_types.writing.questionnaire import TEXT, check_answers, open_questions
from annotation.task_types.writing.type import ENTRY, EXIT, FORBIDDEN, Writing
from crowdqc.errors import DomainError

WRITE = "write"
PARTS = {
    ENTRY: gettext_lazy("before you write"),
    WRITE: gettext_lazy("the text"),
    EXIT: gettext_lazy("after you wrote"),
}
FOLDED = 230  # characters beyond which a passage is folded
MANY_POINTS, WIDE_LABEL = 7, 14  # beyond these the choices stand below one another
Settings = Mapping[str, Any]
Draft = Mapping[str, Any]


@dataclass(frozen=True)
class Passage:
    """One passage under the number that cites it."""

    number: int
    title: str
    text: str

    @property
    def long(self) -> bool:
        """Whether it is folded at first."""
        return len(self.text) > FOLDED


@dataclass(frozen=True)
class Choice:
    """One choice of a question; ``number`` is shown where the choices are points of a scale."""

    value: str
    label: str
    number: str
    chosen: bool


@dataclass(frozen=True)
class Question:
    """One question of a questionnaire with what the draft says to it."""

    field: str
    label: str
    question: str
    required: bool
    choices: tuple[Choice, ...]  # none: it is answered in words
    said: str
    error: str  # what is wrong with it, once that was asked for

    @property
    def stacked(self) -> bool:
        """Whether the choices are shown below one another."""
        return len(self.choices) > MANY_POINTS or any(
            len(choice.label) > WIDE_LABEL for choice in self.choices
        )


# Parts -------------------------------------------------------------------------------------------


def parts_of(settings: Settings) -> list[str]:
    """List the parts of a response with these settings.

    Questionnaires only if they ask something.
    """
    return [part for part in PARTS if part == WRITE or settings[part]]


def problem_of(part: str, draft: Draft, settings: Settings) -> str:
    """Return why a part is incomplete, as a sentence; "" if it is complete."""
    try:
        if part == WRITE:
            Writing().check(draft, {**settings, ENTRY: [], EXIT: []})
        else:
            check_answers(draft, part, settings[part])
    except DomainError as error:
        return error.message
    return ""


def first_open(draft: Draft, settings: Settings, wanted: str = "") -> str:
    """Return the wanted part, or the first incomplete one before it."""
    for part in parts_of(settings):
        if part == wanted or problem_of(part, draft, settings):
            return part
    return WRITE


def step(part: str, go: str, draft: Draft, settings: Settings) -> str:
    """Return the part that a button leads to; "" if it leads out of the response."""
    parts = parts_of(settings)
    at = parts.index(part) if part in parts else 0
    if go == "stay" or (go == "next" and problem_of(parts[at], draft, settings)):
        return parts[at]
    to = at + {"next": 1, "back": -1}.get(go, len(parts))
    return parts[to] if 0 <= to < len(parts) else ""


def may_see_passages(draft: Draft, settings: Settings) -> bool:
    """Return whether the worker may see the passages: once the questions before are answered."""
    return not problem_of(ENTRY, draft, settings)


def segments(
    rows: Sequence[tuple[AssignmentItem, Settings]], noun: str, here: tuple[int, str] = (-1, "")
) -> Iterator[dict[str, Any]]:
    """Yield the progress segments of a page, one for each part of each response."""
    for entry, settings in rows:
        for part in parts_of(settings):
            done = not problem_of(part, entry.draft, settings)
            state = "done" if done else "skipped" if entry.draft.get("skipped") else "open"
            words = {
                "done": gettext("complete"),
                "skipped": gettext("skipped"),
                "open": gettext("not complete yet"),
            }[state]
            if (entry.position, part) == here:
                state, words = "current", gettext("this one")
            number = entry.position + 1
            label = f"{pgettext('noun', noun).capitalize()} {number}, {PARTS[part]}, {words}"
            yield {"state": state, "label": label, "number": number, "part": part}


# What is shown -----------------------------------------------------------------------------------


def passages(group: ItemGroup, settings: Settings) -> list[Passage]:
    """The topic's passages, the best first, under the numbers that cite them."""
    return [
        Passage(number, str(row.get("title", "")), str(row.get("text", "")))
        for number, row in enumerate(group.passages, settings["first_number"])
    ]


def style_of(settings: Settings) -> Mapping[str, str]:
    """Return the style of an item with its instructions; an empty one if it has none."""
    named = settings.get("style", "")
    none = {"name": "", "label": "", "instructions": ""}
    return next((row for row in settings["styles"] if row["name"] == named), none)


def form(stage: str, draft: Draft, settings: Settings, *, named: bool) -> list[Question]:
    """Return the questions of a stage with the draft's answers; ``named`` adds what is missing."""
    missing = {row["name"] for row in open_questions(draft, stage, settings[stage])}
    return [
        _question(
            row,
            stage,
            draft,
            "" if not named or row["name"] not in missing else _request_words(row),
        )
        for row in settings[stage]
    ]


def _request_words(row: Mapping[str, Any]) -> str:
    return gettext("Write a few words.") if row["kind"] == TEXT else gettext("Choose one.")


def _question(row: Mapping[str, Any], stage: str, draft: Draft, error: str) -> Question:
    field = f"{stage}.{row['name']}"
    said, points = str(draft.get(field, "")), row["points"]
    scale = any(point["label"] == str(point["value"]) for point in points)
    return Question(
        field=field,
        label=translate_ready_made(row["label"]),
        question=translate_ready_made(row["question"]),
        required=row["required"],
        choices=tuple(
            Choice(
                str(point["value"]),
                ""
                if scale and point["label"] == str(point["value"])
                else translate_ready_made(point["label"]),
                str(point["value"]) if scale else "",
                said == str(point["value"]),
            )
            for point in points
        ),
        said=said,
        error=error,
    )


def carried_fields(part: str, draft: Draft, settings: Settings) -> list[tuple[str, str]]:
    """Return the fields of the other parts, which each part's form sends along."""
    names = [
        f"{stage}.{row['name']}"
        for stage in (ENTRY, EXIT)
        if stage != part
        for row in settings[stage]
    ]
    if part != WRITE:
        names.append("text")
    return [(name, str(draft.get(name, ""))) for name in names]


def page(
    entry: AssignmentItem, settings: Settings, part: str, total: int, *, named: bool = False
) -> dict[str, Any]:
    """Return the context of write.html for one part of an item whose group is fetched.

    ``named``: say beside the fields what keeps the part from being complete.
    """
    draft, parts = entry.draft, parts_of(settings)
    context: dict[str, Any] = {
        "part": part,
        "carried": carried_fields(part, draft, settings),
        "style": style_of(settings),
        "forbidden": settings["tools"] == FORBIDDEN,
        "has_entry": ENTRY in parts,
        "has_exit": EXIT in parts,
        "problem": problem_of(part, draft, settings) if named else "",
        "leads_out": part == parts[-1],
        "leads_back": entry.position > 0 or part != parts[0],
        "last": entry.position + 1 == total,
    }
    if part == WRITE:
        return context | {"passages": passages(entry.item.group, settings)}
    missing = len(open_questions(draft, part, settings[part]))
    if named and missing:
        context["problem"] = ngettext(
            "One question is not answered yet.",
            "%(count)s questions are not answered yet.",
            missing,
        ) % {"count": missing}
    return context | {"form": form(part, draft, settings, named=named)}
