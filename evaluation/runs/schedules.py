"""Runs that start automatically: the first one, every so often, and after new answers."""

from __future__ import annotations

import datetime as dt
import logging
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from annotation.authoring.selectors.cost import count_open_answers
from annotation.models import Task, User
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.records.actions.audit import record
from annotation.work.snapshots import answers
from crowdqc.errors import Conflict, Invalid, LimitExceeded
from evaluation.models import Run, RunSchedule
from evaluation.runs import engine as runs
from evaluation.runs import run_types
from evaluation.runs.adapters import AQER_SCORE, FirstRun, adapter_of, judged_types
from evaluation.runs.freezing import options as freezing
from evaluation.runs.official.selectors import official_run
from evaluation.runs.recipe import Recipe, main_method, recipe_in_force

logger = logging.getLogger(__name__)
DEFAULT_AFTER = 20
# New answers are waited for until none came for a while, but not for ever.
QUIET = dt.timedelta(seconds=30)
PATIENCE = dt.timedelta(minutes=5)


@dataclass(frozen=True)
class NewAnswers:
    """What came to a task since its last snapshot."""

    new: int
    changed: int  # answers that stopped counting, or counted again

    @property
    def any(self) -> int:
        """Number of answers that are new or changed."""
        return self.new + self.changed


def mark_of(last: Run | None) -> dict[str, Any]:
    """The mark that was set when the run froze its answers; empty where it froze none."""
    counts = last.snapshot.counts if last is not None and last.snapshot else {}
    mark: dict[str, Any] = counts.get("mark", {})
    return mark


def count_new_answers(task: Task, last: Run | None) -> NewAnswers:
    """Compare the task's counting answers with what the last run saw, by their hash."""
    seen = mark_of(last)
    max_id = seen.get("max_id", 0)
    tally = adapter_of(task).tally(task, max_id)
    if tally.digest == seen.get("digest", ""):
        return NewAnswers(tally.after, 0)
    return NewAnswers(tally.after, _changed(task, last, max_id))


def _changed(task: Task, last: Run | None, max_id: int) -> int:
    """How many answers up to the mark came or went since the run froze its own; 1 at least."""
    if last is None or last.snapshot is None:
        return 0
    frozen = set(last.snapshot.answer_ids)
    rows = freezing.counting_rows(task).filter(pk__lte=max_id)
    now = set(rows.values_list("pk", flat=True))
    # Some that count are not frozen: of a worker's answers to one question only the first is.
    outside = max(0, last.snapshot.counts["mark"]["counting"] - len(frozen))
    return max(1, len(frozen - now) + max(0, len(now - frozen) - outside))


def last_run(task: Task, official: Run | None = None) -> Run | None:
    """Return the latest run with the current recipe, in any state.

    ``official`` is the task's official run where the caller has it already. While no run is
    official, it is the latest of the task's own method, by whatever recipe.
    """
    rows = task.runs.filter(method=main_method(task)).select_related("snapshot")
    official = official or official_run(task)
    if official is not None:
        rows = rows.filter(params=official.params, seed=official.seed)
    return rows.defer("snapshot__answer_ids").order_by("-id").first()


def _last_by(task: Task, method: str, recipe: Recipe) -> Run | None:
    """The latest run by a recipe: what a trial by another one has seen says nothing of it."""
    rows = task.runs.filter(method=method, params=recipe.params, seed=recipe.seed)
    return rows.select_related("snapshot").defer("snapshot__answer_ids").order_by("-id").first()


def first_run(task: Task) -> FirstRun:
    """Return how far the task is from its first automatic run.

    A task that asks too few people for it has one once nothing more is asked; only AQER cannot.
    """
    adapter, given = adapter_of(task), answers.answers_by_worker(task)
    found = adapter.first_run(given)
    if found.missing and given and adapter.worker_score != AQER_SCORE and _is_filled(task):
        return replace(found, missing=0)
    return found


def _is_filled(task: Task) -> bool:
    """Whether every answer that the task asks for was given (two queries)."""
    if task.current is None or task.assignments.filter(state=AssignmentState.LEASED).exists():
        return False
    items = task.items.in_version(task.current.number).filter(expected__isnull=True)
    return not count_open_answers(task.current, items)


def schedule_of(task: Task) -> RunSchedule:
    """Return the task's schedule, or an unsaved default."""
    found = RunSchedule.objects.filter(task=task).first()
    return found or RunSchedule(task=task, after_answers=DEFAULT_AFTER)


@transaction.atomic
def change_schedule(
    *,
    by: User,
    task: Task,
    enabled: bool,
    after_answers: int | None,
    every_minutes: int | None,
    params: dict[str, Any] | None = None,
) -> RunSchedule:
    """Set when the task's runs start automatically, and their options."""
    if after_answers is not None and not 1 <= after_answers <= 1_000_000:
        raise Invalid(
            gettext("The number is out of range."),
            fields={"after_answers": gettext("1 to 1,000,000.")},
        )
    if every_minutes is not None and not 5 <= every_minutes <= 43_200:
        raise Invalid(
            gettext("The minutes are out of range."),
            fields={"every_minutes": gettext("5 minutes to 30 days.")},
        )
    method = main_method(task) or "aqer"
    clean = run_types.run_types()[method].clean_params(params or {})
    schedule, _ = RunSchedule.objects.update_or_create(
        task=task,
        defaults={
            "enabled": enabled,
            "after_answers": after_answers,
            "every_minutes": every_minutes,
            "params": clean,
            "changed_by": by,
        },
    )
    record(
        by=by,
        project=task.project,
        action="run.schedule",
        on=task,
        enabled=enabled,
        after_answers=after_answers,
        every_minutes=every_minutes,
    )
    return schedule


def due(task: Task, schedule: RunSchedule, now: dt.datetime, method: str = "") -> str:
    """Why a run by the recipe in force is due now ("answers" or "schedule"); empty if none is.

    ``method``: the task's own, unless another one is named.
    """
    if not schedule.enabled:
        return ""
    last = _last_by(task, method or main_method(task), recipe_in_force(task, method))
    if last is not None and last.state in runs.ACTIVE:
        return ""
    if last is None:
        return "answers" if first_run(task).ready and _settled(task, None, now) else ""
    since = count_new_answers(task, last)
    if not since.any or _saw_nothing_newer(task, last):
        return ""
    enough = schedule.after_answers and since.any >= schedule.after_answers
    if enough and _settled(task, last, now):
        return "answers"
    wait = dt.timedelta(minutes=schedule.every_minutes or 0)
    return "schedule" if schedule.every_minutes and now - last.created_at >= wait else ""


def _saw_nothing_newer(task: Task, last: Run) -> bool:
    """A run that ended before its snapshot: is there nothing that came after it?"""
    if last.snapshot is not None:
        return False
    newest = answers.arrivals(task)[1]
    return newest is None or newest <= last.created_at


def _settled(task: Task, last: Run | None, now: dt.datetime) -> bool:
    """Whether nobody has answered for a while, or people have been answering for long."""
    oldest, newest = answers.arrivals(task, max_id=mark_of(last).get("max_id", 0))
    if newest is None or oldest is None:
        return True
    return now - newest >= QUIET or now - oldest >= PATIENCE


def start_due() -> list[Run]:
    """Start every run that is due; a task whose run cannot start is left for the next time."""
    now = timezone.now()
    tasks = (
        Task.objects.filter(type__in=judged_types())
        .exclude(state=TaskState.DRAFT)
        .select_related("project", "run_schedule", "current")
        .prefetch_related("trace_sources")
    )
    started = []
    for task in tasks:
        for method in ("", *run_types.automatic_methods(task)):
            run = _start_if_due(task, method, now)
            if run is not None:
                started.append(run)
    return started


def _start_if_due(task: Task, method: str, now: dt.datetime) -> Run | None:
    own = getattr(task, "run_schedule", None)
    schedule = own or RunSchedule(task=task, after_answers=DEFAULT_AFTER)
    try:
        why = due(task, schedule, now, method)
        if why:
            recipe = recipe_in_force(task, method)
            return runs.start(by=None, task=task, method=method, trigger=why, **recipe._asdict())
    except (
        Conflict,
        Invalid,
        LimitExceeded,
    ) as refused:  # somebody was faster, or its encoder is gone
        logger.info("task %s: %s", task.pk, refused.message)
    return None
