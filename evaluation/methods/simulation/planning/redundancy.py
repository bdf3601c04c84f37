"""How many workers an item needs for labels of a given accuracy, by simulation.

Crowds like the one of a run, or of a stated accuracy, label items whose truth is known; labels are
found by majority vote and by Dawid-Skene (1979), which has to estimate the workers anew in each
simulated study, as a real one has, with its labels averaged over draws as those of a run are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.methods.competence import dawid_skene
from evaluation.methods.competence.mace.data import label_parts
from evaluation.methods.competence.mace.draws import CHAINS, Rounds
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    FloatArray,
    Hooks,
    IntArray,
    Table,
    of_rows,
)
from evaluation.methods.core.inference import normal_quantile
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels.workers import skills
from evaluation.methods.simulation.simulation import choose_workers, whole_number

VERSION = "1.1"
VOTES = tuple(range(1, 16))
METHODS = ("majority", "dawid_skene")
SPREAD = 10.0  # a + b of the Beta distribution of workers' accuracy, where only its mean is stated
QUANTILES = 200  # workers who stand for it
ROUNDS, TOLERANCE, SMOOTHING = 50, 1e-5, 0.01  # of Dawid-Skene's fit
DRAWN, STRENGTH = Rounds(burn_in=20, thin=1, each=10), 10.0  # of its labels
TOGETHER = 4_000_000  # numbers in the confusion matrices of studies that are fitted at once


@dataclass(frozen=True, eq=False)
class LabelPool:
    """The workers whom simulated studies draw from, and how often each label is true.

    ``confusion`` (workers, true, given); ``size`` (workers,) from how many labels a row is as good
    as known (Dirichlet), infinite where it is; ``prevalence`` (K,).
    """

    confusion: FloatArray
    size: FloatArray
    prevalence: FloatArray

    def check(self) -> None:
        """Raise BadShape or BadParameter."""
        workers, k = len(self.size), len(self.prevalence)
        if self.confusion.shape != (workers, k, k):
            raise BadShape(f"confusion must be of {workers} workers and {k} x {k} labels")
        if workers < 1 or k < 2:
            raise BadParameter("there must be a worker and two labels")
        if not (np.isfinite(self.confusion).all() and (self.confusion >= 0).all()):
            raise BadParameter("confusion must hold probabilities")

    def draw(self, rng: np.random.Generator, workers: int) -> FloatArray:
        """Confusion matrices (workers, true, given) of workers drawn with replacement."""
        chosen = rng.integers(0, len(self.size), workers)
        found, size = self.confusion[chosen], self.size[chosen]
        unsure = np.isfinite(size)
        rows = found[unsure] * size[unsure, None, None]
        found[unsure] = np.maximum(rng.standard_gamma(rows), 1e-12)
        drawn: FloatArray = found / found.sum(axis=2, keepdims=True)
        return drawn


def stated(accuracy: float, labels: int) -> LabelPool:
    """Workers right ``accuracy`` of the time in the mean, and wrong in all other ways alike.

    Raises BadParameter where nobody looks, or labels are below two.
    """
    whole_number("labels", labels, 2)
    if not 1.0 / labels < accuracy < 1.0:
        raise BadParameter(
            f"accuracy is {accuracy:g}; it must lie above chance, {1 / labels:.2f}, and below 1"
        )
    at = (np.arange(QUANTILES) + 0.5) / QUANTILES
    right = scipy.special.betaincinv(SPREAD * accuracy, SPREAD * (1 - accuracy), at)[:, None, None]
    confusion = np.where(np.eye(labels, dtype=bool), right, (1 - right) / (labels - 1))
    return LabelPool(confusion, np.full(QUANTILES, np.inf), np.full(labels, 1.0 / labels))


def expected_accuracy(
    pool: LabelPool,
    *,
    items: int,
    per_worker: int,
    replicates: int,
    rng: np.random.Generator,
    votes: Sequence[int] = VOTES,
    level: float = 0.95,
    hooks: Hooks | None = None,
) -> Table:
    """Share of labels that are right at each number of ``votes`` an item.

    ``items`` of a study, ``per_worker`` labels a worker gives (so that more votes take more
    workers), ``replicates`` simulated studies. A row a number and method: votes, method (index in
    METHODS), accuracy (the mean of the studies), low and high (where ``level`` of the studies lie,
    normal approximation), error (of the mean, Monte Carlo). A level majority counts as its share.
    Dawid-Skene needs two votes: NaN at one.

    Raises BadShape, BadParameter, Cancelled.
    """
    pool.check()
    whole_number("items", items, 2)
    whole_number("per_worker", per_worker, 1)
    whole_number("replicates", replicates, 2)
    hooks, z, rows = hooks or Hooks(), normal_quantile(level), []
    for done, n in enumerate(votes):
        whole_number("votes", n, 1)
        hooks.step("votes per item", done, len(votes))
        workers = max(n, 3, -(-items * n // per_worker))
        studies = [_study(pool, rng, items, n, workers) for _ in range(replicates)]
        found = np.stack([[one.majority for one in studies], _right(studies, workers, rng)], axis=1)
        for method in range(len(METHODS)):
            mean, spread = found[:, method].mean(), found[:, method].std(ddof=1)
            rows.append(
                {
                    "votes": n,
                    "method": method,
                    "accuracy": mean,
                    "low": np.maximum(0.0, mean - z * spread),
                    "high": np.minimum(1.0, mean + z * spread),
                    "error": spread / replicates**0.5,
                }
            )
    return of_rows(rows)


@dataclass(frozen=True, eq=False)
class _Study:
    """Worker, item and label of a simulated study's votes (n,), the truth (items,) and K labels.

    ``majority`` is the share that it labels right.
    """

    worker: IntArray
    item: IntArray
    label: IntArray
    truth: IntArray
    labels: int
    majority: float


def _study(pool: LabelPool, rng: np.random.Generator, items: int, n: int, workers: int) -> _Study:
    k = len(pool.prevalence)
    truth = rng.choice(k, items, p=pool.prevalence / pool.prevalence.sum())
    who = choose_workers(rng, (items,), workers, n).ravel()
    ends = pool.draw(rng, workers).cumsum(axis=2)
    item = np.repeat(np.arange(items), n)
    label = (rng.random((len(item), 1)) >= ends[who, truth[item]]).sum(axis=1).clip(max=k - 1)
    counts = np.bincount(item * k + label, minlength=items * k).reshape(items, k)
    top = counts == counts.max(axis=1, keepdims=True)
    majority = float((top[np.arange(items), truth] / top.sum(axis=1)).mean())
    return _Study(who, item, label, truth, k, majority)


def _right(studies: Sequence[_Study], workers: int, rng: np.random.Generator) -> FloatArray:
    """Share (studies,) that Dawid-Skene labels right; NaN where items have one vote.

    Studies share nothing, so many are fitted side by side as components of one.
    """
    items, k = len(studies[0].truth), studies[0].labels
    if len(studies[0].item) < 2 * items:
        return np.full(len(studies), np.nan)
    each = max(1, TOGETHER // (workers * k * k * CHAINS))
    found = []
    for first in range(0, len(studies), each):
        part = studies[first : first + each]
        sizes = len(part) * workers, len(part) * items, k
        names = [[str(at) for at in range(size)] for size in sizes]
        data = Labels.build(
            np.concatenate([one.worker + at * workers for at, one in enumerate(part)]),
            np.concatenate([one.item + at * items for at, one in enumerate(part)]),
            np.concatenate([one.label for one in part]),
            workers=names[0],
            items=names[1],
            labels=names[2],
        )
        counts = dawid_skene.prepare(data, *label_parts(data))
        fitted = dawid_skene.em(
            counts, smoothing=SMOOTHING, iterations=ROUNDS, tolerance=TOLERANCE, hooks=Hooks()
        )
        own = skills(
            data,
            counts,
            fitted,
            draws=1,
            rounds=DRAWN,
            strength=STRENGTH,
            level=0.95,
            rng=rng,
            hooks=Hooks(),
            stages=1,
        )
        truth = np.concatenate([one.truth for one in part])
        found.append((own.posterior.argmax(axis=1) == truth).reshape(len(part), items).mean(axis=1))
    return np.concatenate(found)
