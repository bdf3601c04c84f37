"""Means, medians and shares with intervals by a bootstrap over topics, as plain JSON rows.

Percentile intervals moved out for small numbers of topics and for topics that hold most of the data
(``agreement.counts.bounds``); none below the least number of ``units``, nor where every resample
gives one value.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.counts import bounds
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.units import LEAST, RESAMPLED, too_few_units

NOTHING, NO_RESAMPLES = "nothing to measure", "no resamples"
NO_ESTIMATE = {"value": None, "n": 0, "low": None, "high": None, "topics": 0, "reason": NOTHING}
CELLS = 4_000_000  # numbers of a matrix held at a time


class Draws:
    """The same resampled topics for every figure of a fit."""

    def __init__(
        self, topics: int, *, resamples: int, level: float, rng: np.random.Generator
    ) -> None:
        """Draw how often each topic comes in each resample: ``weight`` (resamples, topics)."""
        self.topics, self.level = topics, level
        even = np.full(topics, 1.0 / topics)
        self.weight = rng.multinomial(topics, even, size=resamples).astype(np.float64)

    def mean(self, value: FloatArray, topic: IntArray) -> dict[str, Any]:
        """ESTIMATE of the mean of ``value`` (n,); entries that are NaN do not count."""
        known = np.isfinite(value)
        return self.ratio(np.where(known, value, 0.0), known.astype(np.float64), topic)

    def ratio(self, above: FloatArray, below: FloatArray, topic: IntArray) -> dict[str, Any]:
        """ESTIMATE of sum(above) / sum(below), both (n,); n counts entries with a below."""
        n = int((below > 0).sum())
        if not n:
            return dict(NO_ESTIMATE)
        tops = np.bincount(topic, weights=above, minlength=self.topics).astype(np.float64)
        downs = np.bincount(topic, weights=below, minlength=self.topics).astype(np.float64)
        interval = self._interval(self._resampled_ratio(tops, downs), downs[downs > 0])
        return {"value": float(tops.sum() / downs.sum()), "n": n, **interval}

    def shares(
        self, counts: FloatArray, below: FloatArray
    ) -> tuple[list[float | None], list[float | None], list[float | None]]:
        """sum(counts) / sum(below) for each of b columns, with their intervals.

        ``counts`` (topics, b); ``below`` (topics,) or (topics, b). None where nothing is counted.
        """
        below = np.broadcast_to(below if below.ndim > 1 else below[:, None], counts.shape)
        total = below.sum(axis=0)
        value = np.divide(
            counts.sum(axis=0), total, out=np.full(len(total), np.nan), where=total > 0
        )
        nothing: list[float | None] = [None] * len(total)
        if len(self.weight) == 0:
            return to_json_list(value), nothing, nothing
        topics = (below > 0).sum(axis=0).astype(np.int64)
        low, high = np.full((2, len(total)), np.nan)
        for k in np.flatnonzero(topics >= LEAST[RESAMPLED]).tolist():
            found = self._resampled_ratio(counts[:, k], below[:, k])
            mass = below[:, k][below[:, k] > 0]
            low[k], high[k], _ = bounds(
                found, len(mass), self.level, "topics", RESAMPLED, mass=mass
            )
        return to_json_list(value), to_json_list(low), to_json_list(high)

    def distribution(self, value: FloatArray, topic: IntArray, edges: FloatArray) -> dict[str, Any]:
        """DISTRIBUTION of ``value`` (n,) over bins between ``edges``; NaN does not count."""
        known = np.isfinite(value)
        value, topic = value[known], topic[known]
        mean, middle = self.mean(value, topic), self.median(value, topic)
        if not len(value):
            empty = dict.fromkeys(("sd", "q1", "q3", "p5", "p95", "min", "max"))
            spread: dict[str, Any] = dict(empty)
        else:
            points = np.quantile(value, (0.05, 0.25, 0.75, 0.95)).tolist()
            spread = {
                "sd": float(value.std(ddof=1)) if len(value) > 1 else None,
                **dict(zip(("p5", "q1", "q3", "p95"), points, strict=True)),
                "min": float(value.min()),
                "max": float(value.max()),
            }
        return {
            "n": len(value),
            "mean": mean["value"],
            "mean_low": mean["low"],
            "mean_high": mean["high"],
            "median": middle["value"],
            "median_low": middle["low"],
            "median_high": middle["high"],
            **spread,
            "histogram": histogram(value, edges).tolist(),
            "reason": mean["reason"],
        }

    def median(self, value: FloatArray, topic: IntArray) -> dict[str, Any]:
        """ESTIMATE of the median of ``value`` (n,), all finite."""
        if not len(value):
            return dict(NO_ESTIMATE)
        order = np.argsort(value, kind="stable")
        value, topic = value[order], topic[order]
        found = np.full(len(self.weight), np.nan)
        block = max(1, CELLS // len(value))
        for start in range(0, len(self.weight), block):
            reached = np.cumsum(self.weight[start : start + block, topic], axis=1)
            half = reached[:, -1:] / 2
            lower, upper = (reached >= half).argmax(axis=1), (reached > half).argmax(axis=1)
            middle = (value[lower] + value[upper]) / 2
            found[start : start + block] = np.where(half[:, 0] > 0, middle, np.nan)
        interval = self._interval(found, np.unique(topic, return_counts=True)[1])
        return {"value": float(np.median(value)), "n": len(value), **interval}

    def _resampled_ratio(self, above: FloatArray, below: FloatArray) -> FloatArray:
        """Ratio in every resample; NaN where a resample drew none of the topics concerned."""
        tops, downs = self.weight @ above, self.weight @ below
        return np.divide(tops, downs, out=np.full(tops.shape, np.nan), where=downs > 0)

    def _interval(self, found: FloatArray, mass: NDArray[Any]) -> dict[str, Any]:
        topics = len(mass)
        if not len(found) and not too_few_units(topics, "topics", RESAMPLED):
            return {"low": None, "high": None, "topics": topics, "reason": NO_RESAMPLES}
        low, high, why = bounds(found, topics, self.level, "topics", RESAMPLED, mass=mass)
        return {
            "low": None if why else low,
            "high": None if why else high,
            "topics": topics,
            "reason": why,
        }


def to_json_list(values: FloatArray) -> list[float | None]:
    """Numbers for JSON; None for NaN."""
    return [None if math.isnan(value) else value for value in values.tolist()]


def histogram(value: FloatArray, edges: FloatArray) -> IntArray:
    """Counts (b,) between ``edges`` (b + 1,); what lies outside counts in the bin at that end."""
    found: IntArray = np.bincount(binned(value, edges), minlength=len(edges) - 1)
    return found


def binned(value: FloatArray, edges: FloatArray) -> IntArray:
    """The bin (n,) of each value."""
    place = np.searchsorted(edges, value, side="right") - 1
    return np.clip(place, 0, len(edges) - 2).astype(np.int64)


def by_topic(place: IntArray, topic: IntArray, topics: int, bins: int) -> FloatArray:
    """Counts (topics, bins) of entries (n,) in bins ``place``."""
    cell = np.bincount(topic * bins + place, minlength=topics * bins)
    return cell.reshape(topics, bins).astype(np.float64)


def nice_edges(value: FloatArray, bins: int = 30) -> FloatArray:
    """About ``bins`` round steps from 0 to past the largest value; whole steps from 1 on."""
    top = float(value.max()) if len(value) else 1.0
    step = next(
        base * 10**power
        for power in range(12)
        for base in (1, 2, 5)
        if base * 10**power * bins > top
    )
    return np.arange(0, top + step + 0.5, step, dtype=np.float64)
