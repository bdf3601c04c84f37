"""What the list of people says of each worker beyond work and pay: quality, flags, look-alikes.

Evidence for whoever reads it. Nothing acts on it: no score, payout, rejection or exclusion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Case, FloatField, Q, QuerySet, When
from django.utils.translation import gettext as _

from annotation.authoring.selectors.progress import ENOUGH_TIMES, median_seconds
from annotation.models import (
    Assignment,
    PayoutLine,
    Project,
    Rejection,
    Task,
)
from annotation.models.assignments import AssignmentState
from annotation.payouts.selectors.proposals import WorkFacts
from annotation.work.selectors.log import EMPTY, log_summaries
from annotation.work.selectors.speed import paces_by_assignment
from crowdqc.database.quantiles import seconds_between
from crowdqc.numbers import count
from evaluation.models import Run
from evaluation.payouts.selectors.evidence import KINDS, Note, cites, notes, worker_notes
from evaluation.payouts.selectors.likeness import GivenAnswer, Likeness, likenesses, newest_answers
from evaluation.people.selectors.scores import beside_medians_by_worker
from evaluation.runs.official.selectors import official_runs

MOST_FLAGGED = 1000  # newest assignments of a page of workers that are looked at for flags
NOT_COUNTED = WorkFacts()  # no note on counts of answers asks for a look, so they are not read


@dataclass(frozen=True)
class WorkerSummary:
    """What the row of one worker says.

    ``boards`` counts scored tasks with an interval; of these ``below`` and ``above`` are surely
    beside the median of all workers. ``flags`` are of work that awaits review.
    """

    boards: int
    below: int
    above: int
    flags: tuple[str, ...]
    alike: tuple[Likeness, ...]

    @property
    def quality(self) -> str:
        """Where the worker stands on the boards, in words; "" without an interval."""
        told = {"below": count(self.below), "above": count(self.above), "n": count(self.boards)}
        if self.below and self.above:
            return _("below the median in %(below)s, above in %(above)s of %(n)s") % told
        if self.below:
            return _("below the median in %(below)s of %(n)s") % told
        if self.above:
            return _("above the median in %(above)s of %(n)s") % told
        return _("not separable") if self.boards else ""


class WorkerEvidence:
    """Evidence about the workers of a project, each part read when it is asked for."""

    def __init__(self, project: Project) -> None:
        self.project = project

    @cached_property
    def runs(self) -> dict[int, Run]:
        return official_runs(self.project.tasks.values_list("pk", flat=True))

    @cached_property
    def alike(self) -> dict[int, list[Likeness]]:
        """By worker, whom they resemble, the rarest kind of evidence first."""
        return likenesses(self.project, self.runs, self.answers)

    @cached_property
    def answers(self) -> list[GivenAnswer]:
        """The newest answers of the project, as they are compared with each other."""
        return newest_answers(self.project)

    @cached_property
    def noted(self) -> dict[tuple[int, int], list[Note]]:
        """By task and worker, what stands out in all of their work there."""
        return worker_notes(self.runs, self.answers)

    @cached_property
    def below_median(self) -> set[int]:
        """Workers who are surely below the median of all in a task."""
        sides = beside_medians_by_worker(self.runs)
        return {worker for worker, own in sides.items() if -1 in own}

    @cached_property
    def needs_look(self) -> set[int]:
        """Workers below the median, with a look-alike, or whose reply to a rejection is open."""
        replies = Rejection.objects.filter(
            assignment__task__project=self.project, replied_at__isnull=False, outcome=""
        )
        open_replies = replies.values_list("assignment__worker", flat=True)
        return self.below_median | set(self.alike) | set(open_replies)

    @cached_property
    def flagged(self) -> set[int]:
        """Workers with an open flag among the newest work that awaits review."""
        return set(_flags(self.project, self.project.memberships.values("pk"), self.noted))

    def summaries(self, workers: Collection[int]) -> dict[int, WorkerSummary]:
        """What the rows of these workers say; a fixed number of queries."""
        sides = beside_medians_by_worker(self.runs, workers)
        flags = _flags(self.project, workers, self.noted)
        return {
            pk: WorkerSummary(
                boards=len(sides.get(pk, ())),
                below=sides.get(pk, []).count(-1),
                above=sides.get(pk, []).count(1),
                flags=tuple(flags.get(pk, ())),
                alike=tuple(self.alike.get(pk, ())),
            )
            for pk in workers
        }


def _flags(
    project: Project,
    workers: Collection[int] | QuerySet[Any],
    noted: Mapping[tuple[int, int], Sequence[Note]],
) -> dict[int, list[str]]:
    """By worker, what stands out in their work that awaits review, a kind with its number.

    A ``+`` follows the numbers where more work waits than is looked at.
    """
    awaiting = _awaiting(project, workers)
    ids = [row.pk for row in awaiting]
    tasks = Task.objects.in_bulk({row.task for row in awaiting})
    more = "+" if len(awaiting) == MOST_FLAGGED else ""
    logs, usual = log_summaries(ids), median_seconds(project, tasks)
    paces = paces_by_assignment(tasks, ids)
    cited = {pk: cites(task) for pk, task in tasks.items()}
    kinds: dict[int, Counter[str]] = {}
    for row in awaiting:
        middle, n = usual.get(row.task, (None, 0))
        found = notes(
            NOT_COUNTED,
            logs.get(row.pk, EMPTY),
            row.seconds,
            middle if n >= ENOUGH_TIMES else None,
            cites=cited[row.task],
            pace=paces.get(row.pk),
        )
        found = [*found, *noted.get((row.task, row.worker), ())]
        kinds.setdefault(row.worker, Counter()).update(note.kind for note in found if note.look)
    return {
        worker: [f"{KINDS[kind]} {count(n)}{more}" for kind, n in sorted(own.items())]
        for worker, own in kinds.items()
        if own
    }


class _Awaiting(NamedTuple):
    pk: int
    task: int
    worker: int
    seconds: float | None  # from opening to submitting; None for imported work


def _awaiting(project: Project, workers: Collection[int] | QuerySet[Any]) -> list[_Awaiting]:
    """Submitted work of these workers that nobody has decided about, the newest first."""
    decided = PayoutLine.objects.filter(live=True).values("assignment")
    rows = Assignment.objects.filter(
        worker__in=workers, state=AssignmentState.SUBMITTED, settled_at__isnull=True
    ).exclude(pk__in=decided.filter(assignment__worker__in=workers))
    rows = rows.filter(task__project=project).order_by("-submitted_at", "-pk")
    seconds = Case(
        When(~Q(source="import"), then=seconds_between("opened_at", "submitted_at")),
        output_field=FloatField(),
    )
    found = rows.annotate(seconds=seconds).values_list("pk", "task_id", "worker_id", "seconds")
    return [_Awaiting(*row) for row in found[:MOST_FLAGGED]]
