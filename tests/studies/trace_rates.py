"""Coverage of the failure rate of traces under uneven draws.

``python -m tests.studies.trace_rates``.

Populations of traces with a judge of known quality; traces are drawn by rules for random ones,
errors and low scores, and errors are reviewed first, so that some are never reviewed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from evaluation.methods.traces.rates import Population, Rates, Reviewed, estimate_rates


@dataclass(frozen=True)
class Crowd:
    """A population: size, share that fails, sensitivity and specificity of the judge, and shares of
    the rules (random, error, low score)."""

    size: int
    fails: float
    sensitivity: float
    specificity: float
    rules: tuple[float, float, float] = (0.02, 0.2, 0.2)
    reviewed: float = 1.0  # of drawn traces that matched only the random rule


CROWDS = {
    "good judge": Crowd(20_000, 0.05, 0.85, 0.95),
    "weak judge": Crowd(20_000, 0.05, 0.5, 0.8),
    "useless judge": Crowd(20_000, 0.08, 0.3, 0.7),
    "rare failures": Crowd(40_000, 0.02, 0.8, 0.97, (0.01, 0.2, 0.2)),
    "few reviews": Crowd(4_000, 0.1, 0.85, 0.95),
    "random reviewed last": Crowd(20_000, 0.05, 0.85, 0.95, reviewed=0.5),
}


def simulate(crowd: Crowd, rng: np.random.Generator) -> tuple[Rates, float]:
    """One population, its draws and reviews: the estimates, and the share that really fails."""
    n = crowd.size
    fails = rng.random(n) < crowd.fails
    error = rng.random(n) < np.where(fails, 0.3, 0.05)
    low = rng.random(n) < np.where(fails, crowd.sensitivity, 1 - crowd.specificity)
    matched = np.stack([np.ones(n, bool), error, low], axis=1)
    shares = np.where(matched, crowd.rules, 0.0)
    inclusion = 1 - (1 - shares).prod(axis=1)
    drawn = rng.random(n) < inclusion
    stratum = matched[:, 1].astype(np.int64) + 2 * matched[:, 2]
    done = drawn & ((stratum > 0) | (rng.random(n) < crowd.reviewed))
    count = np.zeros((4, 3), dtype=np.int64)
    np.add.at(count, (stratum, low.astype(np.int64) + 1), 1)
    population = Population(count, np.bincount(stratum[drawn], minlength=4), np.array([0, 1, 0, 1]))
    reviewed = Reviewed(
        fails[done].astype(float), inclusion[done], stratum[done], low[done].astype(np.int64)
    )
    return estimate_rates(reviewed, population), float(fails.mean())


@dataclass(frozen=True)
class Coverage:
    """How often intervals hold the true share, their widths, and the mean error of the estimate."""

    people: float
    both: float
    people_width: float
    both_width: float
    bias: float
    reviews: float


def measure(crowd: Crowd, times: int, seed: int = 40) -> Coverage:
    """Measure coverage over ``times`` populations."""
    rng = np.random.default_rng(seed)
    found = [simulate(crowd, rng) for _ in range(times)]

    def covered(name: str) -> float:
        claims = [(getattr(rates, name), truth) for rates, truth in found]
        return float(np.mean([one.low <= truth <= one.high for one, truth in claims]))

    def width(name: str) -> float:
        return float(np.mean([getattr(r, name).high - getattr(r, name).low for r, _ in found]))

    return Coverage(
        covered("people"),
        covered("both"),
        width("people"),
        width("both"),
        float(np.mean([rates.both.estimate - truth for rates, truth in found])),
        float(np.mean([rates.people.n for rates, _ in found])),
    )


def main(times: int) -> None:
    """Print a table."""
    print(f"{'crowd':22s} reviews  people  width   both  width   bias")
    for name, crowd in CROWDS.items():
        one = measure(crowd, times)
        print(
            f"{name:22s} {one.reviews:7.0f}   {one.people:.3f}   {one.people_width:.3f}  "
            f"{one.both:.3f}   {one.both_width:.3f}  {one.bias:+.4f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
