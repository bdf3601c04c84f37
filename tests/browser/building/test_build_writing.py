"""A writing task built in a real browser: a topic by hand and a file, styles, questions, rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Project, Task
from tests.browser.sign_in import goes_to, is_well, reporting, saves, sign_in
from tests.support import factories, uploads

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASTED = "The moon pulls at the sea.\n\nThe sun pulls along the same line.\n\nBays swing with it."


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def page(project: Project, context: BrowserContext, live_server: Any) -> Iterator[Page]:
    """The requester's browser, which reports every error of its scripts."""
    sign_in(context, project.owner, live_server.url)
    yield from reporting(context)


def writes_a_topic(page: Page) -> None:
    """A query, three passages pasted at once, the second one given a title and the first rank."""
    page.get_by_role("button", name="Add a topic").click()
    expect(page.get_by_label("Query", exact=True)).to_be_focused()
    expect(page.locator("#costline")).to_contain_text("Topic 1 has no query")
    saves(page, "Query", "Why do tides turn?")
    expect(page.locator("#open-text")).to_contain_text("Why do tides turn?")
    expect(page.locator("#preview")).to_contain_text("Why do tides turn?")
    page.locator("#b-pasted").fill(PASTED)
    page.get_by_role("button", name="Add, divided at blank lines").click()
    expect(page.locator("#topic-passages h3")).to_contain_text("3, the best first")
    page.get_by_role("link", name="Edit passage 2").click()
    saves(page, "Title may stay empty", "Springs and neaps")
    expect(page.locator("#open-passage")).to_contain_text("Springs and neaps")
    is_well(page)
    page.get_by_role("button", name="Rank higher").click()
    expect(page.locator("#preview ol li").first).to_contain_text("Springs and neaps")


def takes_a_file(page: Page) -> None:
    rows = [
        {"topic": f"tide-{n}", "query": f"What is tide {n}?", "passages": [{"text": "It is."}]}
        for n in (1, 2)
    ]
    page.get_by_role("link", name="Import from CSV or JSONL").click()
    content = "\n".join(map(json.dumps, rows)).encode()
    page.locator("input[type=file]").set_input_files(
        {"name": "topics.jsonl", "mimeType": "application/jsonl", "buffer": content}
    )
    expect(page.get_by_role("button", name="Import 2 topics")).to_be_visible()
    is_well(page)
    page.get_by_role("button", name="Import 2 topics").click()
    page.wait_for_url("**/build/")
    expect(page.locator("#topics h2")).to_contain_text("3")


def styles_it(page: Page) -> None:
    """News goes, a letter comes; the rules are set, and a wrong one is refused in its place."""
    goes_to(page, "Styles and rules")
    page.get_by_role("link", name="Edit News article").click()
    page.get_by_text("Remove…").click()
    page.get_by_role("button", name="Remove this style").click()
    expect(page.locator("#styles tbody tr")).to_have_count(2)
    page.get_by_label("Name of a new style").fill("Letter")
    page.get_by_role("button", name="Add a style").click()
    saves(page, "Instructions what a text in this style is", "Begin with “Dear reader”.")
    expect(page.locator("#preview")).to_contain_text("Dear reader")
    with page.expect_response("**/build/**"):
        page.get_by_label("Words aimed at").fill("900")
    expect(page.locator(".error").first).to_contain_text("200 to 300.")
    with page.expect_response("**/build/**"):
        page.get_by_label("Words aimed at").fill("220")
    with page.expect_response("**/build/**"):
        page.get_by_label("Allowed", exact=True).check()
    expect(page.locator("#preview")).to_contain_text("Tools are allowed.")
    is_well(page)


def asks(page: Page) -> None:
    """A question of its own after writing, answered in words; one before it goes."""
    goes_to(page, "Questionnaires")
    page.locator("#b-new-exit").fill("Hardest")
    page.locator("#exit").get_by_role("button", name="Add a question").click()
    saves(page, "Question", "What was hardest?")
    page.get_by_label("In words", exact=True).check()
    expect(page.locator("#open-words")).to_contain_text("in words")
    expect(page.locator("#preview")).to_contain_text("What was hardest?")
    is_well(page)
    page.get_by_role("link", name="Edit Expertise").click()
    page.locator("#entry").get_by_role("button", name="Remove this question").click()
    expect(page.locator("#entry tbody tr")).to_have_count(3)


@pytest.mark.long
def test_a_writing_task_is_built_and_published(
    page: Page, live_server: Any, project: Project
) -> None:
    page.goto(live_server.url + reverse("task_new", args=[project.pk]))
    page.get_by_label("Title").fill("Tides explained")
    page.get_by_label("Writing with sources").check()
    page.get_by_role("button", name="Create task").click()
    page.wait_for_url("**/build/*")
    writes_a_topic(page)
    with uploads.working():
        takes_a_file(page)
    styles_it(page)
    asks(page)
    page.get_by_role("link", name="Preview as worker").click()
    expect(page.locator("h1").first).to_contain_text("Why do tides turn?")
    is_well(page)
    page.get_by_role("link", name="Back to the builder").click()
    page.get_by_role("link", name="Publish…").click()
    page.locator("dialog").get_by_text("What this can show").click()
    expect(page.locator("dialog")).to_contain_text("9 responses")
    page.locator("dialog").get_by_role("button", name="Publish").click()
    expect(page.locator("main")).to_contain_text("0 of 9 responses collected.")
    is_well(page)
    task = Task.objects.get(type="writing")
    assert task.current is not None
    settings = task.current.settings
    assert [row["name"] for row in settings["styles"]] == ["bullet", "essay", "letter"]
    assert (settings["target_words"], settings["tools"]) == (220, "allowed")
    assert [row["name"] for row in settings["exit"]][-1] == "hardest"
    first = task.groups.order_by("position").first()
    assert first is not None
    assert [row["key"] for row in first.passages] == ["p2", "p1", "p3"]
