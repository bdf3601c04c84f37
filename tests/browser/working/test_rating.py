"""Rating answers beside their document: by pointer, by keyboard alone, over a closed tab."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Assignment
from annotation.work.selectors import log
from tests.browser.sign_in import cut_off, kill, log_is_sent, misfits
from tests.browser.working.keys import is_saved, passes
from tests.support import factories
from tests.support.studies import ratings

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(1)


@pytest.fixture
def held(world: factories.World) -> Assignment:
    """Two answers to one question about a document."""
    return factories.claim(ratings.make_documents(world.project, 1, 2), world.worker)


def open_answer(page: Page, live_server: Any, held: Assignment, number: int = 1) -> None:
    page.goto(live_server.url + reverse("work_item", args=[held.pk, number]))
    expect(page.locator(".judgment.current")).to_have_count(1)


def is_answer(page: Page, number: int) -> None:
    expect(page.locator(".rate-form .meta.bars").first).to_contain_text(f"Answer {number} of 2")


def chosen(page: Page) -> list[str]:
    marked = page.locator("[data-sentence].chosen")
    found: list[str] = marked.evaluate_all("all => all.map(one => one.dataset.sentence)")
    return found


def test_a_rating_with_evidence_by_click_and_key_over_a_closed_tab(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    open_answer(page, live_server, held)
    is_answer(page, 1)
    page.get_by_role("radio", name="misses a little").check()
    page.get_by_label("Why?").fill("Too short.")
    page.get_by_role("radio", name="1 correct", exact=True).check()
    page.get_by_role("button", name="Sentence 1 as evidence").click()
    page.locator("#sentence-4 .words").click()
    assert chosen(page) == ["1", "4"]
    expect(page.get_by_label("Sentences that show it")).to_have_value("1, 4")

    page.get_by_role("button", name="Next answer").click()
    is_answer(page, 1)  # held, and said beside the field
    expect(page.locator("#explanation-wrong")).to_have_text(
        "2 words so far; at least 5 are wanted."
    )
    page.get_by_label("Why?").fill(ratings.ANSWERS[0])
    page.get_by_role("button", name="Next answer").click()
    expect(page.locator("#explanation-wrong")).to_contain_text("repeats the question or the answer")
    page.get_by_label("Why?").fill(ratings.WHY)
    is_saved(page)
    address = page.url
    cut_off(page, "**/draft/")
    page.get_by_label("Sentences that show it").fill("1, 3-4")  # never reached the server
    kill(page)

    again = signed_in.new_page()
    again.goto(address)
    expect(again.get_by_label("Why?")).to_have_value(ratings.WHY)
    expect(again.locator("[data-sentence].chosen")).to_have_count(3)
    again.get_by_role("button", name="Next answer").click()
    is_answer(again, 2)

    # The second one by keyboard alone.
    for key in ("4", "1"):
        again.keyboard.press(key)
    expect(again.locator("[data-answered]")).to_have_text("2 of 2 answered")
    again.keyboard.press("e")
    for key in ("ArrowDown", "Space", "ArrowDown", "Space", "Space", "w"):
        again.keyboard.press(key)
    assert chosen(again) == ["4"]  # it begins at the sentence where the question arose
    again.keyboard.type("Nothing is missing and nothing is wrong.")
    again.get_by_label("A word to the people").fill("The document was short.")
    again.keyboard.press("Control+Enter")
    expect(again.get_by_role("heading", name="Ready to submit")).to_be_visible()
    again.get_by_role("button", name="Submit 2 ratings").click()
    expect(again.get_by_role("heading", name="Submitted")).to_be_visible()

    first, second = held.answers.order_by("order_shown")
    assert dict(first.choices.values_list("field", "ordinal")) == {
        "completeness": 70,
        "correctness": 1,
    }
    assert list(first.spans.order_by("index").values_list("start", flat=True)) == [1, 3, 4]
    assert dict(second.choices.values_list("field", "ordinal"))["completeness"] == 100
    assert list(second.spans.values_list("start", "target")) == [(4, "sentence")]
    assert dict(second.texts.values_list("field", "text")) == {
        "explanation": "Nothing is missing and nothing is wrong.",
        "feedback": "The document was short.",
    }
    passes(again, 4.5)  # what a killed tab left is taken over a little later
    log_is_sent(again)
    clicks = {e.get("name") for e in log.assignment_events(held.pk) if e["method"] == "click"}
    assert {"sentence-1", "sentence-4"} <= clicks


@pytest.mark.long
def test_the_question_leads_to_its_sentence_and_the_page_fits_a_phone(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    open_answer(page, live_server, held)
    expect(page.locator("#sentence-3")).to_have_class("sentence anchor")
    page.get_by_role("link", name="sentence 3").click()
    expect(page.get_by_role("button", name="Sentence 3 as evidence")).to_be_focused()
    assert chosen(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert misfits(page, "rating") == []
    fold = page.locator('[data-unfold="#document"]')
    expect(fold).to_be_visible()
    fold.click()
    page.get_by_role("button", name="Sentence 7 as evidence").click()
    assert chosen(page) == ["7"]


def test_an_answer_is_cleared_after_confirming_and_the_log_says_so(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    open_answer(page, live_server, held)
    page.get_by_role("radio", name="misses a little").check()
    page.get_by_label("Why?").fill("Too short.")
    page.get_by_role("button", name="Sentence 1 as evidence").click()
    is_saved(page)
    page.locator(".reset summary").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_label("Why?")).to_have_value("Too short.")
    page.locator(".reset summary").click()
    page.get_by_role("button", name="Clear it").click()
    expect(page.locator(".reset[open]")).to_have_count(0)
    is_answer(page, 1)
    expect(page.get_by_label("Why?")).to_have_value("")
    expect(page.locator("input[type=radio]:checked")).to_have_count(0)
    assert chosen(page) == []
    page.reload()
    expect(page.get_by_label("Why?")).to_have_value("")
    entry = held.entries.order_by("position").first()
    assert entry is not None and not any(entry.draft.values())
    log_is_sent(page)
    assert "reset" in {one["method"] for one in log.assignment_events(held.pk)}
