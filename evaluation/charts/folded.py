"""Time with its long pauses folded, so that a log of days fits on a strip and plays in minutes.

Pure. Any unit will do, as long as it is one: seconds for charts, milliseconds for the player.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

SHARE, MOST = 0.03, 0.3  # what one fold keeps of the time without folds, and all folds together


@dataclass(frozen=True)
class Fold:
    """A pause from ``start`` to ``end`` of which ``kept`` is shown."""

    start: float
    end: float
    kept: float


@dataclass(frozen=True)
class Timeline:
    """``length`` of real time; ``folds`` in order, apart from each other and within it."""

    length: float
    folds: tuple[Fold, ...] = ()

    @classmethod
    def around(cls, moments: Iterable[float], length: float, longest: float) -> Timeline:
        """Fold every stretch longer than ``longest`` in which none of ``moments`` lies."""
        points = sorted({0.0, float(length), *(float(m) for m in moments if 0 <= m <= length)})
        gaps = [(a, b) for a, b in pairwise(points) if b - a > longest]
        if not gaps:
            return cls(length)
        busy = length - sum(b - a for a, b in gaps)
        kept = max(busy, longest) * min(SHARE, MOST / len(gaps))
        return cls(length, tuple(Fold(a, b, min(kept, b - a)) for a, b in gaps))

    @cached_property
    def total(self) -> float:
        """The length with the folds closed."""
        return self.length - sum(fold.end - fold.start - fold.kept for fold in self.folds)

    @cached_property
    def _starts(self) -> Sequence[float]:
        return [fold.start for fold in self.folds]

    @cached_property
    def _cut(self) -> Sequence[float]:
        """Return how much time the folds before each one, and before the end, leave out."""
        cut = [0.0]
        for fold in self.folds:
            cut.append(cut[-1] + fold.end - fold.start - fold.kept)
        return cut

    def fold(self, real: float) -> float:
        """The folded time of a real one."""
        real = min(max(real, 0.0), self.length)
        k = bisect_right(self._starts, real) - 1
        if k < 0:
            return real
        fold = self.folds[k]
        if real >= fold.end:
            return real - self._cut[k + 1]
        through = (real - fold.start) / (fold.end - fold.start)
        return fold.start - self._cut[k] + through * fold.kept

    def real(self, folded: float) -> float:
        """Convert a position on the folded time line to real time."""
        folded = min(max(folded, 0.0), self.total)
        for k, fold in enumerate(self.folds):
            begins = fold.start - self._cut[k]
            if folded < begins:
                return folded + self._cut[k]
            if folded < begins + fold.kept:
                return fold.start + (folded - begins) / fold.kept * (fold.end - fold.start)
        return folded + self._cut[-1]

    def share(self, real: float) -> float:
        """Position of a real time on the strip, from 0 to 1."""
        return self.fold(real) / self.total if self.total else 0.0

    def inside(self, real: float) -> bool:
        """Whether a real time lies within a fold, its ends left out."""
        k = bisect_right(self._starts, real) - 1
        return k >= 0 and self.folds[k].start < real < self.folds[k].end
