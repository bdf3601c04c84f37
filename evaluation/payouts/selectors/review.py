"""The review queue: work that waits for a decision, with its evidence."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.paginator import Page, Paginator

from annotation.models import Answer, Task
from annotation.payouts.selectors.proposals import answers_of, unsettled_assignments
from annotation.work.selectors.answer_words import answer_in_words
from annotation.work.selectors.log import log_summaries
from annotation.work.selectors.recordings import recordings_of
from evaluation.models import AnswerScore, Run
from evaluation.payouts.selectors.evidence import (
    Evidence,
    answer_scores,
    gather_evidence,
    task_evidence,
    with_facts,
)
from evaluation.runs.adapters import ShapeAdapter, adapter_of

PAGE = 25
UNREAD = ("leased_at", "opened_at", "expires_at", "worker__created_at", "worker__removed_at")
BULK = 200  # assignments in one proposal at most


def _score(row: Evidence) -> float | None:
    return row.score.estimate if row.score else None


# Name in the address: label, whether the largest comes first, value (None goes last).
SORTS: dict[str, tuple[str, bool, Callable[[Evidence], Any]]] = {
    "submitted": ("Submitted", False, lambda row: row.assignment.submitted_at),
    "worker": ("Worker", False, lambda row: row.assignment.worker.pseudonym),
    "score": ("Score", True, _score),
    "pasted": ("Pasted", True, lambda row: row.pasted),
    "time": ("Time", False, lambda row: row.seconds),
}


def sorts_of(task: Task) -> dict[str, tuple[str, bool, Callable[[Evidence], Any]]]:
    """The columns of a task's queue: only texts have a score of their own."""
    scored = adapter_of(task).scores_answers
    return {name: row for name, row in SORTS.items() if name != "score" or scored}


@dataclass(frozen=True)
class Queue:
    """One page of the queue and what is said of all of it."""

    page: Page
    sort: str
    only_look: bool
    total: int
    look: int
    people: int
    oldest: dt.datetime | None
    pay: Decimal
    run: Run | None
    median_seconds: float | None

    @property
    def quiet(self) -> int:
        """Assignments with nothing to look at first."""
        return self.total - self.look


def evidence_of_waiting(task: Task, *, counted: bool = True) -> tuple[list[Evidence], Any]:
    """Every waiting assignment of the task with its evidence, the oldest first."""
    waits = unsettled_assignments(task)
    # Times that no column shows: of a thousand rows, reading them took half of the page's time.
    rows = list(waits if counted else waits.defer(*UNREAD))
    around = task_evidence(task)
    found = gather_evidence(rows, around, counted=counted)
    return [found[row.pk] for row in rows], around


def queue(task: Task, *, sort: str, only_look: bool, number: Any) -> Queue:
    """A page of the task's queue, sorted and filtered; a fixed number of queries."""
    everything, around = evidence_of_waiting(task, counted=False)
    sort = sort if sort in sorts_of(task) else "submitted"
    _, largest, value = SORTS[sort]
    rows = [row for row in everything if row.look_first] if only_look else list(everything)
    known = [row for row in rows if value(row) is not None]
    known.sort(key=value, reverse=largest)
    rows = known + [row for row in rows if value(row) is None]
    page = Paginator(rows, PAGE).get_page(number)
    page.object_list = with_facts(list(page.object_list), around)
    return Queue(
        page=page,
        sort=sort,
        only_look=only_look,
        total=len(everything),
        look=sum(row.look_first for row in everything),
        people=len({row.assignment.worker_id for row in everything}),
        oldest=everything[0].assignment.submitted_at if everything else None,
        pay=sum((row.assignment.pay for row in everything), Decimal("0.00")),
        run=around.run,
        median_seconds=around.median_seconds,
    )


@dataclass(frozen=True)
class ReadAnswer:
    """An answer as a reviewer reads it."""

    answer: Answer
    text: str
    declined: bool
    score: AnswerScore | None
    recording: str = ""  # where what was said is played
    replays: bool = False  # it is a text, and the log of its writing is kept

    @property
    def known(self) -> ShapeAdapter:
        """What is known of answers like this one."""
        return adapter_of(self.answer.item.task)

    @classmethod
    def of(
        cls, answer: Answer, score: AnswerScore | None, *, logged: bool, recording: str = ""
    ) -> ReadAnswer:
        """From the answer with its texts and choices, and its score where it has one."""
        values = list(answer.texts.all())
        written = [value.text for value in values if value.field == "answer"]
        return cls(
            answer=answer,
            text="\n\n".join(written) or answer_in_words(answer),
            replays=bool(written) and logged,
            declined=any(choice.field == "declined" for choice in answer.choices.all()),
            score=score,
            recording=recording,
        )


def read_answers(assignment_id: int, run: Run | None) -> list[ReadAnswer]:
    """The answers of an assignment with their scores in the run."""
    rows = list(answers_of(assignment_id))
    scores = answer_scores(run, [row.pk for row in rows])
    logged = log_summaries([assignment_id])[assignment_id].events > 0
    spoken = recordings_of(assignment_id)
    return [
        ReadAnswer.of(row, scores.get(row.pk), logged=logged, recording=spoken.get(row.item_id, ""))
        for row in rows
    ]
