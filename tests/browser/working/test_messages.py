"""A worker asks from a question by keyboard, the requester answers, the worker reads on a phone."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from annotation.models import Conversation
from tests.browser.sign_in import misfits, sign_in
from tests.browser.working.keys import is_saved, tab_to
from tests.support import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(2)


def test_a_message_is_asked_answered_and_read_on_a_phone(
    page: Page, browser: Browser, world: factories.World, live_server: Any
) -> None:
    held, root = factories.claim(world.task, world.worker), live_server.url
    page.goto(root + reverse("work_item", args=[held.pk, 1]))
    page.keyboard.type("Half an answer")
    is_saved(page)
    page.locator("body").press("Escape")
    page.locator("#main").focus()
    tab_to(page, page.locator(".ask-requester a"))
    page.keyboard.press("Enter")
    expect(page.locator(".thread-open")).to_contain_text("About question 1")
    tab_to(page, page.locator("textarea"))
    page.keyboard.type("Is a crane a stork?")
    tab_to(page, page.locator(".message-form button"))
    page.keyboard.press("Enter")
    expect(page.locator(".message.own")).to_contain_text("Is a crane a stork?")
    page.get_by_role("link", name="Back to question 1").click()
    expect(page.locator("textarea")).to_have_value("Half an answer")

    staff = browser.new_context()
    sign_in(staff, world.requester, root)
    office = staff.new_page()
    office.goto(root + reverse("people", args=[world.project.pk]))
    office.get_by_role("link", name="Messages 1").click()
    assert misfits(office, "list") == []
    office.get_by_role("link", name=world.worker.pseudonym).click()
    office.get_by_label("Message").fill("No. Choose “Unsure” then.")
    office.get_by_role("button", name="Send").click()
    expect(office.locator(".message.own")).to_contain_text("Choose “Unsure”")
    assert misfits(office, "conversation") == []
    staff.close()

    page.set_viewport_size(PHONE)
    page.goto(root + reverse("work_home"))
    manifest = page.request.get(
        root + str(page.locator("link[rel=manifest]").get_attribute("href"))
    )
    shown = manifest.json()
    assert shown["start_url"] == reverse("work_home") and shown["display"] == "standalone"
    for icon in shown["icons"]:
        assert page.request.get(f"{root}/static/{icon['src']}").ok
    assert (
        page.evaluate("navigator.serviceWorker.getRegistrations().then((all) => all.length)") == 0
    )
    expect(page.locator("nav.tabs")).to_contain_text("Messages 1")
    expect(page.locator("#messages h2")).to_have_text("Messages 1 new message")
    page.locator("#messages .thread-list a").click()
    expect(page.locator(".message").last).to_contain_text("No. Choose “Unsure” then.")
    expect(page.locator(".message").last).to_contain_text("Requester of Birds")
    assert misfits(page, "phone") == []
    assert not Conversation.objects.get().waits
