"""What holds a payout up is named with the way out."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Membership, PayoutBatch, Role
from annotation.payouts.actions.ledger import book_correction
from annotation.payouts.actions.proposals import ProposedLine, propose_payout
from annotation.payouts.corrections.selectors import waiting_corrections
from annotation.payouts.details.actions import clean_details, save_details
from annotation.payouts.selectors.next_steps import ways_out
from evaluation.payouts.selectors.proposals import payout_page
from tests.support import factories
from tests.support.factories import World
from tests.support.servers import prolific

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=40)


def propose(world: World, *works: Any) -> PayoutBatch:
    lines = [ProposedLine(one.pk) for one in works]
    return propose_payout(by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines)


def check_links(batch: PayoutBatch, viewer: Any) -> list[str]:
    return [url for url, _ in ways_out(batch.project, batch.proposed_by, viewer)]


def test_a_proposal_that_nobody_can_approve_links_only_to_what_helps(
    world: World,
) -> None:
    batch = propose(world, factories.claim_and_submit(world.task))
    Membership.objects.filter(project=world.project, role=Role.MANAGER).delete()
    project = world.project
    people = reverse("people", args=[project.pk])
    invite = f"{people}?invite=manager#invite"
    settings = reverse("project_settings", args=[project.pk]) + "#field-single_approval"
    # Whoever the proposer lets in is no second person, and nobody is there to confirm them.
    assert check_links(batch, project.owner) == [settings]
    client = Client()
    client.force_login(project.owner)
    form = client.get(invite).context["form"]
    assert form["role"].value() == "manager"
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


def ways(batch: PayoutBatch, viewer: Any) -> dict[str, str]:
    """Texts of the checks that name an amount, with their marks."""
    return {
        check.text: check.mark
        for check in payout_page(batch, viewer).checks
        if "€" in check.text and ("person" in check.text or "people" in check.text)
    }


def test_each_way_of_payment_is_named_with_its_people_before_approving(world: World) -> None:
    one, two = (factories.claim_and_submit(world.task) for _ in range(2))
    details = clean_details(way="paypal", name="", reference="a@example.org")
    save_details(by=one.worker.user, worker=one.worker, details=details)
    with_api = prolific.make_recruitment(
        world.task, api_url="https://api.example.org", token_sealed=b"sealed"
    )
    by_hand = prolific.make_recruitment(world.task, name="Study 2", study_id="s2")
    [sent], [listed] = (prolific.make_visited(way, n=1) for way in (with_api, by_hand))
    works = [one, two, sent.assignment, listed.assignment]
    batch = propose(world, *works)
    assert ways(batch, world.manager) == {
        "Prolific: 1 person, €1.80": "done",
        "Prolific, by hand: 1 person, €1.80": "waiting",
        "PayPal: 1 person, €1.80": "waiting",
        "No payment details: 1 person, €1.80": "warn",
    }
    save_details(by=two.worker.user, worker=two.worker, details=details)
    assert ways(batch, world.manager)["PayPal: 2 people, €3.60"] == "waiting"
