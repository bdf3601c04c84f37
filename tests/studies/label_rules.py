"""How often a label study's intervals hold, and its rules about workers are wrong.

``python -m tests.studies.label_rules [simulations]``. Crowds of honest workers, workers who label
without looking and workers who always give one label are drawn; per crowd a line says:

- covered: share of honest workers whose competence lies in its 95 % interval
- taken for better: share of those who do not look (one-label workers too) whose interval lies above
  guessing (at most .025 wanted)
- honest named, guessers named: share of them said to give one label always
- found: share of the one-label workers who are named
- better: share of the honest workers told from guessing

Simulations share no worker and no item, so many are fitted as components of one data set.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from evaluation.methods.competence import dawid_skene
from evaluation.methods.competence.mace.data import label_parts
from evaluation.methods.core.base import FloatArray, Hooks, IntArray
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels.same_label import same_label
from evaluation.methods.labels.workers import skills

BATCH = 50
DRAWS, LEVEL, STRENGTH = 600, 0.95, 6.0
HONEST, GUESSER, ONE_LABEL = 0, 1, 2


@dataclass(frozen=True)
class Crowd:
    """``votes`` workers label each of ``items`` items; ``prevalence`` (K,) of the true labels.

    Honest workers are right ``right`` of the time in the mean, by class and worker apart by up to
    ``tilt``; ``guessers`` label without looking, each with a strategy of its own, ``one_label``
    always give one label (but for one vote in 30).
    """

    prevalence: tuple[float, ...]
    honest: int = 14
    guessers: int = 4
    one_label: int = 2
    items: int = 100
    votes: int = 5
    right: float = 0.8
    tilt: float = 0.1

    @property
    def kinds(self) -> IntArray:
        """The kind (workers,) of each worker."""
        return np.repeat([HONEST, GUESSER, ONE_LABEL], [self.honest, self.guessers, self.one_label])

    def __str__(self) -> str:
        share = "/".join(f"{share:g}" for share in self.prevalence)
        return (
            f"{self.honest}+{self.guessers}+{self.one_label} workers, {self.items} items x "
            f"{self.votes}, classes {share}, honest right {self.right:g}"
        )


CROWDS = (
    Crowd((0.5, 0.5)),
    Crowd((0.9, 0.1)),
    Crowd((0.95, 0.05), items=400),
    Crowd((0.95, 0.05), items=60, honest=20, guessers=0, one_label=0),
    Crowd((0.9, 0.1), items=300, honest=20, guessers=0, one_label=0, right=0.7),
    Crowd((0.4, 0.3, 0.3)),
    Crowd((0.7, 0.2, 0.1), items=40, votes=3),
    Crowd((0.2,) * 5, items=200),
    Crowd((0.34, 0.33, 0.33), right=0.6, items=200),
    Crowd((0.5, 0.5), honest=8, guessers=10, one_label=2, items=200, votes=7),
)


def simulate(
    crowd: Crowd, rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Worker, item and label of the votes, and each worker's competence over the classes."""
    k, kinds = len(crowd.prevalence), crowd.kinds
    workers = len(kinds)
    truth = rng.choice(k, crowd.items, p=np.array(crowd.prevalence) / sum(crowd.prevalence))
    who = rng.random((crowd.items, workers)).argsort(axis=1)[:, : crowd.votes].ravel()
    item = np.repeat(np.arange(crowd.items), crowd.votes)
    mean = np.clip(rng.normal(crowd.right, 0.08, workers), 1.3 / k, 0.97)
    own = np.clip(mean[:, None] + rng.uniform(-crowd.tilt, crowd.tilt, (workers, k)), 0.05, 0.99)
    wrong = rng.dirichlet(np.full(k, 2.0), (workers, k)) * (1 - np.eye(k))
    wrong /= wrong.sum(axis=2, keepdims=True)
    confusion = own[:, :, None] * np.eye(k) + (1 - own)[:, :, None] * wrong
    strategy = rng.dirichlet(np.full(k, 2.0), workers)
    favourite = np.eye(k)[rng.integers(0, k, workers)] * (1 - 1 / 30) + 1 / (30 * k)
    strategy = np.where((kinds == ONE_LABEL)[:, None], favourite, strategy)
    confusion = np.where((kinds != HONEST)[:, None, None], strategy[:, None], confusion)
    ends = confusion[who, truth[item]].cumsum(axis=1)
    label = np.minimum((rng.random((len(who), 1)) >= ends).sum(axis=1), k - 1)
    given = np.isin(np.arange(k), label)  # competence is over the classes that anybody gave
    competence = confusion[:, given, given].mean(axis=1)
    return who, item, label, competence


def measure(crowd: Crowd, simulations: int, rng: np.random.Generator) -> dict[str, float]:
    """The shares that the module names; NaN where the crowd has no such workers."""
    kinds: list[IntArray] = []
    covered, better, named, low = [], [], [], []
    for first in range(0, simulations, BATCH):
        size = min(BATCH, simulations - first)
        votes = [simulate(crowd, rng) for _ in range(size)]
        workers = len(crowd.kinds)
        data = Labels.build(
            np.concatenate([w + s * workers for s, (w, *_) in enumerate(votes)]),
            np.concatenate([i + s * crowd.items for s, (_, i, *_) in enumerate(votes)]),
            np.concatenate([label for _, _, label, _ in votes]),
            workers=[str(j) for j in range(size * workers)],
            items=[str(i) for i in range(size * crowd.items)],
            labels=[str(label) for label in range(len(crowd.prevalence))],
        )
        counts = dawid_skene.prepare(data, *label_parts(data))
        fitted = dawid_skene.em(
            counts, smoothing=0.01, iterations=1000, tolerance=1e-7, hooks=Hooks()
        )
        found = skills(
            data,
            counts,
            fitted,
            draws=DRAWS,
            strength=STRENGTH,
            level=LEVEL,
            rng=rng,
            hooks=Hooks(),
        )
        true = np.concatenate([competence for *_, competence in votes])
        kinds.append(np.tile(crowd.kinds, size))
        covered.append((found.low <= true) & (true <= found.high))
        low.append(true < found.low)
        better.append(found.low > found.chance)
        label = same_label(
            data, fitted.posterior, found.mistakes, low=found.low, chance=found.chance
        )
        named.append(label >= 0)
    kind, said = np.concatenate(kinds), np.concatenate(named)
    held, above = np.concatenate(covered), np.concatenate(better)
    short = np.concatenate(low)

    def share(values: np.ndarray, *of: int) -> float:
        chosen = values[np.isin(kind, of)]
        return float(chosen.mean()) if len(chosen) else float("nan")

    return {
        "covered": share(held, HONEST),
        "truth below": share(short, HONEST),
        "better": share(above, HONEST),
        "taken for better": share(above, GUESSER, ONE_LABEL),
        "honest named": share(said, HONEST),
        "guessers named": share(said, GUESSER),
        "found": share(said, ONE_LABEL),
    }


def main() -> None:
    """A line a crowd."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for crowd in CROWDS:
        found = measure(crowd, simulations, np.random.default_rng(11))
        said = ", ".join(f"{name} {value:.4f}" for name, value in found.items())
        print(f"{crowd}: {said}, n {simulations}", flush=True)


if __name__ == "__main__":
    main()
