"""When tasks will be complete: by the pace of late, compared with the planned one."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Count, Exists, Min, OuterRef
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.authoring.selectors.progress import submitted_work
from annotation.authoring.selectors.tasks import TaskRow
from annotation.models import Assignment, Task
from annotation.models.tasks import TaskState
from crowdqc.numbers import count, decimal, plural, short_date

MIN_ASSIGNMENTS = 5  # of the last days, below which their pace says nothing of the next ones
DAYS = 7  # that the pace is measured over, at most
MOST_DAYS = 730  # that anything is said of


@dataclass(frozen=True)
class Forecast:
    """When an open task will be complete.

    ``left`` assignments are missing. ``pace``: submitted per day of late; 0 where they were fewer
    than ``MIN_ASSIGNMENTS``. ``planned`` per day, with the end that this leads to; 0: no plan.
    ``more_workers`` must come before an item can have all its answers.
    """

    left: int = 0
    pace: float = 0.0
    planned: int = 0
    planned_end: dt.date | None = None
    more_workers: int = 0

    @property
    def end(self) -> dt.date | None:
        """The day on which nothing is left at the pace of late; None if that is unknown."""
        if not self.left or not self.pace or self.more_workers:
            return None
        days = math.ceil(self.left / self.pace)
        return timezone.localdate() + dt.timedelta(days=days) if days < MOST_DAYS else None

    @property
    def sentence(self) -> str:
        """The pace with the day it leads to, beside the planned ones."""
        values = {
            "pace": pace_in_words(self.pace),
            "plan": count(self.planned),
            "least": count(MIN_ASSIGNMENTS),
            "workers": plural(self.more_workers, "more worker"),
            "end": short_date(self.end) if self.end else "",
            "planned_end": short_date(self.planned_end) if self.planned_end else "",
        }
        return self._words() % values

    def _words(self) -> str:
        if not self.left:
            return _("assignments a day")
        if not self.pace:
            if not self.planned_end:
                return _("assignments a day; forecast after %(least)s in a week")
            return _("plan: %(plan)s a day, done on %(planned_end)s; forecast after %(least)s")
        if not self.end:
            needed = _("pace: %(pace)s assignments a day; %(workers)s needed")
            return needed if self.more_workers else _("pace: %(pace)s assignments a day")
        if self.planned_end in (None, self.end):
            return _("pace: %(pace)s assignments a day; done on %(end)s")
        return _(
            "pace: %(pace)s assignments a day, plan: %(plan)s; done on %(end)s instead of "
            "%(planned_end)s"
        )


def pace_in_words(pace: float) -> str:
    """The assignments per day, with a decimal where they are few."""
    return count(round(pace)) if pace >= 10 or pace == round(pace) else decimal(pace, 1)


def forecast_of(row: TaskRow) -> Forecast:
    """Return the forecast of one task."""
    return forecasts({row.task: row.outstanding})[row.task.pk]


def forecasts(left: Mapping[Task, int]) -> dict[int, Forecast]:
    """Return the forecasts of tasks by id; ``left``: the assignments that are missing of each."""
    running = {
        task: number for task, number in left.items() if number and task.state == TaskState.OPEN
    }
    paces, ends = read_paces(running), _planned_ends(running)
    lacking = _more_workers([task for task in running if task.pk in paces])
    return {
        task.pk: Forecast(
            running.get(task, 0),
            paces.get(task.pk, 0.0),
            task.planned_per_day or 0,
            ends.get(task.pk),
            lacking.get(task.pk, 0),
        )
        for task in left
    }


def read_paces(tasks: Collection[Task]) -> dict[int, float]:
    """Return by task the assignments that people submitted per day of late (one query).

    Of the last 7 days, or of those since the first one, but a day at least. Tasks with fewer than
    ``MIN_ASSIGNMENTS`` are left out.
    """
    now = timezone.now()
    since = now - dt.timedelta(days=DAYS)
    before = Assignment.objects.filter(task=OuterRef("task"), submitted_at__lt=since)
    rows = (
        submitted_work(tasks)
        .filter(submitted_at__gte=since)
        .values_list("task")
        .annotate(n=Count("pk"), first=Min("submitted_at"), is_older=Exists(before))
    )
    return {
        task: n / (DAYS if is_older else max(1.0, (now - first) / dt.timedelta(days=1)))
        for task, n, first, is_older in rows
        if n >= MIN_ASSIGNMENTS
    }


def _more_workers(tasks: Collection[Task]) -> dict[int, int]:
    """How many workers each task needs beside those who answered, where they are too few.

    Nobody answers an item twice, so fewer people than answers per item never complete one. Where
    each takes one assignment, the pace is that of people who come, and more will.
    """
    if not tasks:
        return {}
    rows = submitted_work(tasks).values_list("task", "task__current__redundancy")
    counted = rows.annotate(people=Count("worker", distinct=True), n=Count("pk"))
    return {
        task: needed - people
        for task, needed, people, n in counted
        if people < needed and n >= 2 * people
    }


def _planned_ends(left: Mapping[Task, int]) -> dict[int, dt.date]:
    """The days on which the planned pace, from the first published version on, ends tasks."""
    planned = {task: number for task, number in left.items() if task.planned_per_day}
    if not planned:
        return {}
    begun = dict(
        Task.objects.filter(pk__in=[task.pk for task in planned])
        .annotate(begun=Min("versions__published_at"))
        .values_list("pk", "begun")
    )
    done = dict(submitted_work(planned).values_list("task").annotate(n=Count("pk")))
    ends = {}
    for task, number in planned.items():
        days = math.ceil((done.get(task.pk, 0) + number) / (task.planned_per_day or 1))
        if begun.get(task.pk) and days < MOST_DAYS:
            ends[task.pk] = timezone.localdate(begun[task.pk]) + dt.timedelta(days=days)
    return ends
