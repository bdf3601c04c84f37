"""How often the intervals of rescaling and checklist statistics hold the true value.

``python -m tests.studies.rescaling_coverage [RUNS]`` simulates RUNS (1,000) data sets a line and
prints name, nominal, covered and n, the number of intervals given. True values come from one very
large simulation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from evaluation.methods.agreement.rank_correlation import correlate
from evaluation.methods.checklists.correlation import pooled, sample_level
from evaluation.methods.checklists.diversity import self_cosine
from evaluation.methods.rescaling.data import Annotations, incomplete, shared_pairs
from evaluation.methods.rescaling.method import Agreement, agreement, rescale

LEVEL = 0.95
Once = Callable[[], tuple[float, float, float]]


def ratings(rng: np.random.Generator, items: int, workers: int = 6) -> Annotations:
    """Skewed ratings by annotators with thresholds of their own; scores nearer to the quality."""
    item = np.repeat(np.arange(items), 4)
    worker = np.argsort(rng.random((items, workers)), axis=1)[:, :4].ravel()
    quality = rng.normal(size=items)[item]
    felt = quality + 0.8 * rng.normal(size=len(item)) + np.linspace(0, 1.2, workers)[worker]
    label = np.digitize(felt, [-1.2, -0.6, 0.0])
    score = np.clip(np.round(8 * (quality + 0.6 * rng.normal(size=len(item)))) * 5 + 60, 0, 100)
    return Annotations.build(
        worker,
        item,
        label,
        score,
        workers=[f"w{k}" for k in range(workers)],
        items=[f"i{k}" for k in range(items)],
        labels=list("abcd"),
    )


def changes(rng: np.random.Generator) -> dict[str, Once]:
    """Change of tau-b: the aggregate of all pairs, and one pair."""

    def once(items: int, *, drop: bool, low: float = LEVEL) -> Agreement:
        data = ratings(rng, items)
        joined = incomplete(data, shared_pairs(data)) if drop else shared_pairs(data)
        return agreement(data, joined, data.rating, rescale(data), level=low)

    lines: dict[str, Once] = {}
    for drop, setting in ((False, "all"), (True, "incomplete")):
        large = once(60_000, drop=drop)
        true, of_pair = large.mean.after - large.mean.before, float(large.difference[0])
        for items in (60, 300):

            def mean(drop: bool = drop, items: int = items, true: float = true):  # type: ignore[no-untyped-def]
                found = once(items, drop=drop).mean
                return found.low, found.high, true

            def pair(drop: bool = drop, items: int = items, true: float = of_pair):  # type: ignore[no-untyped-def]
                found = once(items, drop=drop)
                return found.low[0], found.high[0], true

            lines[f"change of aggregate tau-b, {setting}, {items} items"] = mean
            lines[f"change of a pair's tau-b, {setting}, {items} items"] = pair
    return lines


def judged(rng: np.random.Generator, articles: int) -> tuple[np.ndarray, ...]:
    """Metric, human score and article of 12 systems an article, on coarse scales."""
    article = np.repeat(np.arange(articles), 12)
    quality = rng.normal(size=len(article)) + np.tile(np.linspace(-1, 1, 12), articles)
    level, strength = rng.normal(size=(2, articles))
    human = np.round(quality + level[article] + 0.7 * rng.normal(size=len(article)))
    metric = np.round(2 * (quality + 0.3 * strength[article] + rng.normal(size=len(article))))
    return metric, human, article


def correlations(rng: np.random.Generator) -> dict[str, Once]:
    """Sample-level and pooled correlations."""
    large = judged(rng, 20_000)
    lines: dict[str, Once] = {}
    for kind in ("spearman", "kendall", "pearson"):
        level = sample_level(*large, kind=kind).estimate
        whole = float(correlate(kind, *large[:2]).value[0])
        for articles in (20, 100):

            def sample(kind: str = kind, articles: int = articles, true: float = level):  # type: ignore[no-untyped-def]
                found = sample_level(*judged(rng, articles), kind=kind)
                return found.low, found.high, true

            lines[f"sample-level {kind}, {articles} articles"] = sample

            if (kind, articles) == ("kendall", 100):
                continue  # 1,000 jackknifes of it take minutes

            def all_texts(kind: str = kind, articles: int = articles, true: float = whole):  # type: ignore[no-untyped-def]
                found = pooled(*judged(rng, articles), kind=kind)
                return found.low, found.high, true

            lines[f"pooled {kind}, {articles} articles"] = all_texts
    return lines


def attributes(rng: np.random.Generator) -> dict[str, Once]:
    """Mean cosine of the attributes of one condition."""

    def vectors(n: int) -> np.ndarray:
        return rng.normal(size=(n, 30)) * rng.gamma(1.0, size=(n, 1)) + 0.3

    def once(n: int, true: float) -> tuple[float, float, float]:
        found = self_cosine(vectors(n))
        return found.low, found.high, true

    many = vectors(200_000)
    unit = many / np.linalg.norm(many, axis=1, keepdims=True)
    true = float((unit.mean(axis=0) ** 2).sum())
    return {
        f"mean cosine of {n} attributes": lambda n=n: once(n, true)  # type: ignore[misc]
        for n in (15, 60)
    }


def main(runs: int = 1000) -> None:
    """Print a line an interval."""
    rng = np.random.default_rng(11)
    for lines in (changes(rng), correlations(rng), attributes(rng)):
        for name, once in lines.items():
            found = np.array([once() for _ in range(runs)])
            low, high, true = found[~np.isnan(found[:, 0])].T  # too few items: no interval given
            held = ((low <= true) & (true <= high)).mean()
            print(f"{name:<56} {LEVEL:.2f} {held:.3f} {len(low)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
