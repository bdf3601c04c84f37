"""Runs on responses: the logs first, then what section 4 of the paper describes, then forms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from django.db import models
from django.utils.translation import gettext_noop

from annotation.models import Task
from annotation.work.snapshots.responses import FORMS
from crowdqc.numbers import plural
from evaluation.methods.core.base import Hooks, Result
from evaluation.methods.registry import get_method
from evaluation.methods.writing import method as writing
from evaluation.methods.writing.questionnaires import Forms, correlations, distributions
from evaluation.methods.writing.signals import DEFAULTS
from evaluation.models import AnswerScore, Run
from evaluation.runs.freezing.options import freeze
from evaluation.runs.progress import SNAPSHOT, Recorder, step_of
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import RunType
from evaluation.writing import dataset as writing_data
from evaluation.writing import logs as writing_logs
from evaluation.writing.columns import TABLES
from evaluation.writing.dataset import ResponsesDataset
from evaluation.writing.logs import WritingProcess

SLUG = writing.NAME
LOGS, FORM_STEP = gettext_noop("How the texts came about"), gettext_noop("Questionnaires")
# Figures of the method that are lists of rows, each stored under its own name.
SECTIONS = ("general", "overlap", "ranks", "order", "reuse", "position", "readability")
OWN = "words"  # the dimension of a response's row; everything else of it stands in ``extra``
Row = dict[str, Any]
Points = Mapping[str, Sequence[int]]  # field of a form -> the points of its question


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has found before anything is written."""

    frozen: ResponsesDataset
    result: Result
    written: Mapping[int, WritingProcess]
    forms: Row


def compute(run: Run, steps: Recorder) -> Computed:
    """Freeze the responses, read their logs, describe them."""
    steps.begin(SNAPSHOT)
    snapshot = freeze(run, writing_data.freeze_responses)
    frozen = writing_data.load(snapshot)
    counts = snapshot.counts
    of_systems = f", {counts['system_answers']:,} of models" if counts["system_answers"] else ""
    steps.set_words(
        sub=snapshot.content_hash[:8],
        mono=True,
        count=f"{plural(counts['answers'], 'response')}{of_systems}",
    )
    steps.begin(LOGS, total=len(frozen.people))
    written = writing_logs.read_all(frozen, advance=steps.advance)
    steps.set_words(
        count=f"{plural(counts['logs'], 'log')} of {plural(counts['answers'], 'response')}"
    )
    asked = {
        name: [int(point["value"]) for point in row["points"]]
        for name, (_, row) in asked_points(run.task).items()
    }
    return fit(run, frozen, written, asked, Hooks(progress=steps.named))


def fit(
    run: Run,
    frozen: ResponsesDataset,
    written: Mapping[int, WritingProcess],
    asked: Points,
    hooks: Hooks,
) -> Computed:
    """Describe responses and forms; reads no database."""
    rng = np.random.default_rng(run.seed)
    result = get_method(run.method).fit(frozen.data, rng=rng, hooks=hooks, **run.params)
    hooks.step(FORM_STEP, 0, 0)
    return Computed(frozen, result, written, forms(asked, frozen, rng, run.params))


def asked_points(task: Task) -> dict[str, tuple[str, Row]]:
    """Field -> (its form, the question) for the questions with points, in their order."""
    settings = task.current.settings if task.current is not None else {}
    return {
        f"{form}.{row['name']}": (form, row)
        for form in FORMS
        for row in settings.get(form, [])
        if row.get("points")
    }


def forms(
    asked: Points, frozen: ResponsesDataset, rng: np.random.Generator, params: Mapping[str, Any]
) -> Row:
    """Summarise the answers to the questionnaires, with their correlations."""
    names, people = list(asked), frozen.people
    value = np.array(
        [[frozen.forms[at].get(name, np.nan) for name in names] for at in people], dtype=float
    ).reshape(len(people), len(names))
    workers = np.array([frozen.rows[at].worker_id or 0 for at in people], dtype=np.int64)
    given = Forms(
        value,
        np.unique(workers, return_inverse=True)[1] if len(workers) else workers,
        frozen.data.style[people],
        tuple(names),
        frozen.data.styles,
    )
    pairs = [
        (names.index(one), names.index(two))
        for one, two in combinations(names, 2)
        if one.partition(".")[0] == two.partition(".")[0]
    ]
    told: Row = {"distributions": [], "correlations": []}
    if names and people:
        told["distributions"] = distributions(given, list(asked.values()))
        told["correlations"] = correlations(
            given, pairs, rng=rng, resamples=params["resamples"], level=params["level"]
        )
    return {"n": len(people), **told}


def answer_rows(done: Computed) -> list[Row]:
    """A row a response: its words, and everything else that is known of it."""
    table = done.result.estimates["response"].rows()
    made = []
    for row in sorted(table, key=lambda one: one["response"]):
        at = row["response"]
        written = done.written.get(at)
        extra = {name: _plain(row[name]) for name in row if name not in INDICES}
        made.append(
            {
                "answer_id": done.frozen.rows[at].answer_id,
                "dimension": OWN,
                "estimate": _plain(row["words"]),
                "n": 1,
                "extra": extra | (written.as_dict() if written is not None else {"fired": 0}),
            }
        )
    return made


INDICES = ("response", "group", "style", "topic", "words", "left_out")


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write(run: Run, done: Computed) -> Outcome:
    """The rows and figures of a run."""
    found = done.result.diagnostics["figures"]
    told: Row = {name: found[name] for name in SECTIONS}
    told["frame"] = {name: value for name, value in found.items() if name not in SECTIONS}
    told["signals"] = writing_logs.rates(done.frozen, done.written, run.params["level"])
    told["logs"] = writing_logs.log_summary(done.written)
    told["forms"] = done.forms
    told["recipe"] = {
        "method": done.result.name,
        "version": done.result.version,
        "params": dict(run.params),
        "signals": dict(DEFAULTS),
        "seed": run.seed,
        "snapshot": run.snapshot.content_hash if run.snapshot else "",
        "counts": dict(run.snapshot.counts) if run.snapshot else {},
    }
    rows: dict[type[models.Model], list[Row]] = {AnswerScore: answer_rows(done)}
    return Outcome(rows, told)


RUNS = RunType(
    writing.METHOD,
    ("responses",),
    gettext_noop("writing with sources"),
    (SNAPSHOT, LOGS, *map(step_of, writing.STAGES), FORM_STEP),
    compute,
    write,
    export="writing_export",
    tables=TABLES,
)
