"""A scorer of explanations learned from scores that some of them have. Ours, of no paper.

Wadhwa et al. 2024 leave a scorer that is fitted on labels to future work. Here a score from 0 to
100 is the mean score of the rating's label plus a linear function of the explanation's embedding:
ridge regression whose label means are not penalised, so that a strong penalty gives the label's
mean alone. That mean is what the scorer is held against, on people and on items it has not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.methods.agreement.rank_correlation import spearman
from evaluation.methods.core.base import (
    BadShape,
    BadVector,
    DataError,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Table,
    index_array,
    of_rows,
)
from evaluation.methods.core.inference import family_level, two_way_spread
from evaluation.methods.core.params import LEVEL, Params, whole_number
from evaluation.methods.core.units import LEAST, MEAN
from evaluation.methods.rescaling.data import HIGHEST, LOWEST

NAME, VERSION = "explanation_scorer", "1.0"
PARAMS = Params(NAME, (whole_number("folds", 5, 2, 20), LEVEL), version=VERSION)
PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)
FEWEST, FEWEST_WORKERS, FEWEST_ITEMS = 100, 5, 20  # of scored explanations, below which none is fit
WORKERS, ITEMS = "workers", "items"  # whose explanations are left out of training
SCHEMES = (WORKERS, ITEMS)
SCHEME = (
    *("scheme", "n", "groups", "error", "of_label", "difference", "low", "high", "reason"),
    *("r2", "rho", "rho_label"),
)
STAGE = "folds"


class TooFewScores(DataError):
    """Too few explanations have a score to learn from."""


@dataclass(frozen=True, eq=False)
class Explanations:
    """Explained ratings: ``vectors`` (n, d), ``label``, ``worker`` and ``item`` (n,) as indices.

    ``score`` (n,) is 0 to 100, NaN where there is none yet.
    """

    vectors: FloatArray
    label: IntArray
    worker: IntArray
    item: IntArray
    score: FloatArray
    labels: int

    @classmethod
    def build(
        cls,
        vectors: Any,
        label: Sequence[int],
        worker: Sequence[int],
        item: Sequence[int],
        score: Any,
        *,
        labels: int,
    ) -> Explanations:
        """Check the arrays. Raises BadShape, BadVector, UnknownIndex, TooFewScores."""
        v, s = np.asarray(vectors, dtype=np.float64), np.asarray(score, dtype=np.float64)
        at = index_array("label", label, labels)
        w, i = np.asarray(worker, dtype=np.int64), np.asarray(item, dtype=np.int64)
        if v.ndim != 2 or not len(v) == len(at) == len(w) == len(i) == len(s):
            raise BadShape("vectors, label, worker, item and score must have one length")
        known = s[np.isfinite(s)]
        if not np.isfinite(v).all() or (known < LOWEST).any() or (known > HIGHEST).any():
            raise BadVector("vectors must be finite and scores lie in 0 to 100")
        found = cls(v, at, w, i, s, labels)
        if why := shortage_reason(int(found.known.sum()), w[found.known], i[found.known]):
            raise TooFewScores(why)
        return found

    @property
    def known(self) -> Any:
        """(n,) whether it has a score."""
        return np.isfinite(self.score)


def shortage_reason(n: int, worker: Any, item: Any) -> str:
    """Why these scored explanations are too few to learn from; "" where they do."""
    workers, items = len(set(np.asarray(worker).tolist())), len(set(np.asarray(item).tolist()))
    for have, least, noun in (
        (n, FEWEST, "scored explanations"),
        (workers, FEWEST_WORKERS, "workers"),
        (items, FEWEST_ITEMS, "items"),
    ):
        if have < least:
            return f"{have} {noun}; a scorer is fitted from {least} on"
    return ""


@dataclass(frozen=True, eq=False)
class Scorer:
    """Mean score (l,) and mean vector (l, d) of each label, and the weights (d,)."""

    mean: FloatArray
    centre: FloatArray
    weight: FloatArray

    def predict(self, vectors: FloatArray, label: IntArray) -> FloatArray:
        """Scores (n,), within 0 and 100."""
        raw = self.mean[label] + (vectors - self.centre[label]) @ self.weight
        return np.clip(raw, LOWEST, HIGHEST)


def _means(values: FloatArray, label: IntArray, labels: int) -> FloatArray:
    """Means (l, ...) by label; of a label without rows the mean of all."""
    n = np.bincount(label, minlength=labels)
    out = np.repeat(values.mean(axis=0, keepdims=True), labels, axis=0)
    for k in np.flatnonzero(n):
        out[k] = values[label == k].mean(axis=0)
    return out


@dataclass(frozen=True, eq=False)
class Equations:
    """Normal equations of a ridge regression of scores on vectors, with a free mean a label.

    Both sides less their label's mean give the weights (Frisch-Waugh-Lovell), as the means are not
    penalised: ``left`` (d, d) and ``right`` (d,), solved at any penalty.
    """

    mean: FloatArray
    centre: FloatArray
    left: FloatArray
    right: FloatArray

    @classmethod
    def build(
        cls, vectors: FloatArray, label: IntArray, score: FloatArray, labels: int
    ) -> Equations:
        """Return the equations of scores (n,) and vectors (n, d) of ratings with labels (n,)."""
        mean, centre = _means(score, label, labels), _means(vectors, label, labels)
        inner = vectors - centre[label]
        return cls(mean, centre, inner.T @ inner, inner.T @ (score - mean[label]))

    def solve(self, penalty: float) -> Scorer:
        """Return the scorer at this penalty on the squared weights."""
        left = self.left + penalty * np.eye(len(self.left))
        weight = np.linalg.solve(left, self.right)
        return Scorer(self.mean, self.centre, np.asarray(weight, dtype=np.float64))


def _equations(data: Explanations, rows: IntArray) -> Equations:
    return Equations.build(data.vectors[rows], data.label[rows], data.score[rows], data.labels)


def _folds(group: IntArray, folds: int, rng: np.random.Generator) -> Iterator[Any]:
    """Rows (n,) that are left out, some groups at a time, each group once."""
    names = rng.permutation(np.unique(group))
    for part in np.array_split(names, min(folds, len(names))):
        yield np.isin(group, part)


def _penalty(
    data: Explanations, rows: IntArray, group: IntArray, folds: int, rng: np.random.Generator
) -> float:
    """The penalty with the least squared error on groups left out of these rows."""
    error = np.zeros(len(PENALTIES))
    for out in _folds(group[rows], folds, rng):
        train, test = rows[~out], rows[out]
        equations = _equations(data, train)
        for k, penalty in enumerate(PENALTIES):
            found = equations.solve(penalty).predict(data.vectors[test], data.label[test])
            error[k] += np.square(found - data.score[test]).sum()
    return PENALTIES[int(error.argmin())]


def fit(
    data: Explanations, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Fit on all scored explanations, and say how near it is on people and items it did not see.

    Tables: ``scheme`` (scheme: who is left out; n, groups; ``error``, the mean absolute error, and
    ``of_label``, that of the label's mean in training; their ``difference`` with bounds that hold
    for both schemes at once, clustered by worker and item, or a ``reason``; ``r2``; ``rho`` with
    the scores and ``rho_label`` of the label's mean), ``predicted`` (row, score of explanations
    without one). Folds are over groups; the penalty is chosen within the training groups. Raises
    BadParameter, Cancelled.
    """
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    known = np.flatnonzero(data.known)
    rows = []
    for step, scheme in enumerate(SCHEMES):
        hooks.step(STAGE, step, len(SCHEMES) + 1)
        rows.append(_validated(data, known, scheme, settings, rng))
    hooks.step(STAGE, len(SCHEMES), len(SCHEMES) + 1)
    penalty = _penalty(data, known, data.item, settings["folds"], rng)
    made = _equations(data, known).solve(penalty)
    open_rows = np.flatnonzero(~data.known)
    return PARAMS.result(
        settings,
        {
            "scheme": of_rows(rows, SCHEME),
            "predicted": Table(
                {
                    "row": open_rows,
                    "score": made.predict(data.vectors[open_rows], data.label[open_rows]),
                }
            ),
        },
        {"scored": len(known), "predicted": len(open_rows), "penalty": penalty},
    )


def _validated(
    data: Explanations,
    known: IntArray,
    scheme: str,
    settings: dict[str, Any],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return how near predictions are for groups that were left out of training."""
    truth, group = data.score[known], data.worker if scheme == WORKERS else data.item
    found, label = np.empty(len(known)), np.empty(len(known))
    for out in _folds(group[known], settings["folds"], rng):
        train, test = known[~out], known[out]
        penalty = _penalty(data, train, group, settings["folds"], rng)
        made = _equations(data, train).solve(penalty)
        found[out] = made.predict(data.vectors[test], data.label[test])
        label[out] = made.mean[data.label[test]]
    own, other = np.abs(found - truth), np.abs(label - truth)
    apart = own - other
    n, middle = len(known), float(apart.mean())
    spread = two_way_spread(
        (apart - middle) / n,
        np.ones(n),
        data.worker[known],
        data.item[known],
        nouns=("workers", "items"),
    )
    reason, low, high = spread.why_no_interval(LEAST[MEAN]), np.nan, np.nan
    if not reason:
        reach = spread.reach(family_level(settings["level"], len(SCHEMES)))
        low, high = middle - reach, middle + reach
    apart_mean = float(np.square(truth - truth.mean()).sum())
    return {
        "scheme": scheme,
        "n": n,
        "groups": len(np.unique(group[known])),
        "error": float(own.mean()),
        "of_label": float(other.mean()),
        "difference": middle,
        "low": low,
        "high": high,
        "reason": reason,
        "r2": 1 - float(np.square(found - truth).sum()) / apart_mean if apart_mean else np.nan,
        "rho": float(spearman(found, truth).value[0]),
        "rho_label": float(spearman(label, truth).value[0]),
    }


METHOD = PARAMS.as_method("A scorer learned from explanations", Explanations, fit)
