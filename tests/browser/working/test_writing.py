"""Writing with sources in a real browser: cited by click and key, pasted, offline, in two tabs."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Assignment
from annotation.work.selectors import log
from tests.browser.sign_in import log_is_sent, misfits
from tests.browser.working.keys import passes
from tests.support import factories
from tests.support.studies import writing

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OUTSIDE = "Ciconia ciconia is a large wading bird."
FIELD = "textarea#answer"


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(1)


@pytest.fixture
def held(world: factories.World) -> Assignment:
    return factories.claim(writing.make_writing(world.project), world.worker)


def written(world: factories.World, **more: Any) -> Assignment:
    """A response without questions before or after it."""
    task = writing.make_writing(
        world.project, settings={"entry": [], "exit": [], **more.pop("settings", {})}, **more
    )
    return factories.claim(task, world.worker)


def open_item(page: Page, live_server: Any, held: Assignment) -> None:
    page.goto(live_server.url + reverse("work_item", args=[held.pk, 1]))
    expect(page.locator("#work")).to_be_visible()


def opened(page: Page, live_server: Any, world: factories.World, **more: Any) -> Assignment:
    held = written(world, **more)
    open_item(page, live_server, held)
    expect(page.locator(FIELD)).to_be_focused()
    return held


def choose(page: Page, answers: dict[str, str]) -> None:
    for name, value in answers.items():
        page.locator(f'label:has([name="{name}"][value="{value}"])').click()


def events_of(held: Assignment, *methods: str) -> list[dict[str, Any]]:
    return [e for e in log.assignment_events(held.pk) if e["method"] in methods]


def replayed(held: Assignment) -> str:
    item = held.entries.get(position=0).item_id
    return log.replay_text(log.item_events(log.assignment_events(held.pk), item))


def copy_from_passage(page: Page, number: int, words: str) -> None:
    """Select these words of a passage and copy them."""
    page.evaluate(
        """([number, words]) => {
            const text = document.querySelector(`#passage-${number} .reading`).firstChild;
            const range = new Range();
            range.setStart(text, text.data.indexOf(words));
            range.setEnd(text, text.data.indexOf(words) + words.length);
            document.activeElement.blur();
            getSelection().removeAllRanges();
            getSelection().addRange(range);
        }""",
        [number, words],
    )
    page.keyboard.press("Control+c")


def copy_from_elsewhere(context: BrowserContext, words: str) -> None:
    other = context.new_page()
    other.set_content(f"<p>{words}</p>")
    other.keyboard.press("Control+a")
    other.keyboard.press("Control+c")
    other.close()


def at_end(page: Page) -> None:
    page.locator(FIELD).focus()
    page.keyboard.press("Control+End")


# The whole way -----------------------------------------------------------------------------------


def test_a_cited_response_over_pastes_a_lost_network_and_a_closed_tab(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("4 questions are not answered yet.")).to_be_visible()
    assert misfits(page, "questions before") == []
    choose(page, writing.ENTRY)
    page.get_by_role("button", name="Continue").click()
    expect(page.locator(FIELD)).to_be_focused()

    page.keyboard.type("Storks come back to their nest every spring")
    page.locator('[data-cite="1"]').click()
    expect(page.locator(FIELD)).to_be_focused()
    page.keyboard.press("Alt+c")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    page.keyboard.type(". ")
    copy_from_passage(page, 3, "warm air, which does not rise over the sea")
    at_end(page)
    page.keyboard.type("They soar on ")
    page.keyboard.press("Control+v")
    page.keyboard.press("Alt+c")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    page.keyboard.type(". ")
    copy_from_elsewhere(signed_in, OUTSIDE)
    page.bring_to_front()
    page.keyboard.press("Control+v")

    signed_in.set_offline(True)
    page.keyboard.type(" The pair adds new branches")
    passes(page, 6)  # what is sent every five seconds has failed
    expect(page.locator("[data-saved=device]")).to_be_visible()
    signed_in.set_offline(False)
    page.keyboard.type(" and earth")
    address = page.url
    page.close()

    again = signed_in.new_page()
    again.goto(address)
    expect(again.locator(FIELD)).to_have_value(
        "Storks come back to their nest every spring [1, 2]. They soar on warm air, which does not "
        f"rise over the sea [3]. {OUTSIDE} The pair adds new branches and earth"
    )
    at_end(again)
    again.keyboard.type(" to it.")
    again.keyboard.press("Control+Enter")
    expect(again.get_by_text("Are you satisfied with what you wrote?")).to_be_visible()
    assert misfits(again, "questions after") == []
    choose(again, writing.EXIT)
    again.get_by_role("button", name="Review").click()
    again.get_by_role("button", name="Submit 1 response").click()
    expect(again.get_by_role("heading", name="Submitted")).to_be_visible()
    is_told_exactly(held)


def is_told_exactly(held: Assignment) -> None:
    """The answer's values, the replay, and where every change came from."""
    answer = held.answers.get()
    text = answer.texts.get(field="answer").text
    assert text.endswith("branches and earth to it.")
    assert replayed(held) == text
    spans = answer.spans.order_by("index")
    assert [span.target for span in spans] == ["1", "2", "3"]
    assert [text[span.start : span.end] for span in spans] == ["[1, 2]", "[1, 2]", "[3]"]
    assert {row.field: row.code for row in answer.choices.all()} == writing.ENTRY | writing.EXIT
    pastes = [(e["comment"], e.get("name", "")) for e in events_of(held, "paste")]
    assert pastes == [("passage", "3"), ("outside", "")]
    put_in = [
        (e["comment"], e["delta"][3])
        for e in events_of(held, "input")
        if e.get("name") == "insertFromPaste"
    ]
    assert put_in == [
        ("passage", "warm air, which does not rise over the sea"),
        ("outside", OUTSIDE),
    ]
    cited = [
        (e["method"], e["name"])
        for e in events_of(held, "cite", "input")
        if e["method"] == "cite" or e.get("name") == "cite"
    ]
    assert cited == [
        ("cite", "1"),
        ("input", "cite"),
        ("cite", "2"),
        ("input", "cite"),
        ("cite", "3"),
        ("input", "cite"),
    ]
    chosen = {(e["name"], e["comment"]) for e in events_of(held, "change")}
    assert chosen == set((writing.ENTRY | writing.EXIT).items())
    seen = {e["name"] for e in events_of(held, "dwell")}
    assert {"passage-1", "passage-2"} <= seen
    assert {"offline", "online"} <= {e["method"] for e in log.assignment_events(held.pk)}


# Citing ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_marks_are_put_in_merged_counted_and_undone(
    page: Page, live_server: Any, world: factories.World
) -> None:
    opened(page, live_server, world)
    field = page.locator(FIELD)
    page.keyboard.type("One claim, another")
    page.keyboard.press("Control+ArrowLeft")
    page.keyboard.press("Control+ArrowLeft")  # before the comma
    page.locator('[data-cite="4"]').click()
    expect(field).to_have_value("One claim [4], another")
    for number in "141":
        page.keyboard.press("Alt+c")
        page.keyboard.type(number)
        page.keyboard.press("Enter")
    expect(field).to_have_value("One claim [4, 1], another")
    expect(page.locator("[data-told]")).to_have_text("[1] is cited here already.")
    expect(page.locator("#passage-1 [data-uses]")).to_have_text("cited once")
    expect(page.locator("[data-cited]")).to_have_text("2")
    page.keyboard.press("Control+z")
    expect(field).to_have_value("One claim [4], another")
    page.keyboard.press("Alt+c")
    page.keyboard.type("17")
    page.keyboard.press("Enter")
    expect(page.locator("[data-told]")).to_have_text("There is no passage [17].")
    page.keyboard.press("Escape")
    at_end(page)
    page.keyboard.type(" [12]")
    expect(page.locator("[data-unknown]")).to_have_text("There is no passage [12].")
    expect(page.locator(".ed-mirror mark.unknown")).to_have_text("[12]")
    expect(page.locator("[data-count]")).to_have_text("3")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("3 words; write at least 5.")
    page.keyboard.press("Escape")
    expect(field).not_to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Alt+p")
    page.keyboard.type("nest")
    assert misfits(page, "a mark of nothing, all keys, passages searched") == []
    field.focus()
    page.keyboard.press("Tab")
    expect(field).not_to_be_focused()


@pytest.mark.long
def test_a_mark_leads_to_its_passages_and_a_passage_to_its_marks(
    page: Page, live_server: Any, world: factories.World
) -> None:
    many = [{**row, "key": f"{row['key']}-{n}"} for n in range(6) for row in writing.PASSAGES]
    opened(page, live_server, world, passages=many)
    lines = "More words to fill the lines of the field. " * 20
    page.keyboard.insert_text(f"First [2]. {lines}")
    page.keyboard.type("[23]")
    expect(page.locator("#passage-23")).to_have_class("passage used pointed")
    expect(page.locator("#passage-23")).to_be_in_viewport()
    page.keyboard.type(" and on")
    expect(page.locator(".pointed")).to_have_count(0)
    page.locator("#passage-2 [data-uses]").click()
    at = page.locator(FIELD).evaluate("(f) => [f.selectionStart, f.selectionEnd, f.scrollTop]")
    assert at == [6, 9, 0]
    expect(page.locator("#passage-2")).to_be_in_viewport()
    page.keyboard.press("Control+a")
    words = "Storks [1] come back,\n\n- to poles   and “towers” [2, 3] — year after year [9]. "
    page.keyboard.insert_text(words * 14)
    passes(page, 0.2)
    heights = page.evaluate(
        """() => [document.querySelector(".ed-mirror").scrollHeight,
                  document.querySelector("#answer").scrollHeight]"""
    )
    assert abs(heights[0] - heights[1]) <= 2, "the layer behind the field keeps its lines"


# Passages ----------------------------------------------------------------------------------------


@pytest.mark.long
def test_of_a_hundred_passages_searched_without_lag_the_time_in_view_is_told_and_no_word(
    page: Page, live_server: Any, world: factories.World
) -> None:
    many = [
        {
            "key": f"d{n}",
            "title": f"Document {n}",
            "text": ("Storks soar on warm air over meadows. " * 30)
            + f"Nest number {n} weighs more.",
        }
        for n in range(1, 101)
    ]
    held = opened(page, live_server, world, passages=many)
    passes(page, 2.5)  # of which the first passages are told
    page.keyboard.press("Alt+p")
    expect(page.locator("[data-find]")).to_be_focused()
    took = page.evaluate(
        """async () => {
            const field = document.querySelector("[data-find]"), took = [];
            for (const word of ["s", "st", "storks", "number 7"]) {
                const begun = performance.now();
                field.value = word;
                field.dispatchEvent(new InputEvent("input", {bubbles: true}));
                await new Promise(requestAnimationFrame);
                took.push(performance.now() - begun);
            }
            return took;
        }"""
    )
    assert max(took) < 400
    expect(page.locator("[data-hits]")).to_have_text("11 hits in 11 of 100 passages")
    expect(page.locator("#passage-8")).not_to_be_visible()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator("[data-hits]")).to_have_text("Hit 2 of 11, in [70]")
    expect(page.locator("#passage-70")).to_be_in_viewport()
    marked = page.evaluate("String([...CSS.highlights.get('found-here')][0])")
    assert marked == "number 7"
    page.locator("#passage-70 [data-open]").click()
    passes(page, 1)
    page.keyboard.press("Alt+p")
    page.keyboard.press("Escape")
    expect(page.locator(FIELD)).to_be_focused()
    expect(page.locator("#passage-8")).to_be_visible()
    log_is_sent(page)
    told = [(e["name"], e["comment"]) for e in events_of(held, "passage")]
    assert told == [("open", "7"), ("open", "70"), ("close", "70")]
    finds = events_of(held, "find")
    assert finds[-1]["length"] == len("number 7")
    assert not any("number" in str(event) for event in finds)
    page.keyboard.press("Alt+r")
    expect(page.get_by_text("0 of 1 complete")).to_be_visible()
    log_is_sent(page)
    spent: dict[str, int] = {}
    for event in events_of(held, "dwell"):
        spent[event["name"]] = spent.get(event["name"], 0) + int(event["comment"])
    assert 1500 <= spent["passage-1"] <= 8000
    assert "passage-20" not in spent


# A phone -----------------------------------------------------------------------------------------


def test_on_a_phone_two_tabs_keep_their_state(
    page: Page, live_server: Any, world: factories.World
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    many = [{**row, "key": f"{row['key']}-{n}"} for n in range(6) for row in writing.PASSAGES]
    open_item(page, live_server, written(world, passages=many))
    page.locator(FIELD).click()
    page.keyboard.type("Nests last")
    page.locator("[data-tabs] label").nth(1).click()
    expect(page.locator(FIELD)).not_to_be_visible()
    expect(page.locator("[data-count]")).to_be_visible()
    page.locator("#passage-9").scroll_into_view_if_needed()
    where = page.locator(".write-passages").evaluate("(pane) => pane.scrollTop")
    assert where > 500
    for target in ("#passage-9 .cite", "[data-tabs] label >> nth=0", "button[value=next]"):
        size = page.locator(target).bounding_box()
        assert size is not None
        assert size["height"] >= 42
        assert size["width"] >= 44
    page.locator("#passage-9 .cite").click()
    expect(page.locator(FIELD)).to_have_value("Nests last [9]")
    expect(page.locator("#passage-9")).not_to_be_visible()
    page.locator("[data-tabs] label").nth(1).click()
    expect(page.locator("#passage-9")).to_be_in_viewport()
