"""The list of people shows quality, flags, look-alikes and pay, and filters by them."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Assignment, PayoutBatch, Project, Rejection
from annotation.payouts.actions.payments import mark_sent
from annotation.payouts.actions.proposals import ProposedLine, approve_payout, propose_payout, total
from annotation.payouts.actions.rejections import reply_to_rejection
from annotation.payouts.details.actions import clean_details, save_details
from annotation.payouts.selectors.balance import hand_payments
from evaluation.people.selectors.evidence import WorkerEvidence
from tests.evaluation.labels.test_look_alikes import copied_task
from tests.evaluation.labels.test_runs import scored
from tests.support import factories
from tests.support.factories import REJECTION, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=40)


def shown(project: Project, **query: str) -> dict[int, Any]:
    client = Client()
    client.force_login(project.owner)
    page = client.get(reverse("people", args=[project.pk]), query)
    return {pk: row for pk, _, row in page.context["list"].rows}


def decide(world: World, one: Assignment, **line: Any) -> PayoutBatch:
    lines = [ProposedLine(one.pk, **line)]
    batch = propose_payout(by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines)
    return approve_payout(by=world.manager, batch=batch, expected_total=total(batch))


def test_copies_and_people_below_the_median_are_found_by_filter() -> None:
    task, copies = copied_task()
    scored(task)
    found = shown(task.project, evidence="alike")
    assert set(found) == set(copies)
    [like] = found[copies[0]].summary.alike
    assert like.worker == copies[1] and "80" in like.evidence and "100%" in like.evidence
    everybody = shown(task.project)
    below = {pk for pk, row in everybody.items() if row.summary.below}
    assert set(shown(task.project, evidence="below")) == below
    assert all(row.summary.boards <= 1 for row in everybody.values())
    assert set(shown(task.project, evidence="look")) == below | set(copies)


def test_one_payment_reference_of_two_accounts_is_a_likeness(world: World) -> None:
    one, two, three = (factories.claim_and_submit(world.task) for _ in range(3))
    for work, reference in ((one, "A@example.org"), (two, "a@example.org"), (three, "b@x.org")):
        details = clean_details(way="paypal", name="", reference=reference)
        save_details(by=work.worker.user, worker=work.worker, details=details)
    alike = WorkerEvidence(world.project).alike
    assert set(alike) == {one.worker_id, two.worker_id}
    assert alike[one.worker_id][0].name == two.worker.pseudonym
    assert "example" not in alike[one.worker_id][0].evidence


def test_pay_and_replies_stand_on_the_row(world: World) -> None:
    paid, owed, refused = (factories.claim_and_submit(world.task) for _ in range(3))
    batch = decide(world, paid)
    mark_sent(by=world.manager, payments=hand_payments(world.project, batch.number))
    decide(world, owed)
    decide(world, refused, decision="reject", reason_code="other", reason=REJECTION)
    rows = shown(world.project)
    assert (rows[paid.worker_id].paid, rows[paid.worker_id].unpaid) == (Decimal("1.80"), 0)
    assert (rows[owed.worker_id].paid, rows[owed.worker_id].unpaid) == (0, Decimal("1.80"))
    assert set(shown(world.project, work="unpaid")) == {owed.worker_id}
    assert not shown(world.project, evidence="look")
    reply_to_rejection(by=refused.worker.user, rejection=Rejection.objects.get(), text="I did.")
    assert set(shown(world.project, evidence="look")) == {refused.worker_id}


def test_flags_are_of_work_that_awaits_review(world: World) -> None:
    for _ in range(5):
        factories.took(factories.claim_and_submit(world.task), minutes=10)
    quick = factories.took(factories.claim_and_submit(world.task), minutes=1)
    assert shown(world.project)[quick.worker_id].summary.flags == ("Time 1",)
    decide(world, quick)
    assert shown(world.project)[quick.worker_id].summary.flags == ()


def test_the_list_asks_as_much_of_the_database_for_many_as_for_few(world: World) -> None:
    counts = []
    for n in (2, 6):
        for _ in range(n):
            factories.claim_and_submit(world.task)
        with CaptureQueriesContext(connection) as queries:
            shown(world.project)
        counts.append(len(queries))
    assert counts[0] == counts[1]
