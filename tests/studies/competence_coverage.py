"""How often the intervals of MACE and Dawid-Skene hold the truth about simulated workers.

``python -m tests.studies.competence_coverage [simulations] [large]``. Simulations share no worker
and no item, so many of them are the components of one data set and are fitted in one go. With
``large`` draws are made as in a crowd of more than 100,000 votes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evaluation.methods.competence import dawid_skene
from evaluation.methods.competence.mace import draws
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.core.base import FloatArray, IntArray, Table
from evaluation.methods.core.votes import Labels

BATCH = 100  # simulations fitted together
LEVEL = 0.95


@dataclass(frozen=True)
class Crowd:
    """Workers, items, votes an item and labels of one simulation, and what is special about it.

    MACE's strategies are Dirichlet(``strategy``); in Dawid-Skene a worker's accuracy differs by
    up to ``tilt`` between true labels.
    """

    workers: int
    items: int
    votes: int
    labels: int
    strategy: float = 10.0
    tilt: float = 0.1
    words: str = ""

    def __str__(self) -> str:
        size = f"{self.workers} workers, {self.items} items x {self.votes}, {self.labels} labels"
        return size + self.words


Simulate = Callable[[Crowd, np.random.Generator], tuple[IntArray, IntArray, IntArray]]

CROWDS = (
    Crowd(20, 80, 5, 3),
    Crowd(10, 60, 5, 2),
    Crowd(30, 200, 5, 4),
    Crowd(5, 16, 5, 3),
    Crowd(20, 80, 5, 3, strategy=0.5, tilt=0.3, words=", one-sided (unlike the priors)"),
)


def deal(crowd: Crowd, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Worker and item of every vote; an item's workers are drawn at random."""
    who = rng.random((crowd.items, crowd.workers)).argsort(axis=1)[:, : crowd.votes]
    return who.ravel(), np.repeat(np.arange(crowd.items), crowd.votes)


def competences(crowd: Crowd) -> FloatArray:
    """MACE's true competences, from those who mostly guess to those who mostly know."""
    return np.linspace(0.1, 0.95, crowd.workers)


def accuracies(crowd: Crowd) -> FloatArray:
    """Dawid-Skene's true accuracies, from little better than chance."""
    return np.linspace(1.2 / crowd.labels, 0.95, crowd.workers)


def guessing_votes(crowd: Crowd, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
    """Worker, item and label of votes that come about as MACE says."""
    worker, item = deal(crowd, rng)
    truth = rng.integers(0, crowd.labels, crowd.items)
    strategy = rng.dirichlet(np.full(crowd.labels, crowd.strategy), crowd.workers)
    knows = rng.random(len(worker)) < competences(crowd)[worker]
    return worker, item, np.where(knows, truth[item], _drawn(strategy[worker], rng))


def confused_votes(crowd: Crowd, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
    """Worker, item and label of votes that come about as Dawid and Skene say."""
    worker, item = deal(crowd, rng)
    truth = rng.integers(0, crowd.labels, crowd.items)
    k = crowd.labels
    wrong = rng.dirichlet(np.full(k, 2.0), (crowd.workers, k)) * (1 - np.eye(k))
    wrong /= wrong.sum(axis=2, keepdims=True)
    # Some labels are easier than others, for each worker; the mean stays.
    tilt = rng.permuted(np.tile(np.linspace(-1, 1, k), (crowd.workers, 1)), axis=1)[:, :, None]
    right = accuracies(crowd)[:, None, None]
    right = right + np.minimum(crowd.tilt, 1 - right) * tilt
    confusion = right * np.eye(k) + (1 - right) * wrong
    return worker, item, _drawn(confusion[worker, truth[item]], rng)


def _drawn(probability: FloatArray, rng: np.random.Generator) -> IntArray:
    """One label a row of probabilities (n, K)."""
    ends = probability.cumsum(axis=1)
    label = (rng.random((len(ends), 1)) * ends[:, -1:] >= ends).sum(axis=1)
    return np.minimum(label, probability.shape[1] - 1)


def together(crowd: Crowd, size: int, simulate: Simulate, rng: np.random.Generator) -> Labels:
    """``size`` simulations as one data set without a worker or an item in common."""
    votes = [simulate(crowd, rng) for _ in range(size)]
    return Labels.build(
        np.concatenate([w + k * crowd.workers for k, (w, _, _) in enumerate(votes)]),
        np.concatenate([i + k * crowd.items for k, (_, i, _) in enumerate(votes)]),
        np.concatenate([label for _, _, label in votes]),
        workers=[str(k) for k in range(size * crowd.workers)],
        items=[str(k) for k in range(size * crowd.items)],
        labels=[str(k) for k in range(crowd.labels)],
    )


def covered(
    crowd: Crowd,
    simulations: int,
    rng: np.random.Generator,
    *,
    simulate: Simulate,
    fit: Callable[[Labels], Table],
    truth: FloatArray,
) -> FloatArray:
    """Share of simulations in which each worker's interval held the truth (workers,)."""
    held = np.zeros(crowd.workers)
    for first in range(0, simulations, BATCH):
        size = min(BATCH, simulations - first)
        table = fit(together(crowd, size, simulate, rng))
        true = np.tile(truth, size)
        inside = (table["low"] <= true) & (true <= table["high"])
        held += inside.reshape(size, -1).sum(axis=0)
    return held / simulations


def mace_coverage(crowd: Crowd, simulations: int, rng: np.random.Generator) -> FloatArray:
    """Of the competence's interval, at mace's defaults."""

    def fit(data: Labels) -> Table:
        return mace.fit(data, rng=rng, level=LEVEL).estimates["worker"]

    return covered(
        crowd, simulations, rng, simulate=guessing_votes, fit=fit, truth=competences(crowd)
    )


def dawid_skene_coverage(
    crowd: Crowd, simulations: int, rng: np.random.Generator, **params: float
) -> FloatArray:
    """Of the accuracy's interval, at dawid_skene's defaults."""

    def fit(data: Labels) -> Table:
        return dawid_skene.fit(data, rng=rng, level=LEVEL, **params).estimates["worker"]

    return covered(
        crowd, simulations, rng, simulate=confused_votes, fit=fit, truth=accuracies(crowd)
    )


def main() -> None:
    """Print name, nominal, covered and the number of simulations, a line a crowd."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    if sys.argv[2:] == ["large"]:
        draws.LARGE = 0
    for crowd in CROWDS:
        for name, coverage in (("MACE", mace_coverage), ("Dawid-Skene", dawid_skene_coverage)):
            share = coverage(crowd, simulations, np.random.default_rng(7))
            print(
                f"{name}, {crowd}: nominal {LEVEL}, covered {share.mean():.4f} "
                f"(worst worker {share.min():.3f}), n {simulations}",
                flush=True,
            )


if __name__ == "__main__":
    main()
