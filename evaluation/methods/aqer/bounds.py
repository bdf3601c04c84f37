"""How far a synthetic exemplary answer may be from the truth: equations 6 and 8 of the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass

from evaluation.methods.core.base import BadParameter


@dataclass(frozen=True)
class Bound:
    """1 - cosine(SEA, truth) for ``workers`` of mean quality ``quality``.

    ``expected`` is eq. 6, ``worst`` eq. 8, which holds with probability 1 - ``delta``. An error of
    1 means no better than an unrelated answer, so a ``worst`` above 1 is ``vacuous``.
    """

    workers: int
    quality: float
    delta: float
    expected: float
    worst: float
    vacuous: bool


def sea_error(quality: float, workers: int) -> float:
    """Eq. 6: expected 1 - cosine(SEA, truth); quality is the mean cosine with the truth."""
    shared = math.sqrt(quality**2 + (1 - quality**2) / workers)
    return 1 - quality / shared


def worst_sea_error(quality: float, workers: int, delta: float = 0.05) -> float:
    """Eq. 8: what 1 - cosine(SEA, truth) stays under with probability 1 - delta (Hoeffding)."""
    lowered = quality - math.sqrt(math.log(2 / delta) / (2 * workers))
    return 1 - math.sqrt(workers) * lowered / math.sqrt((workers - 1) * lowered**2 + 1)


def bound(quality: float, workers: int, delta: float = 0.05) -> Bound:
    """Both errors, and whether the worst case says anything.

    Raises BadParameter for a quality outside -1..1, no workers, or delta outside 0..1.
    """
    if not -1 <= quality <= 1:
        raise BadParameter(f"quality is {quality}; a mean cosine lies in -1..1")
    if workers < 1:
        raise BadParameter(f"workers is {workers}; it must be 1 or more")
    if not 0 < delta < 1:
        raise BadParameter(f"delta is {delta}; it must lie between 0 and 1")
    worst = worst_sea_error(quality, workers, delta)
    return Bound(workers, quality, delta, sea_error(quality, workers), worst, worst > 1)
