"""The answering page in a real browser: keys, killed tabs, lost networks, an exact log."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect
from playwright.sync_api import Error as PlaywrightError

from annotation.models import Answer, Assignment, Consent
from annotation.work.selectors import log
from tests.browser.sign_in import log_is_sent, misfits
from tests.browser.working.keys import is_saved, press_on
from tests.support import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(3, redundancy=5, settings={"min_words": 2, "max_words": 60})


@pytest.fixture
def held(world: factories.World) -> Assignment:
    return factories.claim(world.task, world.worker)


def open_item(page: Page, live_server: Any, held: Assignment, number: int = 1) -> None:
    page.goto(live_server.url + reverse("work_item", args=[held.pk, number]))
    expect(page.locator("textarea.answer")).to_be_focused()


def stored_text(held: Assignment, number: int = 1) -> str:
    return held.entries.get(position=number - 1).draft.get("text", "")


def replayed(held: Assignment, number: int = 1) -> str:
    item = held.entries.get(position=number - 1).item_id
    return log.replay(log.item_events(log.assignment_events(held.pk), item))


def events_of(held: Assignment, method: str) -> list[dict[str, Any]]:
    return [e for e in log.assignment_events(held.pk) if e["method"] == method]


def paste(page: Page, text: str) -> None:
    """Paste as a person does, by the clipboard event with its data and the change that follows."""
    page.evaluate(
        """text => {
            const field = document.querySelector("textarea.answer");
            const data = new DataTransfer();
            data.setData("text/plain", text);
            field.dispatchEvent(
                new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
            field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
            field.dispatchEvent(
                new InputEvent("input", {inputType: "insertFromPaste", bubbles: true}));
        }""",
        text,
    )


def kill(page: Page) -> None:
    """End the page's process at once: no event of leaving reaches its scripts."""
    with page.expect_event("crash", timeout=10_000), contextlib.suppress(PlaywrightError):
        page.goto("chrome://crash", wait_until="commit", timeout=5_000)


def test_a_whole_assignment_by_keyboard_alone(
    page: Page, live_server: Any, world: factories.World
) -> None:
    page.goto(live_server.url + reverse("work_home"))
    press_on(page, page.get_by_role("button", name="Start What storks do"))
    question = page.locator("h1.question")
    expect(question).to_have_text("What is question 1 about?")
    expect(page.locator("#answer")).to_be_focused()  # by the page, once its script has come
    page.keyboard.type("Nests on chimneys.")
    page.keyboard.press("Control+Enter")
    expect(question).to_have_text("What is question 2 about?")
    page.keyboard.press("Alt+s")
    expect(question).to_have_text("What is question 3 about?")
    page.keyboard.press("Alt+ArrowLeft")
    expect(question).to_have_text("What is question 2 about?")
    page.keyboard.press("Alt+d")
    expect(question).to_have_text("What is question 3 about?")
    page.keyboard.press("Alt+k")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.type("Frogs and mice.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Ready to submit")).to_be_visible()
    press_on(page, page.get_by_role("button", name="Submit 3 answers"))
    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()
    texts = Answer.objects.order_by("order_shown").values_list("texts__text", flat=True)
    assert list(texts) == ["Nests on chimneys.", "I don't know", "Frogs and mice."]
    press_on(page, page.get_by_role("link", name="Earnings"))
    expect(page.locator("h1")).to_have_text("Earnings")
    expect(page.get_by_text("1 assignment waits for approval.")).to_be_visible()


def test_tab_leaves_the_field_and_escape_does_too(
    page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    page.keyboard.press("Tab")
    expect(page.locator("textarea.answer")).not_to_be_focused()
    page.locator("textarea.answer").focus()
    page.keyboard.press("Escape")
    expect(page.locator("textarea.answer")).not_to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()


def test_a_tab_killed_in_the_middle_of_a_word_loses_nothing(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    page.route("**/draft/", lambda route: route.abort())  # nothing has reached the server yet
    open_item(page, live_server, held)
    page.keyboard.type("They come back in spr")
    kill(page)
    assert stored_text(held) == ""
    again = signed_in.new_page()
    open_item(again, live_server, held)
    expect(again.locator("textarea.answer")).to_have_value("They come back in spr")
    again.keyboard.type("ing.")
    is_saved(again)
    assert stored_text(held) == "They come back in spring."


def test_what_is_written_offline_sends_itself_later(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    signed_in.set_offline(True)
    page.keyboard.type("Written in a tunnel.")
    expect(page.locator("[data-saved=device]")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("No network: this answer is kept")).to_be_visible()
    expect(page.locator("textarea.answer")).to_have_value("Written in a tunnel.")
    signed_in.set_offline(False)
    is_saved(page)
    assert stored_text(held) == "Written in a tunnel."
    page.wait_for_timeout(6000)
    assert replayed(held) == "Written in a tunnel."


def test_a_submit_whose_answer_was_lost_is_sent_again_as_the_same(
    page: Page, live_server: Any, held: Assignment
) -> None:
    for number in (1, 2, 3):
        open_item(page, live_server, held, number)
        page.keyboard.type("Two words.")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_text("Two words.")).to_have_count(0 if number < 3 else 3)
    lost: list[str] = []

    def lose_first(route: Any) -> None:
        response = route.fetch()
        lost.append(json.loads(route.request.post_data)["key"])
        if len(lost) == 1:
            route.abort()
        else:
            route.fulfill(response=response)

    page.route("**/submit/", lose_first)
    page.get_by_role("button", name="Submit 3 answers").click()
    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()
    assert len(lost) == 2
    assert len(set(lost)) == 1
    assert Answer.objects.count() == 3


def test_replaying_the_log_gives_the_submitted_text(
    page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    page.keyboard.type("Storks bild nets 😀 on poles.\nYes.")
    for _ in range(12):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+Control+ArrowLeft")
    page.keyboard.insert_text("👩‍🔬 chimneys ")  # as an input method or autocorrect puts it in
    page.keyboard.press("Control+z")
    page.keyboard.press("Home")
    page.keyboard.press("Delete")
    page.keyboard.type("S")
    paste(page, "é 日本語 ")
    page.keyboard.press("Backspace")
    written = page.locator("textarea.answer").input_value()
    page.keyboard.press("Control+Enter")
    expect(page.locator("h1.question")).to_have_text("What is question 2 about?")
    page.keyboard.press("Alt+ArrowLeft")
    expect(page.locator("textarea.answer")).to_have_value(written)
    page.keyboard.press("End")
    page.keyboard.type("!")
    written = page.locator("textarea.answer").input_value()
    page.keyboard.press("Alt+r")
    expect(page.get_by_text("1 of 3 answered")).to_be_visible()
    log_is_sent(page)
    assert stored_text(held) == written
    assert replayed(held) == written
    names = {event["name"] for event in events_of(held, "keydown")}
    assert {"navigation", "correction", "other"} <= names  # what typed is in the runs
    assert all(len(event["name"]) > 1 for event in events_of(held, "keydown"))
    numbers = [(e["stream"], e["seq"]) for e in log.assignment_events(held.pk)]
    assert len(set(numbers)) == len(numbers)


def test_pastes_from_the_text_from_oneself_and_from_outside_are_told_apart(
    page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    page.keyboard.type("My very own words. ")
    paste(page, "chimneys and poles. They come back")
    paste(page, "My very own words.")
    paste(page, "Ciconia ciconia is a large bird of the stork family.")
    log_is_sent(page)
    assert [event["comment"] for event in events_of(held, "paste")] == [
        "passage",
        "own",
        "outside",
    ]
    summary = log.log_summaries([held.pk])[held.pk]
    assert (summary.pastes_passage, summary.pastes_own, summary.pastes_outside) == (1, 1, 1)
    assert summary.typed_chars == len("My very own words. ")
    assert replayed(held) == page.locator("textarea.answer").input_value()


def test_two_tabs_end_with_what_was_typed_last(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    page.keyboard.type("From the first tab.")
    is_saved(page)
    other = signed_in.new_page()
    open_item(other, live_server, held)
    expect(other.locator("textarea.answer")).to_have_value("From the first tab.")
    other.keyboard.type(" And the second.")
    expect(page.locator("textarea.answer")).to_have_value("From the first tab. And the second.")
    is_saved(other)
    log_is_sent(page)
    assert stored_text(held) == replayed(held) == "From the first tab. And the second."


def test_what_another_tab_has_sent_is_said_to_be_saved(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    other = signed_in.new_page()
    open_item(other, live_server, held)
    other.keyboard.type("Typed here.")
    expect(page.locator("textarea.answer")).to_have_value("Typed here.")
    assert page.evaluate("() => crowdqc.drafts.sync()")  # before the tab that it was typed in
    is_saved(other)


def test_the_text_is_gone_once_one_has_gone_on(
    page: Page, live_server: Any, world: factories.World
) -> None:
    task = factories.make_task(world.project, 2, look_back=False)
    held = factories.claim(task, world.worker)
    page.goto(live_server.url + reverse("work_item", args=[held.pk, 1]))
    expect(page.get_by_text("you cannot look back")).to_be_visible()
    page.keyboard.press("Control+Enter")
    for act in (lambda: None, page.reload, page.go_back):
        act()
        # The address is the same before and after: what tells them apart is the field. Going back
        # loads the page a second time, which may have begun or not.
        expect(page.locator("#answer")).to_be_visible()
        expect(page.locator("html")).not_to_contain_text("build their nests")


def test_nothing_is_recorded_once_the_agreement_is_taken_back(
    page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    page.keyboard.type("Before.")
    log_is_sent(page)
    before = len(log.assignment_events(held.pk))
    assert before >= 3
    Consent.objects.update(withdrawn_at="2030-01-01T00:00Z")
    page.keyboard.type(" After.")
    is_saved(page)
    log_is_sent(page)
    assert len(log.assignment_events(held.pk)) == before
    assert stored_text(held) == "Before. After."


def test_the_clock_can_be_extended_without_leaving_the_page(
    page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    page.keyboard.type("Unsaved as yet")
    with page.expect_response("**/extend/"):
        page.get_by_role("button", name="Extend").click()
    expect(page.locator("[data-left]")).to_have_text(re.compile("^4[45]:"))
    expect(page.locator("textarea.answer")).to_have_value("Unsaved as yet")
    held.refresh_from_db()
    assert held.extensions == 1


def test_axe_finds_nothing_serious_and_nothing_scrolls_sideways(
    page: Page, live_server: Any, world: factories.World
) -> None:
    factories.claim_and_submit(world.task, world.worker)
    task = factories.make_task(world.project, 3, instructions="Answer **briefly**.")
    once = factories.make_task(world.project, 2, look_back=False)
    fresh, read = factories.claim(task, world.worker), factories.claim(once, world.worker)
    done = Assignment.objects.get(state="submitted")
    addresses = [
        reverse("work_home"),
        reverse("work_assignment", args=[fresh.pk]),
        reverse("work_item", args=[fresh.pk, 2]),
        reverse("work_assignment", args=[fresh.pk]),
        reverse("work_item", args=[read.pk, 1]),
        reverse("work_done", args=[done.pk]),
        reverse("work_consent", args=[world.project.pk]),
        reverse("work_record"),
        reverse("work_record_assignment", args=[done.pk]),
    ]
    found = []
    for address in addresses:
        page.goto(live_server.url + address)
        found += misfits(page, address)
    assert found == []
