"""Attributes thought aloud, as evaluation freezes them: one flat row an attribute."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django.db.models import F, Q

from annotation.models import Answer, SpanValue, Task, TextValue, Transcript
from annotation.task_types.think_aloud.type import ATTRIBUTE, TRANSCRIPT

COLUMNS = (
    "answer_id",
    "answer__item_id",
    "answer__worker_id",
    "answer__system_id",
    "index",
    "text",
)


class AttributeRow(NamedTuple):
    """One attribute with whose it is: a person's (``worker_id``) or a model's (``system_id``)."""

    answer_id: int
    item_id: int
    worker_id: int | None
    system_id: int | None
    index: int  # type: ignore[assignment]  # of the field, not of the tuple
    text: str

    @property
    def kind(self) -> str:
        """ "person" or "model"."""
        return "person" if self.system_id is None else "model"


def _counting(task: Task) -> Q:
    return Q(
        answer__item__task=task,
        answer__counts=True,
        answer__stage=Answer.Stage.MAIN,
        answer__item__expected__isnull=True,
    )


def counting_attributes(task: Task) -> list[AttributeRow]:
    """Return every attribute of the task's counting answers, by dimension, answer and place.

    A dimension whose rubric or samples were changed is another item, so that what was thought
    over other samples never mixes. People left out of the task are here still; exclusions are
    an input of the snapshot.
    """
    rows = TextValue.objects.filter(_counting(task), field=ATTRIBUTE)
    ordered = rows.order_by("answer__item__position", "answer__item_id", "answer_id", "index")
    return [AttributeRow(*row) for row in ordered.values_list(*COLUMNS)]


def marks(answer_ids: Iterable[int]) -> dict[tuple[int, int], tuple[int, int]]:
    """Map (answer, index) of an attribute to its marked stretch (start, end) of the transcript."""
    rows = SpanValue.objects.filter(answer__in=list(answer_ids), field=ATTRIBUTE, target=TRANSCRIPT)
    return {
        (pk, index): (start, end)
        for pk, index, start, end in rows.values_list("answer_id", "index", "start", "end")
    }


def transcripts(answer_ids: Iterable[int]) -> dict[int, str]:
    """Return the transcript of each answer: the one submitted, or one confirmed later."""
    ids = list(answer_ids)
    answer = "recording__entry__assignment__answers"
    confirmed = Transcript.objects.filter(  # in one call: the same answer in every condition
        Q((f"{answer}__in", ids), (f"{answer}__item", F("recording__entry__item"))),
        confirmed_at__isnull=False,
    )
    found = dict(confirmed.values_list(answer, "text"))
    rows = TextValue.objects.filter(answer__in=ids, field=TRANSCRIPT, index=0)
    return found | dict(rows.values_list("answer_id", "text"))
