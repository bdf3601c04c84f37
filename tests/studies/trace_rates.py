"""Coverage of the failure rate of traces under uneven draws.

``python -m tests.studies.trace_rates``.

Populations of traces with a judge of known quality; traces are drawn by rules for random ones,
errors and low scores. The queue hands out by priority (judges disagree, near the threshold, errors,
others), and traces of high priority fail more often: with a backlog, less of the rest is reviewed.
Each is reviewed by one or more of some reviewers, who may differ in how much they let pass.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from evaluation.methods.traces.rates import Draws, Population, Rates, Votes, estimate_rates


@dataclass(frozen=True)
class Crowd:
    """A population: size, share that fails, sensitivity and specificity of the judge, and shares of
    the rules (random, error, low score). ``reviewed``: share of drawn traces of the lowest priority
    that are reviewed. ``reviewers`` of whom each calls passing traces failures as often as it will,
    ``strict`` on average."""

    size: int
    fails: float
    sensitivity: float
    specificity: float
    rules: tuple[float, float, float] = (0.02, 0.2, 0.2)
    reviewed: float = 1.0
    reviewers: int = 12
    strict: float = 0.0


CROWDS = {
    "good judge": Crowd(20_000, 0.05, 0.85, 0.95),
    "weak judge": Crowd(20_000, 0.05, 0.5, 0.8),
    "useless judge": Crowd(20_000, 0.08, 0.3, 0.7),
    "rare failures": Crowd(40_000, 0.02, 0.8, 0.97, (0.01, 0.2, 0.2)),
    "few reviews": Crowd(4_000, 0.1, 0.85, 0.95),
    "backlog": Crowd(20_000, 0.05, 0.85, 0.95, reviewed=0.3),
    "useless, backlog": Crowd(20_000, 0.08, 0.3, 0.7, reviewed=0.3),
    "strict reviewers": Crowd(20_000, 0.05, 0.85, 0.95, strict=0.05),
    "4 strict reviewers": Crowd(20_000, 0.05, 0.85, 0.95, reviewers=4, strict=0.05),
}


def simulate(crowd: Crowd, rng: np.random.Generator) -> tuple[Rates, float]:
    """One population, its draws and reviews: the estimates, and the share that really fails."""
    n = crowd.size
    fails = rng.random(n) < crowd.fails
    error = rng.random(n) < np.where(fails, 0.3, 0.05)
    low = rng.random(n) < np.where(fails, crowd.sensitivity, 1 - crowd.specificity)
    disagree = rng.random(n) < np.where(fails, 0.4, 0.1)
    near = rng.random(n) < np.where(fails, 0.4, 0.15)
    matched = np.stack([np.ones(n, bool), error, low], axis=1)
    hits = rng.random((n, 3)) < np.where(matched, crowd.rules, 0.0)
    inclusion = 1 - (1 - np.where(matched, crowd.rules, 0.0)).prod(axis=1)
    drawn = hits.any(axis=1)
    other = np.where(hits[:, 0], 0, 10)
    priority = np.select([disagree, near, error], [40, 30, 20], other)[drawn]
    chance = crowd.reviewed + (1 - crowd.reviewed) * priority / 40
    done = rng.random(len(chance)) < chance
    stratum = matched[:, 1].astype(np.int64) + 2 * matched[:, 2]
    verdict = low.astype(np.int64)
    count = np.zeros((4, 3), dtype=np.int64)
    np.add.at(count, (stratum, verdict + 1), 1)
    reviewer = rng.integers(crowd.reviewers, size=len(chance))
    alarm = np.zeros(crowd.reviewers)
    if crowd.strict:
        alarm = rng.beta(1.0, 1 / crowd.strict - 1, crowd.reviewers)
    value = np.where(fails[drawn] | (rng.random(len(chance)) < alarm[reviewer]), 1.0, 0.0)
    votes = Votes(np.flatnonzero(done), reviewer[done], value[done])
    value[~done] = np.nan
    draws = Draws(value, inclusion[drawn], stratum[drawn], verdict[drawn], priority, votes)
    rates = estimate_rates(draws, Population(count, np.array([0, 1, 0, 1])))
    truth = float(fails.mean())
    return rates, truth + (1 - truth) * crowd.strict


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
