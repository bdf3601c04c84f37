"""Paying: two people, the amounts they saw, and what a rejection leaves open."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pytest

from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.selectors.builder.publishing import Publishing
from annotation.authoring.selectors.progress import progress_of
from annotation.authoring.selectors.tasks import task_row
from annotation.models import (
    Assignment,
    AuditEntry,
    LedgerEntry,
    Membership,
    PayoutBatch,
    PayoutLine,
    Rejection,
    Role,
    User,
)
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from crowdqc.errors import Conflict, Invalid, NotAllowed
from tests.support import factories
from tests.support.factories import World

pytestmark = [pytest.mark.django_db, pytest.mark.db]
REASON = factories.REJECTION
LESS = "Two of the four answers are missing."
PAY = Decimal("1.80")


@pytest.fixture
def world() -> World:
    return factories.make_world(redundancy=9)


def propose(
    world: World, *lines: ProposedLine, by: User | None = None, **more: object
) -> PayoutBatch:
    return payouts.propose_payout(
        by=by or world.requester,
        task=world.task,
        key=more.pop("key", None) or uuid.uuid4(),
        lines=lines,
        **more,
    )


def approve(world: World, batch: PayoutBatch, total: str, **more: object) -> PayoutBatch:
    more.setdefault("by", world.manager)
    return payouts.approve_payout(
        batch=batch,
        expected_total=Decimal(total),
        rejections=payouts.count_rejections(batch),
        **more,
    )


def submitted(world: World, worker: Membership | None = None) -> Assignment:
    return factories.claim_and_submit(world.task, worker)


def ledger() -> list[tuple[int, str, Decimal]]:
    return list(LedgerEntry.objects.values_list("assignment_id", "kind", "amount"))


# Who may approve -------------------------------------------------------------------------------


def test_base_and_bonus_are_written_once_to_the_cent(world: World) -> None:
    one, two = submitted(world), submitted(world)
    less = ProposedLine(two.pk, base=Decimal("0.07"), reason=LESS)
    batch = propose(world, ProposedLine(one.pk, bonus=Decimal("0.10")), less)
    approve(world, batch, "1.97")
    approve(world, batch, "1.97")
    assert ledger() == [
        (one.pk, "base", PAY),
        (one.pk, "bonus", Decimal("0.10")),
        (two.pk, "base", Decimal("0.07")),
    ]
    assert AuditEntry.objects.filter(action="payout.approve").count() == 1


def test_nobody_approves_their_own_proposal_even_with_both_roles(world: World) -> None:
    for role in (Role.REQUESTER, Role.MANAGER):
        factories.make_member(world.project, role, world.manager)
    batch = propose(world, ProposedLine(submitted(world).pk), by=world.manager)
    with pytest.raises(NotAllowed, match="You proposed it"):
        approve(world, batch, "1.80")
    assert ledger() == []


def test_nobody_approves_what_pays_them_even_with_single_approval(world: World) -> None:
    world.project.single_approval = True
    world.project.save()
    own = factories.make_worker(world.project, world.manager)
    owners = factories.make_worker(world.project, world.requester)
    for worker, by in ((own, world.manager), (owners, world.requester)):
        batch = propose(world, ProposedLine(submitted(world, worker).pk))
        with pytest.raises(NotAllowed, match="work of yours"):
            approve(world, batch, "1.80", by=by)
    assert ledger() == []


def test_a_requester_who_is_no_manager_approves_nothing(world: World) -> None:
    other = factories.make_member(world.project, Role.REQUESTER).user
    batch = propose(world, ProposedLine(submitted(world).pk))
    removed = factories.make_member(world.project, Role.MANAGER)
    removed.removed_at = removed.created_at
    removed.save()
    for person in (other, removed.user, world.worker.user, world.outsider):
        with pytest.raises(NotAllowed, match="Only a manager"):
            approve(world, batch, "1.80", by=person)
    assert ledger() == []


def test_workers_and_outsiders_propose_nothing(world: World) -> None:
    done = submitted(world, world.worker)
    for person in (world.worker.user, world.outsider):
        with pytest.raises(NotAllowed):
            propose(world, ProposedLine(done.pk), by=person)


def test_single_approval_is_the_owners_and_is_noted(world: World) -> None:
    world.project.single_approval = True
    world.project.save()
    batch = approve(
        world, propose(world, ProposedLine(submitted(world).pk)), "1.80", by=world.requester
    )
    assert batch.single_approval
    assert AuditEntry.objects.get(action="payout.approve").detail["single_approval"] is True


# Amounts ---------------------------------------------------------------------------------------


def test_another_total_than_the_one_seen_is_refused(world: World) -> None:
    batch = propose(world, ProposedLine(submitted(world).pk))
    for total in ("1.79", "1.81", "0", "18.0"):
        with pytest.raises(Conflict, match=r"The total is 1\.80"):
            approve(world, batch, total)
    assert ledger() == []


@pytest.mark.parametrize("amount", ["-0.01", "0.001", "NaN", "Infinity", "100000.01", "1E+40"])
def test_amounts_are_whole_cents_from_zero(world: World, amount: str) -> None:
    done = submitted(world)
    for field in ("base", "bonus"):
        with pytest.raises(Invalid) as error:
            propose(world, ProposedLine(done.pk, **{field: Decimal(amount)}))
        assert field in error.value.fields


def test_more_than_the_agreed_pay_is_a_bonus(world: World) -> None:
    with pytest.raises(Invalid, match="the rest is a bonus"):
        propose(world, ProposedLine(submitted(world).pk, base=Decimal("1.81")))


def test_ten_times_a_tenth_of_a_cent_less_than_a_euro_is_exact(world: World) -> None:
    lines = [ProposedLine(submitted(world).pk, base=Decimal("0.10"), reason=LESS) for _ in range(9)]
    batch = propose(world, *lines)
    assert payouts.total(batch) == Decimal("0.90")
    approve(world, batch, "0.90")


@pytest.mark.parametrize("holder", ["task", "project"])
def test_the_budget_is_a_cap(world: World, holder: str) -> None:
    row = getattr(world, holder)
    row.budget = Decimal("3.59")
    row.save()
    approve(world, propose(world, ProposedLine(submitted(world).pk)), "1.80")
    second = propose(world, ProposedLine(submitted(world).pk))
    with pytest.raises(Conflict, match=f"{holder}’s budget is 3.59; 1.80 is spent"):
        approve(world, second, "1.80")
    row.budget = Decimal("3.60")
    row.save()
    approve(world, second, "1.80")
    assert len(ledger()) == 2


# One proposal an assignment ---------------------------------------------------------------------


def test_the_same_key_is_the_same_proposal(world: World) -> None:
    key, line = uuid.uuid4(), ProposedLine(submitted(world).pk)
    assert propose(world, line, key=key) == propose(world, line, key=key)
    assert PayoutBatch.objects.count() == 1
    with pytest.raises(Conflict, match="sent before, as proposal 1"):
        propose(world, line, ProposedLine(submitted(world).pk), key=key)
    with pytest.raises(Conflict, match="another proposal"):
        propose(world, line, key=key, by=world.manager)


def test_an_assignment_stands_in_one_open_proposal_only(world: World) -> None:
    done = submitted(world)
    propose(world, ProposedLine(done.pk))
    with pytest.raises(Conflict, match="is in proposal 1 already"):
        propose(world, ProposedLine(done.pk))
    with pytest.raises(Invalid, match="named twice"):
        propose(world, ProposedLine(done.pk), ProposedLine(done.pk))


def test_only_submitted_unsettled_assignments_of_the_task_are_proposed(world: World) -> None:
    done = submitted(world)
    approve(world, propose(world, ProposedLine(done.pk)), "1.80")
    with pytest.raises(Conflict, match="settled already"):
        propose(world, ProposedLine(done.pk))
    lease = factories.claim(world.task, world.worker)
    with pytest.raises(Conflict, match="has not submitted"):
        propose(world, ProposedLine(lease.pk))
    elsewhere = factories.claim_and_submit(factories.make_task(world.project))
    with pytest.raises(Invalid, match="not one of this task"):
        propose(world, ProposedLine(elsewhere.pk))


def test_a_held_line_may_be_proposed_again(world: World) -> None:
    paid, held = submitted(world), submitted(world)
    batch = propose(world, ProposedLine(paid.pk), ProposedLine(held.pk, decision="hold"))
    approve(world, batch, "1.80")
    again = propose(world, ProposedLine(held.pk))
    approve(world, again, "1.80")
    assert [row[0] for row in ledger()] == [paid.pk, held.pk]


def test_what_the_approver_unticks_is_held_and_a_held_line_may_be_added(world: World) -> None:
    first, second, third = (submitted(world) for _ in range(3))
    batch = propose(
        world,
        ProposedLine(first.pk),
        ProposedLine(second.pk),
        ProposedLine(third.pk, decision="hold"),
    )
    ids = dict(batch.lines.values_list("assignment_id", "pk"))
    approve(world, batch, "3.60", line_ids=[ids[first.pk], ids[third.pk]])
    assert [row[0] for row in ledger()] == [first.pk, third.pk]
    propose(world, ProposedLine(second.pk))


def test_a_proposal_sent_back_frees_its_assignments_and_cannot_be_approved(world: World) -> None:
    done = submitted(world)
    batch = propose(world, ProposedLine(done.pk))
    with pytest.raises(Invalid, match="owed a note"):
        payouts.send_back(by=world.manager, batch=batch, note=" ")
    payouts.send_back(by=world.manager, batch=batch, note="Look at kestrel first.")
    payouts.send_back(by=world.manager, batch=batch, note="Again.")
    with pytest.raises(Conflict, match="sent back"):
        approve(world, batch, "1.80")
    approve(world, propose(world, ProposedLine(done.pk)), "1.80")
    assert len(ledger()) == 1


def test_another_manager_who_comes_second_is_told(world: World) -> None:
    batch = propose(world, ProposedLine(submitted(world).pk))
    approve(world, batch, "1.80")
    other = factories.make_member(world.project, Role.MANAGER).user
    with pytest.raises(Conflict, match="approved it already"):
        approve(world, batch, "1.80", by=other)
    with pytest.raises(Conflict, match="approved already"):
        payouts.send_back(by=other, batch=batch, note="No.")


# Rejections ------------------------------------------------------------------------------------


def reject(world: World, done: Assignment) -> Rejection:
    line = ProposedLine(done.pk, decision="reject", reason_code="not_followed", reason=REASON)
    approve(world, propose(world, line), "0")
    return Rejection.objects.get(assignment=done)


def test_a_rejection_needs_a_reason_that_can_be_read(world: World) -> None:
    done = submitted(world)
    with pytest.raises(Invalid, match="choose a reason"):
        propose(world, ProposedLine(done.pk, decision="reject", reason=REASON))
    with pytest.raises(Invalid, match="what was asked and what is missing"):
        propose(world, ProposedLine(done.pk, decision="reject", reason_code="other", reason="Bad."))


def test_rejected_replied_once_overturned_and_paid_once(world: World) -> None:
    done = submitted(world, world.worker)
    rejection = reject(world, done)
    with pytest.raises(NotAllowed):
        payouts.reply_to_rejection(by=world.outsider, rejection=rejection, text="Let me see.")
    payouts.reply_to_rejection(by=world.worker.user, rejection=rejection, text="I did read it.")
    with pytest.raises(Conflict, match="replied already"):
        payouts.reply_to_rejection(by=world.worker.user, rejection=rejection, text="And again.")
    with pytest.raises(NotAllowed, match="Only a manager"):
        payouts.decide_reply(by=world.requester, rejection=rejection, overturn=True, note="Yes.")
    with pytest.raises(Invalid, match="owed an answer"):
        payouts.decide_reply(by=world.manager, rejection=rejection, overturn=True, note="")
    payouts.decide_reply(by=world.manager, rejection=rejection, overturn=True, note="You did.")
    with pytest.raises(Conflict, match="answered already"):
        payouts.decide_reply(by=world.manager, rejection=rejection, overturn=False, note="No.")
    approve(world, propose(world, ProposedLine(done.pk)), "1.80")
    with pytest.raises(Conflict, match="settled already"):
        propose(world, ProposedLine(done.pk))
    assert ledger() == [(done.pk, "base", PAY)]


def test_rejected_work_is_in_no_cost(world: World) -> None:
    done = factories.claim_and_submit(world.task)
    before = task_row(world.task).cost_limit
    reject(world, done)
    dialog, [overview] = Publishing(Build(world.task)), progress_of([world.task])
    after = {dialog.total, task_row(world.task).cost_limit, overview.spent + overview.ahead}
    assert after == {before - done.pay}


def test_an_overturned_rejection_cannot_be_repeated(world: World) -> None:
    done = submitted(world)
    payouts.decide_reply(
        by=world.manager, rejection=reject(world, done), overturn=True, note="Our mistake."
    )
    again = ProposedLine(done.pk, decision="reject", reason_code="other", reason=REASON)
    with pytest.raises(Conflict, match="cannot be rejected a second time"):
        propose(world, again)
    batch = propose(world, ProposedLine(done.pk, decision="hold"))
    with pytest.raises(Conflict, match="cannot be repeated"):
        payouts.reject_held_lines(
            by=world.manager, lines=list(batch.lines.all()), reason_code="other", reason=REASON
        )


def test_that_a_rejection_stands_is_said_to_a_reply_only(world: World) -> None:
    rejection = reject(world, submitted(world, world.worker))
    with pytest.raises(Conflict, match="has not replied"):
        payouts.decide_reply(by=world.manager, rejection=rejection, overturn=False, note="So.")


def test_a_held_line_may_become_a_rejection_but_never_the_other_way_round(world: World) -> None:
    done = submitted(world)
    batch = propose(world, ProposedLine(done.pk, decision="hold", bonus=Decimal("0.50")))
    line = batch.lines.get()
    change = {"lines": [line], "reason_code": "no_answer", "reason": REASON}
    for person in (world.worker.user, factories.make_member(world.project, "requester").user):
        with pytest.raises(NotAllowed):
            payouts.reject_held_lines(by=person, **change)
    payouts.reject_held_lines(by=world.requester, **change)
    with pytest.raises(Conflict, match="held"):
        payouts.reject_held_lines(by=world.manager, **change)
    approve(world, batch, "0.00")
    assert Rejection.objects.get().line == PayoutLine.objects.get() == line
    assert ledger() == []
