"""A worker is told of every decision about their work and pay, and may mute all but a rejection."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, LedgerEntry, Notice, Payment
from annotation.notifications.actions import notices
from annotation.payouts.actions import ledger as books
from annotation.payouts.actions import payments, rejections
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from annotation.work.actions import answers, exclusions
from crowdqc.errors import Invalid
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return factories.make_world(2, redundancy=9)


def told(world: World) -> list[tuple[str, str]]:
    rows = Notice.objects.filter(user=world.worker.user).order_by("pk")
    return [(one.kind, one.text) for one in rows]


def pay(world: World, *lines: ProposedLine) -> None:
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines
    )
    total = sum(
        (
            (line.base if line.base is not None else Decimal("1.80")) + line.bonus
            for line in lines
            if line.decision != "reject"
        ),
        Decimal(0),
    )
    payouts.approve_payout(
        by=world.manager,
        batch=batch,
        expected_total=total,
        rejections=payouts.count_rejections(batch),
    )


@pytest.fixture
def done(world: World) -> Assignment:
    return factories.claim_and_submit(world.task, world.worker)


def test_an_approval_with_its_bonus_and_the_payment_are_told_with_the_way_there(
    world: World, done: Assignment
) -> None:
    pay(world, ProposedLine(done.pk, bonus=Decimal("0.50"), bonus_note="All of it was right."))
    approved, asked = told(world)
    assert approved == (
        "work.approved",
        "1 assignment in Birds was approved: €2.30. This includes a bonus of €0.50.",
    )
    assert asked[0] == "payment.details_missing"
    Notice.objects.filter(kind="payment.details_missing").delete()
    payments.mark_sent(by=world.manager, payments=Payment.objects.all())
    assert [kind for kind, _ in told(world)] == ["work.approved", *["payment.done"] * 2]
    client = Client()
    client.force_login(world.worker.user)
    for notice in Notice.objects.filter(user=world.worker.user):
        there = client.get(reverse("notice", args=[notice.pk]))
        assert there.url == reverse("work_earnings") + "#approved"
        assert 'id="approved"' in client.get(there.url).content.decode()


def test_a_rejection_and_that_it_was_overturned_are_told(world: World, done: Assignment) -> None:
    reject = ProposedLine(
        done.pk, decision="reject", reason_code="other", reason=factories.REJECTION
    )
    pay(world, reject)
    rejections.decide_reply(
        by=world.manager, rejection=done.rejection, overturn=True, note="We read it again."
    )
    assert [kind for kind, _ in told(world)] == ["rejection", "rejection.decided"]


def test_what_does_not_count_and_what_is_left_out_are_told_and_pay_is_said_to_be_apart(
    world: World, done: Assignment
) -> None:
    for answer in done.answers.all():
        answers.set_counts(by=world.manager, answer=answer, counts=False, reason="Copied.")
    left_out = exclusions.exclude(
        by=world.manager, task=world.task, worker=world.worker, reason="A pasted text."
    )
    exclusions.undo(by=world.manager, exclusion=left_out)
    kinds = [kind for kind, _ in told(world)]
    assert kinds == ["work.uncounted", "work.excluded", "work.excluded"]  # two answers, one notice
    assert "Pay is decided separately" in told(world)[0][1]
    assert "do" not in told(world)[2][1].split() and "again" in told(world)[2][1]
    assert not any("pasted" in text.lower() for _, text in told(world))


def test_a_correction_of_what_they_are_owed_is_told(world: World, done: Assignment) -> None:
    pay(world, ProposedLine(done.pk))
    owed, cost = books.payable_account(world.worker.pk), books.work(world.task.pk)
    for debit, credit in ((cost, owed), (owed, cost)):
        books.book_correction(
            by=world.manager,
            task=world.task,
            debit=debit,
            credit=credit,
            amount=Decimal("0.20"),
            memo="A slip in the amount.",
            key=uuid.uuid4(),
        )
    assert LedgerEntry.objects.filter(kind="correction").count() == 2
    texts = [text for kind, text in told(world) if kind == "pay.corrected"]
    assert texts == [
        "A correction in Birds adds €0.20 to what you are owed.",
        "A correction in Birds takes €0.20 from what you are owed.",
    ]


def test_any_notice_can_be_switched_off_but_a_rejection_cannot(
    world: World, done: Assignment
) -> None:
    client = Client()
    client.force_login(world.worker.user)
    page = client.get(reverse("account")).content.decode()
    assert 'name="kind" value="work.approved" checked' in page
    assert 'name="kind" value="rejection" checked disabled' in page
    assert "payout.waits" not in page  # what managers get is none of theirs
    client.post(reverse("notice_kinds"), {"kind": ["payment.done"]})
    world.worker.user.refresh_from_db()
    assert "work.approved" in world.worker.user.muted
    assert not {"payment.done", "rejection", "payout.waits"} & set(world.worker.user.muted)
    pay(world, ProposedLine(done.pk))
    assert told(world) == []
    second = factories.claim_and_submit(
        factories.make_task(world.project, 1, redundancy=3), world.worker
    )
    world_of_second = World(**{**world.__dict__, "task": second.task})
    reason = factories.REJECTION
    pay(
        world_of_second,
        ProposedLine(second.pk, decision="reject", reason_code="other", reason=reason),
    )
    assert [kind for kind, _ in told(world)] == ["rejection"]
    with pytest.raises(Invalid, match="cannot be switched off"):
        notices.set_muted(by=world.worker.user, kinds=["rejection"])
    client.post(reverse("notice_kinds"), {"kind": ["payment.done", "work.approved"]})
    world.worker.user.refresh_from_db()
    assert "work.approved" not in world.worker.user.muted
