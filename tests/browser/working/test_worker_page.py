"""The answering page in a real browser: keys, killed tabs, lost networks, an exact log."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.installation.actions import end_read_only, set_read_only
from annotation.models import Answer, Assignment, Consent
from annotation.work.actions import assignments
from annotation.work.selectors import log
from tests.browser.sign_in import cut_off, kill, log_is_sent
from tests.browser.working.keys import is_saved, passes, press_on
from tests.support import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# What is pasted, and where it comes from.
PASTES = {
    "é 日本語 ": "outside",
    "chimneys and poles. They come back": "passage",
    "So it is.": "own",
}


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
    return log.replay_text(log.item_events(log.assignment_events(held.pk), item))


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


def test_a_whole_assignment_by_keyboard_alone(
    page: Page, live_server: Any, world: factories.World
) -> None:
    page.goto(live_server.url + reverse("work_home"))
    press_on(page, page.get_by_role("button", name="Start What storks do"))
    question = page.locator("h1.question")
    expect(question).to_have_text("What is question 1 about?")
    expect(page.locator("#answer")).to_be_focused()  # by the page, once its script has come
    page.keyboard.type("Nests on chimneys.")
    for leave in ("Tab", "Escape"):
        page.keyboard.press(leave)
        expect(page.locator("#answer")).not_to_be_focused()
        page.locator("#answer").focus()
    with page.expect_response("**/extend/"):
        press_on(page, page.get_by_role("button", name="Extend"))
    expect(page.locator("[data-left]")).to_have_text(re.compile("^4[45]:"))
    assert Assignment.objects.get().extensions == 1
    page.locator("#answer").focus()
    page.keyboard.press("Control+Enter")
    expect(question).to_have_text("What is question 2 about?")
    page.keyboard.press("Alt+s")
    expect(question).to_have_text("What is question 3 about?")
    page.keyboard.press("Alt+ArrowLeft")
    expect(question).to_have_text("What is question 2 about?")
    page.keyboard.press("Alt+d")
    expect(question).to_have_text("What is question 3 about?")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Alt+k")
    expect(page.locator("#keys")).to_be_hidden()
    page.locator("#answer").focus()
    page.keyboard.type("Frogs and mice.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Ready to submit")).to_be_visible()
    press_on(page, page.get_by_role("button", name="Submit 3 answers"))
    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()
    texts = Answer.objects.order_by("order_shown").values_list("texts__text", flat=True)
    assert list(texts) == ["Nests on chimneys.", "I don't know", "Frogs and mice."]
    press_on(page, page.get_by_role("link", name="Earnings", exact=True))
    expect(page.locator("h1")).to_have_text("Earnings")
    expect(page.get_by_role("heading", name="Awaiting review 1")).to_be_visible()


def test_a_tab_killed_in_the_middle_of_a_word_loses_nothing(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    cut_off(page, "**/draft/")  # nothing has reached the server yet
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


def test_what_is_written_offline_sends_itself_later_and_the_line_about_it_goes(
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
    page.locator("[data-saved=server]").wait_for()  # as soon as there is a network
    expect(page.locator("#notices")).not_to_contain_text("No network")
    assert stored_text(held) == "Written in a tunnel."
    with page.expect_response("**/events/"):
        passes(page, 5)  # which the log is sent after
    assert replayed(held) == "Written in a tunnel."

    cut_off(page, "**/work/assignments/**")  # the network seems there
    page.keyboard.type(" And in a second one.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#notices")).to_contain_text("No network")
    page.unroute("**/work/assignments/**")
    passes(page, 4)
    is_saved(page)
    expect(page.locator("#notices")).not_to_contain_text("No network")


def test_a_submit_whose_answer_was_lost_is_sent_again_as_the_same(
    page: Page, live_server: Any, held: Assignment
) -> None:
    assert held.worker.user is not None
    for entry in held.entries.all():
        given = {"item_id": entry.item_id, "draft": {"text": "Two words."}, "seq": 1}
        assignments.save_draft(by=held.worker.user, assignment=held, **given)
    page.goto(live_server.url + reverse("work_assignment", args=[held.pk]))
    expect(page.get_by_text("Two words.")).to_have_count(3)
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
    expect(page.get_by_text("Not submitted yet: no network.")).to_be_visible()
    passes(page, 3)
    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()
    assert len(lost) == 2
    assert len(set(lost)) == 1
    assert Answer.objects.count() == 3


def test_what_is_written_and_submitted_while_the_site_is_read_only_arrives_afterwards(
    page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    set_read_only(by=None, why="We move to another server.")
    page.keyboard.type("Storks build nests on poles.")
    passes(page, 4)
    assert stored_text(held) == ""
    end_read_only(by=None)
    passes(page, 20)
    is_saved(page)
    assert stored_text(held) == "Storks build nests on poles."

    assert held.worker.user is not None
    for entry in held.entries.exclude(position=0):
        given = {"item_id": entry.item_id, "draft": {"text": "Two words."}, "seq": 1}
        assignments.save_draft(by=held.worker.user, assignment=held, **given)
    page.goto(live_server.url + reverse("work_assignment", args=[held.pk]))
    set_read_only(by=None, why="We move to another server.")
    page.get_by_role("button", name=re.compile("^Submit")).click()
    expect(page.locator("[data-submit-state]")).to_contain_text("We move to another server.")
    end_read_only(by=None)
    passes(page, 20)
    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()


def test_replaying_the_log_gives_the_submitted_text_and_says_where_pastes_are_from(
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
    page.keyboard.type("So it is. ")
    for text in PASTES:
        paste(page, text)
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
    assert [event["comment"] for event in events_of(held, "paste")] == list(PASTES.values())
    summary = log.log_summaries([held.pk])[held.pk]
    assert (summary.pastes_passage, summary.pastes_own, summary.pastes_outside) == (1, 1, 1)


def test_two_tabs_end_with_what_was_typed_last(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    page.keyboard.type("From the first tab.")
    is_saved(page)
    other = signed_in.new_page()
    open_item(other, live_server, held)
    expect(other.locator("textarea.answer")).to_have_value("From the first tab.")
    passes(page, 2)  # who has just typed would have the last word
    other.keyboard.type(" And the second.")
    expect(page.locator("textarea.answer")).to_have_value("From the first tab. And the second.")
    assert page.evaluate("() => crowdqc.drafts.sync()")  # before the tab that it was typed in
    is_saved(other)  # as it is told there as well
    log_is_sent(page)
    assert stored_text(held) == replayed(held) == "From the first tab. And the second."


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
