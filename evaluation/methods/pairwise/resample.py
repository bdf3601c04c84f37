"""How steady gold labels and grades are, had other workers of the same crowd judged.

Every resample gives each worker a random weight (exponential with mean 1: Rubin's Bayesian
bootstrap, 1981), so that no pair loses all its votes; MACE and the grades are found again from
scratch. That covers who judged and how they voted, not which topics and texts were chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluation.methods.core.base import FloatArray, Hooks, Table
from evaluation.methods.core.pairwise_tables import LABELS, of_rows, one_hot, quiet, votes_behind
from evaluation.methods.pairwise.gold import quick_labels
from evaluation.methods.pairwise.grades import candidates
from evaluation.methods.pairwise.judgments import Judgments
from evaluation.methods.pairwise.order.data import ShownVotes

STAGE = "gold labels resampled"
STABILITY = ("dimension", "pair", "s_first", "s_neutral", "s_second")
INTERVAL = ("dimension", "topic", "component", "candidate", "grade", "low", "high")
RESTARTS = 3


def resampled_gold(
    data: Judgments,
    people: ShownVotes,
    settings: dict[str, Any],
    *,
    rng: np.random.Generator,
    hooks: Hooks,
) -> dict[str, Table]:
    """``label_stability``: in which share of resamples each label was the gold one (NaN where no
    label was ever found). ``candidate_interval``: the grade of each candidate and the quantiles of
    its grades at ``level``. Both empty without ``gold_resamples``. Raises Cancelled.
    """
    size, level = settings["gold_resamples"], settings["level"]
    if not size:
        return {
            "label_stability": of_rows([], STABILITY),
            "candidate_interval": of_rows([], INTERVAL),
        }
    chosen = {name: settings[name] for name in ("algorithm", "pooled", "prevalence")}
    one, two = rng.spawn(2)
    # The first are the votes as they are.
    weights = np.ones((size + 1, len(people.workers)))
    weights[1:] = two.standard_exponential((size, len(people.workers)))
    hooks.step(STAGE, 0, 2 * size)
    found = quick_labels(
        data, people, {**chosen, "restarts": RESTARTS}, weights, rng=one, hooks=quiet(hooks)
    )
    votes = votes_behind(people)
    base = candidates(data, found[0], votes)
    seen = np.zeros((*votes.shape, LABELS))
    grades = np.empty((size, len(base)))
    for b, labels in enumerate(found[1:]):
        hooks.step(STAGE, size + b, 2 * size)
        seen += one_hot(labels.ravel()).reshape(seen.shape)
        # Weights drop no vote, so the same texts are graded every time, in the same order.
        grades[b] = candidates(data, labels, votes)["grade"]
    hooks.step(STAGE, 2 * size, 2 * size)
    return {"label_stability": _stability(seen), "candidate_interval": _spread(base, grades, level)}


def _stability(seen: FloatArray) -> Table:
    total = seen.sum(axis=2, keepdims=True)
    share = np.divide(seen, total, out=np.full_like(seen, np.nan), where=total > 0)
    pairs, size = seen.shape[:2]
    flat = share.transpose(1, 0, 2).reshape(-1, LABELS)
    columns = {
        "dimension": np.repeat(np.arange(size), pairs),
        "pair": np.tile(np.arange(pairs), size),
        **dict(zip(STABILITY[2:], flat.T, strict=True)),
    }
    return Table(columns)


def _spread(base: Table, grades: FloatArray, level: float) -> Table:
    if not len(base):
        return of_rows([], INTERVAL)
    tail = (1 - level) / 2
    low, high = np.quantile(grades, [tail, 1 - tail], axis=0)
    bounds = {"low": np.minimum(low, base["grade"]), "high": np.maximum(high, base["grade"])}
    columns = {**base.columns, **bounds}
    return Table({name: columns[name] for name in INTERVAL})
