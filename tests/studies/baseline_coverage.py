"""How often the baselines' intervals hold what they are meant to: ``python -m tests.studies...``.

The truth is the same crowd's score over very many questions. Prints name, nominal, covered, n.
"""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri

from evaluation.methods.baselines import rasa, roy
from evaluation.methods.baselines.baselines import BASELINES
from tests.evaluation.methods.aqer.worded import written
from tests.evaluation.methods.simulated import crowd

SIMULATIONS, QUESTIONS, MANY, RESAMPLES, LEVEL = 1000, 20, 6000, 400, 0.95
WRITERS = np.array([0.2, 0.35, 0.5, 0.6, 0.7, 0.85])
EVEN = np.linspace(0.3, 0.6, 12)


def worded(slug: str, simulations: int, density: float) -> tuple[float, int]:
    """Share of workers' intervals of one word baseline that hold the truth."""
    fit = roy.fit if slug == "roy" else BASELINES[slug].fit
    hit, total = 0, 0
    whole = fit(
        written(WRITERS, questions=MANY, density=density, seed=10**6),
        rng=np.random.default_rng(0),
        resamples=0,
    )
    truth = whole.estimates["worker"]["score"]
    for seed in range(simulations):
        result = fit(
            written(WRITERS, questions=QUESTIONS, density=density, seed=seed),
            rng=np.random.default_rng(seed),
            resamples=RESAMPLES,
            level=LEVEL,
        )
        sure = result.intervals["worker"]
        known = np.isfinite(sure.low)
        hit += int(((sure.low <= truth) & (truth <= sure.high))[known].sum())
        total += int(known.sum())
    return hit / total, total


def reliability(simulations: int) -> tuple[float, int]:
    """The same for RASA; a reliability rests on the number of answers, so it is put to theirs."""
    whole = rasa.reliabilities(crowd(EVEN, questions=MANY, seed=10**6))
    per_answer = chdtri(MANY, 0.025) / (MANY * whole.reliability)  # mean squared distance
    truth = chdtri(QUESTIONS, 0.025) / (QUESTIONS * per_answer)
    hit, total = 0, 0
    for seed in range(simulations):
        result = rasa.fit(
            crowd(EVEN, questions=QUESTIONS, seed=seed),
            rng=np.random.default_rng(seed),
            resamples=RESAMPLES,
            level=LEVEL,
        )
        sure = result.intervals["worker"]
        hit += int(((sure.low <= truth) & (truth <= sure.high)).sum())
        total += len(truth)
    return hit / total, total


def main(simulations: int = SIMULATIONS) -> None:
    """Print a line a baseline."""
    for slug in ("bleu1", "f1", "rouge_l", "roy"):
        for density in (1.0, 0.7):
            covered, n = worded(slug, simulations, density)
            name = f"{slug}, {'full' if density == 1 else '70 % answered'}"
            print(f"{name:28} nominal {LEVEL} covered {covered:.3f} n {n}", flush=True)
    covered, n = reliability(simulations)
    print(f"{'rasa':28} nominal {LEVEL} covered {covered:.3f} n {n}")


if __name__ == "__main__":
    main()
