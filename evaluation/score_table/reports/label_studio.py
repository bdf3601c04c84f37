"""Label Studio's annotations scored without a database: one control, as a table of it would be."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from annotation.files.reading.importer import CheckedRows
from annotation.files.reading.spool import Spool
from annotation.formats.imports.tools.label_studio import LSTask
from evaluation.score_table.reports import answers, comparisons, labels, ratings
from evaluation.score_table.reports.text import Options, Report

SIDES = {"first": "left", "second": "right", "neutral": "neutral"}


def report(checked: CheckedRows, options: Options) -> Report:
    """The control that is scored first, as the kind of table that it makes. Raises DataError."""
    row_of, scored = WAYS[checked.about["type"]]
    rows = Spool(
        {**row_of(one["task"], author, value), "at": at}
        for one in checked.good
        for author, value, at in _control_results(one["task"], checked.about["control"])
    )
    return scored(replace(checked, good=rows, about={"factor": 1, **checked.about}), options)


def _control_results(task: LSTask, control: str) -> Iterator[tuple[str, Any, dt.datetime | None]]:
    """Author, value and time of what people said in a control and counts; the last of each."""
    found: dict[str, tuple[str, Any, dt.datetime | None]] = {}
    for one in task.given:
        if not (one.system or one.cancelled or one.ground_truth):
            for name, _, value in one.results():
                if name == control:
                    found[one.author] = (one.author, value, one.at)
    yield from found.values()


def _label(task: LSTask, author: str, value: Any) -> dict[str, Any]:
    return {"worker": author, "item": task.key, "label": value[0], "gold": ""}


def _rating(task: LSTask, author: str, value: Any) -> dict[str, Any]:
    about = {"system": "", "topic": ""}
    return {"worker": author, "item": task.key, "score": value, **about}


def _answer(task: LSTask, author: str, value: Any) -> dict[str, Any]:
    return {"worker_id": author, "item_id": task.key, "answer": "\n\n".join(value)}


def _comparison(task: LSTask, author: str, value: Any) -> dict[str, Any]:
    sides = [(task.source_of(n), task.key) for n in (1, 2)]
    return {
        "judge": author,
        "topic": task.key,
        "left": sides[0],
        "right": sides[1],
        "winner": SIDES[value],
    }


Way = tuple[Callable[[LSTask, str, Any], dict[str, Any]], Callable[[CheckedRows, Options], Report]]
WAYS: dict[str, Way] = {
    "labels": (_label, labels.report),
    "rating": (_rating, ratings.report),
    "free_text": (_answer, answers.report),
    "pairwise": (_comparison, comparisons.report),
}
