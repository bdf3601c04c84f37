"""Approving money in a real browser: with a second factor, without one, and after a while."""

from __future__ import annotations

import re
import uuid
from importlib import import_module
from typing import Any

import pytest
from django.conf import settings as django_settings
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import LedgerEntry, PayoutBatch
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from tests.browser.sign_in import is_well, reporting, sign_in
from tests.security.accounts.factors import OLD, code_of, person, set_up_app
from tests.support import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]
APPROVE = "Approve 1 person, €1.80"


@pytest.fixture
def world(settings: Any) -> factories.World:
    settings.CROWDQC_REQUIRE_SECOND_FACTOR = True
    world = factories.make_world(1, redundancy=9)
    person(world.manager)
    return world


@pytest.fixture
def page(world: factories.World, context: BrowserContext, live_server: Any) -> Any:
    sign_in(context, world.manager, live_server.url)
    yield from reporting(context)


def propose(world: factories.World) -> PayoutBatch:
    done = factories.claim_and_submit(world.task)
    return payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[ProposedLine(done.pk)]
    )


def let_time_pass(context: BrowserContext) -> None:
    """All that was confirmed in this browser was confirmed long ago."""
    [cookie] = [
        one for one in context.cookies() if one["name"] == django_settings.SESSION_COOKIE_NAME
    ]
    session = import_module(django_settings.SESSION_ENGINE).SessionStore(cookie["value"])
    session["crowdqc_authenticated_at"] -= OLD
    for record in session["account_authentication_methods"]:
        record["at"] -= OLD
    session.save()


def types(page: Page, field: str, value: str) -> None:
    page.locator(f"input[name={field}]").fill(value)
    page.locator(f"input[name={field}]").press("Enter")


def test_a_manager_is_led_to_a_second_factor_approves_by_it_and_confirms_again_after_a_while(
    world: factories.World, page: Page, live_server: Any
) -> None:
    address = f"{live_server.url}/projects/{world.project.pk}/payouts"
    first = f"{address}/{propose(world).number}/"
    page.goto(first)
    expect(page.get_by_text("Approving and sending payments needs a second factor")).to_be_visible()
    page.get_by_role("button", name=APPROVE).click()
    expect(page.get_by_text("you need a second factor")).to_be_visible()
    assert not LedgerEntry.objects.exists()
    is_well(page)
    page.get_by_role("link", name="Set up a second factor").click()
    expect(page).to_have_url(re.compile("/account/"))

    secret = set_up_app(world.manager)
    page.goto(first)
    page.get_by_role("button", name=APPROVE).click()
    expect(page.get_by_text("Confirm it’s you with your second factor")).to_be_visible()
    assert not LedgerEntry.objects.exists()
    types(page, "code", code_of(secret))
    expect(page.get_by_text("added to the ledger")).to_be_visible()
    assert LedgerEntry.objects.count() == 1

    let_time_pass(page.context)
    page.goto(f"{address}/{propose(world).number}/")
    page.get_by_role("button", name=APPROVE).click()
    expect(page.get_by_text("Confirm it’s you to approve payments")).to_be_visible()
    assert LedgerEntry.objects.count() == 1
    types(page, "password", factories.PASSWORD)
    expect(page.get_by_text("added to the ledger")).to_be_visible()
    assert LedgerEntry.objects.count() == 2
