"""A file chosen in a real browser before the page's scripts have come."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Route, expect

from tests.browser.polling import polls_often
from tests.browser.sign_in import sign_in
from tests.support import factories, uploads

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]
FILE = {"name": "q.csv", "mimeType": "text/csv", "buffer": b"question\nWhy?\nWho?\n"}


def test_a_file_that_is_chosen_before_the_script_has_come_is_sent_as_well(
    context: BrowserContext, live_server: Any
) -> None:
    task = factories.make_task(publish=False)
    sign_in(context, task.project.owner, live_server.url)
    polls_often(context)
    page = context.new_page()
    held: list[Route] = []

    def hold_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/staff*.js", hold_first)
    address = live_server.url + reverse("task_import", args=[task.project_id, task.pk, "items"])
    page.goto(address, wait_until="commit")
    while not held:  # the field can be there before the browser asks for the script
        page.wait_for_timeout(20)
    page.locator("input[type=file]").set_input_files(FILE)  # type: ignore[arg-type]
    expect(page.get_by_role("button", name="Upload file")).to_be_visible()
    with uploads.working():
        held[0].continue_()
        expect(page.get_by_role("button", name="Import 2 rows")).to_be_visible()


def test_a_large_file_goes_on_in_parts_after_a_break(
    context: BrowserContext, live_server: Any
) -> None:
    task = factories.make_task(publish=False)
    sign_in(context, task.project.owner, live_server.url)
    polls_often(context)
    page = context.new_page()
    rows = "".join(f"Question {n} {'x' * 900}?\n" for n in range(10_000))
    broken: list[str] = []

    def break_once(route: Route) -> None:
        if "offset=4194304" in route.request.url and not broken:
            broken.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    page.route("**/uploads/**", break_once)
    page.goto(live_server.url + reverse("task_import", args=[task.project_id, task.pk, "items"]))
    large = {"name": "q.csv", "mimeType": "text/csv", "buffer": f"question\n{rows}".encode()}
    page.locator("input[type=file]").set_input_files(large)  # type: ignore[arg-type]
    with uploads.working():
        expect(page.get_by_role("button", name="Import 10,000 rows")).to_be_visible()
    assert len(broken) == 1
