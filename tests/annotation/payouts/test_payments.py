"""Paying through a platform: each amount once, whatever the platform answers or does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from annotation.models import LedgerEntry, Payment, Recruitment, Rejection, Visit
from annotation.payouts.actions import payments
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions import sending as payment_sending
from annotation.recruitment.platforms.prolific import PURPOSE
from crowdqc.errors import Conflict, Invalid, NotAllowed
from tests.security.outbound.hostile import hostile
from tests.support import factories
from tests.support.processes import until
from tests.support.servers import prolific

pytestmark = pytest.mark.django_db
REASON = (
    "The answers name birds of another continent, although each question asked about the text that "
    "stood beside it, and none of them uses it."
)


@pytest.fixture(autouse=True)
def quick(settings: Any) -> None:
    """Pauses as short as the fake is quick."""
    settings.CROWDQC_PAYMENT_LEASE, settings.CROWDQC_PAYMENT_TIMEOUT = 5.0, 0.5
    settings.CROWDQC_PAYMENT_CHECK, settings.CROWDQC_PAYMENT_SETTLE = 0.02, 0.4
    settings.CROWDQC_PAYMENT_GIVE_UP = 1.0


@pytest.fixture
def platform() -> Iterator[prolific.Platform]:
    with prolific.serving() as running:
        yield running


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(n=1, redundancy=9)


@pytest.fixture
def study(world: factories.World, platform: prolific.Platform) -> Recruitment:
    return prolific.make_recruitment(world.task, platform)


def approve(world: factories.World, visits: list[Visit], **line: Any) -> list[Payment]:
    """Propose and approve one line a visit; what is then to be done."""
    task = visits[0].recruitment.task
    lines = [payouts.ProposedLine(visit.assignment_id, **line) for visit in visits]
    batch = payouts.propose_payout(by=world.requester, task=task, key=uuid4(), lines=lines)
    payouts.approve_payout(
        by=world.manager,
        batch=batch,
        expected_total=payouts.total(batch),
        rejections=payouts.count_rejections(batch),
    )
    return list(Payment.objects.filter(line__batch=batch))


def finish(check: Callable[[], object] | None = None) -> None:
    """Send until nothing is open, as the schedule does."""

    def ended() -> bool:
        payment_sending.send_due(seconds=2)
        return bool(check()) if check else not Payment.objects.filter(state__in=payments.OPEN)

    until(ended, 10, "the payments to end")


def states() -> list[str]:
    return list(Payment.objects.order_by("pk").values_list("state", flat=True))


def paid_in_ledger() -> Decimal:
    return sum(
        LedgerEntry.objects.filter(kind="payment").values_list("amount", flat=True), Decimal(0)
    )


def test_base_and_bonus_are_paid_and_booked(
    world: factories.World, study: Recruitment, platform: prolific.Platform
) -> None:
    [visit] = prolific.make_visited(study, platform)
    approve(world, [visit], bonus=Decimal("0.50"))
    finish()
    assert platform.books() == {visit.session: (1, [50])}
    assert states() == ["done", "done"] and paid_in_ledger() == Decimal("2.30")
    owed = f"worker:{visit.worker_id}"
    rows = LedgerEntry.objects.filter(worker=visit.worker)
    balance = sum(row.amount * ((row.credit == owed) - (row.debit == owed)) for row in rows)
    assert balance == 0
    told = visit.worker.user.notices.filter(kind="payment.done").values_list("text", flat=True)
    assert sorted(told)[0].startswith("€0.50 was paid for")
    assert not payment_sending.send_due(), "nothing is left to be done"


@pytest.mark.parametrize("fault", prolific.FAULTS)
@pytest.mark.parametrize("where", ["transition", "bonus-payments/", "/pay/"])
def test_no_fault_of_a_request_pays_twice_or_never(
    world: factories.World, study: Recruitment, platform: prolific.Platform, where: str, fault: str
) -> None:
    platform.delay = 0.05
    [visit] = prolific.make_visited(study, platform)
    platform.script = {where: [fault]}
    approve(world, [visit], bonus=Decimal("0.50"))
    finish()
    assert platform.books() == {visit.session: (1, [50])}
    assert states() == ["done", "done"] and paid_in_ledger() == Decimal("2.30")


def test_a_bonus_without_an_answer_is_looked_for_before_it_is_sent_again(
    world: factories.World, study: Recruitment, platform: prolific.Platform
) -> None:
    [visit] = prolific.make_visited(study, platform)
    platform.script = {"/pay/": ["500-before"]}
    _, bonus = approve(world, [visit], bonus=Decimal("0.50"))
    finish()
    requests = list(bonus.tries.order_by("pk").values_list("request", "status", "error"))
    looked = [at for at, row in enumerate(requests) if row[0] == payment_sending.CONCLUDED]
    pays = [at for at, row in enumerate(requests) if "/pay/" in row[0]]
    assert len(pays) == 2 and pays[0] < looked[0] < pays[1]
    assert sum("GET" in row[0] for row in requests[pays[0] : looked[0]]) >= 2


def test_a_payment_that_was_taken_but_never_appears_waits_for_a_person(
    world: factories.World, study: Recruitment, platform: prolific.Platform
) -> None:
    platform.delay = 60
    [visit] = prolific.make_visited(study, platform)
    approve(world, [visit], bonus=Decimal("0.50"))
    finish()
    bonus = Payment.objects.get(what="bonus")
    assert bonus.state == "unclear" and "does not appear" in bonus.error
    assert sum(platform.pays.values()) == 1, "it is never sent again by itself"
    with pytest.raises(Conflict):
        payments.try_again(by=world.manager, payment=bonus)
    with pytest.raises(NotAllowed):
        payments.resolve(by=world.requester, payment=bonus, outcome="paid", note="Seen there.")
    with pytest.raises(Invalid):
        payments.resolve(by=world.manager, payment=bonus, outcome="paid", note="")
    payments.resolve(by=world.manager, payment=bonus, outcome="paid", note="Seen on the site.")
    assert states() == ["done", "done"] and paid_in_ledger() == Decimal("2.30")


def test_two_bonuses_where_one_was_sent_wait_for_a_person(
    world: factories.World, study: Recruitment, platform: prolific.Platform
) -> None:
    [visit] = prolific.make_visited(study, platform)
    platform.script = {"/pay/": ["cut-after"]}
    approve(world, [visit], bonus=Decimal("0.50"))
    payment_sending.send_due(seconds=0.01)
    finish(lambda: platform.pays)
    platform.submissions[visit.session].bonuses *= 2  # somebody paid the same by hand
    finish()
    bonus = Payment.objects.get(what="bonus")
    assert bonus.state == "unclear" and "2 bonuses of this amount stand there, 0" in bonus.error


def test_a_bonus_that_appears_after_it_was_given_up_is_not_paid_again(
    world: factories.World, study: Recruitment, platform: prolific.Platform
) -> None:
    [visit] = prolific.make_visited(study, platform)
    _, bonus = approve(world, [visit], bonus=Decimal("0.50"))
    # Long after nothing stood there, so it was to be set up anew; then the first one came through.
    Payment.objects.filter(pk=bonus.pk).update(state="planned", seen_before=0)
    platform.submissions[visit.session].bonuses.append((50, 0.0))
    finish()
    bonus.refresh_from_db()
    assert bonus.state == "unclear" and "1 bonuses of this amount" in bonus.error
    assert platform.books()[visit.session][1] == [50]
    payments.resolve(by=world.manager, payment=bonus, outcome="not_paid", note="I saw none there.")
    finish()
    assert platform.books()[visit.session][1] == [50]


def test_a_bonus_of_the_same_amount_that_was_there_before_is_not_taken_for_ours(
    world: factories.World, study: Recruitment, platform: prolific.Platform
) -> None:
    [visit] = prolific.make_visited(study, platform)
    platform.submissions[visit.session].bonuses.append((50, 0.0))
    platform.script = {"/pay/": ["500-before"]}
    approve(world, [visit], bonus=Decimal("0.50"))
    finish()
    assert platform.books()[visit.session] == (1, [50, 50])


def test_what_the_platform_refuses_says_why_and_can_be_tried_again(
    world: factories.World, study: Recruitment, platform: prolific.Platform
) -> None:
    returned, other = prolific.make_visited(study, platform, 2)
    platform.submissions[returned.session].status = "RETURNED"
    platform.submissions[other.session].participant = "somebody-else"
    approve(world, [returned])
    approve(world, [other], bonus=Decimal("0.50"))
    finish()
    refused = {row.worker_id: row for row in Payment.objects.filter(state="failed")}
    assert "is RETURNED there" in refused[returned.worker_id].error
    assert "somebody else" in refused[other.worker_id].error and not platform.pays
    platform.submissions[returned.session].status = "AWAITING REVIEW"
    payments.try_again(by=world.manager, payment=refused[returned.worker_id])
    payments.try_again(by=world.manager, payment=refused[returned.worker_id])  # a double click
    finish()
    assert platform.books()[returned.session] == (1, [])


def test_an_approval_that_would_pay_another_amount_is_not_sent(
    world: factories.World, study: Recruitment, platform: prolific.Platform
) -> None:
    platform.reward = 250
    [visit] = prolific.make_visited(study, platform)
    [base] = approve(world, [visit])
    finish()
    base.refresh_from_db()
    assert base.state == "failed" and "pays 2.50, not 1.80" in base.error
    assert platform.books() == {visit.session: (0, [])}


def test_a_rejection_is_sent_with_its_reason_and_taken_back_when_it_is_overturned(
    world: factories.World, study: Recruitment, platform: prolific.Platform
) -> None:
    [visit] = prolific.make_visited(study, platform)
    approve(world, [visit], decision="reject", reason_code="not_followed", reason=REASON)
    finish()
    one = platform.submissions[visit.session]
    assert one.status == "REJECTED" and one.message == REASON
    assert not LedgerEntry.objects.exists()
    payouts.decide_reply(
        by=world.manager,
        rejection=Rejection.objects.get(),
        overturn=True,
        note="You are right; the text was shown too late to you.",
    )
    approve(world, [visit])
    finish()
    assert one.status == "APPROVED" and one.approvals == 1
    assert paid_in_ledger() == Decimal("1.80")


def test_without_an_api_payments_are_marked_by_hand_once(world: factories.World) -> None:
    study = prolific.make_recruitment(world.task)
    visits = prolific.make_visited(study, n=2)
    rows = approve(world, visits, bonus=Decimal("0.20"))
    assert {row.state for row in rows} == {"by_hand"} and not payment_sending.send_due()
    assert payments.mark_sent(by=world.manager, payments=rows) == 4
    assert payments.mark_sent(by=world.manager, payments=rows) == 0
    assert paid_in_ledger() == Decimal("4.00")
    with pytest.raises(NotAllowed):
        payments.mark_sent(by=world.requester, payments=rows)


def test_a_token_that_is_not_taken_fails_without_paying(
    world: factories.World, study: Recruitment, platform: prolific.Platform
) -> None:
    [visit] = prolific.make_visited(study, platform)
    study.token_sealed = prolific.sealed.seal("wrong", PURPOSE)
    study.save()
    approve(world, [visit], bonus=Decimal("0.50"))
    finish()
    assert states() == ["failed", "failed"]
    assert "Invalid token" in Payment.objects.first().error  # type: ignore[union-attr]


def test_a_platform_that_gives_no_answer_holds_up_no_other(
    world: factories.World, study: Recruitment, platform: prolific.Platform, settings: Any
) -> None:
    """(B8) Projects take turns, and one whose platform is silent waits until the next time."""
    settings.CROWDQC_PAYMENT_CHECK = 60.0
    with hostile() as enemy:
        other = factories.make_world(n=1, redundancy=9)
        silent = prolific.make_recruitment(other.task, platform, study_id="study-2")
        approve(other, prolific.make_visited(silent, platform, n=3))
        Recruitment.objects.filter(pk=silent.pk).update(api_url=enemy.url("drip"))
        approve(world, prolific.make_visited(study, platform, n=3))
        payment_sending.send_due()
        mine = Payment.objects.filter(recruitment=study)
        assert list(mine.values_list("state", flat=True)) == ["done"] * 3
        assert len(enemy.hits) == 1
