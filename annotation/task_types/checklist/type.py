"""Checklist: the same yes/no questions about every text, answered line by line.

Chu, Lee, Park and Kim (InteractEval), 3.5: a text's score on a dimension is the share of its
checklist's questions that are answered yes; here people answer the list that models answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Task, TaskVersion
from annotation.task_types import pace
from annotation.task_types.base import TaskType, Values, known_rules, whole_number
from annotation.task_types.known import KnownField
from annotation.task_types.missing import Missing
from annotation.task_types.scales import ids, text, truth
from crowdqc.errors import Invalid

PREFIX = "c-"
YES, NO = "yes", "no"
ORDINALS = {YES: 1, NO: 0}
MAX_QUESTIONS, MAX_QUESTION, MAX_NAME, MAX_COMPONENT = 100, 600, 40, 80
MAX_SOURCES = 200  # attributes a question may come from
KINDS = ("", "person", "model")  # whose attribute it was
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class Checklist(TaskType):
    """One text beside its source, and the list."""

    slug = "checklist"
    label = gettext_lazy("Checklist")
    sentence = gettext_lazy(
        "The same yes/no questions about every text, beside its source. People and models answer "
        "one list, and a text’s score is its share of yes."
    )
    shape = "checks"
    item_noun = "text"
    answer_noun = "checklist"
    is_typed = False
    judges_texts = True
    answer_template = "annotation/task_types/checklist_answer.html"
    item_template = "annotation/work/judge/check.html"
    builder_template = "annotation/task_types/checklist_settings.html"
    # authoring
    add_words = gettext_lazy("Add texts")
    redundancy_part = "time"
    has_checklist = True
    numbers_by_text = False
    # money and privacy
    no_bonus = gettext_lazy(
        "A filled checklist has no right answer here, so its workers have no score to pay by."
    )

    # files
    exports = ("candidates", "checks", *TaskType.exports)
    imports = ("candidates", "chat_texts", "checks", "known_answers")
    import_words: Mapping[str, Mapping[str, Any]] = {
        "candidates": {
            "title": gettext_lazy("Texts to be checked"),
            "columns": gettext_lazy(
                "topic, text, context (its source), system or origin, style, query, author"
            ),
        }
    }

    def clean_settings(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "questions": clean_questions(raw.get("questions", [])),
            "dimension": text(raw, "dimension", "dimension", 80),
            # The frozen checklist version that the questions are of; 0: written by hand.
            "version": whole_number(raw, "version", 0, 0, 2**31 - 1),
            "show_sources": truth(raw.get("show_sources", True)),
            "break_after": whole_number(raw, "break_after", 0, 0, 200),
            "skippable": truth(raw.get("skippable", False)),
            "left_out": ids(raw.get("left_out"), "left_out"),
            **known_rules(raw),
        }

    def known_fields(self, settings: Mapping[str, Any]) -> list[KnownField]:
        """Yes or no to each question of the list."""
        return [
            KnownField(row["name"], row["label"], options=((YES, YES), (NO, NO)))
            for row in settings["questions"]
        ]

    def clean_draft(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        draft: dict[str, Any] = {}
        for name, value in raw.items():
            if not name.startswith(PREFIX) or value in ("", None):
                continue
            if len(name) > len(PREFIX) + MAX_NAME or value not in ORDINALS:
                raise Invalid(
                    _("%(name)s is %(value)s.") % {"name": name, "value": repr(str(value)[:40])},
                    fields={name: _("yes or no.")},
                )
            draft[name] = value
        if len(draft) > MAX_QUESTIONS:
            raise Invalid(
                _("There are too many lines."),
                fields={
                    "draft": _("%(max_questions)s at most.") % {"max_questions": MAX_QUESTIONS}
                },
            )
        draft["skipped"] = truth(raw.get("skipped", False))
        return draft

    def is_answered(self, draft: Mapping[str, Any]) -> bool:
        return any(name.startswith(PREFIX) for name in draft)

    def reading_parts(self, settings: Mapping[str, Any]) -> frozenset[str]:
        return frozenset({"passage"} if settings.get("show_sources", True) else ())

    def check(
        self, draft: Mapping[str, Any], settings: Mapping[str, Any], *, flipped: bool = False
    ) -> Values | None:
        given = {
            name.removeprefix(PREFIX): value
            for name, value in draft.items()
            if name.startswith(PREFIX)
        }
        if not given and draft.get("skipped") and settings["skippable"]:
            return None
        asked = [row["name"] for row in settings["questions"]]
        unknown = sorted(set(given) - set(asked))
        if unknown:
            raise Invalid(
                _("There is no question %(unknown)s in this checklist.")
                % {"unknown": repr(unknown[0])}
            )
        still = [number for number, name in enumerate(asked, 1) if name not in given]
        if still:
            raise Invalid(_open(still, len(asked)))
        return Values(choices=[(name, given[name], ORDINALS[given[name]]) for name in asked])

    def in_words(self, draft: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
        """Summarise a draft: how many questions are answered yes and how many no."""
        given = [draft.get(PREFIX + row["name"]) for row in settings["questions"]]
        counts = [(given.count(YES), _("%(number)s yes")), (given.count(NO), _("%(number)s no"))]
        return ", ".join(words % {"number": number} for number, words in counts if number)

    def lines(self, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
        return list(settings["questions"])

    def pooled_by(self, settings: Mapping[str, Any]) -> object:
        return {(row["name"], row["label"]) for row in settings["questions"]}

    def pooled_whatever_wording(self, settings: Mapping[str, Any]) -> object:
        return {row["name"] for row in settings["questions"]}

    def missing(
        self, task: Task, version: TaskVersion, signature: str | None = None
    ) -> list[Missing]:
        found = []
        if not version.settings["questions"]:
            found.append(Missing(_("The checklist has no question"), "asked"))
        if not task.items.in_version(version.number).filter(expected__isnull=True).exists():
            found.append(Missing(_("The task has no texts"), "texts"))
        return found

    def minutes(
        self, version: TaskVersion, items: Any, groups: Any, *, per: int, count: int
    ) -> float:
        own, beside = version.settings, 0.0
        if own["questions"] and own.get("show_sources"):  # its source stands beside each text
            beside = pace.mean_words(items, "group__passage") * per
        return pace.estimate_judging(version, items, per, len(own["questions"]), beside=beside)

    def pace_in_words(self, settings: Mapping[str, Any]) -> str:
        return _("reading at %(read)s words a minute, %(seconds)s seconds a line") % {
            "read": pace.READ_A_MINUTE,
            "seconds": pace.SECONDS_A_LINE,
        }


def _open(still: Sequence[int], total: int) -> str:
    if len(still) == 1:
        return _("Line %(line)s of %(total)s is not answered yet.") % {
            "line": still[0],
            "total": total,
        }
    return _("%(open)s of %(total)s lines are not answered yet, the first is line %(line)s.") % {
        "open": len(still),
        "total": total,
        "line": still[0],
    }


def clean_questions(raw: Any) -> list[dict[str, Any]]:
    """The lines of a list with their names, components and origins; Invalid names the line."""
    if not isinstance(raw, list) or not all(isinstance(row, Mapping) for row in raw):
        raise Invalid(_("questions is not a list."), fields={"questions": _("A list of objects.")})
    if len(raw) > MAX_QUESTIONS:
        raise Invalid(
            _("Too many questions."),
            fields={
                "questions": _("%(max_questions)s at most.") % {"max_questions": MAX_QUESTIONS}
            },
        )
    taken = [str(row.get("name") or "") for row in raw]
    found: list[dict[str, Any]] = []
    for number, row in enumerate(raw, 1):
        where = f"question {number}"
        label = text(row, "label", where, MAX_QUESTION)
        if not label:
            raise Invalid(
                _("%(where)s asks nothing.") % {"where": where},
                fields={where: _("Write the question.")},
            )
        name = str(row.get("name") or "") or free_name(taken)
        if not _NAME.fullmatch(name):
            raise Invalid(
                _("%(where)s: %(name)s cannot be a short name.")
                % {"where": where, "name": repr(name)},
                fields={where: _("Small letters, digits and _, beginning with a letter.")},
            )
        if any(name == one["name"] for one in found):
            raise Invalid(
                _("%(where)s: %(name)s is there twice.") % {"where": where, "name": name},
                fields={where: _("Another name.")},
            )
        taken.append(name)
        component = text(row, "component", where, MAX_COMPONENT)
        found.append(
            {
                "name": name,
                "label": label,
                "component": component,
                "attributes": _origins(row.get("attributes", []), where),
            }
        )
    return found


def free_name(taken: Sequence[str]) -> str:
    """The first short name (q1, q2, ...) that no line has."""
    number = 1
    while f"q{number}" in taken:
        number += 1
    return f"q{number}"


def _origins(raw: Any, where: str) -> list[dict[str, str]]:
    """The attributes a question came from: text, whose, and whether a person's or a model's."""
    if not isinstance(raw, list) or not all(isinstance(row, Mapping) for row in raw):
        raise Invalid(
            _("%(where)s: attributes is not a list.") % {"where": where},
            fields={where: _("A list of objects.")},
        )
    found = [
        {
            "text": text(row, "text", where, 1000),
            "author": text(row, "author", where, 160),
            "kind": text(row, "kind", where, 10),
        }
        for row in raw[:MAX_SOURCES]
    ]
    if any(one["kind"] not in KINDS for one in found):
        raise Invalid(
            _("%(where)s: whose attribute is it?") % {"where": where},
            fields={where: _("person or model.")},
        )
    return found


def list_of(version: TaskVersion) -> list[tuple[str, str]]:
    """List the checklist questions of a version as (short name, wording), in order."""
    return [(row["name"], row["label"]) for row in version.settings.get("questions", [])]
