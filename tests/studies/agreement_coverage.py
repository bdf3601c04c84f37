"""How often the intervals of agreement, order effects and significance hold the true value.

``python -m tests.studies.agreement_coverage [RUNS]`` simulates RUNS (1,000) data sets a line and
prints name, nominal, covered and n, the number of intervals given. True values come from one very
large simulation, or by design.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from evaluation.methods.agreement import coefficients as agreement
from evaluation.methods.agreement import significance
from evaluation.methods.core.votes import Labels
from evaluation.methods.pairwise.judgments import ShownVotes
from evaluation.methods.pairwise.order import effects as order_effects

LEVEL = 0.95


def crowd(rng: np.random.Generator, items: int, each: int = 5) -> Labels:
    """Items of different difficulty; each vote by a worker of its own."""
    truth = rng.choice(3, items, p=[0.4, 0.2, 0.4])
    knows = rng.random((items, each)) < rng.beta(2, 3, (items, 1))
    label = np.where(knows, truth[:, None], rng.choice(3, (items, each), p=[0.35, 0.3, 0.35]))
    return Labels.build(
        np.arange(items * each),
        np.repeat(np.arange(items), each),
        label.ravel(),
        workers=("w",) * (items * each),
        items=("i",) * items,
        labels=["A", "N", "B"],
    )


def agreements(rng: np.random.Generator) -> dict[str, Callable[[], tuple[float, float, float]]]:
    """Name -> one simulated interval and the true value."""
    large = crowd(rng, 200_000)
    lines: dict[str, Callable[[], tuple[float, float, float]]] = {}

    def line(name: str, items: int, point: Any, interval: Any) -> None:
        true = point(large)

        def once() -> tuple[float, float, float]:
            found = interval(crowd(rng, items))
            return found.low, found.high, true

        lines[f"{name}, {items} items"] = once

    drawing: dict[str, Any] = {"rng": rng, "resamples": 1000, "confidence": LEVEL}
    for items in (50, 200):
        for level in ("nominal", "ordinal"):
            line(
                f"alpha {level}",
                items,
                lambda data, level=level: agreement.krippendorff_alpha(data, level),
                lambda data, level=level: agreement.alpha_interval(data, level, **drawing),
            )
        line(
            "Fleiss' kappa",
            items,
            agreement.fleiss_kappa,
            lambda data: agreement.kappa_interval(data, **drawing),
        )
        line(
            "percent agreement",
            items,
            agreement.percent_agreement,
            lambda data: agreement.percent_interval(data, confidence=LEVEL),
        )
    return lines


def rare(rng: np.random.Generator, items: int, share: float) -> Labels:
    """Five votes an item, right in .875, of which one class is rare."""
    truth = rng.random((items, 1)) < share
    label = np.where(rng.random((items, 5)) < 0.875, truth, ~truth).astype(np.int64)
    return Labels.build(
        np.arange(items * 5),
        np.repeat(np.arange(items), 5),
        label.ravel(),
        workers=("w",) * (items * 5),
        items=("i",) * items,
        labels=["common", "rare"],
    )


def rare_classes(rng: np.random.Generator) -> dict[str, Callable[[], tuple[float, float, float]]]:
    """Where one label is frequent; few items then say what chance gives."""
    lines: dict[str, Callable[[], tuple[float, float, float]]] = {}
    for share, sizes in ((0.05, (20, 40, 60, 200)), (0.03, (100, 300))):
        large = rare(rng, 200_000, share)
        for name, point, interval in (
            ("alpha", agreement.krippendorff_alpha, agreement.alpha_interval),
            ("Fleiss' kappa", agreement.fleiss_kappa, agreement.kappa_interval),
            ("AC1", agreement.gwet_ac1, agreement.gwet_interval),
        ):
            for items in sizes:

                def once(
                    share: float = share,
                    items: int = items,
                    interval: Any = interval,
                    true: float = point(large),
                ) -> tuple[float, float, float]:
                    found = interval(rare(rng, items, share), rng=rng, resamples=500)
                    return found.low, found.high, true

                lines[f"{name}, a class of {share:.0%}, {items} items"] = once
    return lines


QUALITY = np.random.default_rng(1).normal(size=(60, 4))


def shown(rng: np.random.Generator, workers: int, *, side: float, drift: float) -> ShownVotes:
    """Workers with a pull of their own to a side and a neutral band of their own that grows."""
    pairs, each, dimensions = *QUALITY.shape[:1], 16, QUALITY.shape[1]
    pair = np.concatenate([rng.permutation(pairs)[:each] for _ in range(workers)])
    worker, position = np.repeat(np.arange(workers), each), np.tile(np.arange(1, each + 1), workers)
    flipped = rng.random(len(pair)) < 0.5
    pull = (side + 0.3 * rng.normal(size=workers))[worker]
    seen = np.where(flipped, -1, 1)[:, None] * QUALITY[pair] + pull[:, None]
    seen = seen + rng.normal(size=seen.shape) + 0.5 * rng.normal(size=(len(pair), 1))
    band = rng.uniform(0.2, 0.8, workers)[worker] + drift * (position - 1)
    vote = np.where(np.abs(seen) < band[:, None], 1, np.where(seen > 0, 2, 0))
    return ShownVotes.build(
        worker,
        pair,
        flipped,
        position,
        vote,
        workers=[str(k) for k in range(workers)],
        pairs=[str(k) for k in range(pairs)],
        dimensions=[str(k) for k in range(dimensions)],
    )


def orders(rng: np.random.Generator) -> dict[str, Callable[[], tuple[float, float, float]]]:
    """The clustered intervals."""
    setting = {"side": 0.1, "drift": 0.02}
    large = shown(rng, 20_000, **setting)
    drift, side = (
        table.rows()[0]
        for table in (order_effects.neutral_drift(large), order_effects.side_preference(large))
    )
    straight = order_effects.straight_lining(large).share.estimate

    def drifting(low: str, high: str, true: float) -> Callable[[], tuple[float, float, float]]:
        def once() -> tuple[float, float, float]:
            found = order_effects.neutral_drift(shown(rng, 60, **setting)).rows()[0]
            return found[low], found[high], true

        return once

    def siding() -> tuple[float, float, float]:
        found = order_effects.side_preference(shown(rng, 60, **setting)).rows()[0]
        return found["low"], found["high"], side["right"]

    def lining() -> tuple[float, float, float]:
        found = order_effects.straight_lining(shown(rng, 60, **setting)).share
        return found.low, found.high, straight

    return {
        "neutral share late - early, 60 workers": drifting("low", "high", drift["difference"]),
        "neutral slope, 60 workers": drifting("slope_low", "slope_high", drift["slope"]),
        "right side's share, 60 workers": siding,
        "straight-lining share, 60 workers": lining,
    }


def differences(rng: np.random.Generator) -> dict[str, Callable[[], tuple[float, float, float]]]:
    """BCa of a difference of correlations, and of means; the columns are jointly normal."""

    def columns(n: int) -> tuple[Any, Any, Any]:
        truth, shared = rng.normal(size=(2, n))
        first = truth + 0.5 * shared + 0.5 * rng.normal(size=n)
        return first, truth + 0.5 * shared + 1.2 * rng.normal(size=n), truth

    large = columns(200_000)
    lines: dict[str, Callable[[], tuple[float, float, float]]] = {}
    for method in ("pearson", "spearman"):
        correlation = {"pearson": lambda x: x, "spearman": lambda x: np.argsort(np.argsort(x))}
        a, b, t = (correlation[method](x) for x in large)
        true = float(np.corrcoef(a, t)[0, 1] - np.corrcoef(b, t)[0, 1])

        def once(method: str = method, true: float = true) -> tuple[float, float, float]:
            found = significance.bca_correlation_difference(
                *columns(60), rng=rng, method=method, resamples=1000, confidence=LEVEL
            )
            return found.low, found.high, true

        lines[f"difference of {method} correlations, 60 rows"] = once

    def means() -> tuple[float, float, float]:
        x = rng.exponential(size=40)
        found = significance.bca_mean_difference(
            x, np.zeros(40), rng=rng, resamples=1000, confidence=LEVEL
        )
        return found.low, found.high, 1.0

    return {**lines, "mean of 40 skewed differences": means}


def main(runs: int = 1000) -> None:
    """Print a line an interval."""
    rng = np.random.default_rng(20)
    for lines in (agreements(rng), rare_classes(rng), orders(rng), differences(rng)):
        for name, once in lines.items():
            found = np.array([once() for _ in range(runs)])
            low, high, true = found[~np.isnan(found[:, 0])].T
            held = ((low <= true) & (true <= high)).mean() if len(low) else np.nan
            print(f"{name:<48} {LEVEL:.2f} {held:.3f} {len(low)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
