"""What the page of a task shows beside its figures: what waits, its pace, and its plan."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.access import Access
from annotation.authoring.selectors.progress import day_at_pace, submitted_by_day
from annotation.authoring.selectors.tasks import TaskRow
from annotation.models.tasks import TaskState
from crowdqc.numbers import short_date
from evaluation.charts import boards
from evaluation.overview.todo import Todo, task_todos
from evaluation.runs.planning.plans import plan_url

WEEK = 7


@dataclass(frozen=True)
class TaskOutlook:
    """Lines that wait for this person, the chart of days, and the address of the plan."""

    todos: list[Todo]
    chart: SafeString | str
    pace: str  # "assignments a day; complete on 4 December at this pace"
    plan: str


def task_outlook(access: Access, row: TaskRow) -> TaskOutlook:
    """Read what waits and the last 14 days of a task, in a fixed number of queries."""
    task, chart, pace = row.task, "", ""
    if row.submitted:
        days = submitted_by_day(task)
        open_ones = row.outstanding if task.state == TaskState.OPEN else 0
        end = day_at_pace(open_ones, sum(number for _day, number in days[-WEEK:]))
        if any(number for _day, number in days):
            chart = boards.work_by_day(days, left=open_ones, until=end)
            pace = _("assignments a day")
            if end:
                pace = _("assignments a day; complete on %(day)s at this pace") % {
                    "day": short_date(end)
                }
    return TaskOutlook(task_todos(access, task), chart, pace, plan_url(task))
