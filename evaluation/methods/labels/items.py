"""Items, soft labels, classes, and the four methods held against known answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.competence.mace.data import summed
from evaluation.methods.core.base import FloatArray, IntArray, Table, of_rows
from evaluation.methods.core.units import LEAST, SHARE, joined_bins, wilson
from evaluation.methods.core.votes import Labels

NONE = -1
METHODS = ("majority", "dawid_skene", "mace", "glad")
CALIBRATED = 20  # known answers from which calibration is told
COMPARABLE = 3  # votes of an item from which methods can differ by more than a tie
BINS = 10  # of the expected calibration error
COMPARED = (
    *("right", "n", "low", "high", "differ", "brier", "calibration", "log_score"),
    *("held_out", "held_out_n"),
)
WHOLE = ("n", "differ", "held_out_n")  # columns of whole numbers
LEAST_CHANCE = 1e-6  # that a log score knows: a label that was called impossible costs 13.8
LEVEL_SHARE = 1e-9  # shares closer than this are level


@dataclass(frozen=True, eq=False)
class Labelled:
    """One method's soft labels (items, K), NaN where it has none, and its labels (items,), -1."""

    probability: FloatArray
    label: IntArray

    @property
    def confidence(self) -> FloatArray:
        """Return the probability of each item's label; NaN without a label."""
        best = np.nan_to_num(self.probability).max(axis=1)
        return np.where(self.label == NONE, np.nan, best)


def of_majority(data: Labels) -> Labelled:
    """Shares of the votes; no label where two are level."""
    k, items = len(data.labels), len(data.items)
    votes = summed(data.item * k + data.label, data.weight, items * k).reshape(items, k)
    n = votes.sum(axis=1, keepdims=True)
    share = np.where(n > 0, votes / np.where(n > 0, n, 1.0), np.nan)
    alone = _tops(share).sum(axis=1) == 1
    return Labelled(share, np.where(alone, votes.argmax(axis=1), NONE))


def of_posterior(table: Table, items: int, labels: int) -> Labelled:
    """Make it of rows of item, label and probability; items without rows have none."""
    found = np.full((items, labels), np.nan)
    found[table["item"], table["label"]] = table["probability"]
    return labelled(found)


def labelled(probability: FloatArray) -> Labelled:
    """The most probable label of each row (items, K) of a model's posteriors."""
    known = ~np.isnan(probability[:, 0])
    return Labelled(probability, np.where(known, np.nan_to_num(probability).argmax(axis=1), NONE))


def _tops(share: FloatArray) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return where (items, K) a label has the largest share, alone or tied."""
    filled = np.nan_to_num(share, nan=0.0)
    most = filled.max(axis=1, keepdims=True)
    return (most > 0) & (filled >= most - LEVEL_SHARE)


def item_table(
    data: Labels,
    found: Sequence[Labelled],
    *,
    gold: IntArray,
    difficulty: FloatArray,
    component: IntArray,
) -> Table:
    """Make the table of items, with the labels of all methods in the order of METHODS."""
    _, ds, mace, glad = found
    log = np.log(np.where(ds.probability > 0, ds.probability, 1.0))
    labels = np.stack([one.label for one in found])
    highest = labels.max(axis=0)
    lowest = np.where(labels == NONE, highest, labels).min(axis=0)
    n = summed(data.item, data.weight, len(data.items))
    whole = n.round()
    return Table(
        {
            "item": np.arange(len(data.items)),
            "n": whole.astype(np.int64) if np.array_equal(whole, n) else n,
            **dict(zip(METHODS, labels, strict=True)),
            "posterior": ds.confidence,
            "mace_posterior": mace.confidence,
            "glad_posterior": glad.confidence,
            "entropy": np.maximum(-(ds.probability * log).sum(axis=1), 0.0),
            "difficulty": difficulty,
            "gold": gold,
            "differ": lowest != highest,
            "component": component,
        }
    )


def posterior_table(found: Sequence[Labelled], unsure: NDArray[np.bool_]) -> Table:
    """Soft labels of all methods, one under the other; of ``unsure`` items (n,) the votes alone."""
    parts = []
    for method, one in enumerate(found):
        left_out = np.isnan(one.probability[:, 0]) | (unsure & (method > 0))
        rows = np.flatnonzero(~left_out)
        k = one.probability.shape[1]
        parts.append(
            (
                np.full(len(rows) * k, method),
                np.repeat(rows, k),
                np.tile(np.arange(k), len(rows)),
                one.probability[rows].ravel(),
            )
        )
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Table(dict(zip(("method", "item", "label", "probability"), columns, strict=True)))


def class_table(
    majority: Labelled, prevalence: FloatArray, low: FloatArray, high: FloatArray
) -> Table:
    """A row a label: how often it is true by Dawid-Skene (K,), and its share of the majorities."""
    decided = majority.label[majority.label != NONE]
    k = len(prevalence)
    share = np.bincount(decided, minlength=k) / max(len(decided), 1)
    return Table(
        {
            "label": np.arange(k),
            "prevalence": prevalence,
            "low": low,
            "high": high,
            "majority_share": np.where(len(decided) > 0, share, np.nan),
        }
    )


def compare_table(
    found: Sequence[Labelled],
    gold: IntArray,
    level: float,
    held_out: Mapping[str, FloatArray] | None = None,
) -> Table:
    """A row a method: right on known answers with Wilson's interval, and its calibration.

    A method whose top labels are level gets the share of them that is right, as drawing one of
    them would on average. Below the least number of a share there are no bounds. ``held_out`` are
    log chances of votes that were left out, by method.
    """
    columns: dict[str, list[float]] = {name: [] for name in COMPARED}
    majority, held_out = found[0].label, held_out or {}
    for method, one in zip(METHODS, found, strict=False):
        unseen = held_out.get(method, np.zeros(0))
        rows = np.flatnonzero((gold >= 0) & ~np.isnan(one.probability[:, 0]))
        n, share = len(rows), one.probability[rows]
        tops = _tops(share)
        right = float((tops[np.arange(n), gold[rows]] / np.maximum(tops.sum(axis=1), 1)).sum())
        low, high = wilson(right / n, n, level) if n >= LEAST[SHARE] else (np.nan, np.nan)
        both = (one.label != NONE) & (majority != NONE)
        enough = n >= CALIBRATED
        values = (
            right,
            n,
            low,
            high,
            int((one.label[both] != majority[both]).sum()),
            brier(share, gold[rows]) if enough else np.nan,
            calibration_error(share, gold[rows]) if enough else np.nan,
            log_score(share, gold[rows]) if enough else np.nan,
            float(unseen.mean()) if len(unseen) else np.nan,
            len(unseen),
        )
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)
    arrays = {
        name: np.array(values, dtype=np.int64 if name in WHOLE else np.float64)
        for name, values in columns.items()
    }
    return Table({"method": np.arange(len(found)), **arrays})


def reliability_table(found: Sequence[Labelled], gold: IntArray, level: float) -> Table:
    """A row a method and range of confidence: how often its labels of known answers are right.

    The ranges are the bins of ``calibration_error``; one with fewer known answers than an interval
    needs is joined with the next. ``confidence`` is the mean, ``right`` the share that is right
    with Wilson's interval. None at all below CALIBRATED known answers.
    """
    rows: list[dict[str, float]] = []
    for method, one in enumerate(found):
        known = np.flatnonzero((gold >= 0) & ~np.isnan(one.probability[:, 0]))
        if len(known) < CALIBRATED:
            continue
        right, sure, place = _binned(one.probability[known], gold[known])
        for own in joined_bins(place, LEAST[SHARE]):
            n, share = len(own), float(right[own].mean())
            low, high = wilson(share, n, level)
            rows.append(
                {"method": method, "confidence": float(sure[own].mean()), "right": share}
                | {"low": low, "high": high, "n": n}
            )
    return of_rows(rows, ("method", "confidence", "right", "low", "high", "n"))


def _binned(probability: FloatArray, truth: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Of each row (n,): how far its top label is right, its confidence, and the bin of that."""
    tops = _tops(probability)
    right = tops[np.arange(len(truth)), truth] / np.maximum(tops.sum(axis=1), 1)
    sure = probability.max(axis=1)
    return right, sure, np.minimum((sure * BINS).astype(np.int64), BINS - 1)


def brier(probability: FloatArray, truth: IntArray) -> float:
    """Mean squared distance of soft labels (n, K) from the true labels (n,): 0 best, 2 worst.

    Brier, "Verification of forecasts expressed in terms of probability" (1950), eq. 2.
    """
    own = np.zeros_like(probability)
    own[np.arange(len(truth)), truth] = 1.0
    return float(np.square(probability - own).sum(axis=1).mean())


def log_score(probability: FloatArray, truth: IntArray) -> float:
    """Mean of minus the log of the chance (n, K) that the true labels (n,) were given: 0 is best.

    Good, "Rational decisions" (1952). A majority's shares can be 0, so chances have a least one.
    """
    chance = probability[np.arange(len(truth)), truth]
    return float(-np.log(np.clip(chance, LEAST_CHANCE, 1.0)).mean())


def calibration_error(probability: FloatArray, truth: IntArray) -> float:
    """Expected calibration error: mean over ten bins of |share right - mean confidence|.

    Of the most probable label, bins of equal width weighted by their items (Naeini et al. 2015,
    "Obtaining well calibrated probabilities using Bayesian binning"). Level labels count as their
    share.
    """
    right, sure, place = _binned(probability, truth)
    apart = np.bincount(place, weights=right - sure, minlength=BINS)
    return float(np.abs(apart).sum() / len(truth))
