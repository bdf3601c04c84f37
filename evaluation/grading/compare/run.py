"""Runs that score the same workers by every method, beside what experts gave their answers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext_noop

from crowdqc.numbers import plural
from evaluation.embeddings import vectors
from evaluation.free_text import run as text_runs
from evaluation.grading.actions import marks_of
from evaluation.grading.keys import examples, key_cosines, keys_hash, keys_of
from evaluation.grading.study_run import responses_of
from evaluation.methods.aqer_study import workers as text_methods
from evaluation.methods.aqer_study.workers import METHOD, Crowd
from evaluation.methods.core.base import FloatArray, Hooks, Result
from evaluation.models import Run, WorkerScore
from evaluation.runs.freezing import snapshots
from evaluation.runs.freezing.options import freeze
from evaluation.runs.freezing.snapshots import AnswersDataset
from evaluation.runs.progress import EMBEDDINGS, SNAPSHOT, Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import OWN_ROWS, RunType

SLUG = METHOD.slug
METHODS = gettext_noop("Methods")
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has found before anything is written."""

    frozen: AnswersDataset
    result: Result
    told: Row
    examples: list[Row]


def compute(run: Run, steps: Recorder) -> Computed:
    """Freeze the answers, make vectors, fit every method on them."""
    steps.begin(SNAPSHOT)
    snapshot = freeze(run, snapshots.freeze_answers)
    frozen = snapshots.load(snapshot)
    grade, graded = worker_grades(run, frozen)
    steps.set_words(
        sub=snapshot.content_hash[:8],
        mono=True,
        count=f"{plural(len(frozen.answer_ids), 'answer')}, {plural(graded['n'], 'grade')}",
    )
    steps.begin(EMBEDDINGS, total=len(frozen.texts))
    encoder = text_runs.encoder_of(run, steps)
    found = vectors.vectors_of(
        frozen.texts, encoder, advance=lambda done, cached: steps.advance(done)
    )
    bert = bool(run.params["bert_score"])
    words = responses_of(frozen, run.params["encoder"], bert=bert)
    keys = keys_of(run.task)
    cosine = key_cosines(frozen, keys, encoder, found.matrix)
    crowd = Crowd(frozen.with_vectors(found.matrix), words, grade, cosine if keys else None)
    steps.begin(METHODS)
    options = {name: run.params[name] for name in text_methods.PARAMS.defaults}
    result = METHOD.fit(
        crowd,
        rng=np.random.default_rng(run.seed),
        hooks=Hooks(progress=lambda stage, done, total: steps.advance(done, total)),
        **options,
    )
    told: Row = {"grades": graded, "encoder": encoder.identity}
    if keys:
        told["right_answers"] = {"n": len(keys), "hash": keys_hash(keys)}
    shown = examples(frozen, grade, cosine, np.asarray(result.estimates["answer"]["score"]))
    for row in shown:
        row["key"] = keys[row["item"]]
    return Computed(frozen, result, told, shown)


def worker_grades(run: Run, frozen: AnswersDataset) -> tuple[FloatArray, Row]:
    """Return experts' grades (n,) of workers' answers, NaN if ungraded, with their source.

    Of an answer that two gradings hold, the later one's counts.
    """
    final: dict[int, float] = {}
    for grading in run.task.gradings.order_by("pk"):
        for pk, both in marks_of(grading).items():
            mark = both.final(grading.gap)
            if mark is not None:
                final[pk] = mark
    found = np.array([final.get(pk, np.nan) for pk in frozen.answer_ids])
    known = [(pk, final[pk]) for pk in sorted(frozen.answer_ids) if pk in final]
    digest = hashlib.sha256(json.dumps(known).encode()).hexdigest()
    return found, {"n": len(known), "hash": digest}


def write(run: Run, done: Computed) -> Outcome:
    """A row a worker and method, the method as the dimension; correlations as figures."""
    estimates, snapshot = done.result.estimates, run.snapshot
    rows = [_row(done.frozen, row) for row in estimates["board"].rows()]
    told: Row = {
        "against": estimates["against"].rows(),
        "experts": estimates["experts"].rows(),
        "measures": estimates["measures"].rows(),
        "curves": estimates["curves"].rows(),
        "keys": estimates["keys"].rows(),
        "key_examples": done.examples,
        "classes": _classes(done),
        "frame": {**done.result.diagnostics, "classes": []},
        "recipe": {
            "method": SLUG,
            "version": done.result.version,
            "seed": run.seed,
            "params": dict(run.params),
            **done.told,
            "snapshot": snapshot.content_hash if snapshot else "",
            "counts": dict(snapshot.counts) if snapshot else {},
        },
    }
    return Outcome({WorkerScore: rows}, told)


def _classes(done: Computed) -> list[Row]:
    """Classes of answers with their question and most typical answer by id."""
    return [
        {
            "item": done.frozen.items[row["question"]],
            "answers": row["answers"],
            "answer": done.frozen.answer_ids[row["source"]],
        }
        for row in done.result.diagnostics["classes"]
    ]


def _row(frozen: AnswersDataset, row: Row) -> Row:
    return {
        "worker_id": frozen.workers[row["worker"]],
        "dimension": row["method"],
        "component": row["component"],
        "estimate": row["score"],
        **{name: row[name] for name in ("low", "high", "n")},
        "rank_low": row["rank_low"] or None,
        "rank_high": row["rank_high"] or None,
        "extra": {"rank": row["rank"] or None, "no_interval": row["reason"]},
    }


RUNS = RunType(
    METHOD,
    ("texts",),
    gettext_noop("free text"),
    (SNAPSHOT, EMBEDDINGS, METHODS),
    compute,
    write,
    own=(text_runs.ENCODER,),
    complete=text_runs.with_encoder,
    page="text_compare",
    export=OWN_ROWS,
)
