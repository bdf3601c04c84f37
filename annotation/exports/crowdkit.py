"""crowd-kit's data frames out, as CSV, or as parquet where the package for it is installed."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotation.models import Task
from annotation.sides import LEFT, NEUTRAL
from crowdqc.errors import Conflict

from . import files
from .frames import dimension_of, texts_of, votes

PAIRWISE = ("worker", "left", "right", "label")
LABELS = ("task", "worker", "label")
PARQUET = "application/vnd.apache.parquet"


def comparisons(task: Task, form: str, dimension: str = "") -> Iterator[str | bytes]:
    """The pairwise frame of one dimension: texts by their ids as seen, the better one as label.

    This frame has no ties, so neutral votes are left out.
    """
    rows = _comparisons(task, dimension_of(task, dimension))
    return _written(PAIRWISE, rows, form)


def labels(task: Task, form: str, dimension: str = "") -> Iterator[str | bytes]:
    """The classification frame of one dimension or scale: items by their ids.

    Labels are those of the pair as it is stored (first, neutral, second), or points of the scale.
    """
    name = dimension_of(task, dimension)
    rows = (
        {"task": vote.item, "worker": vote.worker, "label": vote.code} for vote in votes(task, name)
    )
    return _written(LABELS, rows, form)


def ties(task: Task, dimension: str = "") -> dict[str, int]:
    """How many votes the pairwise frame leaves out."""
    name = dimension_of(task, dimension)
    return {"neutral": sum(vote.second is None or vote.side == NEUTRAL
                           for vote in votes(task, name))}  # fmt: skip


def _comparisons(task: Task, dimension: str) -> Iterator[dict[str, Any]]:
    texts = texts_of(task).rows
    for vote in votes(task, dimension):
        if vote.left is None or vote.right is None or vote.side == NEUTRAL:
            continue
        left, right = texts[vote.left].key, texts[vote.right].key
        better = left if vote.side == LEFT else right
        yield {"worker": vote.worker, "left": left, "right": right, "label": better}


def _written(
    columns: Sequence[str], rows: Iterator[Mapping[str, Any]], form: str
) -> Iterator[str | bytes]:
    if form == "parquet":
        return iter([_parquet(columns, rows)])
    return iter(files.lines(columns, rows, form))


def can_parquet() -> bool:
    """Whether this installation writes parquet."""
    return importlib.util.find_spec("pyarrow") is not None


def _parquet(columns: Sequence[str], rows: Iterator[Mapping[str, Any]]) -> bytes:
    """The table as one parquet file. Raises Conflict where the package for it is missing."""
    if not can_parquet():
        raise Conflict(
            "Parquet needs the package pyarrow, which is not installed here; take CSV, or ask who "
            "runs this installation."
        )
    import pyarrow
    import pyarrow.parquet

    columnar: dict[str, list[str]] = {name: [] for name in columns}
    for row in rows:
        for name in columns:
            columnar[name].append(row[name])
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columnar), out)
    return out.getvalue()
