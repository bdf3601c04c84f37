"""A study from nothing: a new project, a template, preview, publish, and the next step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Locator, Page, expect

from annotation.models import Task, User
from tests.browser.sign_in import fits, is_well, reporting, saves, sign_in
from tests.support import factories, uploads

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
    page.locator("dialog").get_by_role("button", name="Publish").click()
    expect(page.locator("#notices")).to_contain_text("It has 6 example items.")
    expect(primary(page)).to_have_text("Invite workers")
    primary(page).click()
    expect(page.locator("h1")).to_have_text("People")
    assert Task.objects.get().items.count() == 6


REVIEWS = "id,review\n" + "\n".join(f"r{n},Breakfast {n} came an hour late." for n in range(1, 31))
PAIRS = "\n".join(
    f'{{"prompt": "Why {n}?", "response_a": "Because {n}.", "response_b": "No reason {n}."}}'
    for n in range(12)
)


class Clicks:
    """Counts what a person clicks; a chosen file is a click."""

    def __init__(self, page: Page) -> None:
        self.page, self.count = page, 0

    def press(self, target: Locator) -> None:
        self.count += 1
        target.first.click()

    def choose(self, field: str, name: str, content: str) -> None:
        self.count += 1
        file = {"name": name, "mimeType": "text/plain", "buffer": content.encode()}
        self.page.locator(field).set_input_files(file)


def begins(page: Page, root: str) -> Clicks:
    """A new project of somebody who has just signed up."""
    clicks = Clicks(page)
    page.goto(root)
    page.get_by_label("Name").fill("Reviews")
    clicks.press(page.get_by_role("button", name="Create without a file"))
    expect(page.get_by_role("heading", name="Start from a file")).to_be_visible()
    return clicks


def imports(clicks: Clicks, rows: int) -> None:
    clicks.press(clicks.page.get_by_role("button", name=f"Import {rows} rows"))
    clicks.page.wait_for_url("**/build/**")


def publishes(clicks: Clicks) -> None:
    page = clicks.page
    clicks.press(page.get_by_role("link", name="Publish…"))
    dialog = page.locator("dialog[open]")
    expect(dialog).to_contain_text("at most")
    is_well(page)
    fits(page, "the publish dialog")
    clicks.press(dialog.get_by_role("button", name=re.compile("^Publish for")))
    expect(page.locator(".state").first).to_contain_text("Open")


def test_a_sentiment_task_takes_under_eleven_clicks_after_signing_up(
    page: Page, live_server: Any
) -> None:
    clicks = begins(page, live_server.url)
    with uploads.working():
        clicks.press(page.get_by_role("button", name="Mark sentiment"))
        page.wait_for_url("**/build/**")
        clicks.press(page.get_by_role("link", name="Import your items"))
        clicks.choose("#id_file", "reviews.csv", REVIEWS)
        imports(clicks, 30)
    clicks.press(page.locator("#part-time"))
    saves(page, "Pay per assignment", "1.00")
    clicks.press(page.get_by_role("link", name="Publish…"))
    clicks.press(page.locator("dialog").get_by_role("button", name="Publish for €20.00"))
    expect(page.locator(".state").first).to_contain_text("Open")
    assert Task.objects.get().items.count() == 30
    assert clicks.count <= 10


@pytest.mark.parametrize("width", [360, 1360])
def test_a_file_of_pairs_becomes_a_project_with_a_published_task_in_five_clicks(
    page: Page, live_server: Any, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    clicks = Clicks(page)
    page.goto(live_server.url)
    with uploads.working():
        clicks.choose("#id_own_file", "pairs.jsonl", PAIRS)
        imports(clicks, 12)
    clicks.press(page.locator("#part-time"))
    saves(page, "Pay per assignment", "1.00")
    publishes(clicks)
    assert Task.objects.get().items.count() == 12
    assert clicks.count <= 5
