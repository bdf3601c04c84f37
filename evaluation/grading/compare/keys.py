"""Answers beside the right ones: correlations with grades, and examples, from a run's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from crowdqc.numbers import score
from evaluation.grading.compare.rows import texts_and_questions
from evaluation.grading.measures import measures_table
from evaluation.methods.aqer_study.workers import AQER, KEY
from evaluation.results.columns import Column
from evaluation.results.tables import Group, ResultTable

DIGITS = 2


@dataclass(frozen=True)
class Example:
    """An answer with its grade and how close it comes to the right one."""

    text: str
    grade: str
    cosine: str
    own: str


def keys_part(figures: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return tables P1 and P2 for the task's answers; None without reference answers."""
    rows = figures.get("keys", [])
    if not rows:
        return None
    titles = {KEY: _("Cosine with the right answer"), AQER: _("AQER’s score, without it")}
    table = measures_table(rows, titles, AQER, heading=_("Score of an answer"))
    none = next(row for row in rows if row["method"] == KEY and row["measure"] == "pearson")
    return {
        "table": table,
        "units": none["n"],
        "p": none["p_zero"],
        "examples": _examples(figures.get("key_examples", [])),
    }


def _examples(rows: Sequence[Mapping[str, Any]]) -> ResultTable | None:
    if not rows:
        return None
    texts, questions = texts_and_questions(rows)
    groups = []
    for item in dict.fromkeys(row["item"] for row in rows):
        own = [row for row in rows if row["item"] == item]
        told = {
            "question": questions.get(item, ""),
            "key": own[0]["key"],
            "mean": score(own[0]["mean"], 0),
        }
        heading = _("%(question)s Right: “%(key)s” Mean grade %(mean)s.") % told
        groups.append(
            Group(heading, [_example(row, texts) for row in own if row["answer"] in texts])
        )
    columns = (
        Column.text("text", _("Answer"), classes="serif full grow"),
        Column.number("grade", _("Experts’ grade")),
        Column.number("cosine", _("Cosine with the right answer")),
        Column.number("own", _("AQER’s score")),
    )
    title = _("Answers of the best and the worst graded question")
    return ResultTable(title, columns, groups, classes="data two-line")


def _example(row: Mapping[str, Any], texts: Mapping[int, str]) -> Example:
    return Example(
        texts[row["answer"]],
        score(row["grade"], 0),
        score(row["cosine"], DIGITS),
        score(row["score"], DIGITS),
    )
