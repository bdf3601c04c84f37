"""The facts of a study that its result pages need, read once a page."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cached_property

from django.db.models import Count, Max, Q, Sum
from django.utils.translation import gettext as _

from annotation.authoring.selectors.planned import of_planned, planned_answers
from annotation.models import Assignment, AssignmentItem, Task, TaskVersion
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.panels.selectors import count_able_workers
from annotation.payouts.selectors.proposals import unsettled_assignments
from annotation.templatetags.crowdqc import moment
from crowdqc.numbers import count, money, plural, several
from evaluation.models import Run
from evaluation.runs.adapters import adapter_of
from evaluation.runs.official.standing import Standing
from evaluation.runs.planning.price import Price, price_of
from evaluation.runs.schedules import NewAnswers


class Collection(StrEnum):
    """Whether a task still collects answers."""

    DRAFT = TaskState.DRAFT
    OPEN = TaskState.OPEN
    PAUSED = TaskState.PAUSED
    CLOSED = TaskState.CLOSED
    UPLOADED = "uploaded"  # all answers came from a file: nobody is asked for any


@dataclass(frozen=True)
class Slots:
    """How many answers items ask for, known answers aside.

    ``wanted`` holds what an import brought beside the ``planned`` ones.
    ``free`` has nobody taken; ``working`` answers are in ``assignments`` in progress, the last of
    which is due at ``due``. ``unanswered`` items have no answer, finished or in progress.
    """

    wanted: int = 0
    planned: int = 0
    given: int = 0
    free: int = 0
    working: int = 0
    assignments: int = 0
    due: dt.datetime | None = None
    items: int = 0
    unanswered: int = 0

    @property
    def pending(self) -> int:
        """Number of requested answers that are missing."""
        return self.free + self.working

    @property
    def given_per_item(self) -> float:
        """The mean number of answers that an item has."""
        return self.given / self.items if self.items else 0.0


@dataclass(frozen=True)
class StudyState:
    """What is known of a study beside its figures.

    ``redundancy`` is how many answers an item asks for. ``review_count`` assignments wait for a
    decision, for ``review_pay`` at most. ``new_answers`` came or changed since the run shown.
    """

    task: Task
    collection: Collection
    slots: Slots
    redundancy: int
    review_count: int
    review_pay: Decimal
    run: Run | None = None
    active_run: Run | None = None
    new_answers: NewAnswers | None = None
    standing: Standing | None = None

    @cached_property
    def able_workers(self) -> int:
        """Number of workers who may take the task and are not excluded (one query)."""
        return count_able_workers(self.task)

    @cached_property
    def price(self) -> Price | None:
        """The price of answers at the version in force: two queries, on first use."""
        return price_of(self.task, self.task.current) if self.task.current else None

    @property
    def facts(self) -> list[tuple[str, str]]:
        """List the progress of collection as (name, value); empty if nobody was asked."""
        if self.collection == Collection.UPLOADED or not self.slots.wanted:
            return []
        slots, noun = self.slots, adapter_of(self.task).answer_noun
        given = f"{count(slots.given)} {of_planned(slots.given, slots.planned)}"
        found = [(several(noun).capitalize(), given)]
        if slots.working:
            working = {"n": count(slots.working), "due": moment(slots.due)}
            found.append((_("In progress"), _("%(n)s, due %(due)s") % working))
        if slots.free:
            found.append((_("Open"), count(slots.free)))
        if self.review_count:
            pay = money(self.review_pay, self.task.project.currency)
            found.append((_("To review"), f"{plural(self.review_count, 'assignment')}, {pay}"))
        return found

    @property
    def missing_workers(self) -> int:
        """Number of further workers needed before an item can get all its answers."""
        return max(0, self.redundancy - self.able_workers)


def read_state(
    task: Task,
    run: Run | None = None,
    *,
    active: Run | None = None,
    new_answers: NewAnswers | None = None,
    standing: Standing | None = None,
) -> StudyState | None:
    """Read the facts in a fixed number of queries; None before the first version."""
    version = task.current
    if version is None:
        return None
    slots = read_slots(task, version)
    review = unsettled_assignments(task).order_by().aggregate(n=Count("pk"), pay=Sum("pay"))
    return StudyState(
        task=task,
        collection=_collection(task, slots),
        slots=slots,
        redundancy=version.redundancy,
        review_count=review["n"],
        review_pay=review["pay"] or Decimal(0),
        run=run,
        active_run=active,
        new_answers=new_answers,
        standing=standing,
    )


def read_slots(task: Task, version: TaskVersion) -> Slots:
    """Count the answers that the items of a version ask for. Two queries."""
    rows = task.items.in_version(version.number).filter(expected__isnull=True)
    asked = rows.aggregate(
        wanted=Sum("redundancy", default=0),
        planned=Sum(planned_answers(version.redundancy), default=0),
        taken=Sum("held", default=0),
        items=Count("pk"),
        unanswered=Count("pk", filter=Q(held=0)),
    )
    leased = AssignmentItem.objects.filter(
        assignment__task=task,
        assignment__state=AssignmentState.LEASED,
        assignment__quiz__isnull=True,
        item__expected__isnull=True,
        holds=True,
    ).aggregate(
        n=Count("pk"),
        assignments=Count("assignment", distinct=True),
        due=Max("assignment__expires_at"),
    )
    return Slots(
        wanted=asked["wanted"],
        planned=asked["planned"],
        given=asked["taken"] - leased["n"],
        free=max(0, asked["wanted"] - asked["taken"]),
        working=leased["n"],
        assignments=leased["assignments"],
        due=leased["due"],
        items=asked["items"],
        unanswered=asked["unanswered"],
    )


def _collection(task: Task, slots: Slots) -> Collection:
    if task.state == TaskState.CLOSED and slots.given:
        own = Assignment.objects.filter(task=task).exclude(source="import")
        if not own.exists():
            return Collection.UPLOADED
    return Collection(task.state)
