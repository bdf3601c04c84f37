"""The window of a rejection: who may reply until when, and who owes an answer."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.accounts.projects import actions as people
from annotation.models import LedgerEntry, Payment, Rejection
from annotation.payouts.actions import payments, rejections
from annotation.payouts.actions.proposals import ProposedLine
from annotation.payouts.selectors.balance import hand_payments
from crowdqc.errors import Conflict
from tests.annotation.payouts.test_books import approved, done, told
from tests.support import factories
from tests.support.factories import REJECTION, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return factories.make_world(n=1, redundancy=9)


def reject(world: World) -> Rejection:
    [one] = done(world, 1)
    approved(world, ProposedLine(one.pk, "reject", reason_code="other", reason=REJECTION))
    return Rejection.objects.get(assignment=one)


def test_a_reply_has_its_window_and_is_owed_an_answer(world: World) -> None:
    rejection = reject(world)
    worker = rejection.assignment.worker.user
    assert rejection.reply_until is not None
    assert (rejection.reply_until - rejection.rejected_at).days == world.project.reply_days
    assert told(worker) == ["rejection"]
    rejections.reply_to_rejection(by=worker, rejection=rejection, text="Please read it again.")
    rejection.refresh_from_db()
    assert rejection.answer_by is not None and rejection.replied_at is not None
    assert (rejection.answer_by - rejection.replied_at).days == world.project.answer_days
    assert told(world.manager)[-1] == "rejection.replied"
    rejections.decide_reply(by=world.manager, rejection=rejection, overturn=False, note="Read.")
    assert told(worker) == ["rejection", "rejection.decided"]


def test_who_was_removed_still_sees_a_rejection_and_replies_once(world: World) -> None:
    rejection = reject(world)
    people.remove_member(by=world.requester, member=rejection.assignment.worker)
    client = Client()
    client.force_login(rejection.assignment.worker.user)
    assert REJECTION[:40] in client.get(reverse("work_earnings")).content.decode()
    client.post(
        reverse("work_rejection_reply", args=[rejection.pk]), {"reply": "Please read it again."}
    )
    rejection.refresh_from_db()
    assert rejection.reply == "Please read it again."


def test_after_the_window_a_reply_is_refused_kindly_and_may_still_be_overturned(
    world: World,
) -> None:
    rejection = reject(world)
    rejection.reply_until = timezone.now() - dt.timedelta(minutes=1)
    rejection.save()
    client, worker = Client(), rejection.assignment.worker.user
    client.force_login(worker)
    assert "Replies were open until" in client.get(reverse("work_earnings")).content.decode()
    with pytest.raises(Conflict, match="a manager may still take the rejection back"):
        rejections.reply_to_rejection(by=worker, rejection=rejection, text="Too late?")
    rejections.decide_reply(by=world.manager, rejection=rejection, overturn=True, note="Ours.")
    approved(world, ProposedLine(rejection.assignment_id))
    assert LedgerEntry.objects.get().amount == Decimal("1.80")


def test_an_overdue_answer_is_named_everywhere_until_it_is_given(world: World) -> None:
    rejection = reject(world)
    rejections.reply_to_rejection(
        by=rejection.assignment.worker.user, rejection=rejection, text="Please read it again."
    )
    Rejection.objects.update(answer_by=timezone.now() - dt.timedelta(hours=2))
    assert [rejections.remind_overdue() for _ in range(2)] == [1, 1]
    assert told(world.manager).count("rejection.overdue") == 1  # once a day
    Rejection.objects.update(answer_by=timezone.now() - dt.timedelta(days=1, hours=2))
    rejections.remind_overdue()
    assert told(world.manager).count("rejection.overdue") == 2
    client = Client()
    client.force_login(world.manager)
    for name, says in (
        ("project", "past the day on which an answer was owed"),
        ("payout_list", "overdue"),
        ("rejection_list", "Answer overdue"),
    ):
        assert says in client.get(reverse(name, args=[world.project.pk])).content.decode()
    client.force_login(rejection.assignment.worker.user)
    assert "An answer was owed by" in client.get(reverse("work_earnings")).content.decode()
    rejections.decide_reply(by=world.manager, rejection=rejection, overturn=False, note="It is so.")
    assert rejections.remind_overdue() == 0


def test_approved_pay_that_waits_two_weeks_is_named_once_a_week(world: World) -> None:
    [one] = done(world, 1)
    approved(world, ProposedLine(one.pk))
    assert payments.remind_of_late() == 0
    Payment.objects.update(created_at=timezone.now() - dt.timedelta(days=15))
    assert [payments.remind_of_late() for _ in range(2)] == [1, 1]
    assert told(world.manager).count("payment.late") == 1
    assert "1.80" in world.manager.notices.get(kind="payment.late").text
    payments.mark_sent(by=world.manager, payments=hand_payments(world.project))
    assert payments.remind_of_late() == 0
