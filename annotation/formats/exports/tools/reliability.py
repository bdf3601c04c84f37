"""Krippendorff's reliability matrix out: a row a coder, a column an item, blank for missing."""

from __future__ import annotations

from typing import Any

from annotation.files.writing.tables import Table
from annotation.formats.exports.tools.frames import dimension_of, votes
from annotation.models import Task

CODER = "coder"


def table(task: Task, form: str, dimension: str = "") -> Table:
    """The matrix of one dimension or scale: ordinals of the pair as stored (-1 first, 0, 1 second)
    or points of the scale. Of several votes of a person on an item the first stands.
    """
    cells: dict[str, dict[str, Any]] = {}
    items: dict[str, None] = {}
    for vote in votes(task, dimension_of(task, dimension)):
        cells.setdefault(vote.worker, {}).setdefault(vote.item, vote.ordinal)
        items[vote.item] = None
    units = sorted(items)
    rows = (
        {CODER: worker, **{unit: given.get(unit) for unit in units}}
        for worker, given in cells.items()
    )
    return Table((CODER, *units), rows)


def repeated(task: Task, dimension: str = "") -> dict[str, int]:
    """How many votes the matrix has no cell for."""
    given = [(vote.worker, vote.item) for vote in votes(task, dimension_of(task, dimension))]
    return {"given_again": len(given) - len(set(given))}
