"""A row a worker: how good their labels are, against guessing, and what they mistake for what.

Competence by Dawid-Skene is the mean of the diagonal of the confusion matrix over the classes of
the worker's component. Whoever labels without looking has 1 / classes there however they spread
their labels, which the share of items labelled right (accuracy) would not give: on labels of which
88 % are "no", always saying "no" is 88 % right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.competence.confusion import RowPrior, draw_parameters
from evaluation.methods.competence.dawid_skene import Fitted
from evaluation.methods.competence.mace.data import Counts, summed
from evaluation.methods.competence.mace.draws import CHAINS, Draws, Rounds
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Table
from evaluation.methods.core.inference import family_level
from evaluation.methods.core.units import LEAST, SHARE, wilson
from evaluation.methods.core.votes import Labels

NONE = -1
GUESSING = 0.2  # chance, before any vote, that a worker does not look
MISTAKES = 5  # expected mistakes of one kind from which it can stand out


@dataclass(frozen=True, eq=False)
class Skills:
    """What Dawid-Skene says of workers and classes, with what was drawn around it.

    ``competence`` (workers,) with ``low`` and ``high``; ``chance`` (workers,); ``confusion``
    (workers, true, given) and its variance ``spread``; ``prevalence`` (K,) with ``class_low`` and
    ``class_high``; ``mistakes`` (workers, true, given) the expected number of votes; ``r_hat``
    (workers,). Bounds, spread and r_hat are NaN without draws; workers of no component are NaN.
    """

    competence: FloatArray
    low: FloatArray
    high: FloatArray
    chance: FloatArray
    confusion: FloatArray
    spread: FloatArray
    prevalence: FloatArray
    class_low: FloatArray
    class_high: FloatArray
    mistakes: FloatArray
    r_hat: FloatArray


def classes_given(data: Labels, counts: Counts) -> NDArray[np.bool_]:
    """Which labels (parts, K) anybody of a component gave: its classes."""
    part, k = counts.item_part[data.item], counts.labels
    given = np.bincount(part * k + data.label, minlength=(counts.parts + 1) * k)
    return given.reshape(counts.parts + 1, k)[1:] > 0


def skills(
    data: Labels,
    counts: Counts,
    fitted: Fitted,
    *,
    draws: int,
    strength: float,
    level: float,
    rng: np.random.Generator,
    hooks: Hooks,
) -> Skills:
    """Competence, confusion and prevalence: means of the draws, of the EM fit without draws.

    A rare class has few items, and EM takes the two votes on them for certain; the mean of the
    draws borrows from the worker's other classes. Raises Cancelled.
    """
    own = classes_given(data, counts)[np.maximum(counts.worker_part, 1) - 1]
    classes = own.sum(axis=1)
    share = own / classes[:, None]
    known = (counts.worker_part > 0) & (classes > 1)
    chance = np.where(known, 1.0 / classes, np.nan)
    size = np.bincount(counts.item_part, minlength=counts.parts + 1)[1:]
    weight, mistakes = size / size.sum(), _expected(counts, fitted)
    if not draws:
        right = (np.diagonal(fitted.confusion, axis1=1, axis2=2) * share).sum(axis=1)
        return _without_draws(
            fitted, np.where(known, right, np.nan), chance, weight @ fitted.prior, mistakes
        )
    shape = len(data.workers), counts.labels
    given = summed(data.worker * shape[1] + data.label, data.weight, shape[0] * shape[1])
    rounds = Rounds.of(draws, counts.matrix.nnz)
    drawn = draw_parameters(
        counts,
        (fitted.confusion, fitted.prior),
        RowPrior.with_guessers(strength, given.reshape(shape), GUESSING),
        rounds=rounds,
        rng=rng,
        hooks=hooks,
    )
    found, classes_drawn, mean, spread = _collect(drawn, share, weight, rounds)
    low, high = found.quantiles(level)
    class_low, class_high = np.quantile(classes_drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Skills(
        competence=np.where(known, found.competence.mean(axis=0), np.nan),
        low=np.where(known, low, np.nan),
        high=np.where(known, high, np.nan),
        chance=chance,
        confusion=mean,
        spread=spread,
        prevalence=classes_drawn.mean(axis=0),
        class_low=class_low,
        class_high=class_high,
        mistakes=mistakes,
        r_hat=found.r_hat,
    )


def _without_draws(
    fitted: Fitted,
    competence: FloatArray,
    chance: FloatArray,
    prevalence: FloatArray,
    mistakes: FloatArray,
) -> Skills:
    """What the EM fit says by itself, without bounds."""
    unknown, no_class = np.full_like(competence, np.nan), np.full_like(prevalence, np.nan)
    return Skills(
        competence=competence,
        low=unknown,
        high=unknown,
        chance=chance,
        confusion=fitted.confusion,
        spread=np.full_like(fitted.confusion, np.nan),
        prevalence=prevalence,
        class_low=no_class,
        class_high=no_class,
        mistakes=mistakes,
        r_hat=unknown,
    )


def _collect(
    drawn: Iterator[tuple[FloatArray, FloatArray]],
    share: FloatArray,
    weight: FloatArray,
    rounds: Rounds,
) -> tuple[Draws, FloatArray, FloatArray, FloatArray]:
    """Competences, prevalences (draws, K), mean and variance of rows.

    ``share`` (workers, K) weighs a worker's classes, ``weight`` (parts,) the components.
    """
    each, (workers, k) = rounds.each, share.shape
    found = np.empty((CHAINS, each, workers), dtype=np.float32)
    classes = np.empty((CHAINS, each, k))
    total, squares = np.zeros((workers, k, k)), np.zeros((workers, k, k))
    for done, (confusion, p) in enumerate(drawn):
        found[:, done] = np.einsum("jttc,jt->cj", confusion, share)
        classes[:, done] = np.einsum("ptc,p->ct", p, weight)
        total += np.einsum("jltc->jtl", confusion)
        squares += np.einsum("jltc,jltc->jtl", confusion, confusion)
    mean = total / (CHAINS * each)
    variance = np.maximum(squares / (CHAINS * each) - mean**2, 0.0)
    return Draws.of_chains(found, rounds), classes.reshape(-1, k), mean, variance


def _expected(counts: Counts, fitted: Fitted) -> FloatArray:
    """Expected number of votes (workers, true, given), truths being as likely as the fit says."""
    k = counts.labels
    given = (counts.transposed @ fitted.posterior).reshape(-1, k, k)
    return np.ascontiguousarray(given.transpose(0, 2, 1))


def bounds(mean: FloatArray, variance: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Quantiles of Beta distributions with these moments: bounds of probabilities; NaN without."""
    room = mean * (1 - mean)
    with np.errstate(invalid="ignore", divide="ignore"):
        size = room / variance - 1
    usable = np.isfinite(size) & (size > 0) & (room > 0)
    above = np.where(usable, mean * size, 1.0)
    below = np.where(usable, (1 - mean) * size, 1.0)
    tail = (1 - level) / 2
    low, high = (scipy.special.betaincinv(above, below, at) for at in (tail, 1 - tail))
    return np.where(usable, low, np.nan), np.where(usable, high, np.nan)


def most_frequent_mistakes(
    skills: Skills, level: float, *, known: NDArray[np.bool_]
) -> tuple[IntArray, IntArray, FloatArray]:
    """The label taken for another, the label given instead, and how often; -1, -1 and NaN if none.

    Asked of the ``known`` workers (workers,): who always gives one label confuses nothing.

    Of all wrong cells of a worker's confusion matrix the one with most expected votes. It stands
    out where it has MISTAKES of them and its lower bound lies above the mean of the worker's wrong
    cells; the level is corrected for the number of cells that it was picked from.
    """
    workers, k = len(skills.mistakes), skills.mistakes.shape[1]
    wrong = ~np.eye(k, dtype=bool)
    votes = np.where(wrong, skills.mistakes, -1.0).reshape(workers, k * k)
    top, row = votes.argmax(axis=1), np.arange(workers)
    share = skills.confusion.reshape(workers, k * k)[row, top]
    spread = skills.spread.reshape(workers, k * k)[row, top]
    low, _ = bounds(share, spread, family_level(level, k * (k - 1)))
    usual = skills.confusion[:, wrong].mean(axis=1)
    told = known & ~np.isnan(skills.chance) & (votes[row, top] >= MISTAKES)
    told &= np.nan_to_num(low, nan=-1.0) > usual
    return (
        np.where(told, top // k, NONE),
        np.where(told, top % k, NONE),
        np.where(told, share, np.nan),
    )


def on_known_answers(data: Labels, gold: IntArray, level: float) -> dict[str, NDArray[np.generic]]:
    """Each worker's labels on items with a known answer (items,; -1 without), and Wilson bounds."""
    known = gold[data.item] >= 0
    weight = np.where(known, data.weight, 0.0)
    right = np.where(data.label == gold[data.item], weight, 0.0)
    workers = len(data.workers)
    n, hits = summed(data.worker, weight, workers), summed(data.worker, right, workers)
    low, high = np.full(workers, np.nan), np.full(workers, np.nan)
    for j in np.flatnonzero(n >= LEAST[SHARE]):
        low[j], high[j] = wilson(hits[j] / n[j], n[j], level)
    return {
        "known_n": n.round().astype(np.int64),
        "known_right": hits.round().astype(np.int64),
        "known_low": low,
        "known_high": high,
    }


def confusion_table(counts: Counts, skills: Skills, level: float) -> Table:
    """A row a scored worker, true and given label."""
    rows, k = np.flatnonzero(counts.worker_part > 0), counts.labels
    low, high = bounds(skills.confusion[rows], skills.spread[rows], level)
    return Table(
        {
            "worker": np.repeat(rows, k * k),
            "true": np.tile(np.repeat(np.arange(k), k), len(rows)),
            "given": np.tile(np.arange(k), len(rows) * k),
            "probability": skills.confusion[rows].ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
    )
