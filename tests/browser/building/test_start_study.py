"""A study from nothing: a new project, a template, preview, publish, and the next step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Task, User
from tests.browser.sign_in import reporting, sign_in
from tests.support import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def person() -> User:
    return factories.make_user()


@pytest.fixture
def page(person: User, context: BrowserContext, live_server: Any) -> Iterator[Page]:
    """The browser of somebody without a project, which reports every error of its scripts."""
    sign_in(context, person, live_server.url)
    yield from reporting(context)


def primary(page: Page) -> Any:
    return page.locator("main .button.primary, main button.primary").filter(visible=True)


def test_a_new_project_leads_by_its_one_primary_button_to_a_published_task(
    page: Page, live_server: Any
) -> None:
    page.clock.install()
    page.goto(live_server.url + reverse("project_new"))
    page.get_by_label("Name").fill("Fact checks")
    page.get_by_role("button", name="Create project").click()
    expect(page.locator(".state-line")).to_contain_text("0 of 5 steps done.")
    expect(primary(page)).to_have_text("Create a task")
    primary(page).click()
    expect(page.get_by_role("heading", name="Start from a template")).to_be_visible()
    page.get_by_role("button", name="Classify messages").click()
    page.wait_for_url("**/build/*")
    expect(page.locator("#build-state")).to_contain_text("It has 6 example items.")
    page.clock.fast_forward(40_000)
    expect(page.locator("time[data-saved]")).to_have_text(re.compile(r"^4\d s ago$"))
    page.locator("#part-time").click()
    expect(page.locator("#part-time")).to_have_attribute("aria-current", "page")
    page.get_by_role("link", name="Preview as worker").click()
    expect(page.get_by_text("My parcel was due on Friday")).to_be_visible()
    page.get_by_role("link", name="Back to the builder").click()
    expect(page.locator("#part-time")).to_have_attribute("aria-current", "page")
    page.get_by_role("link", name="Publish…").click()
    expect(page.get_by_text("6 example items of the template")).to_be_visible()
    page.get_by_label("Keep them").check()
    page.locator("dialog").get_by_role("button", name="Publish").click()
    expect(page.locator("#notices")).to_contain_text("It has 6 example items.")
    expect(primary(page)).to_have_text("Invite workers")
    primary(page).click()
    expect(page.locator("h1")).to_have_text("People")
    assert Task.objects.get().items.count() == 6
