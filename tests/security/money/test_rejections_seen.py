"""Nobody rejects work that they did not see: approving names how many rejections were seen."""

from __future__ import annotations

from decimal import Decimal
from uuid import uuid4

import pytest

from annotation.models import PayoutBatch, Rejection
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.many import approve_proposals
from tests.security.money.people import JSON, browser, program
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db
REASON = (
    "The same sentence stands in every one of the answers, and it is about none of the questions. "
    * 2
)


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=40)


@pytest.fixture
def batch(world: World) -> PayoutBatch:
    """1.80 to be paid, and a line that was held when the approver looked and is rejected since."""
    paid, held = (factories.claim_and_submit(world.task) for _ in range(2))
    lines = [payouts.ProposedLine(paid.pk), payouts.ProposedLine(held.pk, decision="hold")]
    found = payouts.propose_payout(by=world.requester, task=world.task, key=uuid4(), lines=lines)
    payouts.reject_held_lines(
        by=world.requester,
        lines=[found.lines.get(decision="hold")],
        reason_code=next(iter(payouts.REASONS)),
        reason=REASON,
    )
    return found


@pytest.mark.parametrize("named", [False, True], ids=["all lines", "lines by name"])
def test_a_program_that_saw_no_rejection_rejects_nobody(
    world: World, batch: PayoutBatch, named: bool
) -> None:
    client = program(world.manager, "read", "pay")
    body: dict[str, object] = {"total": str(payouts.total(batch))}
    if named:
        body["lines"] = list(batch.lines.values_list("pk", flat=True))
    url = f"/api/projects/{world.project.pk}/payouts/{batch.number}/approve/"

    def send() -> int:
        key = {"Idempotency-Key": str(uuid4())}
        return client.post(url, body, content_type=JSON, headers=key).status_code

    assert send() == 409
    assert not Rejection.objects.exists() and payouts.total(batch) > 0
    body["rejections"] = 1
    assert send() == 200
    assert Rejection.objects.count() == 1


def test_a_page_that_was_loaded_before_pays_its_lines_and_rejects_nobody(
    world: World, batch: PayoutBatch
) -> None:
    paid = batch.lines.get(decision="approve")
    url = f"/projects/{world.project.pk}/payouts/{batch.number}/approve/"
    sent = {"expected_total": "1.80", "pay": [one.pk for one in batch.lines.all()]}
    assert browser(world.manager).post(url, sent).status_code == 409
    sent["pay"] = [paid.pk]
    assert browser(world.manager).post(url, sent).status_code == 302
    assert not Rejection.objects.exists()
    batch.refresh_from_db()
    assert batch.state == "approved"


def test_proposals_that_reject_are_not_approved_in_bulk(world: World, batch: PayoutBatch) -> None:
    seen = {batch.pk: Decimal("1.80")}
    left = approve_proposals(by=world.manager, project=world.project, batches=[batch], seen=seen)
    assert batch.pk in left and not Rejection.objects.exists()
