"""The judgments of a task as other tools take them: what counts, who, seen how, in what order.

The same rows as evaluation freezes: answers that count under versions that ask the same, without
excluded workers. People appear under their pseudonyms alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from annotation.models import Task
from annotation.task_types.pairwise.sides import left_right, shown
from annotation.work.snapshots import judgments
from annotation.work.snapshots.judgments import TextRow
from crowdqc.errors import Invalid

CHUNK = 2000
Row = TypeVar("Row")
OVERALL = "quality_overall"


class Vote(NamedTuple):
    """A person's label of an item on one dimension, as stored and as it was given."""

    worker: str
    item: str  # the item's id in exports
    code: str
    ordinal: int | None
    flipped: bool
    at: float  # seconds since 1970
    first: int | None
    second: int | None

    @property
    def left(self) -> int | None:
        """The text that stood on the left."""
        return left_right(self.first, self.second, flipped=self.flipped)[0]

    @property
    def right(self) -> int | None:
        """The text that stood on the right."""
        return left_right(self.first, self.second, flipped=self.flipped)[1]

    @property
    def side(self) -> str:
        """left, neutral or right."""
        return shown(self.code, flipped=self.flipped)


@dataclass(frozen=True)
class Texts:
    """The texts that a task puts to judgment, their sources' names and their topics' queries."""

    rows: dict[int, TextRow]
    sources: dict[int, str]

    def source(self, text: int) -> str:
        """The name of the system that a text is of."""
        return self.sources[self.rows[text].system_id]


def texts_of(task: Task) -> Texts:
    """Every text that an item of the task names."""
    rows = {row.candidate_id: row for row in judgments.texts(task)}
    names = judgments.system_names([row.system_id for row in rows.values()])
    return Texts(rows, names)


def dimension_of(task: Task, name: str) -> str:
    """The dimension (or scale) of this name; without a name overall quality, or else the first.

    Raises Invalid naming those there are.
    """
    known = [one.name for one in judgments.asked(task.current)] if task.current else []
    if not name:
        name = OVERALL if OVERALL in known or not known else known[0]
    if name not in known:
        raise Invalid(
            f"The task does not ask for {name}.",
            fields={"dimension": ", ".join(known) or "The task was never published."},
        )
    return name


def votes(task: Task, dimension: str) -> Iterator[Vote]:
    """People's votes on one dimension, in the order in which they were stored."""
    for worker, item, code, ordinal, flipped, at, first, second in judgments.votes(task, dimension):
        yield Vote(worker, item, code, ordinal, flipped, at.timestamp(), first, second)


def in_chunks(rows: Iterable[Row], size: int = CHUNK) -> Iterator[list[Row]]:
    """The rows, so many at a time: what belongs to them is then read for these alone."""
    source = iter(rows)
    while part := list(itertools.islice(source, size)):
        yield part
