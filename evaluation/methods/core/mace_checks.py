"""What MACE and Dawid-Skene ask of their parameters and their data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evaluation.methods.core.base import BadParameter, DataError, IntArray, TooFewWorkers
from evaluation.methods.core.components import components
from evaluation.methods.core.votes import Labels


class TooFewLabels(DataError):
    """Fewer than two labels to choose from, so every vote is right."""


def one_of(settings: Mapping[str, Any], **choices: tuple[str, ...]) -> None:
    """Each named parameter is one of its choices; raises BadParameter."""
    for name, allowed in choices.items():
        if settings[name] not in allowed:
            raise BadParameter(f"{name} is {settings[name]!r}; it must be {' or '.join(allowed)}")


def whole_from(settings: Mapping[str, Any], **least: int) -> None:
    """Each named parameter is a whole number from here on; resamples 0 or at least 100."""
    for name, start in least.items():
        value = settings[name]
        if isinstance(value, bool) or not isinstance(value, int) or value < start:
            raise BadParameter(f"{name} is {value!r}; it must be a whole number from {start} on")
    if 0 < settings.get("resamples", 0) < 100:
        raise BadParameter(f"resamples is {settings['resamples']}; it must be 0, or 100 or more")


def between(
    settings: Mapping[str, Any], defaults: Mapping[str, Any], low: float, high: float, *names: str
) -> None:
    """Each named parameter is a number from low to high, or None where that is its default."""
    for name in names:
        value = settings[name]
        if value is None and defaults[name] is None:
            continue
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not low <= value <= high:
            raise BadParameter(f"{name} is {value!r}; it must lie between {low:g} and {high:g}")


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
