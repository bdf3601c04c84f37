"""The review queue: work that waits for a decision, with its evidence."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.paginator import Page, Paginator
from django.utils.translation import gettext_noop

from annotation.models import Answer, Task
from annotation.payouts.actions.bonus_rule import bases_of
from annotation.payouts.selectors.proposals import (
    WorkFacts,
    answers_of,
    decided_before,
    unsettled_assignments,
)
from annotation.work.selectors.answer_words import describe_answer
from annotation.work.selectors.known import mark_answers
from annotation.work.selectors.log import EMPTY, log_summaries
from annotation.work.selectors.recordings import recording_addresses
from evaluation.models import AnswerScore, Run
from evaluation.payouts.selectors.evidence import (
    Evidence,
    TaskEvidence,
    answer_scores,
    gather_evidence,
    task_evidence,
    worker_scores,
)
from evaluation.runs.adapters import ShapeAdapter, adapter_of

PAGE = 25
BULK = 200  # assignments in one proposal at most
MOST_AT_ONCE = 10 * BULK  # assignments that one button proposes


@dataclass(frozen=True, slots=True)
class Waiting:
    """What the whole queue is sorted and counted by, of one of its assignments."""

    pk: int
    submitted_at: dt.datetime | None
    worker_id: int
    pseudonym: str
    pay: Decimal
    look: bool
    pasted: float | None
    seconds: float | None
    score: float | None


# Name in the address: label, whether the largest comes first, value (None goes last).
SORTS: dict[str, tuple[str, bool, Callable[[Waiting], Any]]] = {
    "submitted": (gettext_noop("Submitted"), False, lambda row: row.submitted_at),
    "worker": (gettext_noop("Worker"), False, lambda row: row.pseudonym),
    "score": (gettext_noop("Score"), True, lambda row: row.score),
    "pasted": (gettext_noop("Pasted"), True, lambda row: row.pasted),
    "time": (gettext_noop("Time"), False, lambda row: row.seconds),
}


def sorts_of(task: Task) -> dict[str, tuple[str, bool, Callable[[Waiting], Any]]]:
    """The columns of a task's queue; a score where runs of its type score people."""
    scored = bool(bases_of(task))
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
    rejected: Mapping[int, int]  # by worker of the page: rejections that stand, in all tasks

    most = MOST_AT_ONCE

    @property
    def rows(self) -> list[tuple[Evidence, int]]:
        """The rows of the page, each with the worker's standing rejections."""
        return [
            (row, self.rejected.get(row.assignment.worker_id, 0)) for row in self.page.object_list
        ]

    @property
    def quiet(self) -> int:
        """Assignments with nothing to look at first."""
        return self.total - self.look


def evidence_of_waiting(task: Task) -> tuple[list[Evidence], TaskEvidence]:
    """Return the task's undecided assignments with their evidence, oldest first, and its own."""
    rows = list(unsettled_assignments(task))
    around = task_evidence(task)
    found = gather_evidence(rows, around)
    return [found[row.pk] for row in rows], around


def _waiting(task: Task, around: TaskEvidence) -> list[Waiting]:
    """The whole queue, the oldest first, without reading its rows as objects: that took longest."""
    names = ("pk", "submitted_at", "worker_id", "worker__pseudonym", "pay")
    rows = list(unsettled_assignments(task).prefetch_related(None).values_list(*names))
    scores = worker_scores(around.run, {row[2] for row in rows})
    found = []
    for pk, submitted_at, worker_id, pseudonym, pay in rows:
        log, score = around.logs.get(pk, EMPTY), scores.get(worker_id)
        found.append(
            Waiting(
                pk=pk,
                submitted_at=submitted_at,
                worker_id=worker_id,
                pseudonym=pseudonym,
                pay=pay,
                look=any(note.look for note in around.notes(pk, worker_id, WorkFacts())),
                pasted=log.known_paste_share,
                seconds=around.seconds.get(pk),
                score=score.estimate if score else None,
            )
        )
    return found


def _page_of(rows: list[Waiting], number: Any, task: Task, around: TaskEvidence) -> Page:
    """A page of these rows, with their assignments and evidence."""
    page = Paginator(rows, PAGE).get_page(number)
    ids = [row.pk for row in page.object_list]
    own = {one.pk: one for one in unsettled_assignments(task).filter(pk__in=ids)}
    found = gather_evidence(list(own.values()), around)
    rows_shown: list[Any] = [found[pk] for pk in ids if pk in found]  # one may be settled by now
    page.object_list = rows_shown
    return page


def queue(task: Task, *, sort: str, only_look: bool, number: Any) -> Queue:
    """A page of the task's queue, sorted and filtered; a fixed number of queries."""
    around = task_evidence(task)
    everything = _waiting(task, around)
    sort = sort if sort in sorts_of(task) else "submitted"
    _, largest, value = SORTS[sort]
    rows = [row for row in everything if row.look] if only_look else everything
    known = sorted((row for row in rows if value(row) is not None), key=value, reverse=largest)
    rows = known + [row for row in rows if value(row) is None]
    page = _page_of(rows, number, task, around)
    before = decided_before({row.assignment.worker_id for row in page.object_list})
    return Queue(
        page=page,
        rejected={worker: rejected for worker, (_, rejected) in before.items()},
        sort=sort,
        only_look=only_look,
        total=len(everything),
        look=sum(row.look for row in everything),
        people=len({row.worker_id for row in everything}),
        oldest=everything[0].submitted_at if everything else None,
        pay=sum((row.pay for row in everything), Decimal("0.00")),
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
    right: bool | None = None  # whether it meets its item's known answer; None without one

    @property
    def known(self) -> ShapeAdapter:
        """Adapter of the answer's task, which knows its labels and pages."""
        return adapter_of(self.answer.item.task)

    @classmethod
    def of(
        cls,
        answer: Answer,
        score: AnswerScore | None,
        *,
        logged: bool,
        recording: str = "",
        right: bool | None = None,
    ) -> ReadAnswer:
        """Make the row from an answer with its texts and choices, and its score if there is one."""
        values = list(answer.texts.all())
        written = [value.text for value in values if value.field == "answer"]
        return cls(
            answer=answer,
            text="\n\n".join(written) or describe_answer(answer),
            replays=bool(written) and logged,
            declined=any(choice.field == "declined" for choice in answer.choices.all()),
            score=score,
            recording=recording,
            right=right,
        )


def read_answers(assignment_id: int, run: Run | None) -> list[ReadAnswer]:
    """The answers of an assignment with their scores in the run."""
    rows = list(answers_of(assignment_id))
    scores = answer_scores(run, [row.pk for row in rows])
    logged = log_summaries([assignment_id])[assignment_id].events > 0
    spoken = recording_addresses(assignment_id)
    marks = {one.answer: one.right for one in mark_answers(answers_of(assignment_id))}
    return [
        ReadAnswer.of(
            row,
            scores.get(row.pk),
            logged=logged,
            recording=spoken.get(row.item_id, ""),
            right=marks.get(row.pk),
        )
        for row in rows
    ]
