"""What a rejection does to the answers: left out, collected again, and taken back by an appeal."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, Assignment, AssignmentItem, Membership, PayoutLine, Rejection
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from annotation.work.actions import exclusions
from crowdqc.errors import Invalid
from tests.support import factories
from tests.support.factories import World

pytestmark = [pytest.mark.django_db, pytest.mark.db]
REDUNDANCY = 2


@pytest.fixture
def world() -> World:
    return factories.make_world(redundancy=REDUNDANCY)


def reject(world: World, *done: Assignment, leave_out: bool, collect_again: bool) -> None:
    lines = [
        ProposedLine(
            one.pk,
            "reject",
            reason_code="not_own",
            reason=factories.REJECTION,
            leave_out=leave_out,
            collect_again=collect_again,
        )
        for one in done
    ]
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines
    )
    assert counting(*done) == 4 * len(done)  # a proposal alone changes nothing
    payouts.approve_payout(
        by=world.manager,
        batch=batch,
        expected_total=Decimal(0),
        rejections=payouts.count_rejections(batch),
    )


def overturn(world: World, done: Assignment) -> None:
    rejection = Rejection.objects.get(assignment=done)
    payouts.decide_reply(by=world.manager, rejection=rejection, overturn=True, note="You did.")


def counting(*done: Assignment) -> int:
    return Answer.objects.filter(assignment__in=done, counts=True).count()


def held(world: World) -> list[int]:
    """Slots held of each item, which are those that the entries hold."""
    found = list(world.task.items.order_by("pk").values_list("held", flat=True))
    for item, slots in zip(world.task.items.order_by("pk"), found, strict=True):
        assert AssignmentItem.objects.filter(item=item, holds=True).count() == slots
    return found


@pytest.mark.parametrize(
    ("leave_out", "collect_again", "left", "slots"),
    [(False, False, 4, 2), (True, False, 0, 2), (True, True, 0, 1)],
)
def test_a_rejection_leaves_answers_out_and_opens_their_places_as_it_says(
    world: World, leave_out: bool, collect_again: bool, left: int, slots: int
) -> None:
    done, other = (factories.claim_and_submit(world.task) for _ in range(2))
    reject(world, done, leave_out=leave_out, collect_again=collect_again)
    assert (counting(done), counting(other), held(world)) == (left, 4, [slots] * 4)
    overturn(world, done)
    assert (counting(done), counting(other), held(world)) == (4, 4, [2] * 4)


def test_two_rejections_of_one_item_reopen_exactly_the_redundancy(world: World) -> None:
    done = [factories.claim_and_submit(world.task) for _ in range(REDUNDANCY)]
    world.task.items.filter(pk=done[0].entries.first().item_id).update(redundancy=3)
    extra = factories.make_worker(world.project)
    item = done[0].entries.first().item
    late = Answer.objects.create(  # an import brought it a third answer, beyond the plan
        item=item,
        version=world.task.current,
        worker=extra,
        assignment=Assignment.objects.create(
            task=world.task,
            version=world.task.current,
            worker=extra,
            state="submitted",
            source="import",
            pay=0,
            leased_at=done[0].leased_at,
            expires_at=done[0].expires_at,
            submitted_at=done[0].submitted_at,
        ),
        answered_at=done[0].submitted_at,
    )
    AssignmentItem.objects.create(assignment=late.assignment, item=item, position=0, holds=True)
    world.task.items.filter(pk=item.pk).update(held=3)
    reject(world, *done, leave_out=True, collect_again=True)
    assert sorted(held(world)) == [0, 0, 0, 2]  # 1 of 2 is left there: one of 3 slots is open


def test_an_appeal_won_counts_beside_whoever_took_the_place(world: World) -> None:
    done, _other = (factories.claim_and_submit(world.task) for _ in range(2))
    reject(world, done, leave_out=True, collect_again=True)
    third = factories.claim_and_submit(world.task)
    overturn(world, done)
    assert (counting(done, third), held(world)) == (8, [2] * 4)


def test_rejected_and_removed_answers_count_again_only_once_both_are_taken_back(
    world: World,
) -> None:
    for rejected_first in (True, False):
        done = factories.claim_and_submit(world.task)
        worker: Membership = done.worker
        taken = {
            "task": world.task,
            "worker": worker,
            "reason": factories.REJECTION,
            "collect_again": True,
        }
        if rejected_first:
            reject(world, done, leave_out=True, collect_again=True)
        made = exclusions.exclude(by=world.requester, **taken)
        if not rejected_first:
            batch = payouts.propose_payout(
                by=world.requester,
                task=world.task,
                key=uuid.uuid4(),
                lines=[
                    ProposedLine(
                        done.pk,
                        "reject",
                        reason_code="not_own",
                        reason=factories.REJECTION,
                        leave_out=True,
                    )
                ],
            )
            payouts.approve_payout(
                by=world.manager, batch=batch, expected_total=Decimal(0), rejections=1
            )
        assert counting(done) == 0
        if rejected_first:
            overturn(world, done)
            assert counting(done) == 0
            exclusions.undo(by=world.requester, exclusion=made)
        else:
            exclusions.undo(by=world.requester, exclusion=made)
            assert counting(done) == 0
            overturn(world, done)
        assert counting(done) == 4


def test_answers_that_go_on_counting_are_not_collected_again(world: World) -> None:
    done = factories.claim_and_submit(world.task)
    with pytest.raises(Invalid) as refused:
        reject(world, done, leave_out=False, collect_again=True)
    assert set(refused.value.fields) == {"collect_again"}
    assert not PayoutLine.objects.exists()


def test_the_task_page_names_rejected_work_that_is_left_out(world: World) -> None:
    done, kept = (factories.claim_and_submit(world.task) for _ in range(2))
    client = Client()
    client.force_login(world.requester)
    url = reverse("task", args=[world.project.pk, world.task.pk])

    def left_out() -> str:
        page = client.get(url).content.decode()
        return page.partition("<b>Left out of results</b>")[2].partition("</summary>")[0]

    assert "nobody" not in left_out() and "rejected" not in left_out()
    reject(world, done, leave_out=True, collect_again=False)
    reject(world, kept, leave_out=False, collect_again=False)
    assert "1 rejected assignment<" in left_out()
    overturn(world, done)
    assert "rejected" not in left_out()
