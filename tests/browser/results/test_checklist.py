"""Two people and a model think aloud; a person makes a checklist of it, edits it, freezes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, Page, expect

from annotation.models import Answer, Task
from evaluation.models import ChecklistVersion
from tests.browser.polling import polls_often
from tests.browser.runs import works
from tests.browser.sign_in import fits, sign_in
from tests.evaluation.corpora import thinking as corpus
from tests.support import factories
from tests.support.servers.llm import make_model, serving

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def task() -> Task:
    return corpus.make_task()


@pytest.fixture
def page(task: Task, context: BrowserContext, live_server: Any) -> Iterator[Page]:
    """The requester's browser, which reports every error of its scripts."""
    sign_in(context, task.project.owner, live_server.url)
    polls_often(context)
    context.set_default_timeout(15_000)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.goto("about:blank")
    assert errors == []


def thinks_aloud(browser: Browser, root: str, task: Task, texts: list[str]) -> None:
    """One person's session at the worker's page, by keyboard, up to its submission."""
    worker = factories.make_worker(task.project)
    assert worker.user is not None
    held = factories.claim(task, worker)
    own = browser.new_context()
    sign_in(own, worker.user, root)
    own.set_default_timeout(20_000)
    tab = own.new_page()
    tab.goto(root + reverse("work_item", args=[held.pk, 1]))
    for number, text in enumerate(texts, 1):
        tab.get_by_label(f"Attribute {number}", exact=True).fill(text)
        tab.get_by_label(f"Attribute {number}", exact=True).press("Enter")
    expect(tab.locator("[data-saved=server]")).to_be_visible(timeout=20_000)
    tab.get_by_role("button", name="Review and submit").click()
    tab.get_by_role("button", name="Submit 1 dimension").click()
    expect(tab.get_by_role("heading", name="Submitted")).to_be_visible(timeout=20_000)
    own.close()


def asks_a_model(page: Page, stage: str) -> None:
    """Look at what would be asked, start it, and see the stage come on the page by itself."""
    section = page.locator(f"#{stage}")
    section.get_by_role("link", name="Ask a model").click()
    expect(page.get_by_role("heading", name="Preview of the call")).to_be_visible()
    fits(page, f"ask for {stage}")
    page.get_by_role("button", name="Ask 1 question").click()
    expect(page.locator(f"#{stage} .state")).to_contain_text("In progress")
    works()
    expect(page.locator(f"#{stage} .state")).to_contain_text("Made", timeout=15_000)


def edits(page: Page) -> None:
    """Move an attribute, which puts what follows out of date; bring it up to date by hand."""
    clusters = page.locator("#clusters")
    clusters.get_by_role("link", name="Edit").click()
    fits(page, "clusters")
    page.get_by_label(f"Component of “{corpus.OWL[0]}”").select_option("Opening and close")
    page.get_by_role("button", name="Save attributes by component").click()
    for stage in ("key_questions", "sub_questions", "validation"):
        expect(page.locator(f"#{stage} .state")).to_contain_text("Out of date")
    expect(page.get_by_role("button", name="Freeze as a version")).to_have_count(0)
    page.locator("#key_questions").get_by_role("link", name="Edit").click()
    fits(page, "key questions")
    page.get_by_label("Opening and close").fill("Do opening and close frame the text?")
    page.get_by_role("button", name="Save key questions").click()
    page.locator("#sub_questions").get_by_role("link", name="Edit").click()
    fits(page, "sub-questions")
    page.get_by_role("button", name="Save sub-questions").click()
    page.locator("#validation").get_by_role("link", name="Edit").click()
    page.get_by_label("Tick question 1").check()
    page.get_by_label("Tick question 2").check()
    page.get_by_role("button", name="Merge the ticked ones").click()
    expect(page.get_by_label("Question 2", exact=True)).to_have_value(
        "Is the topic named at the start?"
    )
    page.get_by_label("Question 1", exact=True).fill("Is each sentence tied to the one before?")
    fits(page, "validation")
    page.get_by_role("button", name="Save validated questions").click()


@pytest.mark.long
def test_two_people_and_a_model_become_a_checklist_that_a_person_edits_and_freezes(
    browser: Browser, page: Page, live_server: Any, task: Task
) -> None:
    for texts in (corpus.OWL, corpus.REED):
        thinks_aloud(browser, live_server.url, task, texts)
    with serving(corpus.answer) as stub:
        make_model(task.project, stub.base_url)
        page.goto(live_server.url + reverse("think_aloud_results", args=[task.project_id, task.pk]))
        expect(page.locator(".sentence")).to_have_text("6 attributes of 2 people on 1 dimension.")
        page.get_by_role("link", name="Let a model think aloud").click()
        page.get_by_role("button", name="Ask 1 question").click()
        expect(page.locator("h1")).to_contain_text("hinking aloud")
        works()
        assert Answer.objects.filter(system__isnull=False).count() == 1
        page.goto(live_server.url + reverse("think_aloud_results", args=[task.project_id, task.pk]))
        expect(page.locator(".sentence")).to_contain_text("11 attributes of 2 people and 1 model")
        fits(page, "attributes")
        page.get_by_role("link", name="New checklist").click()
        page.get_by_label("Name").fill("Order, combined")
        page.get_by_label("Whose attributes").select_option("Everybody: people and models combined")
        fits(page, "new checklist")
        page.get_by_role("button", name="Create checklist").click()
        for stage in ("components", "clusters", "key_questions", "sub_questions", "validation"):
            asks_a_model(page, stage)
        expect(page.locator("#clusters")).to_contain_text("2 attributes in no component")
        fits(page, "checklist")
    edits(page)
    page.get_by_role("button", name="Freeze as a version").click()
    expect(page.locator("h1")).to_have_text("Order, combined, version 1")
    page.get_by_text("from 3 attributes").click()
    expect(page.get_by_text(corpus.REED[1])).to_be_visible()
    fits(page, "version")
    version = ChecklistVersion.objects.get()
    assert version.made_of["condition"] == "people and models combined"
    assert [len(one["attributes"]) for one in version.questions] == [3, 2]
    page.get_by_role("button", name="Create task").click()
    expect(page.get_by_text("The task is a draft.")).to_be_visible()
    assert [one.type for one in version.tasks.all()] == ["checklist"]
