"""Correlations of many small groups at once, against scipy one group at a time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from evaluation.methods.agreement.rank_correlation import correlate
from tests.bench.harness import best, figure

SIZES = (100, 1000, 10_000)  # articles of 16 systems
SYSTEMS = 16
PEERS = {"kendall": stats.kendalltau, "spearman": stats.spearmanr}


def texts(articles: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Metric and human score on scales of five steps, and the article of each text."""
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, articles * SYSTEMS)
    metric = np.clip(human + rng.integers(-2, 3, len(human)), 1, 5)
    return metric.astype(float), human.astype(float), np.repeat(np.arange(articles), SYSTEMS)


def peak(work: Callable[[], Any]) -> float:
    """Megabytes allocated at once."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def run() -> list[dict[str, Any]]:
    """A row a kind and size; scipy is timed on at most 1,000 articles and scaled up."""
    rows = []
    for kind, peer in PEERS.items():
        for articles in SIZES:
            x, y, group = texts(articles)
            some = min(articles, 1000)

            def one_by_one(x: Any = x, y: Any = y, peer: Any = peer, some: int = some) -> list[Any]:
                return [
                    peer(x[k : k + SYSTEMS], y[k : k + SYSTEMS]).statistic
                    for k in range(0, some * SYSTEMS, SYSTEMS)
                ]

            def at_once(x: Any = x, y: Any = y, group: Any = group, kind: str = kind) -> Any:
                return correlate(kind, x, y, group).value

            np.testing.assert_allclose(at_once()[:some], one_by_one(), atol=1e-12)
            ours = 1000 * best(at_once, 3)[0]
            theirs = 1000 * best(one_by_one, 1)[0] * articles / some
            note = f"equal to 1e-12; peak {peak(at_once):.1f} MB"
            note += "; scipy timed on 1,000 and scaled" if articles > some else ""
            name = f"sample-level {kind}, {articles} articles x {SYSTEMS}"
            rows.append(figure(name, ours, "ms", ("scipy, one article at a time", theirs), note))
    return rows
