"""Kinds of what was judged, by which boards are split: pairs, texts or items.

A kind is a value of a column. Every kind with FEWEST units is a board of its own, whose intervals
are at a level that makes those of all kinds of one column hold together (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.methods.core.base import BadShape, IntArray
from evaluation.methods.core.units import count_in_words

FEWEST = 10  # units without which a kind has no board
# A column with more values says what a unit is, not what kind; a topic is shown where it is one.
MOST_KINDS, MOST_COLUMNS, MOST_TOPICS = 12, 5, 8


@dataclass(frozen=True, eq=False)
class Column:
    """What is known of every unit (units,): one of ``names``, -1 where it is not known."""

    of: IntArray
    names: tuple[str, ...]


def column_of(values: Sequence[str]) -> Column:
    """A value a unit, "" where none is known."""
    names = tuple(sorted({*values} - {""}))
    place = {name: at for at, name in enumerate(names)}
    return Column(np.array([place.get(value, -1) for value in values], dtype=np.int64), names)


def columns_of(known: Sequence[Mapping[str, str]], topics: Sequence[str] = ()) -> dict[str, Column]:
    """Return the columns that split units into kinds: topics if they are few, and metadata."""
    found: dict[str, Column] = {}
    if 1 < len(set(topics)) <= MOST_TOPICS:
        found["topic"] = column_of(topics)
    for name in sorted({name for one in known for name in one} - set(found)):
        values = [one.get(name, "") for one in known]
        if 1 < len({*values} - {""}) <= MOST_KINDS and len(found) < MOST_COLUMNS:
            found[name] = column_of(values)
    return found


def checked_column(name: str, column: Column, units: int, noun: str) -> Column:
    """A column that fits its ``units``, named by the plural ``noun``. Raises BadShape."""
    found = np.asarray(column.of)
    if found.shape != (units,) or not np.issubdtype(found.dtype, np.integer):
        raise BadShape(f"columns: {name!r} must have one whole number for each of {units} {noun}")
    if ((found < -1) | (found >= len(column.names))).any():
        raise BadShape(f"columns: {name!r} has a number that names none of its values")
    return Column(found.astype(np.int64), tuple(column.names))


def not_split(sizes: Sequence[int], noun: str) -> str:
    """Return why kinds of these sizes cannot be compared; "" if they can."""
    enough = sum(size >= FEWEST for size in sizes)
    return "" if enough > 1 else f"fewer than two kinds have {FEWEST} {noun}"


def too_small(size: int, noun: str) -> str:
    """Why a kind of this size has no board; "" where it has one."""
    return "" if size >= FEWEST else f"{count_in_words(size, noun)}; a board needs {FEWEST}"
