"""A row a worker: how good their labels are, against guessing, and what they mistake for what.

Competence by Dawid-Skene is the mean of the diagonal of the confusion matrix over the classes of
the worker's component. Whoever labels without looking has 1 / classes there however they spread
their labels, which the share of items labelled right (accuracy) would not give: on labels of which
88 % are "no", always saying "no" is 88 % right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.competence.confusion import RowPrior, Sampler
from evaluation.methods.competence.dawid_skene import Fitted
from evaluation.methods.competence.mace.data import Counts, summed
from evaluation.methods.competence.mace.draws import CHAINS, STAGES, Draws, Rounds
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Table
from evaluation.methods.core.inference import family_level
from evaluation.methods.core.units import LEAST, SHARE, wilson
from evaluation.methods.core.votes import Labels
from evaluation.methods.workers.claims import median_gaps, no_gaps, sure_sides

NONE = -1
GUESSING = 0.1  # chance, before any vote, that a worker does not look
MOST_CELLS = 2_000_000  # rows of the table of confusion matrices: 20,000 workers of 10 labels
MISTAKES = 5  # expected mistakes of one kind from which it can stand out


@dataclass(frozen=True, eq=False)
class Skills:
    """What Dawid-Skene says of workers and classes, with what was drawn around it.

    ``competence`` (workers,) with ``low`` and ``high``; ``chance`` (workers,); ``confusion``
    (workers, true, given) and its variance ``spread``; ``prevalence`` (K,) with ``class_low`` and
    ``class_high``; ``mistakes`` (workers, true, given) the expected number of votes; ``draws`` of
    the competence. Bounds and spread are NaN without draws; workers of no component are NaN.
    ``posterior`` (items, K) of the labels and ``prior`` (parts, K): of the fit, or averaged over
    the draws, so that labels allow for all that is not known about the workers.
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
    posterior: FloatArray
    prior: FloatArray
    draws: Draws | None


def classes_given(data: Labels, counts: Counts) -> NDArray[np.bool_]:
    """Return which labels (parts, K) occur in each component."""
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
    rounds: Rounds | None = None,
    stages: int = STAGES,
) -> Skills:
    """Competence, confusion, prevalence and labels: means of the draws, of the fit without draws.

    A rare class has few items, and EM takes the two votes on them for certain; the mean of the
    draws borrows from the worker's other classes. ``rounds`` take the place of those for so many
    ``draws``. Chains that have not settled run on, for up to ``stages`` (``Rounds.stages``). Raises
    Cancelled.
    """
    own = classes_given(data, counts)[np.maximum(counts.worker_part, 1) - 1]
    classes = own.sum(axis=1)
    share = own / classes[:, None]
    known = (counts.worker_part > 0) & (classes > 1)
    chance = np.where(known, 1.0 / classes, np.nan)
    size = np.bincount(counts.item_part, minlength=counts.parts + 1)[1:]
    weight = size / size.sum()
    if not draws:
        right = (np.diagonal(fitted.confusion, axis1=1, axis2=2) * share).sum(axis=1)
        return _without_draws(counts, fitted, np.where(known, right, np.nan), chance, weight)
    shape = len(data.workers), counts.labels
    given = summed(data.worker * shape[1] + data.label, data.weight, shape[0] * shape[1])
    prior = RowPrior.with_guessers(strength, given.reshape(shape), GUESSING)
    sampler = Sampler(counts, (fitted.confusion, fitted.prior), prior, rng)
    rounds = rounds or Rounds.of(draws, counts.matrix.nnz)
    for stage in rounds.stages(stages):
        found = _Collected(counts, share, weight, stage.each)
        for done in range(stage.total):
            place = stage.draw_after(done)
            sampler.step(None if place is None else found.belief)
            if place is not None:
                found.add(place, sampler)
            if done % 10 == 0:
                hooks.step("intervals", done, stage.total)
        drawn = Draws.of_chains(found.right)
        if drawn.is_settled(known):
            break
    low, high = drawn.quantiles(level)
    confusion, spread = found.rows()
    posterior = found.labels()
    class_low, class_high = np.quantile(found.classes, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Skills(
        competence=np.where(known, drawn.competence.mean(axis=0, dtype=np.float64), np.nan),
        low=np.where(known, low, np.nan),
        high=np.where(known, high, np.nan),
        chance=chance,
        confusion=confusion,
        spread=spread,
        prevalence=found.classes.mean(axis=0),
        class_low=class_low,
        class_high=class_high,
        mistakes=_expected(counts, posterior),
        posterior=posterior,
        prior=found.p / found.n,
        draws=drawn,
    )


def _without_draws(
    counts: Counts, fitted: Fitted, competence: FloatArray, chance: FloatArray, weight: FloatArray
) -> Skills:
    """Return the skills by the EM fit alone, without bounds."""
    prevalence = weight @ fitted.prior
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
        mistakes=_expected(counts, fitted.posterior),
        posterior=fitted.posterior,
        prior=fitted.prior,
        draws=None,
    )


class _Collected:
    """Sums over draws: ``right`` (chains, draws, workers), ``classes`` (draws * chains, K)."""

    def __init__(self, counts: Counts, share: FloatArray, weight: FloatArray, each: int) -> None:
        """``share`` (workers, K) weighs a worker's classes, ``weight`` (parts,) the components."""
        workers, k = share.shape
        self.share, self.weight, self.each = share, weight, each
        self.right = np.empty((CHAINS, each, workers), dtype=np.float32)
        self.classes = np.empty((each * CHAINS, k))
        self.total, self.squares = np.zeros((workers, k, k)), np.zeros((workers, k, k))
        self.p = np.zeros((counts.parts, k))
        self.belief = np.zeros((k, len(counts.item_part)))
        self.n = each * CHAINS

    def add(self, place: int, sampler: Sampler) -> None:
        """Draw number ``place`` of every chain."""
        confusion, p = sampler.confusion, sampler.p
        self.right[:, place] = np.einsum("jttc,jt->cj", confusion, self.share)
        self.classes[place * CHAINS : (place + 1) * CHAINS] = np.einsum("ptc,p->ct", p, self.weight)
        self.total += np.einsum("jltc->jtl", confusion)
        self.squares += np.einsum("jltc,jltc->jtl", confusion, confusion)
        self.p += p.sum(axis=2)

    def rows(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance (workers, true, given) of the confusion matrices."""
        mean = self.total / self.n
        return mean, np.maximum(self.squares / self.n - mean**2, 0.0)

    def labels(self) -> FloatArray:
        """Chances (items, K) of the labels."""
        return np.ascontiguousarray(self.belief.T / self.belief.sum(axis=0)[:, None])


def _expected(counts: Counts, posterior: FloatArray) -> FloatArray:
    """Expected number of votes (workers, true, given), by the chances of the items' labels."""
    k = counts.labels
    given = (counts.transposed @ posterior).reshape(-1, k, k)
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


def comparisons(
    counts: Counts, skills: Skills, level: float
) -> tuple[IntArray, dict[str, FloatArray]]:
    """Against chance (1 surely above, -1 below, 0 neither) and minus the component's median.

    Both hold for all workers at once; without draws nobody is told from anything.
    """
    if skills.draws is None:
        return np.zeros(len(skills.chance), dtype=np.int64), no_gaps(len(skills.chance))
    drawn = skills.draws.competence
    known = counts.worker_part * ~np.isnan(skills.chance)
    with np.errstate(invalid="ignore"):
        outside = (skills.low > skills.chance) | (skills.high < skills.chance)
    side = np.where(outside, sure_sides(drawn, skills.chance, level=level), 0)
    return side, median_gaps(drawn, known, level=level)


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
    """Compare each worker's labels with known answers (items,; -1 if none), with Wilson bounds."""
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
    """A row a worker, true and given label: of scored workers, those with most votes first.

    As many as have ``MOST_CELLS`` rows together, in the order of their indices.
    """
    rows, k = np.flatnonzero(counts.worker_part > 0), counts.labels
    most = max(1, MOST_CELLS // k**2)
    if len(rows) > most:
        rows = np.sort(rows[np.argsort(-counts.total[rows], kind="stable")[:most]])
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
