"""How often something is seen among the texts of many workers, with an interval.

Texts of one worker are alike, so the interval is Wilson's (1927) for as many texts as the
clustering by worker leaves: their number over the design effect (Kish 1965, section 8.2), which is
taken as 1 or more. Where all texts or none show it, that number is the workers'.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evaluation.methods.base import IntArray
from evaluation.methods.order_clustered import check_confidence, ratio

FEWEST = 5


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
    count = int(seen.sum())
    share = count / n
    if n < FEWEST or workers < 2:
        short = f"{n} responses" if n < FEWEST else "1 worker"
        needed = f"{FEWEST} of 2 workers"
        return BaseRate(count, n, workers, share, reason=f"{short}; an interval needs {needed}")
    effective = float(workers)
    if 0 < count < n:
        spread = ratio(seen.astype(float), np.ones(n), worker, confidence).se
        simple = np.sqrt(share * (1 - share) / n)
        effective = n / max(1.0, (spread / simple) ** 2)
    low, high = wilson(share, effective, confidence)
    return BaseRate(count, n, workers, share, low, high)


def wilson(share: float, n: float, confidence: float) -> tuple[float, float]:
    """Wilson's interval of a share of ``n`` independent trials; ``n`` may be an effective one."""
    z = float(ndtri((1 + confidence) / 2))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, float(middle - reach)), min(1.0, float(middle + reach))
