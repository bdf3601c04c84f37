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
from django.utils import timezone

from annotation.accounts.projects.actions import take_back_worker
from annotation.models import Assignment, AuditEntry, PayoutBatch, Project, Rejection
from annotation.payouts.actions.payments import mark_sent
from annotation.payouts.actions.proposals import (
    ProposedLine,
    approve_payout,
    count_rejections,
    propose_payout,
    total,
)
from annotation.payouts.actions.rejections import reply_to_rejection
from annotation.payouts.details.actions import clean_details, save_details
from annotation.payouts.selectors.balance import hand_payments
from crowdqc.errors import Conflict
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
    return approve_payout(
        by=world.manager,
        batch=batch,
        expected_total=total(batch),
        rejections=count_rejections(batch),
    )


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


def remove(world: World, **more: str) -> Any:
    client = Client()
    client.force_login(world.requester)
    work = Assignment.objects.values_list("worker", flat=True)
    sent = {"do": "remove", "pick": ",".join(str(pk) for pk in set(work)), **more}
    return client.post(reverse("people", args=[world.project.pk]), sent)


def test_a_removed_worker_is_found_with_what_they_are_owed_and_taken_back(world: World) -> None:
    owed = factories.claim_and_submit(world.task)
    decide(world, owed)
    factories.claim_and_submit(world.task)
    [paid_later, reviewed_later] = remove(world).context["effects"]
    assert "€1.80" in paid_later and "1 assignment" in reviewed_later and "€1.80" in reviewed_later
    remove(world, confirmed="1")
    world.project.memberships.filter(role="worker").update(removed_at=timezone.now())
    assert owed.worker_id not in shown(world.project)
    row = shown(world.project, members="removed")[owed.worker_id]
    assert (row.unpaid, row.waiting) == (Decimal("1.80"), 0)
    client = Client()
    client.force_login(world.requester)
    search = client.get(
        reverse("project_search", args=[world.project.pk]), {"q": owed.worker.pseudonym}
    )
    [hit] = [hit for group in search.context["found"] for hit in group.hits]
    assert hit[1].startswith("removed")
    card = client.get(reverse("worker_card", args=[world.project.pk, owed.worker_id]))
    assert b"take_back" in card.content
    back = {"do": "take_back", "pick": owed.worker_id, "confirmed": "1"}
    client.post(reverse("people", args=[world.project.pk]) + "?members=removed", back)
    assert owed.worker_id in shown(world.project)
    assert AuditEntry.objects.filter(action="member.take_back", actor=world.requester).exists()
    factories.claim(factories.make_task(world.project, 1), owed.worker)


def test_who_is_being_erased_is_not_taken_back(world: World) -> None:
    world.worker.removed_at = world.worker.erase_asked_at = timezone.now()
    world.worker.save()
    with pytest.raises(Conflict):
        take_back_worker(by=world.requester, worker=world.worker)


def test_work_that_waits_and_pay_that_is_owed_are_two_columns(world: World) -> None:
    worker = factories.claim_and_submit(world.task).worker
    row = shown(world.project)[worker.pk]
    assert (row.waiting, row.waiting_n, row.unpaid) == (Decimal("1.80"), 1, 0)
    assert set(shown(world.project, work="waiting")) == {worker.pk}
    decide(world, Assignment.objects.get(worker=worker))
    row = shown(world.project)[worker.pk]
    assert (row.waiting, row.waiting_n, row.unpaid) == (0, 0, Decimal("1.80"))


def test_times_are_told_against_the_median_of_their_task(world: World) -> None:
    long_task = factories.make_task(world.project, 1, redundancy=40)
    fast, slow = factories.make_worker(world.project), factories.make_worker(world.project)
    for task, usual, one, other in ((world.task, 1, fast, slow), (long_task, 10, slow, fast)):
        for _ in range(5):
            factories.took(factories.claim_and_submit(task), minutes=usual)
        factories.took(factories.claim_and_submit(task, one), minutes=usual / 2)
        if task == long_task:
            factories.took(factories.claim_and_submit(task, other), minutes=usual / 4)
    rows = shown(world.project)
    # Minutes alone would put the one who only had the short task first.
    assert rows[fast.pk].pace == pytest.approx((0.5 + 0.25) / 2)
    assert rows[slow.pk].pace == pytest.approx(0.5)
    few = factories.make_task(world.project, 1, redundancy=40)
    alone = factories.took(factories.claim_and_submit(few), minutes=1)
    assert shown(world.project)[alone.worker_id].pace is None


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


def test_one_click_above_the_list_finds_who_has_an_open_flag(world: World) -> None:
    usual = [factories.took(factories.claim_and_submit(world.task), minutes=5) for _ in range(5)]
    fast = factories.took(factories.claim_and_submit(world.task), minutes=0.05)
    assert usual and set(shown(world.project, evidence="flagged")) == {fast.worker_id}
    client = Client()
    client.force_login(world.requester)
    url = reverse("people", args=[world.project.pk])
    tabs = client.get(url, {"evidence": "flagged", "panel": "", "work": ""}).context["list"].tabs
    assert [tab["url"] for tab in tabs if tab["current"]] == ["?evidence=flagged"]
    assert [tab["url"] for tab in tabs][-1] == "?work=unpaid"
