"""A requester's and a manager's main job, by keyboard alone."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Task, User
from annotation.payouts.actions import proposals
from tests.browser.sign_in import sign_in
from tests.browser.working.keys import passes, press_on, tab_to
from tests.support import factories, uploads
from tests.support.factories import World

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TABLE = b"item_id,question\nq-1,What do storks eat?\nq-2,Where do they nest?\n"


@pytest.fixture
def world() -> World:
    return factories.make_world(2, redundancy=9)


def opens(context: BrowserContext, live_server: Any, world: World, user: User | None) -> Page:
    assert user is not None
    sign_in(context, user, live_server.url)
    context.set_default_timeout(20_000)
    page = context.new_page()
    # From here on: begun with the key that opens the chooser, listening can come too late.
    page.on("filechooser", lambda _: None)
    page.goto(live_server.url + reverse("project", args=[world.project.pk]))
    return page


def is_worked_on(page: Page) -> None:
    """The queue brings the upload as far as it comes, and the page asks for that."""
    uploads.work()
    page.wait_for_load_state()
    passes(page, 2)


def test_a_requester_creates_a_task_from_a_table_publishes_it_and_sees_its_results(
    context: BrowserContext, live_server: Any, world: World
) -> None:
    page = opens(context, live_server, world, world.requester)
    press_on(page, page.get_by_role("link", name="New task"))
    tab_to(page, page.get_by_label("Title"))
    page.keyboard.type("Storks by keyboard")
    press_on(page, page.get_by_role("button", name="Create task"))
    press_on(page, page.get_by_role("link", name="Import from CSV or JSONL"))
    tab_to(page, page.locator("input[type=file]"))
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    page.clock.install()
    chooser.value.set_files({"name": "storks.csv", "mimeType": "text/csv", "buffer": TABLE})
    page.wait_for_url(re.compile(r"/import/\d+/$"))
    is_worked_on(page)
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        press_on(page, page.get_by_role("button", name=re.compile("^Import 2")))
    is_worked_on(page)
    page.wait_for_url(re.compile(r"/build/$"))
    press_on(page, page.get_by_role("link", name="Publish…"))
    press_on(page, page.locator("dialog").get_by_role("button", name="Publish"))
    press_on(page, page.get_by_role("link", name="Results", exact=True).first)
    press_on(page, page.get_by_role("link", name="Storks by keyboard"))
    expect(page.get_by_text("and the first run starts automatically")).to_be_visible()
    task = Task.objects.get(versions__title="Storks by keyboard")
    assert task.current is not None and task.items.count() == 2


def test_a_manager_reads_a_workers_answers_and_approves_their_payout(
    context: BrowserContext, live_server: Any, world: World
) -> None:
    done = factories.claim_and_submit(world.task)
    page = opens(context, live_server, world, world.manager)
    press_on(page, page.get_by_role("link", name="Payouts"))
    press_on(page, page.get_by_role("link", name="Review", exact=True))
    press_on(page, page.get_by_role("link", name=re.compile("^Read 2")))
    expect(page.locator(f"#answers-{done.pk}")).to_contain_text("What is question 1 about?")
    press_on(page, page.get_by_role("link", name=done.worker.pseudonym, exact=True))
    expect(page.locator("h1")).to_have_text(done.worker.pseudonym)
    proposals.propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid.uuid4(),
        lines=[proposals.ProposedLine(done.pk)],
    )
    press_on(page, page.get_by_role("link", name="Payouts"))
    press_on(page, page.get_by_role("link", name=re.compile("^1: ")))
    press_on(page, page.get_by_role("button", name="Approve 1 person, €1.80"))
    expect(page.locator(".state-line")).to_contain_text("Approved")
    done.refresh_from_db()
    assert done.settled_at is not None
