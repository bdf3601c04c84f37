"""How annotators use a scale before and after rescaling, and how pairs of them change (Table 7).

Wadhwa et al. 2024, Figures 4 and 5, Tables 6 and 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.inference import cluster_spread, scale_interval
from evaluation.methods.rescaling.data import HIGHEST, LOWEST, Annotations

BIN = 5.0  # scores of models are multiples of 5 nearly always
BINS = int((HIGHEST - LOWEST) / BIN) + 1
MUCH = 0.1  # of tau-b, as in Table 7
MIN_ITEMS = 10


@dataclass(frozen=True)
class Mean:
    """A mean over ``n`` annotations of ``items`` items; no interval under MIN_ITEMS items."""

    value: float
    low: float
    high: float
    spread: float
    n: int
    items: int


def mean_of(values: FloatArray, item: IntArray, *, level: float = 0.95) -> Mean:
    """The mean of (n,) values with an interval that treats the items as the sample.

    Clustered by item (``inference``), within 0 to 100; NaN where there are no values.
    """
    n = len(values)
    if not n:
        return Mean(np.nan, np.nan, np.nan, np.nan, 0, 0)
    mean = float(values.mean())
    known = cluster_spread((values - mean) / n, np.ones(n), item, noun="items")
    spread, k = float(values.std()), known.clusters
    if known.why_no_interval(MIN_ITEMS):
        return Mean(mean, np.nan, np.nan, spread, n, k)
    low, high = scale_interval(mean, known, level, (LOWEST, HIGHEST))
    return Mean(mean, low, high, spread, n, k)


def histogram(scores: FloatArray) -> list[int]:
    """(BINS,) how many scores lie nearest to 0, 5, ... 100."""
    at = np.clip(np.floor((scores - LOWEST) / BIN + 0.5), 0, BINS - 1).astype(np.int64)
    return [int(n) for n in np.bincount(at, minlength=BINS)]


def by_label(
    data: Annotations,
    scores: FloatArray,
    rows: NDArray[np.bool_] | None = None,
    *,
    level: float = 0.95,
) -> list[dict[str, Any]]:
    """A row a label, the worst first: how often it was given, and the scores (n,) it became.

    With ``rows`` (n,) of those annotations alone: one annotator's use of the scale.
    """
    kept = np.ones(len(data), dtype=bool) if rows is None else rows
    found = []
    for k, name in enumerate(data.labels):
        own = kept & (data.label == k)
        mean = mean_of(scores[own], data.item[own], level=level)
        found.append(
            {
                "label": name,
                "value": float(data.values[k]),
                "n": mean.n,
                "mean": _plain(mean.value),
                "low": _plain(mean.low),
                "high": _plain(mean.high),
                "spread": _plain(mean.spread),
                "scores": histogram(scores[own]),
            }
        )
    return found


def changes(difference: FloatArray) -> dict[str, Any]:
    """Table 7 of the pairs' (p,) changes of tau-b: how many rise and fall, and by how much.

    Pairs without a change (NaN) are left out and counted as ``undefined``.
    """
    known = difference[np.isfinite(difference)]
    up, down = known[known > 0], known[known < 0]
    return {
        "pairs": len(known),
        "undefined": int(len(difference) - len(known)),
        "up": len(up),
        "mean_up": float(up.mean()) if len(up) else 0.0,
        "down": len(down),
        "mean_down": float(down.mean()) if len(down) else 0.0,
        "much_up": int((known > MUCH).sum()),
        "much_down": int((known < -MUCH).sum()),
    }


def to_percent(data: Annotations) -> FloatArray:
    """(n,) the ratings from 0 (the lowest label) to 100 (the highest), evenly by their values."""
    reach = (data.rating - data.values[0]) / (data.values[-1] - data.values[0])
    out: FloatArray = LOWEST + (HIGHEST - LOWEST) * reach
    return out


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
