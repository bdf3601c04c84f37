"""Results are shared by a link, read on a phone without an account, and stopped."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, expect

from tests.browser.sign_in import sign_in
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.labels.test_runs import scored
from tests.support.crawl import overflows, violations, watch

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]


def test_a_link_is_made_read_on_a_phone_without_an_account_and_stopped(
    context: BrowserContext, browser: Browser, live_server: Any
) -> None:
    task = corpus.make_labelled(items=24, known=4, workers=6, guessing=1)
    scored(task)
    sign_in(context, task.project.owner, live_server.url)
    page, errors = context.new_page(), list[str]()
    watch(page, errors)
    page.goto(live_server.url + reverse("label_results", args=[task.project_id, task.pk]))
    page.locator("summary", has_text="Share").click()
    page.get_by_role("button", name="Create link").click()
    link = page.get_by_label("New link")
    expect(link).to_be_visible()
    found = violations(page)
    address = link.input_value()

    visitor = browser.new_context(viewport={"width": 360, "height": 740})
    shared = visitor.new_page()
    watch(shared, errors)
    shared.goto(address)
    expect(shared.get_by_role("heading", level=1)).to_have_text(task.current.title)
    expect(shared.get_by_text("Worker 1", exact=True)).to_be_visible()
    found += overflows(shared) + violations(shared)

    page.get_by_role("button", name="Stop sharing").click()
    expect(page.get_by_text("Not shared.")).to_be_visible()
    assert errors == [] and found == []
    gone = shared.goto(address)
    assert gone is not None and gone.status == 404
    expect(shared.get_by_text("There is nothing at this address")).to_be_visible()
    visitor.close()
