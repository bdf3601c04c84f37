"""From rescaled ratings to rows and figures, with ids in place of indices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import models

from evaluation.methods.core.base import FloatArray, Result, Table
from evaluation.methods.rescaling.data import Annotations, incomplete, shared_pairs
from evaluation.methods.rescaling.method import LabelMeans, agreement, label_means, rescale
from evaluation.methods.rescaling.use import by_label, changes, mean_of, to_percent
from evaluation.models import AnswerScore, ItemScore, Run, WorkerScore
from evaluation.rescaling.calls import ScoredExplanations
from evaluation.rescaling.dataset import ExplanationsDataset
from evaluation.runs.results.rows import Outcome, make_recipe

Row = dict[str, Any]
LAMBDAS = (0.0, 0.1, 0.3, 0.5, 0.8, 1.0)  # as in Table 10
NO_EXPLANATION, NO_NUMBER = "no explanation", "no number"


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has found before anything is written.

    ``fitted`` is None where no two people rated the same item: then there are scores and no
    agreement. ``scores`` (n,) are the rescaled ratings.
    """

    frozen: ExplanationsDataset
    data: Annotations
    scored: ScoredExplanations
    scores: FloatArray
    fitted: Result | None
    ensembles: list[dict[str, Any]]


def ensembles(data: Annotations, means: LabelMeans, limits: Mapping[str, Any]) -> list[Row]:
    """Table 10: agreement at each lambda, and its change against the raw ratings (section 7.2)."""
    joined = shared_pairs(data)
    chosen = {"level": limits["level"], "min_items": limits["min_items"]}
    found = []
    for setting, rows in (("all", joined), ("incomplete", incomplete(data, joined))):
        for weight in LAMBDAS:
            after = rescale(data, means, ensemble=weight)
            mean = agreement(data, rows, data.rating, after, **chosen).mean
            found.append(
                {
                    "setting": setting,
                    "lambda": weight,
                    "before": _plain(mean.before),
                    "after": _plain(mean.after),
                    "low": _plain(mean.low),
                    "high": _plain(mean.high),
                    "pairs": mean.pairs,
                    "reason": mean.reason,
                }
            )
    return found


def answer_rows(done: Computed) -> list[Row]:
    """A row a rating: its score, and what became of it on the way."""
    data, scored, means = done.data, done.scored, label_means(done.data)
    made = []
    for at, row in enumerate(done.frozen.rows):
        f = scored.score.get(row.answer_id)
        why = "" if f is not None else NO_NUMBER if row.explanation else NO_EXPLANATION
        made.append(
            {
                "answer_id": row.answer_id,
                "dimension": done.frozen.scale.name,
                "component": 1,
                "estimate": float(done.scores[at]),
                "n": 1,
                "extra": {
                    "label": done.frozen.scale.label_of(row.value),
                    "value": row.value,
                    "f": f,
                    "g": float(means.mean[data.worker[at], data.label[at]]),
                    "fallback": f is None,
                    "why": why,
                    "reason": scored.reason.get(row.answer_id, ""),
                    "call": scored.call.get(row.answer_id),
                },
            }
        )
    return made


def worker_rows(done: Computed, level: float) -> list[Row]:
    """A row a worker: the mean of their rescaled ratings, and how they use every label."""
    data, place = done.data, to_percent(done.data)
    made = []
    for at, pk in enumerate(done.frozen.workers):
        own = data.worker == at
        mean = mean_of(done.scores[own], data.item[own], level=level)
        made.append(
            {
                "worker_id": pk,
                "dimension": done.frozen.scale.name,
                "component": 1,
                "estimate": _plain(mean.value),
                "low": _plain(mean.low),
                "high": _plain(mean.high),
                "n": mean.n,
                "extra": {
                    "before": float(data.rating[own].mean()),
                    "place": float(place[own].mean()),
                    "spread": _plain(mean.spread),
                    "items": mean.items,
                    "fallback": int((own & ~data.scored).sum()),
                    "labels": by_label(data, done.scores, own, level=level),
                },
            }
        )
    return made


def item_rows(done: Computed) -> list[Row]:
    """Make a row per item: mean and spread of its ratings before (0 to 100) and after."""
    data, place = done.data, to_percent(done.data)
    order = np.argsort(data.item, kind="stable")
    ends = np.flatnonzero(np.diff(data.item[order])) + 1
    made = []
    for own in np.split(order, ends):
        before, after = place[own], done.scores[own]
        made.append(
            {
                "item_id": done.frozen.items[data.item[own[0]]],
                "dimension": done.frozen.scale.name,
                "component": 1,
                "estimate": float(after.mean()),
                "n": len(own),
                "extra": {
                    "before": float(before.mean()),
                    "moved": float(after.mean() - before.mean()),
                    "spread_before": float(before.std()),
                    "spread": float(after.std()),
                },
            }
        )
    return made


def figures(run: Run, done: Computed) -> Row:
    """Collect the results that are not rows of a table, by name."""
    data, level = done.data, run.params["level"]
    why = [row["extra"]["why"] for row in answer_rows(done)]
    told: Row = {
        "by_label": by_label(data, done.scores, level=level),
        "frame": {
            "scale": done.frozen.scale.name,
            "label": done.frozen.scale.label,
            "points": [[p.value, p.label] for p in done.frozen.scale.points],
            "ratings": len(data),
            "explained": int(data.explained.sum()),
            "no_explanation": why.count(NO_EXPLANATION),
            "no_number": why.count(NO_NUMBER),
            "level": level,
            "agreement": done.fitted is not None,
        },
        "ensembles": done.ensembles,
        "recipe": _recipe(run, done),
    }
    if done.fitted is None:
        return told
    tables = done.fitted.estimates
    told["aggregate"] = tables["aggregate"].rows()
    for name in ("pair", "pair_incomplete"):
        told[name] = _pairs(done, tables[name])
    told["changes"] = {
        "all": changes(tables["pair"]["difference"]),
        "incomplete": changes(tables["pair_incomplete"]["difference"]),
    }
    told["label_mean"] = _means(done, tables["label_mean"])
    told["diagnostics"] = {
        **done.fitted.diagnostics,
        "not_monotone": [int(pk) for pk in done.fitted.diagnostics["not_monotone"]],
    }
    return told


def _pairs(done: Computed, table: Table) -> list[Row]:
    rows = table.rows()
    for row in rows:
        row["first"] = done.frozen.workers[row["first"]]
        row["second"] = done.frozen.workers[row["second"]]
    return rows


def _means(done: Computed, table: Table) -> list[Row]:
    rows = table.rows()
    for row in rows:
        row["worker"] = done.frozen.workers[row["worker"]]
        row["label"] = done.data.labels[row["label"]]
    return rows


def _recipe(run: Run, done: Computed) -> Row:
    """Everything that gives the same numbers again; the calls are inputs like the ratings."""
    return {**make_recipe(run, run.method, run.version), "calls": done.scored.told}


def write(run: Run, done: Computed) -> Outcome:
    """Return all rows and figures of a run."""
    rows: dict[type[models.Model], list[Row]] = {
        AnswerScore: answer_rows(done),
        WorkerScore: worker_rows(done, run.params["level"]),
        ItemScore: item_rows(done),
    }
    return Outcome(rows, figures(run, done))


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
