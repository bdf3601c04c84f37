"""How often something is seen among the texts of many workers, with an interval.

Texts of one worker are alike, so the interval is Wilson's on as many texts as the clustering by
worker leaves (``order_clustered.share``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import IntArray
from evaluation.methods.core.order_clustered import check_confidence, share


@dataclass(frozen=True)
class BaseRate:
    """``seen`` of ``n`` texts of ``workers``; bounds are None with a ``reason``."""

    seen: int
    n: int
    workers: int
    share: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""


def base_rate(seen: NDArray[np.bool_], worker: IntArray, confidence: float = 0.95) -> BaseRate:
    """The share of texts (n,) that show it; ``worker`` (n,) are any integers from 0."""
    check_confidence(confidence)
    n, workers = len(seen), len(np.unique(worker))
    if not n:
        return BaseRate(0, 0, 0, None, reason="no text could be judged")
    found = share(seen.astype(float), np.ones(n), worker, confidence)
    if found.reason:
        return BaseRate(int(seen.sum()), n, workers, found.estimate, reason=found.reason)
    return BaseRate(int(seen.sum()), n, workers, found.estimate, found.low, found.high)
