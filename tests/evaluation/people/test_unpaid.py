"""The card says of every unpaid assignment, in one line, why it is not paid."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, PayoutBatch, Rejection
from annotation.models.decisions import with_decision
from annotation.payouts.actions.payments import mark_sent
from annotation.payouts.actions.proposals import (
    ProposedLine,
    approve_payout,
    count_rejections,
    propose_payout,
    total,
)
from annotation.payouts.actions.rejections import decide_reply, reply_to_rejection
from annotation.payouts.details.actions import clean_details, save_details
from annotation.payouts.selectors.balance import hand_payments
from annotation.payouts.selectors.unpaid import unpaid_reasons
from tests.support import factories
from tests.support.factories import REJECTION, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=40)


def propose(world: World, one: Assignment, **line: Any) -> PayoutBatch:
    lines = [ProposedLine(one.pk, **line)]
    return propose_payout(by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines)


def approve(world: World, batch: PayoutBatch, **how: Any) -> None:
    expected = how.pop("expected_total", total(batch))
    if "line_ids" not in how:
        how["rejections"] = count_rejections(batch)
    approve_payout(by=world.manager, batch=batch, expected_total=expected, **how)


def reason(one: Assignment) -> Any:
    [row] = with_decision(Assignment.objects.filter(pk=one.pk))
    return unpaid_reasons([row], one.task.project_id).get(one.pk)


def test_each_step_to_the_payment_is_named_with_its_page(world: World) -> None:
    one = factories.claim_and_submit(world.task)
    project = [world.project.pk]
    assert reason(one).url == reverse("review", args=[*project, world.task.pk])
    batch = propose(world, one)
    assert reason(one).url == reverse("payout", args=[*project, batch.number])
    assert str(world.requester) in reason(one).text
    approve(world, batch)
    by_hand = reverse("payment_by_hand", args=project)
    without = reason(one)
    assert without.url == by_hand
    details = clean_details(way="paypal", name="", reference="a@example.org")
    save_details(by=one.worker.user, worker=one.worker, details=details)
    assert reason(one).url == by_hand and "PayPal" in reason(one).text
    assert reason(one).text != without.text
    mark_sent(by=world.manager, payments=hand_payments(world.project, batch.number))
    assert reason(one) is None


def test_a_rejection_is_told_with_reason_decider_and_reply(world: World) -> None:
    one = factories.claim_and_submit(world.task)
    approve(world, propose(world, one, decision="reject", reason_code="other", reason=REJECTION))
    rejection = Rejection.objects.get()
    told = reason(one)
    assert REJECTION[:60] in told.text and str(world.manager) in told.text
    assert told.url.endswith(f"#rejection-{rejection.pk}")
    reply_to_rejection(by=one.worker.user, rejection=rejection, text="I answered all of it.")
    assert reason(one).text != told.text
    client = Client()
    client.force_login(world.manager)
    card = reverse("worker_card", args=[world.project.pk, one.worker_id])
    page = client.get(card).content.decode()
    assert "1 assignment rejected" in page and "I answered all of it." in page
    assert str(world.manager) in page and told.text[:40] in page
    decide_reply(by=world.manager, rejection=rejection, overturn=True, note="You are right.")
    assert reason(one).url == reverse("review", args=[world.project.pk, world.task.pk])


def test_work_that_was_left_out_or_sent_back_names_the_proposal(world: World) -> None:
    one, two = (factories.claim_and_submit(world.task) for _ in range(2))
    lines = [ProposedLine(one.pk), ProposedLine(two.pk)]
    batch = propose_payout(by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines)
    line = batch.lines.get(assignment=one)
    approve(world, batch, expected_total=line.base, line_ids=[line.pk])
    assert str(batch.number) in reason(two).text and str(world.manager) in reason(two).text
