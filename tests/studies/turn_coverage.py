"""Coverage of the intervals of turns: shares, survival and competence under uneven crowds.

    python -m tests.studies.turn_coverage [DATA SETS]

Conversations have 2 to 8 units and a chance of their own, drawn from a beta distribution, that a
unit is wrong, so units of one conversation are alike. Three workers with Zipf activity label each.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import beta

from evaluation.methods.core.votes import Labels
from evaluation.methods.turns.method import Turns, fit

LEVEL = 0.95


@dataclass(frozen=True)
class Design:
    """How conversations and workers are drawn."""

    name: str
    conversations: int = 60
    workers: int = 12
    hazard: float = 0.1
    zipf: float = 1.0


DESIGNS = (
    Design("60 conversations, 12 workers, Zipf 1"),
    Design("30 conversations, 12 workers, Zipf 1.5", conversations=30, zipf=1.5),
    Design("150 conversations, 30 workers, Zipf 1", conversations=150, workers=30),
    Design("60 conversations, 3 % wrong", hazard=0.03),
)


def draw(design: Design, rng: np.random.Generator) -> tuple[Turns, np.ndarray]:
    """A data set, and the competence of its workers."""
    conversation: list[int] = []
    place: list[int] = []
    truth: list[int] = []
    for one in range(design.conversations):
        chance = rng.beta(1, 1 / design.hazard - 1)
        for at in range(1, int(rng.integers(3, 9))):
            conversation.append(one)
            place.append(at)
            truth.append(int(rng.random() < chance))
    competence = rng.uniform(0.6, 0.95, design.workers)
    activity = 1 / np.arange(1, design.workers + 1) ** design.zipf
    activity /= activity.sum()
    of = np.array(conversation)
    worker: list[int] = []
    unit: list[int] = []
    label: list[int] = []
    for one in range(design.conversations):
        people = rng.choice(design.workers, 3, replace=False, p=activity)
        for at in np.flatnonzero(of == one):
            for person in people:
                knows = rng.random() < competence[person]
                worker.append(int(person))
                unit.append(int(at))
                label.append(truth[at] if knows else int(rng.random() < 0.5))
    votes = Labels.build(
        worker,
        unit,
        label,
        workers=[str(one) for one in range(design.workers)],
        items=[str(one) for one in range(len(of))],
        labels=("good", "wrong"),
    )
    names = [str(one) for one in range(design.conversations)]
    return Turns.build(votes, of, place, good=0, conversations=names), competence


def covered(design: Design, sets: int) -> dict[str, tuple[float, int]]:
    """Coverage of each kind of interval, and of how many intervals."""
    inside: dict[str, list[bool]] = {"share": [], "survival": [], "competence": []}
    tail = 1 / design.hazard - 1
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        data, competence = draw(design, rng)
        found = fit(data, rng=rng, resamples=200, level=LEVEL).estimates
        share, alive, workers = found["share"], found["survival"], found["worker"]
        inside["share"].append(bool(share["low"][0] <= design.hazard <= share["high"][0]))
        for at in (1, 3, 5):
            true = beta(1, tail + at) / beta(1, tail)
            if at <= len(alive) and np.isfinite(alive["low"][at - 1]):
                inside["survival"].append(
                    bool(alive["low"][at - 1] <= true <= alive["high"][at - 1])
                )
        known = np.isfinite(workers["low"])
        low, high = workers["low"][known], workers["high"][known]
        inside["competence"] += list((low <= competence[known]) & (competence[known] <= high))
    return {name: (float(np.mean(hits)), len(hits)) for name, hits in inside.items()}


def main(sets: int = 200) -> None:
    """Print the table of ``docs/methods/turns.md``."""
    warnings.filterwarnings("ignore")
    for design in DESIGNS:
        told = covered(design, sets)
        cells = " | ".join(f"{value:.3f} ({n:,})" for value, n in told.values())
        print(f"| {design.name} | {cells} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
