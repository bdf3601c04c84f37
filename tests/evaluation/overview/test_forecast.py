"""When a task will be complete: by the pace of late, compared with the planned one."""

from __future__ import annotations

import datetime as dt

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.access import Access
from annotation.authoring.actions import tasks
from annotation.authoring.selectors.forecast import MIN_ASSIGNMENTS, Forecast, forecast_of
from annotation.authoring.selectors.tasks import task_row
from annotation.models import Assignment, AuditEntry, Task, TaskVersion
from crowdqc.errors import Invalid
from evaluation.overview import selectors as overview
from evaluation.runs.planning.price import price_of
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)


@pytest.fixture
def world() -> World:
    return factories.make_world(2, redundancy=20, pay="2.00")


def submit(task: Task, *days_ago: float) -> None:
    """Submit an assignment so many days ago, each by another worker."""
    for days in days_ago:
        done = factories.claim_and_submit(task)
        Assignment.objects.filter(pk=done.pk).update(submitted_at=timezone.now() - days * DAY)


def forecast(task: Task) -> Forecast:
    return forecast_of(task_row(Task.objects.get(pk=task.pk)))


def test_pace_is_that_of_the_days_since_work_began(world: World) -> None:
    submit(world.task, 2.0, 1.5, 1.2, 1.0, 0.5, 0.1)
    found = forecast(world.task)
    assert found.pace == pytest.approx(3.0, abs=0.01)
    assert (found.left, found.end) == (14, timezone.localdate() + 5 * DAY)
    submit(world.task, 30.0)  # then it is that of a week
    assert forecast(world.task).pace == pytest.approx(6 / 7, abs=0.01)


def test_few_assignments_promise_no_day_on_any_page(world: World) -> None:
    access = access_of(world)
    submit(world.task, *[0.5] * (MIN_ASSIGNMENTS - 1))
    assert forecast(world.task).end is None
    assert overview.last_day(overview.facts(access)) is None
    assert price_of(world.task, version_of(world.task)).a_day == 0
    submit(world.task, 0.5)
    end = forecast(world.task).end
    assert end is not None and overview.last_day(overview.facts(access)) == end
    assert price_of(world.task, version_of(world.task)).a_day > 0


def test_a_task_that_nobody_works_on_is_not_promised_by_the_pace_of_another(
    world: World,
) -> None:
    submit(world.task, *[0.5] * 6)
    factories.make_task(world.project, n=2, redundancy=3)
    access = access_of(world)
    assert forecast(world.task).end is not None
    assert overview.last_day(overview.facts(access)) is None


def test_two_workers_who_took_all_they_may_promise_no_day_for_three_answers(world: World) -> None:
    task = factories.make_task(world.project, n=6, redundancy=3, items_per_assignment=2)
    workers = [factories.make_worker(world.project) for _ in range(2)]
    for worker in workers * 3:
        factories.claim_and_submit(task, worker)
    found = forecast(task)
    assert (found.left, found.more_workers, found.end) == (3, 1, None)
    assert "1 more worker needed" in found.sentence
    factories.claim_and_submit(task)
    assert (forecast(task).more_workers, forecast(task).end is None) == (0, False)


def test_the_end_at_the_pace_of_late_stands_beside_the_planned_one(world: World) -> None:
    submit(world.task, 2.0, 1.5, 1.2, 1.0, 0.5, 0.1)
    today = timezone.localdate()
    for per_day, days in ((4, 5), (10, 2)):  # 20 assignments from today, when it was published
        task = tasks.plan_pace(by=world.requester, task=world.task, per_day=per_day)
        found = forecast(task)
        assert (found.planned, found.planned_end) == (per_day, today + days * DAY)
        assert found.end == today + 5 * DAY
    price = price_of(task, version_of(task))
    assert {one.name: one.default for one in price.options("Pay")}["a_day"] == 10


def test_a_closed_or_complete_task_has_no_forecast(world: World) -> None:
    submit(world.task, *[0.5] * 6)
    tasks.move(by=world.requester, task=world.task, to="close")
    assert forecast(world.task).left == 0 and forecast(world.task).end is None


def test_only_requesters_plan_a_pace_and_it_is_logged(world: World) -> None:
    url = reverse("task_pace", args=[world.project.pk, world.task.pk])
    for user, status in ((world.manager, 403), (world.requester, 302)):
        client = Client()
        client.force_login(user)
        assert client.post(url, {"per_day": "60"}).status_code == status
    assert AuditEntry.objects.filter(action="task.pace").latest("pk").detail["per_day"] == 60
    page = client.get(reverse("task", args=[world.project.pk, world.task.pk]))
    assert page.context["task"].planned_per_day == 60
    assert client.post(url, {"per_day": ""}).status_code == 302
    world.task.refresh_from_db()
    assert world.task.planned_per_day is None
    with pytest.raises(Invalid):
        tasks.plan_pace(by=world.requester, task=world.task, per_day=-1)


def version_of(task: Task) -> TaskVersion:
    return Task.objects.get(pk=task.pk).version_or_draft()


def access_of(world: World) -> Access:
    roles = world.project.memberships.filter(user=world.requester).values_list("role", flat=True)
    return Access(world.project, world.requester, frozenset(roles))
