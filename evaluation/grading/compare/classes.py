"""Questions with several classes of answers, from a run's figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from evaluation.grading.compare.rows import texts_and_questions
from evaluation.grading.messages import MESSAGES
from evaluation.results.columns import Column
from evaluation.results.tables import Group, ResultTable


@dataclass(frozen=True)
class ClassRow:
    """A class by its most typical answer."""

    text: str
    answers: int


def classes_part(figures: Mapping[str, Any]) -> dict[str, Any] | None:
    """The finding, and the classes by question; None where none were sought. Two queries."""
    asked = figures["frame"].get("asked", 0)
    if not asked:
        return None
    rows = figures.get("classes", [])
    if not rows:
        return {"finding": MESSAGES.find("classes_single", asked=asked), "table": None}
    texts, questions = texts_and_questions(rows)
    items = dict.fromkeys(row["item"] for row in rows)
    groups = [
        Group(
            questions.get(item, ""),
            [
                ClassRow(texts.get(row["answer"], ""), row["answers"])
                for row in rows
                if row["item"] == item
            ],
        )
        for item in items
    ]
    columns = (
        Column.text("text", _("Most typical answer"), classes="serif full grow"),
        Column.count("answers", _("Answers of the class")),
    )
    title = _("Classes of answers by question")
    return {
        "finding": MESSAGES.find("classes_several", split=len(items), asked=asked),
        "table": ResultTable(title, columns, groups, classes="data two-line"),
    }
