"""What holds a payout up is named with the way out."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse

from annotation.models import Membership, PayoutBatch, Role
from annotation.payouts.actions.ledger import book_correction
from annotation.payouts.actions.proposals import ProposedLine, propose_payout
from annotation.payouts.corrections.selectors import waiting_corrections
from annotation.payouts.details.actions import clean_details, save_details
from evaluation.payouts.selectors.proposals import payout_page
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=40)


def propose(world: World, *works: Any) -> PayoutBatch:
    lines = [ProposedLine(one.pk) for one in works]
    return propose_payout(by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines)


def check_links(batch: PayoutBatch, viewer: Any) -> list[str]:
    [check] = [one for one in payout_page(batch, viewer).checks if one.mark == "bad"]
    return [url for url, _ in check.links]


def test_a_proposal_that_nobody_can_approve_links_to_an_invitation_and_the_settings(
    world: World,
) -> None:
    batch = propose(world, factories.claim_and_submit(world.task))
    Membership.objects.filter(project=world.project, role=Role.MANAGER).delete()
    project = world.project
    invite = reverse("people", args=[project.pk]) + "#invitations"
    settings = reverse("project_settings", args=[project.pk]) + "#field-single_approval"
    assert check_links(batch, project.owner) == [invite, settings]
    other = factories.make_member(project, Role.REQUESTER).user
    assert check_links(batch, other) == []  # who can see to neither is sent nowhere


def test_a_correction_that_nobody_can_approve_says_so_to_its_proposer(world: World) -> None:
    world.project.correction_limit = 0
    world.project.save()
    done = factories.claim_and_submit(world.task)
    book_correction(
        by=world.manager, task=world.task, debit=f"work:{world.task.pk}",
        credit=f"worker:{done.worker_id}", amount=Decimal("2.00"),
        memo="An hour that was not counted", key=uuid.uuid4(),
    )  # fmt: skip
    [row] = waiting_corrections(world.project, world.manager)
    assert row.own and row.stuck
    factories.make_member(world.project)
    [row] = waiting_corrections(world.project, world.manager)
    assert not row.stuck


def test_people_without_payment_details_are_counted_before_approving(world: World) -> None:
    one, two = (factories.claim_and_submit(world.task) for _ in range(2))
    details = clean_details(way="paypal", name="", reference="a@example.org")
    save_details(by=one.worker.user, worker=one.worker, details=details)
    batch = propose(world, one, two)
    found = [check.text for check in payout_page(batch, world.manager).checks]
    assert any(text.startswith("1 worker") and "€1.80" in text for text in found)
    save_details(by=two.worker.user, worker=two.worker, details=details)
    found = [check.text for check in payout_page(batch, world.manager).checks]
    assert not any("€1.80" in text and "worker" in text for text in found)
