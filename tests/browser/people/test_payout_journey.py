"""Money in a real browser: two people, books that balance, and a rejection that was wrong."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, expect

from annotation.models import Assignment, LedgerEntry, Rejection, Role, User
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.bonus_rule import set_rule
from annotation.payouts.actions.proposals import ProposedLine
from annotation.payouts.selectors.balance import trial_balances
from tests.browser.sign_in import Person, sign_in
from tests.support import factories
from tests.support.factories import World
from tests.support.kept import kept

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
NOTE = "You answered from the text; we had looked at another version of it. It is paid."


@pytest.fixture
@kept
def world() -> World:
    world = factories.make_world(2, redundancy=9)
    world.project.hourly_floor = Decimal("12.00")
    world.project.save()
    set_rule(by=world.requester, task=world.task, bonus_by="none", top_up=True)
    factories.make_member(world.project, Role.MANAGER, world.requester)  # both roles
    return world


@pytest.fixture
def enters(browser: Browser, live_server: Any) -> Any:
    """Somebody signed in, in a browser of their own."""

    def enter(user: User | None) -> Person:
        assert user is not None
        person = Person(str(user), live_server.url, browser)
        person.context.set_default_timeout(60_000)
        sign_in(person.context, user, live_server.url)
        return person

    return enter


@pytest.mark.long
def test_one_proposes_another_approves_the_books_balance_and_it_is_exported(
    world: World, enters: Any
) -> None:
    quick, slow = (factories.claim_and_submit(world.task) for _ in range(2))
    assert slow.submitted_at is not None
    began = slow.submitted_at - dt.timedelta(minutes=12)
    Assignment.objects.filter(pk=slow.pk).update(opened_at=began)
    project = f"/projects/{world.project.pk}"
    requester, manager = enters(world.requester), enters(world.manager)

    requester.go(f"{project}/tasks/{world.task.pk}/payouts/new/?pick=all&decision=approve")
    requester.sees("New proposal")
    bonus = requester.page.get_by_label(f"Bonus for {slow.worker.pseudonym}")
    expect(bonus).to_have_value("0.60")  # 12 minutes at 12.00 an hour
    base = requester.page.get_by_label(f"Base for {quick.worker.pseudonym}")
    base.fill("1.50")
    requester.page.get_by_label(f"Why {quick.worker.pseudonym} is paid less").fill(
        "The second question was left out."
    )
    expect(requester.page.locator("#totals")).to_contain_text("Base €3.30, bonus €0.60")
    requester.press("Propose €3.90")
    requester.sees("Proposal 1: What storks do")
    # A manager as well, and still not for what they proposed themselves.
    refused = "You proposed it; somebody else must approve it."
    expect(requester.page.get_by_role("button", name=refused)).to_be_disabled()
    assert not LedgerEntry.objects.exists()

    manager.go(f"{project}/payouts/1/")
    manager.sees("Proposal 1: What storks do")
    expect(manager.page.locator("#lines")).to_contain_text("raised to €12.00 an hour")
    expect(manager.page.locator("#lines")).to_contain_text("The second question was left out.")
    manager.press("Approve 2 people, €3.90")
    expect(manager.page.locator("h1 ~ *").first).to_contain_text("Approved")
    manager.go(f"{project}/payouts/by-hand/")
    manager.sees("Manual payments")
    told = sorted(row["amount"] for row in manager.downloads("Export all as CSV"))
    assert told == ["0.60", "1.50", "1.80"]
    manager.page.get_by_text("Mark as paid…").click()
    every, boxes = manager.page.get_by_label("Tick all"), manager.page.locator("[name=payment]")
    expect(every).to_be_checked()
    boxes.first.uncheck()
    expect(every).to_have_js_property("indeterminate", True)
    every.click()
    expect(boxes.first).to_be_checked()
    expect(every).to_have_js_property("indeterminate", False)
    manager.press("Continue")
    manager.press("Mark €3.90 as paid")
    expect(manager.page.get_by_text("3 payments marked as paid")).to_be_visible()
    manager.sees("Manual payments")
    manager.go(f"{project}/ledger/")
    manager.sees("Ledger")
    total = manager.page.locator(".trial tfoot")
    expect(total).to_contain_text("7.80")
    expect(total).to_contain_text("equal")
    rows = manager.downloads("Export CSV")
    assert sorted(row["kind"] for row in rows) == ["base"] * 2 + ["bonus"] + ["payment"] * 3
    assert sum(Decimal(row["amount"]) for row in rows) == Decimal("7.80")
    assert all(row["debit"] and row["credit"] for row in rows)


def test_a_rejection_is_appealed_overturned_and_paid_once(world: World, enters: Any) -> None:
    done = factories.claim_and_submit(world.task, world.worker)
    line = ProposedLine(done.pk, "reject", reason_code="not_followed", reason=factories.REJECTION)
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[line]
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal(0), rejections=1)
    project = f"/projects/{world.project.pk}"
    worker, manager = enters(world.worker.user), enters(world.manager)

    worker.go("/work/")
    worker.follow("Reply by")
    expect(worker.page.get_by_text("You may reply once, until")).to_be_visible()
    worker.page.get_by_text("Reply, once").click()
    worker.page.get_by_label("Your reply").fill("I answered both questions from the text.")
    worker.press("Send the reply")
    expect(worker.page.get_by_text("A person reads it and answers here by")).to_be_visible()
    Rejection.objects.update(answer_by=timezone.now() - dt.timedelta(hours=1))

    manager.go(f"{project}/rejections/?show=owed")
    manager.sees("Rejections")
    expect(manager.page.get_by_text("Answer overdue")).to_be_visible()
    expect(manager.page.get_by_text("You decided this rejection.")).to_be_visible()
    manager.page.get_by_text("Answer it yourself").click()  # there is another manager
    manager.page.get_by_label("will read").fill(NOTE)
    manager.press("Overturn rejection")
    expect(manager.page.get_by_text("Its work may be proposed for pay again.")).to_be_visible()
    worker.go("/work/earnings/")
    expect(worker.page.get_by_text("the rejection was withdrawn")).to_be_visible()

    again = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[ProposedLine(done.pk)]
    )
    manager.go(f"{project}/payouts/{again.number}/")
    manager.page.get_by_role("button", name="Approve 1 person, €1.80").dblclick()
    expect(manager.page.get_by_role("link", name="Export CSV").first).to_be_visible()
    manager.go(f"{project}/payouts/by-hand/")
    manager.page.get_by_text("Mark as paid…").click()
    manager.press("Continue")
    manager.page.get_by_role("button", name="Mark €1.80 as paid").dblclick()
    expect(manager.page.get_by_text("Nothing waits")).to_be_visible()
    manager.sees("Manual payments")
    kinds = sorted(LedgerEntry.objects.values_list("kind", "amount"))
    assert kinds == [("base", Decimal("1.80")), ("payment", Decimal("1.80"))]
    [trial] = trial_balances(world.project)
    assert trial.balances and trial.owed == 0
    worker.go("/work/earnings/")
    expect(worker.page.get_by_text("€1.80 | paid")).to_be_visible()


def test_ticks_survive_a_detour_back_and_a_rejection_of_somebody_else(
    world: World, enters: Any
) -> None:
    decisions = ("approve", "approve", "approve", "hold")
    lines = [ProposedLine(factories.claim_and_submit(world.task).pk, one) for one in decisions]
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines
    )
    manager = enters(world.manager)
    page = manager.page
    manager.go(f"/projects/{world.project.pk}/payouts/{batch.number}/")
    page.locator("input[name=pay]:checked").first.uncheck()
    button = page.locator("#approve")
    expect(button).to_have_text("Approve 2 people, €3.60")
    page.locator("#evidence").get_by_text("Read the answers").click()
    manager.sees(re.compile("^Answers of"))
    page.go_back()
    expect(button).to_have_text("Approve 2 people, €3.60")
    page.get_by_text("Reject…").click()
    page.get_by_label("Reason").select_option("no_answer")
    page.get_by_label("Message to the worker").fill(factories.REJECTION)
    manager.press("Propose to reject")
    expect(page.get_by_role("link", name="Proposal 2")).to_be_visible()
    expect(button).to_have_text("Approve 2 people, €3.60")
    manager.press("Approve 2 people, €3.60")
    expect(page.locator("h1 ~ *").first).to_contain_text("Approved")
    assert sum(row.amount for row in LedgerEntry.objects.all()) == Decimal("3.60")
    assert not Rejection.objects.exists()
