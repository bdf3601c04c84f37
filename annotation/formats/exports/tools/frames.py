"""The judgments of a task as other tools take them: battles, crowd-kit's frames, a matrix.

What counts, who, seen how, in what order: the same rows as evaluation freezes, answers that count
under versions that ask the same, without excluded workers. People appear under their pseudonyms
alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from django.utils.translation import gettext as _

from annotation.files.writing.tables import Table
from annotation.formats.exports import free_text
from annotation.models import Candidate, Task
from annotation.task_types.pairwise.sides import LEFT, NEUTRAL, RIGHT, left_right, to_displayed
from annotation.work.snapshots import judgments
from annotation.work.snapshots.judgments import TextRow
from crowdqc.errors import Invalid

CHUNK = 2000
Row = TypeVar("Row")
OVERALL = "quality_overall"
BATTLE = (
    *("question_id", "model_a", "model_b", "winner", "judge", "conversation_a", "conversation_b"),
    *("turn", "anony", "language", "tstamp"),
)
WINNER = {LEFT: "model_a", NEUTRAL: "tie", RIGHT: "model_b"}
PAIRWISE = ("worker", "left", "right", "label")
LABELS = ("task", "worker", "label")
TEXTS = ("task", "worker", "text")
CODER = "coder"


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
        return to_displayed(self.code, flipped=self.flipped)


@dataclass(frozen=True)
class Texts:
    """The texts that a task puts to judgment, their sources' names and their topics' queries."""

    rows: dict[int, TextRow]
    sources: dict[int, str]

    def source(self, text: int) -> str:
        """The name of the system that a text is of."""
        return self.sources[self.rows[text].system_id]


def texts_of(task: Task) -> Texts:
    """Return every text that the task's items show, with the names of their sources."""
    rows = {row.candidate_id: row for row in judgments.texts(task)}
    names = judgments.system_names([row.system_id for row in rows.values()])
    return Texts(rows, names)


def dimension_of(task: Task, name: str) -> str:
    """Return the dimension of this name; by default overall quality, or else the first.

    Raises Invalid naming those there are.
    """
    known = [one.name for one in judgments.version_items(task.current)] if task.current else []
    if not name:
        name = OVERALL if OVERALL in known or not known else known[0]
    if name not in known:
        raise Invalid(
            _("The task does not ask for %(dimension)s.") % {"dimension": name},
            fields={"dimension": ", ".join(known) or _("The task was never published.")},
        )
    return name


def _written_codes(task: Task, dimension: str) -> dict[str | None, str]:
    """Stored points of a scale of decimals as files write them; {} of any other dimension."""
    asked = judgments.version_items(task.current) if task.current else []
    return next((one.written_codes for one in asked if one.name == dimension), {})


def votes(task: Task, dimension: str) -> Iterator[Vote]:
    """People's votes on one dimension, in the order in which they were stored."""
    for worker, item, code, ordinal, flipped, at, first, second in judgments.votes(task, dimension):
        yield Vote(worker, item, code, ordinal, flipped, at.timestamp(), first, second)


def in_chunks(rows: Iterable[Row], size: int = CHUNK) -> Iterator[list[Row]]:
    """Yield the rows in lists, so that related rows can be read list by list."""
    source = iter(rows)
    while part := list(itertools.islice(source, size)):
        yield part


def battles(task: Task, form: str, dimension: str = "") -> Table:
    """Battles on one dimension (the only one, or overall quality).

    Two texts of one source are no battle between sources: such votes are left out. Raises
    Invalid where the task has no such dimension.
    """
    return Table(BATTLE, _battles(task, dimension_of(task, dimension)))


def _battles(task: Task, dimension: str) -> Iterator[dict[str, Any]]:
    texts = texts_of(task)
    said = {
        pk: (query, text)
        for pk, query, text in Candidate.objects.filter(pk__in=texts.rows).values_list(
            "pk", "query", "text"
        )
    }

    def talk(text: int) -> list[dict[str, str]]:
        query, content = said[text]
        asked = [{"role": "user", "content": query}] if query else []
        return [*asked, {"role": "assistant", "content": content}]

    for vote in votes(task, dimension):
        left, right = vote.left, vote.right
        if left is None or right is None or _one_source(vote, texts):
            continue
        yield {
            "question_id": texts.rows[left].topic,
            "model_a": texts.source(left),
            "model_b": texts.source(right),
            "winner": WINNER[vote.side],
            "judge": vote.worker,
            "conversation_a": talk(left),
            "conversation_b": talk(right),
            "turn": 1,
            "anony": True,
            "language": "",
            "tstamp": vote.at,
        }


def one_source(task: Task, dimension: str = "") -> dict[str, int]:
    """Count the votes that are no battles, as both texts come from one source."""
    texts = texts_of(task)
    return {
        "one_source": sum(
            _one_source(vote, texts) for vote in votes(task, dimension_of(task, dimension))
        )
    }


def _one_source(vote: Vote, texts: Texts) -> bool:
    if vote.left is None or vote.right is None:
        return True
    return texts.source(vote.left) == texts.source(vote.right)


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
    written = _written_codes(task, name)
    rows = (
        {
            "task": vote.item,
            "worker": vote.worker,
            "label": written.get(vote.code, vote.code),
        }
        for vote in votes(task, name)
    )
    return Table(LABELS, rows)


def texts(task: Task, form: str, dimension: str = "") -> Table:
    """The frame of texts: what people answered, that counts, to the questions in force."""
    rows = ((item, worker, text) for item, worker, text, *_ in free_text.rows(task, "answers"))
    return Table(TEXTS, rows)


def ties(task: Task, dimension: str = "") -> dict[str, int]:
    """Count the neutral votes, which a pairwise frame without ties leaves out."""
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


def matrix(task: Task, form: str, dimension: str = "") -> Table:
    """The matrix of one dimension or scale: ordinals of the pair as stored (-1 first, 0, 1 second)
    or points of the scale. Of several votes of a person on an item the first stands.
    """
    cells: dict[str, dict[str, Any]] = {}
    items: dict[str, None] = {}
    name = dimension_of(task, dimension)
    written = _written_codes(task, name)
    for vote in votes(task, name):
        value = written.get(vote.code, vote.ordinal)
        cells.setdefault(vote.worker, {}).setdefault(vote.item, value)
        items[vote.item] = None
    units = sorted(items)
    rows = (
        {CODER: worker, **{unit: given.get(unit) for unit in units}}
        for worker, given in cells.items()
    )
    return Table((CODER, *units), rows)


def count_repeats(task: Task, dimension: str = "") -> dict[str, int]:
    """Count repeated votes of a worker on an item, for which the matrix has no cell."""
    given = [(vote.worker, vote.item) for vote in votes(task, dimension_of(task, dimension))]
    return {"given_again": len(given) - len(set(given))}
