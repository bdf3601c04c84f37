"""How often AQER's intervals hold the score that endless questions would give.

``python -m tests.studies.aqer_coverage [RUNS]`` simulates RUNS (1,000) crowds a line and prints
name, nominal, covered and n. The true scores are the fit of 2,000 questions. Coverage is the mean
over a board's rows. The last lines say how often equal workers are (wrongly) separated, where the
simultaneous level allows 1 in 20, and how often two camps are told where errors are independent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from evaluation.methods.aqer import method as aqer
from evaluation.methods.baselines import bag_of_words
from evaluation.methods.baselines.bag_of_words import Bags
from evaluation.methods.core.base import FloatArray, Result, Texts
from tests.evaluation.methods.simulated import crowd

LEVEL = 0.95
QUALITY = np.linspace(0.2, 0.85, 8)
SYSTEMS = np.array([0.3, 0.6, 0.8])
WORDS = 30
Simulate = Callable[[int, int], Any]
Fit = Callable[..., Result]


def texts(questions: int, seed: int, density: float) -> Texts:
    """Workers and systems of planted quality."""
    return crowd(QUALITY, questions=questions, density=density, systems=SYSTEMS, seed=seed)


def bags(questions: int, seed: int) -> Bags:
    """Workers who see each right word with their quality, and wrong ones with what is left."""
    rng = np.random.default_rng(seed)
    m = len(QUALITY)
    truth = rng.random((questions, 1, WORDS)) < 0.4
    knows = np.clip(QUALITY[:, None] + rng.normal(0, 0.1, (questions, m, 1)), 0.02, 0.98)
    right = rng.random((questions, m, WORDS)) < (1 + knows) / 2
    written = (truth == right).reshape(questions * m, WORDS)
    names = np.array([f"w{k}" for k in range(WORDS)])
    return Bags.build(
        np.tile(np.arange(m), questions),
        np.repeat(np.arange(questions), m),
        [names[row].tolist() for row in written],
        workers=[f"w{i}" for i in range(m)],
        questions=[f"q{j}" for j in range(questions)],
    )


def scores(result: Result, board: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The column that ranks, and its interval."""
    adjusted = result.diagnostics["components"][0]["ranked_by"] == "adjusted"
    found = result.intervals[board]
    if adjusted:
        return result.estimates[board]["adjusted"], found.adjusted_low, found.adjusted_high
    return result.estimates[board]["score"], found.low, found.high


def study(
    fit: Fit, simulate: Simulate, board: str, questions: int, runs: int, **params: Any
) -> float:
    """Share of true scores inside their intervals, over all rows and runs."""
    rng = np.random.default_rng(0)
    true, _, _ = scores(fit(simulate(2000, 77), rng=rng, resamples=0, **params), board)
    held = []
    for run in range(runs):
        data = simulate(questions, 10_000 + run)
        _, low, high = scores(fit(data, rng=rng, resamples=200, **params), board)
        held.append((low <= true) & (true <= high))
    return float(np.mean(held))


def equals(runs: int, **params: Any) -> float:
    """How often no two of eight equal workers are separated.

    Alone, plain AQER misses the level here (.855): min-max gives the luckiest the largest weight,
    and then their own answers pull the exemplary ones. So its boards ask leave-one-out too.
    """
    kept = []
    for run in range(runs):
        data = crowd(np.full(8, 0.5), questions=20, seed=20_000 + run)
        found = aqer.fit(data, rng=np.random.default_rng(run), resamples=200, **params)
        kept.append(not found.intervals["worker"].separable.any())
    return float(np.mean(kept))


def no_camps(runs: int) -> float:
    """How often no camps are told where there are none."""
    kept = []
    for run in range(runs):
        data = crowd(np.linspace(0.2, 0.85, 15), questions=20, seed=30_000 + run)
        found = aqer.fit(data, rng=np.random.default_rng(run), resamples=0)
        kept.append(not found.diagnostics["components"][0]["camps"]["found"])
    return float(np.mean(kept))


def main(runs: int = 1000, say: Callable[[str], None] = print) -> None:
    """Run every case and print a line a figure."""

    def line(name: str, covered: float) -> None:
        say(f"{name:60s} nominal {LEVEL:.2f}  covered {covered:.3f}  n {runs}")

    full: Simulate = lambda questions, seed: texts(questions, seed, 1.0)  # noqa: E731
    gaps: Simulate = lambda questions, seed: texts(questions, seed, 0.7)  # noqa: E731
    cases: list[tuple[str, Fit, Simulate, str, int, dict[str, Any]]] = [
        ("workers, 20 questions", aqer.fit, full, "worker", 20, {}),
        ("workers, 40 questions", aqer.fit, full, "worker", 40, {}),
        ("workers, 20 questions, 70 % answered, adjusted", aqer.fit, gaps, "worker", 20, {}),
        (
            "workers, 20 questions, leave-one-out",
            aqer.fit,
            full,
            "worker",
            20,
            {"leave_one_out": True},
        ),
        (
            "workers, 20 questions, negative Euclidean",
            aqer.fit,
            full,
            "worker",
            20,
            {"similarity": "neg_euclidean"},
        ),
        ("workers, 20 questions, mean vote", aqer.fit, full, "worker", 20, {"vote": "mean"}),
        ("systems, 20 questions", aqer.fit, full, "system", 20, {}),
        ("systems, 20 questions, 70 % answered", aqer.fit, gaps, "system", 20, {}),
        ("workers, 40 questions, bag of words", bag_of_words.fit, bags, "worker", 40, {}),
    ]
    for name, fit, simulate, board, questions, params in cases:
        line(name, study(fit, simulate, board, questions, runs, **params))
    for words, params in (
        ("", {}),
        (", mean vote", {"vote": "mean"}),
        (", leave-one-out", {"leave_one_out": True}),
    ):
        line(f"nobody separated, equal workers, 20 questions{words}", equals(runs, **params))
    line("no camps told among independent workers, 20 questions", no_camps(runs))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
