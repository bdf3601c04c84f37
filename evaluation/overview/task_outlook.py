"""What the page of a task shows beside its figures: what waits, its pace, and its plan."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.safestring import SafeString

from annotation.access import Access
from annotation.authoring.selectors.forecast import Forecast, forecast_of
from annotation.authoring.selectors.progress import submitted_by_day
from annotation.authoring.selectors.tasks import TaskRow
from evaluation.charts import boards
from evaluation.overview.todo import Todo, task_todos
from evaluation.runs.planning.plans import plan_url


@dataclass(frozen=True)
class TaskOutlook:
    """Lines that wait for this person, the chart of days, and the address of the plan."""

    todos: list[Todo]
    chart: SafeString | str
    forecast: Forecast
    plan: str


def task_outlook(access: Access, row: TaskRow) -> TaskOutlook:
    """Read what waits and the last 14 days of a task, in a fixed number of queries."""
    task, chart, forecast = row.task, "", forecast_of(row)
    if row.submitted:
        days = submitted_by_day(task)
        if any(number for _day, number in days):
            chart = boards.work_by_day(days, left=forecast.left, until=forecast.end)
    return TaskOutlook(task_todos(access, task), chart, forecast, plan_url(task))
