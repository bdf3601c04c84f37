"""How much memory a fit takes at its peak, told from the counts of its data before it begins.

Arrays grow with products of these counts: 40,000 workers and 50 labels are 100 million cells of
confusion matrices, however small the file was. Each method gives its own estimate beside its fit;
``python -m tests.studies.run_memory estimates`` holds them against what fits took.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

PROCESS = 250_000_000  # bytes of the program itself, with its libraries
A_VOTE = 4_000  # rows, arrays and results of one vote
A_PAIR = 60  # a difference of two rows of a board: error, bound and whether they are apart
A_FLAG = 3  # whether two rows of a table are apart, and what is copied of it
A_DRAW = 48  # a resampled number of one row


@dataclass(frozen=True)
class Size:
    """Counts of a method's data: ``labels`` to choose from, ``systems`` that are compared.

    ``meetings`` are pairs of votes on one item, ``parts`` of the crowd share no item with each
    other; where that is not known, as many as there can be.
    """

    votes: int
    workers: int
    items: int
    labels: int = 1
    systems: int = 0
    meetings: int = 0
    parts: int = 0

    @property
    def most_parts(self) -> int:
        """Parts of two workers or more."""
        return self.parts or max(1, min(self.items, self.workers // 2))

    def __str__(self) -> str:
        told = (
            ("answers", self.votes),
            ("workers", self.workers),
            ("items", self.items),
            ("labels", self.labels if self.labels > 1 else 0),
            ("systems", self.systems),
        )
        return ", ".join(f"{n:,} {name}" for name, n in told if n)

    @classmethod
    def of_names(cls, votes: Iterable[tuple[str, str]], **more: int) -> Size:
        """Count the size from the worker and the item of each vote."""
        workers: set[str] = set()
        n: Counter[str] = Counter()
        for worker, item in votes:
            workers.add(worker)
            n[item] += 1
        meetings = sum(one * (one - 1) // 2 for one in n.values())
        return cls(n.total(), len(workers), len(n), meetings=meetings, **more)


def board_bytes(size: Size, rows: int, settings: Mapping[str, Any]) -> float:
    """Estimate the bytes for a board of ``rows`` rows: differences of pairs and resampled draws.

    Rows of fewer votes than an interval needs have no differences.
    """
    draws, least = settings.get("resamples") or 0, settings.get("min_answers") or 1
    sure = min(rows, size.votes // least)
    pairs = A_PAIR * float(sure) ** 2 + A_FLAG * float(rows) ** 2
    return PROCESS + A_VOTE * size.votes + pairs + A_DRAW * draws * rows


def bytes_by_votes(size: Size, settings: Mapping[str, Any]) -> float:
    """Estimate the bytes of a method whose arrays are as long as its data."""
    return PROCESS + A_VOTE * float(size.votes)


def board_of_workers(size: Size, settings: Mapping[str, Any]) -> float:
    """Estimate the bytes of a method that ranks workers."""
    return board_bytes(size, size.workers, settings)


def board_of_systems(size: Size, settings: Mapping[str, Any]) -> float:
    """Estimate the bytes of a method that ranks systems."""
    return board_bytes(size, size.systems, settings)
