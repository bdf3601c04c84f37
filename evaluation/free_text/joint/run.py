"""Runs in which language models vote on exemplary answers, with the workers or alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext_noop

from evaluation.free_text import run as text_runs
from evaluation.methods.aqer.joint import METHOD
from evaluation.methods.core.base import IntArray, Result
from evaluation.models import Run, SystemScore, WorkerScore
from evaluation.runs.freezing.snapshots import AnswersDataset
from evaluation.runs.results import figures
from evaluation.runs.results import rows as results
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import OWN_ROWS, RunType

SLUG = METHOD.slug
Row = dict[str, Any]


def write(run: Run, done: results.Computed) -> Outcome:
    """The board's rows, of people and of models, and how alike their answers are. No database."""
    people, models = _rows(done.frozen, done.result)
    diagnostics = done.result.diagnostics
    told = {
        "joint": {
            "mode": diagnostics["joint"]["mode"],
            "alike": diagnostics["joint"]["alike"],
            "boards": [
                {"number": part["number"], "ranked_by": part["ranked_by"]}
                for part in diagnostics["components"]
            ],
        },
        "without_models": _without_models(done.frozen, done.result),
        "merged": _merged(done.frozen, done.result),
        "convergence": figures.convergence(done.result),
        "recipe": results.recipe(run, done),
    }
    return Outcome({WorkerScore: people, SystemScore: models}, told)


def _without_models(frozen: AnswersDataset, result: Result) -> Row:
    """Everybody's score and place where models have no vote, or the reason why there is none."""
    found = result.diagnostics["joint"].get("without")
    if found is None:
        return {"reason": "no worker votes in this run", "rows": [], "by": "score"}
    authors = [{"worker": pk, "system": None} for pk in frozen.workers]
    authors += [{"worker": None, "system": pk} for pk in frozen.systems]
    columns = zip(found["score"], found["place"], found["place_with"], strict=True)
    rows = [
        {**who, "score": score, "place": place, "place_with": place_with}
        for who, (score, place, place_with) in zip(authors, columns, strict=True)
        if place is not None
    ]
    return {"reason": found["reason"], "rows": rows, "by": found["by"]}


def _merged(frozen: AnswersDataset, result: Result) -> list[Row]:
    """The best answer to each question, whoever wrote it; of a model that answered several times
    the first of those answers, which it votes with together."""
    alone = result.diagnostics["joint"]["mode"] == "systems"
    people = 0 if alone else len(frozen.workers)
    of_people = _first(frozen.question, frozen.worker, frozen.answer_ids)
    of_models = _first(frozen.system_question, frozen.system, frozen.system_answer_ids)
    table = result.estimates["answer"]
    made = []
    for at in np.flatnonzero(table["best"]):
        question, author = int(table["question"][at]), int(table["worker"][at])
        model = author >= people
        key = question, author - people if model else author
        made.append(
            {
                "item": frozen.items[question],
                "answer": (of_models if model else of_people)[key],
                "model": model,
                "score": float(table["score"][at]),
            }
        )
    return made


def _first(
    question: IntArray, author: IntArray, answers: Sequence[int]
) -> dict[tuple[int, int], int]:
    """The first answer of each author to each question."""
    found: dict[tuple[int, int], int] = {}
    for key, pk in zip(zip(question.tolist(), author.tolist(), strict=True), answers, strict=True):
        found.setdefault(key, pk)
    return found


def _rows(frozen: AnswersDataset, result: Result) -> tuple[list[Row], list[Row]]:
    """Rows of people and of models; ranks are among both."""
    intervals = result.intervals["worker"]
    ranked_by = {part["number"]: part["ranked_by"] for part in result.diagnostics["components"]}
    alone = result.diagnostics["joint"]["mode"] == "systems"
    people: list[Row] = []
    models: list[Row] = []
    table = result.estimates["worker"].rows()
    unsure = results.count_unsure(table, intervals)
    for at, row in enumerate(table):
        by = ranked_by.get(row["component"], "score")
        made = results.ranked(row, intervals, at, by, unsure[row["component"]])
        made["n"] = row["n"]
        if row["is_system"]:
            place = row["worker"] - (0 if alone else len(frozen.workers))
            models.append({"system_id": frozen.systems[place], **made})
        else:
            people.append({"worker_id": frozen.workers[row["worker"]], **made})
    return people, models


RUNS = RunType(
    METHOD,
    ("texts",),
    gettext_noop("free text"),
    text_runs.RUNS.steps,
    text_runs.compute,
    write,
    text_runs.fail,
    own=(text_runs.ENCODER,),
    stored=("mode", *text_runs.STORED),
    complete=text_runs.with_encoder,
    page="aqer_joint",
    export=OWN_ROWS,
    iterates=True,
)
