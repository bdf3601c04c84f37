"""A board is published, read by a stranger in a browser of their own, embedded, and withdrawn."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, expect

from tests.browser.sign_in import sign_in
from tests.evaluation.corpora import pairs as corpus
from tests.evaluation.corpora.pair_study import scored
from tests.support.crawl import overflows, violations, watch

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.long
def test_a_board_is_published_read_by_a_stranger_and_withdrawn(
    context: BrowserContext, browser: Browser, live_server: Any
) -> None:
    task = corpus.make_judged()
    scored(task)
    sign_in(context, task.project.owner, live_server.url)
    page, errors = context.new_page(), list[str]()
    watch(page, errors)
    page.goto(live_server.url + reverse("pair_results", args=[task.project_id, task.pk]))
    page.locator("summary", has_text="Share").click()
    page.get_by_label("Address, after /boards/").fill("our-study")
    page.get_by_label("Offer the board as CSV and JSON").check()
    page.get_by_role("button", name="Publish board").click()
    expect(page.get_by_role("link", name="/boards/our-study/")).to_be_visible()
    found = overflows(page) + violations(page)

    visitor = browser.new_context(viewport={"width": 360, "height": 740})
    stranger = visitor.new_page()
    watch(stranger, errors)
    address = live_server.url + "/boards/our-study/"
    stranger.goto(address)
    expect(stranger.get_by_role("heading", level=1)).to_have_text(task.current.title)
    expect(stranger.get_by_role("link", name="Board as CSV")).to_be_visible()
    found += overflows(stranger) + violations(stranger)
    drawn = stranger.evaluate(
        "async () => { const i = new Image(); i.src = '/boards/our-study.svg';"
        " await i.decode(); return i.naturalWidth; }"
    )
    assert drawn == 720

    page.get_by_role("button", name="Withdraw /boards/our-study/").click()
    expect(page.get_by_text("Not public.")).to_be_visible()
    assert errors == [] and found == []
    gone = stranger.reload()
    assert gone is not None and gone.status == 404
    expect(stranger.get_by_text("There is nothing at this address")).to_be_visible()
    visitor.close()
