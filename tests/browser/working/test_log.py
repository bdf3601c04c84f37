"""What the answering page records in a real browser: runs of keys, citations, killed tabs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Assignment
from annotation.work.selectors import log
from tests.browser.sign_in import cut_off, kill, log_is_sent
from tests.browser.working.keys import passes
from tests.support import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
CHANGE = """([name, text, cited]) => {
    const field = document.querySelector("textarea.answer");
    if (cited) crowdqc.log.add("cite", {target: field.dataset.target, name: cited});
    field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new InputEvent("input", {inputType: name, bubbles: true}));
}"""


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(2, redundancy=5, settings={"min_words": 2, "max_words": 60})


@pytest.fixture
def held(world: factories.World) -> Assignment:
    return factories.claim(world.task, world.worker)


@pytest.fixture
def field(page: Page, live_server: Any, held: Assignment) -> Any:
    return opened(page, live_server, held)


def opened(page: Page, live_server: Any, held: Assignment) -> Any:
    page.goto(live_server.url + reverse("work_item", args=[held.pk, 1]))
    expect(page.locator("textarea.answer")).to_be_focused()
    return page.locator("textarea.answer")


def changes(held: Assignment) -> list[dict[str, Any]]:
    return [e for e in log.assignment_events(held.pk) if e["method"] == "input"]


def replayed(held: Assignment) -> str:
    item = held.entries.get(position=0).item_id
    return log.replay_text(log.item_events(log.assignment_events(held.pk), item))


def test_keys_that_follow_one_another_are_one_event_with_the_time_of_each(
    page: Page, field: Any, held: Assignment
) -> None:
    page.clock.pause_at(page.evaluate("() => Date.now() / 1000 + 0.1"))
    for key in "Nests on Poles":
        passes(page, 0.06)
        page.keyboard.press(key)
    for _ in range(5):
        passes(page, 0.02)
        page.keyboard.press("Backspace")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.type("X")
    passes(page, 1.6)
    page.keyboard.type("Y")
    log_is_sent(page)
    made = changes(held)
    assert replayed(held) == field.input_value() == "Nests oXYn "
    texts = [e["delta"][3] for e in made]
    assert texts == ["Nests on Poles", "", "X", "Y"]  # a pause, another place, another kind
    assert all(len(e["ms"]) == max(e["delta"][2], len(e["delta"][3])) for e in made)
    assert all(e["ms"][0] == 0 and e["name"] == "run" for e in made)
    assert [e["ms"][1:] for e in made] == [[60] * 13, [20] * 4, [], []]
    summary = log.log_summaries([held.pk])[held.pk]
    assert (summary.typed_chars, summary.corrections) == (16, 5)
    assert summary.keys == 14 + 5 + 2 + 2
    keys = [e for e in log.assignment_events(held.pk) if e["method"] == "keydown"]
    assert [e["name"] for e in keys] == ["navigation"] * len(keys)
    assert sum(e.get("length", 1) for e in keys) == 2


def test_what_a_phone_s_keyboard_a_citation_and_a_paste_put_in_is_exact(
    page: Page, field: Any, held: Assignment
) -> None:
    client = page.context.new_cdp_session(page)
    for text in ("h", "he", "hel", "hello", "hell", "日本"):
        client.send(
            "Input.imeSetComposition",
            {"text": text, "selectionStart": len(text), "selectionEnd": len(text)},
        )
    client.send("Input.insertText", {"text": "日本 "})
    page.keyboard.insert_text("😀")
    page.keyboard.press("Backspace")
    page.keyboard.type("ab")
    page.keyboard.press("Home")
    page.keyboard.press("Delete")
    log_is_sent(page)
    assert replayed(held) == field.input_value() == "本 ab"
    page.keyboard.press("End")
    cites_and_pastes(page, field, held, len(changes(held)))


def cites_and_pastes(page: Page, field: Any, held: Assignment, before: int) -> None:
    """A citation and a paste name the passage they come from."""
    page.evaluate("document.querySelector('#passage').dataset.passage = '3'")
    text = page.locator("#passage").inner_text().split(".")[0]
    page.keyboard.type("It says ")
    page.evaluate(CHANGE, ["insertText", "[3]", "3"])
    page.keyboard.type("a")
    page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.setData("text/plain", text);
            document.querySelector("textarea.answer").dispatchEvent(
                new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
        }""",
        text,
    )
    page.evaluate(CHANGE, ["insertFromPaste", text, ""])
    log_is_sent(page)
    events = log.assignment_events(held.pk)
    (cite,) = [e for e in events if e["method"] == "cite"]
    item = held.entries.get(position=0).item_id
    assert (cite["name"], cite["target"]) == ("3", f"item-{item}")
    (paste,) = [e for e in events if e["method"] == "paste"]
    assert (paste["comment"], paste["name"], paste["length"]) == ("passage", "3", len(text))
    assert [(e["name"], e.get("comment")) for e in changes(held)[before:]] == [
        ("run", None),
        ("cite", None),
        ("run", None),
        ("insertFromPaste", "passage"),
    ]
    assert replayed(held) == field.input_value()


def test_of_a_tab_that_was_killed_the_log_comes_with_the_next_page(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    cut_off(page, "**/events/")
    opened(page, live_server, held)
    page.keyboard.type("They nest on")
    passes(page, 1.2)  # a copy of the log is kept each second
    kill(page)
    again = signed_in.new_page()
    field = opened(again, live_server, held)
    log_is_sent(again)
    assert all(e["time"] > 0 and e["method"] != "input" for e in changes(held))
    again.evaluate(
        """() => Object.keys(localStorage).filter((key) => key.startsWith("crowdqc:open:"))
            .forEach((key) => localStorage.setItem(key, JSON.stringify(
                {...JSON.parse(localStorage.getItem(key)), at: 1000})))"""
    )  # as if it had lain there for long
    again.keyboard.type(" chimneys.")
    log_is_sent(again)
    assert "".join(e["delta"][3] for e in changes(held)) == "They nest on chimneys."
    assert replayed(held) == field.input_value() == "They nest on chimneys."


def test_a_page_taken_for_dead_goes_on_in_a_stream_of_its_own(
    page: Page, field: Any, held: Assignment
) -> None:
    log_is_sent(page)
    page.keyboard.type("First this")
    passes(page, 1.2)
    taken = page.evaluate(
        """() => Object.keys(localStorage).filter((key) => key.startsWith("crowdqc:open:"))
            .map((key) => [localStorage.getItem(key), localStorage.removeItem(key)][0])"""
    )
    assert json.loads(taken[0])["events"][-1]["delta"][3] == "First this"
    page.keyboard.type(", then that.")
    log_is_sent(page)
    assert len({e["stream"] for e in log.assignment_events(held.pk)}) == 2
    assert replayed(held) == field.input_value() == "First this, then that."
