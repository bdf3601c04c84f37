"""How often Bradley-Terry's intervals hold what they claim, over simulated crowds.

``python -m tests.studies.ranking_coverage [simulations]`` prints name, nominal, covered and n. The
rows "all ranks" are simultaneous: how often every true rank lies in its range (at least nominal),
and "nobody separated" how often equal candidates are all left together.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from evaluation.methods.bradley_terry import method as bradley_terry
from evaluation.methods.bradley_terry import ties as bt_ties
from evaluation.methods.core.base import FloatArray
from evaluation.methods.core.votes import Pairs

LEVEL = 0.95
PLAYERS = 8
MERIT = np.linspace(-1, 1, PLAYERS)
TIE = {"davidson": float(np.log(0.6)), "rao_kupper": 0.5, "none": 0.0}
SIDE = 0.3


def draw(
    rng: np.random.Generator,
    votes: int,
    ties: str,
    *,
    judges: int = 0,
    taste: float = 0.0,
    merit: FloatArray = MERIT,
) -> Pairs:
    """Votes of a crowd; with ``judges`` each judge adds a taste of its own (sd) to every merit."""
    first = rng.integers(0, PLAYERS, votes)
    second = (first + rng.integers(1, PLAYERS, votes)) % PLAYERS
    left = rng.choice([-1, 1], votes)
    judge = rng.integers(0, judges, votes) if judges else np.full(votes, -1)
    own = merit + taste * rng.standard_normal((max(judges, 1), PLAYERS))
    x = own[judge, first] - own[judge, second] + SIDE * left
    win, tie, _ = bt_ties.probabilities(ties, x, TIE[ties])
    u = rng.random(votes)
    outcome = np.where(u < win, 0, np.where(u < win + tie, 1, 2))
    return Pairs.build(
        first,
        second,
        outcome,
        players=[str(k) for k in range(PLAYERS)],
        left=left,
        judge=judge,
        judges=[str(k) for k in range(judges)],
    )


def truth(ties: str, judges: int, taste: float) -> tuple[FloatArray, FloatArray]:
    """What the fit tends to: the parameters themselves, or with tastes a fit to many votes."""
    shared = np.array([SIDE, TIE[ties]] if ties != "none" else [SIDE])
    if not taste:
        return MERIT, shared
    data = draw(np.random.default_rng(1), 4_000_000, ties, judges=200_000, taste=taste)
    found = bradley_terry.fit(
        data, rng=np.random.default_rng(0), ties=ties, side=True, resamples=0, regularisation=0.0
    )
    return found.estimates["player"]["estimate"], found.estimates["shared"]["estimate"]


def study(
    simulations: int, votes: int, ties: str, *, judges: int = 0, taste: float = 0.0, **params: Any
) -> list[tuple[str, float, float, int]]:
    """Coverage of merits, shared parameters and all ranks together."""
    merit, shared = truth(ties, judges, taste)
    rank = 1 + (merit[None, :] > merit[:, None]).sum(axis=1)
    hits: dict[str, list[float]] = {"merits": [], "side and tie": [], "all ranks": []}
    for seed in range(simulations):
        rng = np.random.default_rng([7, seed])
        data = draw(rng, votes, ties, judges=judges, taste=taste)
        found = bradley_terry.fit(data, rng=rng, ties=ties, side=True, level=LEVEL, **params)
        one, two = found.estimates["player"], found.estimates["shared"]
        hits["merits"].append(float(np.mean((one["low"] <= merit) & (merit <= one["high"]))))
        hits["side and tie"].append(
            float(np.mean((two["low"] <= shared) & (shared <= two["high"])))
        )
        if one["rank_low"].any():
            inside = (one["rank_low"] <= rank) & (rank <= one["rank_high"])
            hits["all ranks"].append(float(inside.all()))
    words = f"{ties}, {votes} votes" + (f" of {judges} judges" if judges else "")
    words += "".join(f", {params[name]}" for name in ("interval",) if name in params)
    return [
        (f"{what}: {words}", LEVEL, float(np.mean(found)), len(found))
        for what, found in hits.items()
        if found
    ]


def equals(simulations: int, votes: int, **params: Any) -> tuple[str, float, float, int]:
    """How often nobody is separated where all merits are equal."""
    kept = []
    for seed in range(simulations):
        rng = np.random.default_rng([8, seed])
        data = draw(rng, votes, "davidson", merit=np.zeros(PLAYERS))
        one = bradley_terry.fit(data, rng=rng, side=True, **params).estimates["player"]
        kept.append(bool((one["rank_low"] == 1).all() and (one["rank_high"] == PLAYERS).all()))
    words = "".join(f", {params[name]}" for name in ("interval",) if name in params)
    return (
        f"nobody separated: davidson, {votes} votes{words}",
        LEVEL,
        float(np.mean(kept)),
        len(kept),
    )


def uneven(seed: int, judges: int, zipf: float, *, taste: float = 0.4) -> Pairs:
    """40 votes on each pair of 4 equal systems; judges have tastes, and a few do most of it."""
    rng = np.random.default_rng([seed, judges])
    first, second = (np.repeat(one, 40) for one in np.triu_indices(4, 1))
    share = 1 / np.arange(1, judges + 1) ** zipf
    judge = rng.choice(judges, len(first), p=share / share.sum())
    own = taste * rng.standard_normal((judges, 4))
    better = 1 / (1 + np.exp(own[judge, second] - own[judge, first]))
    outcome = np.where(rng.random(len(first)) < better, 0, 2)
    tied = rng.random(len(first)) < 0.15
    return Pairs.build(
        first,
        second,
        np.where(tied, 1, outcome),
        players=list("abcd"),
        judge=judge,
        judges=[str(k) for k in range(judges)],
    )


def held(
    judges: int, zipf: float, runs: int, *, taste: float = 0.4, **params: Any
) -> tuple[float, float, float]:
    """How often intervals hold equal merits, equals are separated, and there is no interval."""
    covered, apart = [], 0
    for seed in range(runs):
        data, rng = uneven(seed, judges, zipf, taste=taste), np.random.default_rng(seed)
        found = bradley_terry.fit(data, rng=rng, cluster="judge", **{"resamples": 200, **params})
        row = found.estimates["player"]
        known = np.isfinite(row["low"])
        covered += ((row["low"] <= 0) & (row["high"] >= 0))[known].tolist()
        apart += bool((row["rank_low"] > 1).any() or (row["rank_high"] < 4).any())
    none = 1 - len(covered) / (4 * runs)
    return float(np.mean(covered)) if covered else np.nan, apart / runs, none


def main(simulations: int = 1000, say: Callable[[str], None] = print) -> None:
    """Run every case and print a line a figure."""
    cases: list[tuple[tuple[int, str], dict[str, Any]]] = [
        ((120, "none"), {"resamples": 0}),
        ((120, "davidson"), {"resamples": 500}),
        ((120, "rao_kupper"), {"resamples": 0}),
        ((480, "davidson"), {"resamples": 0}),
        ((480, "rao_kupper"), {"resamples": 0}),
        ((480, "davidson"), {"judges": 30, "taste": 0.8, "cluster": "judge", "resamples": 500}),
        ((240, "davidson"), {"interval": "bootstrap", "resamples": 200}),
        ((56, "none"), {"interval": "bootstrap", "resamples": 200}),
        ((56, "none"), {"resamples": 0}),
    ]
    for (votes, ties), params in cases:
        for name, nominal, covered, n in study(simulations, votes, ties, **params):
            say(f"{name:60s} nominal {nominal:.2f}  covered {covered:.3f}  n {n}")
    for judges, zipf in ((30, 0.0), (12, 0.0), (30, 1.0), (100, 1.5), (12, 1.5), (30, 2.0)):
        found = [held(judges, zipf, simulations, taste=taste) for taste in (0.0, 0.4, 1.0)]
        covered, apart, none = np.nanmean(found, axis=0)
        words = f"{judges} judges, Zipf {zipf:g}" if zipf else f"{judges} judges, even"
        say(f"{words:60s} covered {covered:.3f}  separated {apart:.3f}  no interval {none:.2f}")
    for votes in (120, 480):
        name, nominal, covered, n = equals(simulations, votes, resamples=500)
        say(f"{name:60s} nominal {nominal:.2f}  covered {covered:.3f}  n {n}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
