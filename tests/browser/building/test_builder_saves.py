"""Saving while one types: presses that an answer overtakes, codes that follow, styles that stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Task
from tests.browser.sign_in import reporting, sign_in
from tests.support import factories
from tests.support.studies.labels import begin_leaves

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def task() -> Task:
    return begin_leaves(factories.make_project())


@pytest.fixture
def page(task: Task, context: BrowserContext, live_server: Any) -> Iterator[Page]:
    """The requester's browser, which reports every error of its scripts."""
    sign_in(context, task.project.owner, live_server.url)
    yield from reporting(context)


def opens(page: Page, task: Task, live_server: Any, query: str) -> None:
    path = reverse("task_build", args=[task.project_id, task.pk])
    page.goto(f"{live_server.url}{path}?{query}")


def is_saved(answer: Any) -> bool:
    return bool(answer.request.method == "POST")


def test_a_press_on_publish_counts_though_saving_replaces_the_button(
    page: Page, task: Task, live_server: Any
) -> None:
    opens(page, task, live_server, "part=text")
    page.get_by_label("Title").fill("Leaves of the garden")
    button = page.locator("#publish-task")
    button.hover()
    with page.expect_response(is_saved):
        page.mouse.down()  # leaves the field, which saves it
    expect(page.locator("h1")).to_have_text("Leaves of the garden")  # drawn anew
    page.mouse.up()
    expect(page.locator("#publish-head")).to_contain_text("Leaves of the garden")


def test_names_and_values_follow_what_is_typed_and_the_page_goes_on_with_them(
    page: Page, task: Task, live_server: Any
) -> None:
    opens(page, task, live_server, "part=fields&question=damage")
    with page.expect_response(is_saved):
        page.get_by_label("Question", exact=True).fill("Which shape?")
    expect(page.locator("#open-name")).to_have_text("which_shape")
    expect(page.get_by_label("Name in results")).to_have_value("Which shape?")
    with page.expect_response(is_saved):
        page.get_by_label("Label of option 1").fill("Square")
    expect(page.get_by_label("Value of option 1")).to_have_value("square")
    page.reload()
    expect(page.get_by_label("Value of option 1")).to_have_value("square")
    field = task.versions.get().settings["fields"][0]
    assert (field["name"], field["options"][0]["value"]) == ("which_shape", "square")


def test_what_a_person_resized_is_drawn_anew_without_a_breach_of_the_policy(
    page: Page, task: Task, live_server: Any
) -> None:
    opens(page, task, live_server, "part=text")
    text = page.get_by_label("Instructions")
    text.evaluate("box => { box.style.height = '300px' }")  # as its corner does
    page.locator("#as-desktop").click()
    expect(page.locator("#as-desktop")).to_have_attribute("aria-current", "true")


def test_the_publish_dialog_keeps_what_is_typed_while_it_computes_the_cost(
    page: Page, task: Task, live_server: Any
) -> None:
    opens(page, task, live_server, "part=time")
    page.locator("#publish-task").click()
    dialog = page.locator("dialog#publish")
    workers, pay = dialog.locator("[name=redundancy]"), dialog.locator("[name=pay]")
    workers.fill("4")
    with page.expect_response(is_saved):
        workers.press("Tab")
        pay.fill("1.50")
    expect(dialog.locator("#publish-size")).to_contain_text("assignment")
    expect(pay).to_have_value("1.50")
    expect(pay).to_be_focused()
    with page.expect_response(is_saved):
        pay.press("Tab")
    expect(dialog.locator("#publish-cost b").first).not_to_have_text("€0.00")
    expect(pay).to_have_value("1.50")
