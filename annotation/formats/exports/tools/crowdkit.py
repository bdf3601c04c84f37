"""crowd-kit's data frames out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotation.files.writing.tables import Table
from annotation.formats.exports import free_text
from annotation.formats.exports.tools.frames import dimension_of, texts_of, votes
from annotation.models import Task
from annotation.task_types.pairwise.sides import LEFT, NEUTRAL

PAIRWISE = ("worker", "left", "right", "label")
LABELS = ("task", "worker", "label")
TEXTS = ("task", "worker", "text")


def comparisons(task: Task, form: str, dimension: str = "") -> Table:
    """The pairwise frame of one dimension: texts by their ids as seen, the better one as label.

    This frame has no ties, so neutral votes are left out.
    """
    return Table(PAIRWISE, _comparisons(task, dimension_of(task, dimension)))


def labels(task: Task, form: str, dimension: str = "") -> Table:
    """The classification frame of one dimension or scale: items by their ids.

    Labels are those of the pair as it is stored (first, neutral, second), or points of the scale.
    """
    name = dimension_of(task, dimension)
    rows = (
        {"task": vote.item, "worker": vote.worker, "label": vote.code} for vote in votes(task, name)
    )
    return Table(LABELS, rows)


def texts(task: Task, form: str, dimension: str = "") -> Table:
    """The frame of texts: what people answered, that counts, to the questions in force."""
    rows = (
        {"task": row["item_id"], "worker": row["worker_id"], "text": row["answer"]}
        for row in free_text.rows(task, "answers")
    )
    return Table(TEXTS, rows)


def ties(task: Task, dimension: str = "") -> dict[str, int]:
    """How many votes the pairwise frame leaves out."""
    name = dimension_of(task, dimension)
    return {
        "neutral": sum(vote.second is None or vote.side == NEUTRAL for vote in votes(task, name))
    }


def _comparisons(task: Task, dimension: str) -> Iterator[dict[str, Any]]:
    texts = texts_of(task).rows
    for vote in votes(task, dimension):
        if vote.left is None or vote.right is None or vote.side == NEUTRAL:
            continue
        left, right = texts[vote.left].key, texts[vote.right].key
        better = left if vote.side == LEFT else right
        yield {"worker": vote.worker, "left": left, "right": right, "label": better}
