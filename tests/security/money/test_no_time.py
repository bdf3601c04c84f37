"""Work that took no measurable time has no hourly rate, and no page fails over it."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse

from annotation.authoring.selectors.progress import hourly_pay, median_hourly
from annotation.authoring.selectors.tasks import TaskRow
from annotation.models import Assignment
from annotation.payouts.actions import proposals as payouts
from annotation.work.selectors.log import LogSummary
from evaluation.payouts.wage import LEASED, OPENED, worked_time
from tests.support import factories


def _evidence(seconds: float | None, **log: Any) -> Any:
    version = SimpleNamespace(lease_minutes=60)
    assignment = SimpleNamespace(version=version)
    return SimpleNamespace(seconds=seconds, log=LogSummary(**log), assignment=assignment)


@pytest.mark.parametrize("seconds", [None, 0.0, 0.0004, -3.0])
def test_there_is_no_rate_without_time(seconds: float | None) -> None:
    """(7b) What rounds to nothing is no time, wherever the figure comes from."""
    assert worked_time(_evidence(seconds), 300) is None


def test_a_log_or_a_median_of_nothing_is_not_divided_by() -> None:
    """(7b) The next figure that was measured stands in."""
    log = {"events": 2, "seconds_total": 0.0002}
    found = worked_time(_evidence(20, **log), 0.0001)
    assert found is not None
    assert (found.seconds, found.how) == (20, OPENED)
    night = worked_time(_evidence(9 * 3600), 0.0001)
    assert night is not None
    assert (night.how, night.rate(Decimal("12.00"))) == (LEASED, Decimal("12.00"))


@pytest.mark.django_db
@pytest.mark.parametrize("microseconds", [0, 400])
def test_every_page_of_pay_opens_where_work_took_no_time(microseconds: int) -> None:
    """(7b) Overview, task, review, form, proposal and card answer, and say that there is none."""
    world = factories.make_world(2, redundancy=9)
    world.project.hourly_floor = Decimal("12.00")
    world.project.save()
    done = [factories.claim_and_submit(world.task) for _ in range(3)]
    Assignment.objects.filter(pk__in=[one.pk for one in done]).update(
        submitted_at=F("opened_at") + dt.timedelta(microseconds=microseconds)
    )
    batch = payouts.propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid.uuid4(),
        lines=[payouts.ProposedLine(one.pk) for one in done[:2]],
    )
    client = Client()
    client.force_login(world.manager)
    here, task = [world.project.pk], [world.project.pk, world.task.pk]
    pages = [
        reverse("project", args=here),
        reverse("task", args=task),
        reverse("review", args=task),
        reverse("payout_new", args=task),
        reverse("payout", args=[*here, batch.number]),
        reverse("worker_card", args=[*here, done[2].worker_id]),
    ]
    text = {page: client.get(page) for page in pages}
    assert {page: one.status_code for page, one in text.items()} == dict.fromkeys(pages, 200)
    assert "no working time was measured" in text[pages[4]].content.decode()
    assert hourly_pay(world.project) == []
    assert median_hourly(world.project) is None


@pytest.mark.django_db
def test_work_without_time_does_not_lift_the_rate_of_other_work() -> None:
    """(7b) Pay without time is left out of the rate instead of being divided by others' time."""
    world = factories.make_world(2, redundancy=9)
    other = factories.make_task(world.project, 2)
    slow = factories.claim_and_submit(world.task, world.worker)
    none = factories.claim_and_submit(other, world.worker)
    times = {slow.pk: 3600, none.pk: 0}
    for pk, seconds in times.items():
        Assignment.objects.filter(pk=pk).update(
            submitted_at=F("opened_at") + dt.timedelta(seconds=seconds), task=world.task
        )
    [row] = hourly_pay(world.project)
    assert (row.assignments, row.rate) == (1, Decimal("1.80"))


def test_a_task_by_document_without_questions_has_nothing_to_come() -> None:
    """(7b) No questions in its groups: nothing is divided by their number."""
    row = TaskRow.__new__(TaskRow)
    settings = {"layout": "document", "one_document": True}
    version = SimpleNamespace(items_per_assignment=5, settings=settings)
    values = {"pending": 0, "questions": 0, "version": version}
    values["progress"] = SimpleNamespace(documents=0)
    for name, value in values.items():
        object.__setattr__(row, name, value)
    assert row.outstanding == 0
