"""How often a label study's intervals hold, and its rules about workers are wrong.

``python -m tests.studies.label_rules [simulations] [fresh]``. Crowds of honest workers, workers who
label without looking and workers who always give one label are drawn: CROWDS, which the method's
constants were chosen on, or with ``fresh`` the crowds FRESH, on which they were not, from another
seed. A line a crowd says, with standard errors over simulations after the shares that count:

- covered: share of honest workers whose competence lies in its 95 % interval; truth below: lies
  under it; guessers covered: the same of those who do not look
- taken for better: share of those who do not look (one-label workers too) whose interval lies above
  guessing (at most .025 wanted); guessers, one-label taken: of either kind alone
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
DRAWS, LEVEL, STRENGTH = 600, 0.95, 10.0
HONEST, GUESSER, ONE_LABEL = 0, 1, 2
WITH_ERROR = ("covered", "taken for better", "honest named")


@dataclass(frozen=True)
class Crowd:
    """``votes`` workers label each of ``items`` items; ``prevalence`` (K,) of the true labels.

    Honest workers are right ``right`` of the time in the mean, by class and worker apart by up to
    ``tilt``; ``guessers`` label without looking, each with a strategy of its own, ``one_label``
    always give one label (but for one vote in 30). With ``matching`` guessers spread their labels
    as the true ones are spread. Of ``uneven`` the numbers of labels are apart (deviation of the log
    of a worker's weight). The first ``clique`` honest workers, and as many after them, are two
    cliques: on ``shared`` of the items the whole clique gives the same wrong label.
    """

    prevalence: tuple[float, ...]
    honest: int = 14
    guessers: int = 4
    one_label: int = 2
    items: int = 100
    votes: int = 5
    right: float = 0.8
    tilt: float = 0.1
    matching: bool = False
    uneven: float = 0.0
    clique: int = 0
    shared: float = 0.15

    @property
    def kinds(self) -> IntArray:
        """The kind (workers,) of each worker."""
        return np.repeat([HONEST, GUESSER, ONE_LABEL], [self.honest, self.guessers, self.one_label])

    def __str__(self) -> str:
        share = "/".join(f"{share:g}" for share in self.prevalence)
        return (
            f"{self.honest}+{self.guessers}+{self.one_label} workers, {self.items} items x "
            f"{self.votes}, classes {share}, honest right {self.right:g}"
            f"{', guessers match' if self.matching else ''}"
            f"{f', uneven {self.uneven:g}' if self.uneven else ''}"
            f"{f', two cliques of {self.clique}' if self.clique else ''}"
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

FRESH = (
    Crowd((0.6, 0.3, 0.1), items=120),
    Crowd((0.6, 0.3, 0.1), items=120, matching=True),
    Crowd((0.95, 0.05), items=120),
    Crowd((0.95, 0.05), items=120, matching=True),
    Crowd((0.125,) * 8, items=160),
    Crowd((0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05), items=160, matching=True),
    Crowd((0.7, 0.3), items=120, uneven=1.2),
    Crowd((0.6, 0.3, 0.1), items=120, uneven=1.2, matching=True),
    Crowd((0.6, 0.4), honest=12, guessers=8, one_label=0, items=120),
    Crowd((0.6, 0.3, 0.1), honest=12, guessers=8, one_label=0, items=120, matching=True),
    Crowd((0.6, 0.4), items=120, clique=4),
    Crowd((0.6, 0.3, 0.1), items=120, clique=4),
)


def simulate(
    crowd: Crowd, rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray, FloatArray, IntArray]:
    """Worker, item and label of the votes, workers' competence over classes, and items' truth."""
    k, kinds = len(crowd.prevalence), crowd.kinds
    workers = len(kinds)
    truth = rng.choice(k, crowd.items, p=np.array(crowd.prevalence) / sum(crowd.prevalence))
    turn = rng.random((crowd.items, workers))
    if crowd.uneven:
        turn = -np.log1p(-turn) / np.exp(rng.normal(0, crowd.uneven, workers))
    who = turn.argsort(axis=1)[:, : crowd.votes].ravel()
    item = np.repeat(np.arange(crowd.items), crowd.votes)
    mean = np.clip(rng.normal(crowd.right, 0.08, workers), 1.3 / k, 0.97)
    own = np.clip(mean[:, None] + rng.uniform(-crowd.tilt, crowd.tilt, (workers, k)), 0.05, 0.99)
    wrong = rng.dirichlet(np.full(k, 2.0), (workers, k)) * (1 - np.eye(k))
    wrong /= wrong.sum(axis=2, keepdims=True)
    confusion = own[:, :, None] * np.eye(k) + (1 - own)[:, :, None] * wrong
    strategy = rng.dirichlet(np.full(k, 2.0), workers)
    if crowd.matching:
        strategy = np.tile(np.array(crowd.prevalence), (workers, 1))
    favourite = np.eye(k)[rng.integers(0, k, workers)] * (1 - 1 / 30) + 1 / (30 * k)
    strategy = np.where((kinds == ONE_LABEL)[:, None], favourite, strategy)
    confusion = np.where((kinds != HONEST)[:, None, None], strategy[:, None], confusion)
    ends = confusion[who, truth[item]].cumsum(axis=1)
    label = np.minimum((rng.random((len(who), 1)) >= ends).sum(axis=1), k - 1)
    given = np.isin(np.arange(k), label)  # competence is over the classes that anybody gave
    competence = confusion[:, given, given].mean(axis=1)
    for first in range(0, 2 * crowd.clique, crowd.clique or 1):
        other = (truth + rng.integers(1, k, crowd.items)) % k
        together = (who >= first) & (who < first + crowd.clique)
        together &= (rng.random(crowd.items) < crowd.shared)[item]
        label = np.where(together, other[item], label)
        competence[first : first + crowd.clique] *= 1 - crowd.shared
    return who, item, label, competence, truth


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
            np.concatenate([label for _, _, label, *_ in votes]),
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
        true = np.concatenate([competence for *_, competence, _ in votes])
        kinds.append(np.tile(crowd.kinds, size))
        covered.append((found.low <= true) & (true <= found.high))
        low.append(true < found.low)
        better.append(found.low > found.chance)
        label = same_label(
            data, found.posterior, found.mistakes, low=found.low, chance=found.chance
        )
        named.append(label >= 0)
    kind, said = (np.concatenate(x).reshape(simulations, -1) for x in (kinds, named))
    held, above = (np.concatenate(x).reshape(simulations, -1) for x in (covered, better))
    short = np.concatenate(low).reshape(simulations, -1)
    if np.logical_and(said, above).any():
        raise AssertionError("named as giving one label, and better than guessing")
    found_shares: dict[str, float] = {}
    for name, values, of in (
        ("covered", held, (HONEST,)),
        ("truth below", short, (HONEST,)),
        ("guessers covered", held, (GUESSER, ONE_LABEL)),
        ("better", above, (HONEST,)),
        ("taken for better", above, (GUESSER, ONE_LABEL)),
        ("guessers taken", above, (GUESSER,)),
        ("one-label taken", above, (ONE_LABEL,)),
        ("honest named", said, (HONEST,)),
        ("guessers named", said, (GUESSER,)),
        ("found", said, (ONE_LABEL,)),
    ):
        each = [
            row[np.isin(of_row, of)].mean()
            for row, of_row in zip(values, kind, strict=True)
            if np.isin(of_row, of).any()
        ]
        found_shares[name] = float(np.mean(each)) if each else float("nan")
        if name in WITH_ERROR:
            error = np.std(each, ddof=1) / len(each) ** 0.5 if len(each) > 1 else np.nan
            found_shares[f"{name}, s.e."] = float(error)
    return found_shares


def main() -> None:
    """A line a crowd."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    crowds, seed = (FRESH, 20261124) if "fresh" in sys.argv[2:] else (CROWDS, 11)
    for crowd in crowds:
        found = measure(crowd, simulations, np.random.default_rng(seed))
        said = ", ".join(f"{name} {value:.4f}" for name, value in found.items())
        print(f"{crowd}: {said}, n {simulations}", flush=True)


if __name__ == "__main__":
    main()
