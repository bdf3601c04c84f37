"""Questionnaires before and after a piece of work: authored like scales, answered like them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotation.task_types.base import whole_number
from annotation.task_types.scales import MAX_LABEL, parse_label, rows, text, truth
from crowdqc.errors import Invalid
from crowdqc.numbers import count

POINTS, TEXT = "points", "text"
MAX_WORDS = 5000  # characters of an answer in words
MAX_FIELD = 33  # with the stage before it, a field's name has at most 40 characters


def clean(raw: Any, what: str) -> list[dict[str, Any]]:
    """The questions of a form, with names; Invalid names the one that is wrong."""
    found: list[dict[str, Any]] = []
    taken: list[str] = []
    for number, row in enumerate(rows(raw, what), 1):
        where = f"{what} question {number}"
        kind = str(row.get("kind") or POINTS)
        if kind not in (POINTS, TEXT):
            raise Invalid(
                _("%(where)s has no known kind.") % {"where": where},
                fields={where: _("%(points)s or %(text)s.") % {"points": POINTS, "text": TEXT}},
            )
        asked: dict[str, Any] = parse_label(row, where, taken)
        if len(asked["name"]) > MAX_FIELD:
            raise Invalid(
                _("%(where)s: the name is too long.") % {"where": where},
                fields={where: _("%(max_field)s at most.") % {"max_field": MAX_FIELD}},
            )
        asked |= {"kind": kind, "required": truth(row.get("required", True)), "points": []}
        if kind == POINTS:
            asked["points"] = _points(row.get("points", []), where)
        found.append(asked)
    return found


def _points(raw: Any, where: str) -> list[dict[str, Any]]:
    points = [
        {
            "value": whole_number(point, "value", at, -100, 100),
            "label": text(point, "label", where, MAX_LABEL),
        }
        for at, point in enumerate(rows(raw, "points"), 1)
    ]
    if len({point["value"] for point in points}) < max(2, len(points)):
        raise Invalid(
            _("%(where)s needs two choices or more, each with its own value.") % {"where": where},
            fields={where: _("Two choices at least.")},
        )
    return points


def draft_answers(raw: Mapping[str, Any], stage: str) -> dict[str, str]:
    """Read the draft's answers to a questionnaire (``stage.NAME``); Invalid if one is too long."""
    found = {}
    for name, value in raw.items():
        if not name.startswith(f"{stage}.") or value in ("", None):
            continue
        given = str(value).replace("\r\n", "\n").replace("\x00", "")
        if len(given) > MAX_WORDS or len(name) > len(stage) + 1 + MAX_FIELD:
            raise Invalid(
                _("%(name)s is too long.") % {"name": name},
                fields={name: _("%(max_words)s characters.") % {"max_words": count(MAX_WORDS)}},
            )
        found[name] = given
    return found


def open_questions(
    draft: Mapping[str, Any], stage: str, asked: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The required questions that are not answered yet."""
    return [
        row
        for row in asked
        if row["required"] and not str(draft.get(f"{stage}.{row['name']}", "")).strip()
    ]


def check_answers(
    draft: Mapping[str, Any], stage: str, asked: Sequence[Mapping[str, Any]]
) -> tuple[list[tuple[str, int, str]], list[tuple[str, str, int | None]]]:
    """Texts and choices to store; Invalid says which question is open or has no such choice."""
    texts: list[tuple[str, int, str]] = []
    choices: list[tuple[str, str, int | None]] = []
    left = open_questions(draft, stage, asked)
    if left:
        when = _("Before you write") if stage == "entry" else _("After you wrote")
        raise Invalid(
            _("%(when)s: “%(left)s” is not answered yet.")
            % {"when": when, "left": left[0]["label"]}
        )
    for row in asked:
        field = f"{stage}.{row['name']}"
        given = str(draft.get(field, "")).strip()
        if not given:
            continue
        if row["kind"] == TEXT:
            texts.append((field, 0, given))
        elif given in {str(point["value"]) for point in row["points"]}:
            choices.append((field, given, int(given)))
        else:
            raise Invalid(
                _("“%(row)s” has no choice %(given)s.") % {"row": row["label"], "given": given[:40]}
            )
    return texts, choices
