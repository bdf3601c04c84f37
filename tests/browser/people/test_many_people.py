"""A manager finds some among 1,000 people, and approves their pay at once."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Sum
from django.utils import timezone
from playwright.sync_api import Browser, expect

from annotation.models import Assignment, LedgerEntry, Membership, Role
from annotation.payouts.actions.proposals import ProposedLine, propose_payout
from tests.browser.sign_in import Person, sign_in
from tests.browser.working.keys import press
from tests.support import factories
from tests.support.factories import World

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAY = Decimal("1.80")


def a_thousand_people(world: World) -> None:
    """Each with work that waits: 60 herons among otters. The manager proposed two of the herons."""
    version, now = world.task.current, timezone.now()
    assert version is not None
    own = Membership.objects.filter(project=world.project, role=Role.WORKER)
    own.update(pseudonym="otter-0939")  # theirs was drawn, and may be another heron
    names = [f"otter-{n:04}" for n in range(939)] + [f"heron-{n:04}" for n in range(60)]
    workers = Membership.objects.bulk_create(
        Membership(project=world.project, role=Role.WORKER, pseudonym=name, external_id=name[::-1])
        for name in names
    )
    work = Assignment.objects.bulk_create(
        Assignment(
            task=world.task, version=version, worker=worker, state="submitted", pay=PAY,
            leased_at=now, expires_at=now, submitted_at=now,
        )
        for worker in workers
    )  # fmt: skip
    for by, some in ((world.requester, work[:-2]), (world.manager, work[-2:])):
        lines = [ProposedLine(one.pk) for one in some]
        propose_payout(by=by, task=world.task, key=uuid.uuid4(), lines=lines)


def test_a_manager_searches_among_a_thousand_people_and_approves_those_found(
    browser: Browser, live_server: Any
) -> None:
    world = factories.make_world(2)
    factories.make_member(world.project, Role.REQUESTER, world.manager)
    a_thousand_people(world)
    manager = Person("manager", live_server.url, browser)
    manager.context.set_default_timeout(60_000)
    sign_in(manager.context, world.manager, live_server.url)
    page = manager.page
    manager.go(f"/projects/{world.project.pk}/people/")
    manager.sees("People")
    expect(page.get_by_text("1 to 50 of 1,000")).to_be_visible()

    page.get_by_label("Search by pseudonym or ID").press_sequentially("heron")
    expect(page.get_by_text("60 workers found.")).to_be_visible()
    expect(page).to_have_url(f"{live_server.url}/projects/{world.project.pk}/people/?q=heron")
    page.locator("[id^=list-]").first.evaluate("list => list.dataset.before = ''")
    page.get_by_role("combobox", name="Work").select_option(label="Pay awaits approval")
    expect(page).to_have_url(f"{page.url.split('?')[0]}?q=heron&work=proposed")
    # What is opened before the new list has come is replaced by it.
    expect(page.locator("[id^=list-][data-before]")).to_have_count(0)
    page.get_by_text("Saved views").click()
    page.get_by_label("Name of the view").fill("Herons to pay")
    manager.press("Save", exact=True)
    expect(page.get_by_text("Saved the view “Herons to pay”.")).to_be_visible()

    page.get_by_label("All 60 workers found").check()
    manager.press("Approve pay…")
    manager.sees("Approve pay: 58 workers")
    expect(page.get_by_text("Proposal 1: 58 people, €104.40.")).to_be_visible()
    expect(page.get_by_text("You proposed it; somebody else must approve it.")).to_be_visible()
    manager.press("Approve pay: 58 workers")
    expect(page.get_by_text("Approved the pay of 58 workers. 2 skipped:")).to_be_visible()
    expect(page.get_by_text("2 workers found.")).to_be_visible()
    owed = LedgerEntry.objects.owed()
    assert owed.count() == 58 and owed.aggregate(s=Sum("amount"))["s"] == 58 * PAY
    assert not owed.exclude(worker__pseudonym__startswith="heron").exists()

    press(page, "/")  # the search of the project
    page.keyboard.type("heron-0059")
    press(page, "Enter")
    manager.sees("Search")
    manager.follow("heron-0059")
    manager.sees("heron-0059")  # their page shows a section at a time
    expect(page.get_by_role("heading", name="Assignments")).to_be_hidden()
    page.get_by_label("Sections of this page").get_by_role("link", name="Assignments").click()
    expect(page.get_by_role("heading", name="Assignments")).to_be_visible()
    expect(page.get_by_role("heading", name="Money")).to_be_hidden()
    assert manager.errors == []
