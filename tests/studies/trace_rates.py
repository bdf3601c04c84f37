"""Coverage of the failure rate of traces under uneven draws.

``python -m tests.studies.trace_rates``, and ``... trace_rates 200 weeks`` for rates by week.

Populations of traces with a judge of known quality; traces are drawn by rules for random ones,
errors and low scores. The queue hands out by priority (judges disagree, near the threshold, errors,
others; random draws among all of these), and traces of high priority fail more often: with a
backlog, less of the rest is reviewed.
Each is reviewed by one or more of some reviewers, who may differ in how much they let pass.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluation.methods.core.base import FloatArray
from evaluation.methods.traces.rates import Draws, Population, Rates, Votes, estimate_rates
from evaluation.methods.traces.weeks import Week, estimate_weeks


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


def alarms(crowd: Crowd, rng: np.random.Generator) -> FloatArray:
    """How often each reviewer calls a passing trace a failure."""
    if not crowd.strict:
        return np.zeros(crowd.reviewers)
    return rng.beta(1.0, 1 / crowd.strict - 1, crowd.reviewers)


def simulate(crowd: Crowd, rng: np.random.Generator) -> tuple[Rates, float]:
    """One population, its draws and reviews: the estimates, and the share that really fails."""
    draws, population, truth = draw(crowd, rng, alarms(crowd, rng))
    return estimate_rates(draws, population), truth


def draw(
    crowd: Crowd, rng: np.random.Generator, alarm: FloatArray
) -> tuple[Draws, Population, float]:
    """One population with its draws and reviews, and the share that really fails."""
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
    at_random = hits[drawn, 0]
    place = np.select([disagree, near, error], [40, 30, 20], 10)[drawn]
    place[at_random] = rng.choice(place[~at_random], at_random.sum())
    priority = np.where(at_random, 0, place)
    chance = crowd.reviewed + (1 - crowd.reviewed) * (place - 10) / 30
    done = rng.random(len(chance)) < chance
    stratum = matched[:, 1].astype(np.int64) + 2 * matched[:, 2]
    verdict = low.astype(np.int64)
    count = np.zeros((4, 3), dtype=np.int64)
    np.add.at(count, (stratum, verdict + 1), 1)
    reviewer = rng.integers(crowd.reviewers, size=len(chance))
    value = np.where(fails[drawn] | (rng.random(len(chance)) < alarm[reviewer]), 1.0, 0.0)
    votes = Votes(np.flatnonzero(done), reviewer[done], value[done])
    value[~done] = np.nan
    draws = Draws(value, inclusion[drawn], stratum[drawn], verdict[drawn], priority, votes)
    truth = float(fails.mean())
    population = Population(count, np.array([0, 1, 0, 1]))
    return draws, population, truth + (1 - truth) * crowd.strict


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


@dataclass(frozen=True)
class WeekCoverage:
    """How often all weeks' intervals hold at once, and how often a week is said to differ."""

    all_weeks: float
    differs: float
    reviews: float


WEEKS = 4


def measure_weeks(crowd: Crowd, times: int, *, worse: float = 1.0, seed: int = 41) -> WeekCoverage:
    """Measure over ``times`` series of weeks; the last fails ``worse`` times as often."""
    rng = np.random.default_rng(seed)
    found = [simulate_weeks(crowd, rng, worse) for _ in range(times)]
    return WeekCoverage(
        float(
            np.mean(
                [
                    all(one.rate.low <= truth <= one.rate.high for one, truth in weeks)
                    for weeks in found
                ]
            )
        ),
        float(np.mean([any(one.difference.is_sure for one, _ in weeks) for weeks in found])),
        float(np.mean([one.rate.n for weeks in found for one, _ in weeks])),
    )


def simulate_weeks(
    crowd: Crowd, rng: np.random.Generator, worse: float
) -> list[tuple[Week, float]]:
    """Weeks of a crowd with the same reviewers, each with the share that really fails."""
    alarm = alarms(crowd, rng)
    parts = [draw(crowd, rng, alarm) for _ in range(WEEKS - 1)]
    parts.append(draw(replace(crowd, fails=worse * crowd.fails), rng, alarm))
    starts = np.cumsum([0, *(len(part[0].value) for part in parts)])

    def joined(read: Callable[[Draws], Any]) -> Any:
        return np.concatenate([read(part[0]) for part in parts])

    draws = Draws(
        joined(lambda one: one.value),
        joined(lambda one: one.inclusion),
        joined(lambda one: one.stratum),
        joined(lambda one: one.verdict),
        joined(lambda one: one.priority),
        Votes(
            joined(lambda one: one.votes.trace)
            + np.repeat(starts[:-1], [len(part[0].votes.trace) for part in parts]),
            joined(lambda one: one.votes.reviewer),
            joined(lambda one: one.votes.value),
        ),
    )
    week = np.repeat(np.arange(WEEKS), np.diff(starts))
    weeks = estimate_weeks(draws, week, [part[1] for part in parts], with_judge=True)
    return [(one, part[2]) for one, part in zip(weeks, parts, strict=True)]


def main_weeks(times: int) -> None:
    """Print a table of weeks."""
    print(f"{'crowd':22s} reviews  all weeks  false verdict  seen")
    for name, crowd in CROWDS.items():
        one = measure_weeks(crowd, times)
        seen = measure_weeks(crowd, times, worse=3.0).differs
        print(
            f"{name:22s} {one.reviews:7.0f}      {one.all_weeks:.3f}          "
            f"{one.differs:.3f}  {seen:.3f}"
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
    (main_weeks if "weeks" in sys.argv else main)(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
