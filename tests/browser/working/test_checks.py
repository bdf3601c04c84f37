"""A checklist scored by people and a model: filled in the browser, asked, and read side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, Page, expect

from annotation.models import Answer, Task
from tests.browser.runs import works
from tests.browser.sign_in import fits, sign_in
from tests.evaluation.checklists.test_checks_runs import model_of
from tests.evaluation.corpora import checks as corpus
from tests.support import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]


@pytest.fixture
def task() -> Task:
    """Five texts on one source, filled by one person already."""
    return corpus.make_study(topics=1, people=1)


@pytest.fixture
def page(task: Task, context: BrowserContext, live_server: Any) -> Iterator[Page]:
    """The requester's browser, which reports every error of its scripts."""
    sign_in(context, task.project.owner, live_server.url)
    context.set_default_timeout(20_000)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.goto("about:blank")
    assert errors == []


def fills(browser: Browser, root: str, task: Task) -> None:
    """A second person fills the checklist of some texts by keyboard alone."""
    worker = factories.make_worker(task.project)
    assert worker.user is not None
    held = factories.claim(task, worker)
    entries = list(held.entries.select_related("item__first").order_by("position"))
    own = browser.new_context()
    sign_in(own, worker.user, root)
    own.set_default_timeout(20_000)
    tab = own.new_page()
    tab.goto(root + reverse("work_item", args=[held.pk, 1]))
    for number, entry in enumerate(entries, 1):
        expect(tab.locator(".meta.bars").first).to_contain_text(f"{number} of {len(entries)}")
        tab.wait_for_load_state()
        expect(tab.locator(".judgment.current")).to_have_count(1)
        for name in corpus.WORDS:
            tab.keyboard.press(corpus.truth(entry.item.first.text, name)[0])
        expect(tab.locator("[data-open]")).to_have_text("")
        tab.keyboard.press("Enter")
    tab.get_by_role("button", name=f"Submit {len(entries)} checklists").click()
    expect(tab.get_by_role("heading", name="Submitted")).to_be_visible()
    own.close()


def test_people_and_a_model_fill_a_checklist_and_stand_side_by_side(
    page: Page, browser: Browser, live_server: Any, task: Task
) -> None:
    fills(browser, live_server.url, task)
    address = live_server.url + reverse("checklist_results", args=[task.project_id, task.pk])
    with corpus.answering() as stub:
        model_of(task.project, stub.base_url, logprobs=True)
        page.goto(address)
        expect(page.get_by_text("There are filled checklists to score")).to_be_visible()
        fits(page, "before the first run")
        page.get_by_role("link", name="Ask a model").click()
        page.get_by_role("link", name="Checklist answered by a model").click()
        expect(page.get_by_role("heading", name="Preview of the call")).to_be_visible()
        page.get_by_role("button", name="Ask 20 questions").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("hecklist")
        works()
    assert Answer.objects.filter(item__task=task, system__isnull=False).count() == 5
    page.goto(address)
    page.get_by_role("button", name="Run now").click()
    works()
    page.goto(address)
    table = page.locator("table.scorers")
    expect(table).to_contain_text("Most people")
    expect(table).to_contain_text("stub-1")
    expect(table).to_contain_text("mean probability of yes")
    fits(page, "scorers")
    page.get_by_role("link", name="Over all texts").click()
    expect(page.get_by_text("all texts at once")).to_be_visible()
    page.get_by_role("link", name="Questions", exact=True).click()
    expect(page.get_by_role("heading", name="Agreement and signal")).to_be_visible()
    page.get_by_text("2. Does the note give the time?").click()
    expect(page.get_by_text("time of brewing")).to_be_visible()
    page.get_by_role("link", name="Texts", exact=True).click()
    page.get_by_text("tea-0-4", exact=True).click()
    row = page.locator("table.checked-texts > tbody > tr", has_text="tea-0-4")
    expect(row).to_contain_text("Does the note name the leaf?")
    expect(row).to_contain_text("of 2 yes")
    expect(row).to_contain_text("4 of 4")
    fits(page, "texts")
    page.get_by_role("link", name="Conditions", exact=True).click()
    expect(page.get_by_text("Nothing else has scored these texts")).to_be_visible()
