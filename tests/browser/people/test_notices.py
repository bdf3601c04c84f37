"""Notices by keyboard alone, from the bar to what one is about."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Notice
from annotation.notifications.actions.notices import notify
from tests.browser.working.keys import press_on, tab_to
from tests.support import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(2)


def test_a_notice_is_reached_read_and_counted_by_keyboard(
    page: Page, world: factories.World, live_server: Any
) -> None:
    for n in range(2):
        notify(
            to=[world.worker.user],
            kind="rejection.decided",
            text=f"Your reply {n} was answered.",
            key=f"rejection.decided:{n}",
            url=reverse("work_record"),
            project=world.project,
        )
    page.goto(live_server.url + reverse("work_home"))
    tab_to(page, page.locator("a.told"))
    expect(page.locator("a.told")).to_have_text("Notices 2 unread")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Notices")
    press_on(page, page.locator(".told-list a").first)
    page.wait_for_url(f"**{reverse('work_record')}")
    expect(page.locator("a.told")).to_have_text("Notices 1 unread")
    page.goto(live_server.url + reverse("notice_list"))
    press_on(page, page.locator(".actions button"))
    expect(page.locator("a.told")).to_have_text("Notices")
    assert not Notice.objects.filter(read_at=None).exists()
