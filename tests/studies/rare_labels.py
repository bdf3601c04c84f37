"""How often labels are right on rare classes: majority, plug-in and averaged Dawid-Skene.

``python -m tests.studies.rare_labels [simulations]``. A line a design and way of counting: share of
items labelled right with its standard error over simulations, and the Brier score (0 to 2).
Simulations share no worker and no item, so many are fitted as components of one data set.
"""

from __future__ import annotations

import sys

import numpy as np

from evaluation.methods.competence import dawid_skene
from evaluation.methods.competence.mace.data import label_parts
from evaluation.methods.core.base import FloatArray, Hooks, IntArray
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels.items import brier, of_majority
from evaluation.methods.labels.method import PARAMS
from evaluation.methods.labels.workers import skills
from tests.studies.label_rules import Crowd, simulate

BATCH = 25
ZIPF = tuple((1 / np.arange(1, 21) / (1 / np.arange(1, 21)).sum()).tolist())
DESIGNS = {
    "95/5, 100 x 5, 14 honest, 4 guess": Crowd(
        (0.95, 0.05), honest=14, guessers=4, one_label=0, right=0.85
    ),
    "97/3, 300 x 3, 20 honest": Crowd(
        (0.97, 0.03), honest=20, guessers=0, one_label=0, items=300, votes=3
    ),
    ".7/.2/.1, 60 x 3, 20 honest": Crowd(
        (0.7, 0.2, 0.1), honest=20, guessers=0, one_label=0, items=60, votes=3
    ),
    "20 classes Zipf, 200 x 5, 20 honest": Crowd(
        ZIPF, honest=20, guessers=0, one_label=0, items=200
    ),
}
WAYS = ("majority", "plug-in", "averaged")


def crowds(crowd: Crowd, n: int, rng: np.random.Generator) -> tuple[Labels, IntArray]:
    """``n`` simulations as one data set, and the truth of all items."""
    votes = [simulate(crowd, rng) for _ in range(n)]
    workers = len(crowd.kinds)
    data = Labels.build(
        np.concatenate([who + s * workers for s, (who, *_) in enumerate(votes)]),
        np.concatenate([item + s * crowd.items for s, (_, item, *_) in enumerate(votes)]),
        np.concatenate([label for _, _, label, *_ in votes]),
        workers=[str(j) for j in range(n * workers)],
        items=[str(i) for i in range(n * crowd.items)],
        labels=[str(k) for k in range(len(crowd.prevalence))],
    )
    return data, np.concatenate([truth for *_, truth in votes])


def measure(crowd: Crowd, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Share right and Brier score (n, 2) of every simulation by WAYS."""
    data, truth = crowds(crowd, n, rng)
    counts = dawid_skene.prepare(data, *label_parts(data))
    fitted = dawid_skene.em(counts, smoothing=0.01, iterations=1000, tolerance=1e-7, hooks=Hooks())
    own = skills(
        data,
        counts,
        fitted,
        draws=PARAMS.defaults["resamples"],
        strength=PARAMS.defaults["strength"],
        level=0.95,
        rng=rng,
        hooks=Hooks(),
    )
    found = {}
    soft = (of_majority(data).probability, fitted.posterior, own.posterior)
    for way, probability in zip(WAYS, soft, strict=True):
        top = probability >= probability.max(axis=1, keepdims=True) - 1e-9
        right = top[np.arange(len(truth)), truth] / top.sum(axis=1)
        parts = np.array_split(np.arange(len(truth)), n)
        found[way] = np.array([(right[p].mean(), brier(probability[p], truth[p])) for p in parts])
    return found


def main() -> None:
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for name, crowd in DESIGNS.items():
        rng, rows = np.random.default_rng(31), list[dict[str, FloatArray]]()
        for first in range(0, simulations, BATCH):
            rows.append(measure(crowd, min(BATCH, simulations - first), rng))
        for way in WAYS:
            each = np.concatenate([row[way] for row in rows])
            error = each[:, 0].std(ddof=1) / len(each) ** 0.5
            print(
                f"{name}: {way} right {each[:, 0].mean():.3f} (s.e. {error:.4f}), "
                f"Brier {each[:, 1].mean():.3f}, n {len(each)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
