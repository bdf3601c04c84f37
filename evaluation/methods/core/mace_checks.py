"""What MACE and Dawid-Skene ask of their parameters and their data."""

from __future__ import annotations

import numpy as np

from evaluation.methods.core.base import DataError, IntArray, TooFewWorkers
from evaluation.methods.core.components import components
from evaluation.methods.core.votes import Labels


class TooFewLabels(DataError):
    """Fewer than two labels to choose from, so every vote is right."""


def label_parts(data: Labels) -> tuple[IntArray, IntArray]:
    """Component numbers of workers and items; a worker who shares no item is in none.

    Raises TooFewLabels and TooFewWorkers.
    """
    if len(data.labels) < 2:
        raise TooFewLabels(f"there is only the label {data.labels[0]!r}; there must be two")
    if len(np.unique(data.worker)) < 2:
        raise TooFewWorkers("one worker alone voted; there is nobody to compare with")
    workers, items = parts_with_company(data.worker, data.item, len(data.workers), len(data.items))
    if not workers.any():
        raise TooFewWorkers("no item has votes of two workers; there is nothing to compare")
    return workers, items


def parts_with_company(
    worker: IntArray, item: IntArray, workers: int, items: int
) -> tuple[IntArray, IntArray]:
    """Component numbers of workers and items; 0 also where one worker alone makes a component."""
    left, right = components(worker, item, workers, items)
    alone = np.bincount(left, minlength=1) == 1  # numbered by size, so these come last
    alone[0] = False
    return np.where(alone[left], 0, left), np.where(alone[right], 0, right)
