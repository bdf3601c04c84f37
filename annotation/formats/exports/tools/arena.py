"""Arena battles out: a line a vote, the text on the left as ``model_a``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotation.files.writing.tables import Table
from annotation.formats.exports.tools.frames import Texts, Vote, dimension_of, texts_of, votes
from annotation.models import Candidate, Task
from annotation.task_types.pairwise.sides import LEFT, NEUTRAL, RIGHT

WINNER = {LEFT: "model_a", NEUTRAL: "tie", RIGHT: "model_b"}


COLUMNS = (
    "question_id",
    "model_a",
    "model_b",
    "winner",
    "judge",
    "conversation_a",
    "conversation_b",
    "turn",
    "anony",
    "language",
    "tstamp",
)


def table(task: Task, form: str, dimension: str = "") -> Table:
    """Battles on one dimension (the only one, or overall quality).

    Two texts of one source are no battle between sources: such votes are left out. Raises
    Invalid where the task has no such dimension.
    """
    return Table(COLUMNS, _battles(task, dimension_of(task, dimension)))


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


def left_out(task: Task, dimension: str = "") -> dict[str, int]:
    """How many votes are no battles."""
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
