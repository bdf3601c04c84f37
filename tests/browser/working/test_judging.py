"""Judging in a real browser: by keyboard alone, on a phone, over killed tabs.

Lost networks, two tabs and an agreement taken back are the shared scripts' (``drafts.js``,
``eventlog.js``): ``test_worker_page.py`` and ``test_worker_tabs.py`` have them.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Assignment
from annotation.task_types.pairwise.type import TEMPLATE
from annotation.work.selectors import log, speed
from tests.browser.sign_in import cut_off, kill, log_is_sent, misfits
from tests.browser.working.keys import is_saved, passes, press
from tests.support import factories
from tests.support.studies import judging

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SEVEN = {"dimensions": list(TEMPLATE)}
NAMES = [dimension["name"] for dimension in TEMPLATE]


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(1)


@pytest.fixture
def held(world: factories.World) -> Assignment:
    """Three pairs on seven dimensions; the one in the middle is shown turned."""
    return factories.claim(judging.make_pairs(world.project, 3, settings=SEVEN), world.worker)


def open_pair(page: Page, live_server: Any, held: Assignment, number: int = 1) -> None:
    page.goto(live_server.url + reverse("work_item", args=[held.pk, number]))
    expect(page.locator(".judgment.current")).to_have_count(1)


def is_submitted(page: Page) -> None:
    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()


def is_pair(page: Page, number: int) -> None:
    expect(page.locator(".meta.bars").first).to_contain_text(f"Pair {number} of 3")


def answered(page: Page) -> Any:
    return page.locator("[data-answered]")


def events_of(held: Assignment, method: str) -> list[dict[str, Any]]:
    return [e for e in log.assignment_events(held.pk) if e["method"] == method]


def places(page: Page) -> Any:
    """Where every paragraph of the responses stands, to a tenth of a pixel."""
    return page.evaluate(
        """() => [...document.querySelectorAll("[data-side] .reading *")].flatMap(
            (part) => [...part.getClientRects()].map(
                (r) => [r.x, r.y + scrollY, r.width, r.height].map((n) => Math.round(n * 10))))"""
    )


def test_explanations_stand_below_their_line_and_choices_beside_it(
    page: Page, live_server: Any, held: Assignment
) -> None:
    open_pair(page, live_server, held)
    lines = page.locator(".judgment")
    for row in lines.all()[:7]:
        question, choice = row.locator(".legend-cell"), row.locator(".choice")
        asked, chosen = question.bounding_box(), choice.bounding_box()
        assert asked and chosen and asked["x"] + asked["width"] <= chosen["x"]
        assert asked["y"] < chosen["y"] + chosen["height"]
        if row.locator(".why").count():
            why = row.locator(".why").bounding_box()
            assert why and why["y"] >= asked["y"] + asked["height"] - 1
            assert why["width"] > 200


def test_three_pairs_by_keyboard_alone_over_a_killed_tab(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    page.goto(live_server.url + reverse("work_home"))
    page.get_by_role("link", name="Continue").focus()
    press(page, "Enter")
    is_pair(page, 1)
    page.wait_for_load_state()
    expect(page.locator("[data-next]")).to_have_attribute("aria-disabled", "true")
    press(page, "ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft", "Enter")
    is_pair(page, 1)  # held: lines are open
    expect(answered(page)).to_have_text("3 of 7 answered")
    expect(page.locator("[data-next]")).to_have_text("Next pair, 4 lines open")
    press(page, *["ArrowLeft"] * 3, "ArrowDown")  # the last line asks for a side
    expect(page.locator("[data-next]")).to_have_text("Next pair, 1 line open")
    press(page, "ArrowRight", "Enter")

    is_pair(page, 2)
    expect(page.locator("[data-side=left]")).to_contain_text("farthest object")  # turned
    press(page, "7", "ArrowLeft", "1", *["ArrowRight"] * 2)
    expect(answered(page)).to_have_text("3 of 7 answered")
    passes(page, 5.5)  # times are told every five seconds
    address = page.url
    cut_off(page, "**/draft/")
    press(page, "ArrowRight")  # this has not reached the server
    passes(page, 1.2)
    kill(page)
    again = signed_in.new_page()
    again.goto(address)
    expect(answered(again)).to_have_text("4 of 7 answered")
    expect(again.locator(".judgment.current")).to_have_attribute("data-label", "Broad coverage")
    press(again, *["ArrowRight"] * 3, "Enter")

    is_pair(again, 3)
    press(again, *["ArrowDown"] * 6, "ArrowLeft", "Alt+ArrowLeft")
    is_pair(again, 2)
    expect(answered(again)).to_have_text("7 of 7 answered")
    press(again, "Enter")
    is_pair(again, 3)
    expect(again.locator("[data-next]")).to_have_text("Review")
    press(again, "Enter")
    expect(again.get_by_role("heading", name="Ready to submit")).to_be_visible()
    assert misfits(again, "review") == []
    again.get_by_role("button", name="Submit 3 pairs").focus()
    press(again, "Enter")
    is_submitted(again)

    first, turned, third = judging.stored_votes(held)
    sides = ["first", "neutral", "first", "first", "first", "first", "second"]
    assert first == dict(zip(NAMES, sides, strict=True))
    # On the turned pair right is the first text and left the second.
    assert turned == {**dict.fromkeys(NAMES[:6], "first"), NAMES[6]: "second"}
    assert third == {**dict.fromkeys(NAMES[:6], "neutral"), NAMES[6]: "first"}
    passes(again, 4.5)  # what a killed tab left is taken over a little later
    log_is_sent(again)
    is_logged(held)


def is_logged(held: Assignment) -> None:
    """Every change with its line and side as shown, and the time of each pair."""
    items = [entry.item_id for entry in held.entries.all()]
    changes = events_of(held, "change")
    of_first = [
        (event["name"], event["comment"])
        for event in changes
        if event["target"] == log.event_target(items[0])
    ]
    assert of_first[:4] == [
        (f"d-{NAMES[0]}", "left"),
        (f"d-{NAMES[1]}", "neutral"),
        (f"d-{NAMES[2]}", "right"),
        (f"d-{NAMES[2]}", "left"),
    ]
    times = speed.pair_times(held.task)
    by_item = dict(held.answers.values_list("item_id", "pk"))
    pairs = [times[by_item[item]] for item in items]
    assert [row.changes for row in pairs] == [8, 7, 7]
    assert [row.revised for row in pairs] == [1, 0, 0]
    assert pairs[1].seconds_total > 3  # told after 5 s; a busy machine shows the page a second late
    assert 0 <= (pairs[1].first_ms or 0) < (pairs[1].last_ms or 0)
    keys = {event["name"] for event in events_of(held, "keydown")}
    assert {"navigation", "enter", "digit"} <= keys


@pytest.mark.long
def test_nothing_moves_the_text_while_it_is_read(
    page: Page, live_server: Any, held: Assignment
) -> None:
    page.set_viewport_size({"width": 1200, "height": 1400})  # no scrollbar at first
    open_pair(page, live_server, held)
    page.evaluate("document.fonts.ready")
    before = places(page)
    for act in ("d", "s", "ArrowLeft", "?", "3"):
        press(page, act)
        assert places(page) == before, act
    page.get_by_role("button", name="Explain less").click()
    assert places(page) == before
    marked = page.evaluate(
        "[...CSS.highlights.get('only-here')].map((r) => String("
        "r.startContainer.data.slice(r.startOffset, r.endOffset)))"
    )
    assert "Crossing" in marked[0]
    assert not any("heliopause" in run for run in marked)
    press(page, "d")
    assert not page.evaluate("CSS.highlights.has('only-here')")
    log_is_sent(page)
    assert [event["name"] for event in events_of(held, "differences")] == ["on", "off"]


@pytest.mark.long
def test_sources_open_at_the_one_that_is_cited_and_the_page_is_well(
    page: Page, live_server: Any, held: Assignment
) -> None:
    open_pair(page, live_server, held)
    sources = page.get_by_role("region", name="Sources")
    expect(sources).not_to_be_visible()
    page.get_by_role("link", name="[3]").click()
    expect(sources).to_be_visible()
    expect(page.locator("#source-3")).to_have_class("source open")
    expect(page.get_by_role("button", name="Hide the sources")).to_have_attribute(
        "aria-expanded", "true"
    )
    press(page, "ArrowRight")  # still a choice
    expect(answered(page)).to_have_text("1 of 7 answered")
    press(page, "d", "?")
    assert misfits(page, "pair, all open") == []
    press(page, "?", "Escape")
    expect(sources).not_to_be_visible()
    log_is_sent(page)
    logged = [(event["name"], event.get("comment", "")) for event in events_of(held, "sources")]
    assert logged == [("open", "3"), ("close", "")]


@pytest.mark.long
def test_how_long_each_response_is_under_the_pointer(
    page: Page, live_server: Any, world: factories.World
) -> None:
    task = judging.make_pairs(world.project, 1)
    open_pair(page, live_server, factories.claim(task, world.worker))
    page.locator("[data-side=left] p").nth(1).hover()
    passes(page, 2)
    page.locator("[data-side=right] p").nth(1).hover()
    passes(page, 0.7)
    page.get_by_role("radio", name="Right").check(force=True)
    press(page, "Enter")
    page.get_by_role("button", name="Submit 1 pair").click()
    is_submitted(page)
    (times,) = speed.pair_times(task).values()
    assert 1800 <= times.left_ms <= 3500
    assert 600 <= times.right_ms <= 2500
    assert times.seconds_total * 1000 >= times.left_ms + times.right_ms
    assert times.changes == 1


def test_on_a_phone_one_response_is_shown_in_the_place_of_the_other(
    page: Page, live_server: Any, world: factories.World
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    task = judging.make_pairs(world.project, 1)
    open_pair(page, live_server, factories.claim(task, world.worker))
    left, right = page.locator("[data-side=left]"), page.locator("[data-side=right]")
    expect(left).to_be_visible()
    expect(right).not_to_be_visible()
    lines = page.locator(".judgment").first.bounding_box()
    passes(page, 1.2)
    page.locator("[data-switch] label").nth(1).click()
    expect(right).to_be_visible()
    expect(left).not_to_be_visible()
    assert page.locator(".judgment").first.bounding_box() == lines
    passes(page, 2.2)
    page.locator(".choice label").last.click()
    for box in (page.locator(".choice label").first, page.locator("[data-next]")):
        size = box.bounding_box()
        assert size is not None
        assert size["height"] >= 44
    page.locator("[data-next]").click()
    page.get_by_role("button", name="Submit 1 pair").click()
    is_submitted(page)
    (times,) = speed.pair_times(task).values()
    assert 1000 <= times.left_ms <= 3000
    assert 2000 <= times.right_ms <= 5000


@pytest.mark.long
def test_radio_buttons_work_by_tab_and_space_when_keys_are_turned_off(
    page: Page, live_server: Any, held: Assignment
) -> None:
    open_pair(page, live_server, held)
    press(page, "?")
    page.get_by_label("Arrows, digits and letters work as keys").uncheck()
    page.locator("main").focus()
    press(page, "ArrowRight", "s", "3")
    expect(answered(page)).to_have_text("0 of 7 answered")
    expect(page.get_by_role("region", name="Sources")).not_to_be_visible()
    page.locator(f"[name=d-{NAMES[2]}]").first.focus()
    expect(page.locator(".judgment.current")).to_have_attribute("data-label", "Stylistic coherence")
    press(page, "Space", "ArrowRight")  # as radio buttons do by themselves
    expect(page.locator(f"[name=d-{NAMES[2]}][value=neutral]")).to_be_checked()
    expect(page.locator(".judgment.current")).to_have_attribute("data-label", "Stylistic coherence")
    is_saved(page)
    assert held.entries.get(position=0).draft[f"d-{NAMES[2]}"] == "neutral"


def test_a_text_is_rated_by_its_digits(
    page: Page, live_server: Any, world: factories.World
) -> None:
    points = [{"value": value, "label": f"point {value}"} for value in range(4)]
    scales = [
        {"name": name, "label": name.capitalize(), "question": "How much?", "points": points}
        for name in ("clarity", "breadth")
    ]
    task = judging.make_ratings(world.project, 1, settings={"scales": scales})
    held = factories.claim(task, world.worker)
    open_pair(page, live_server, held)
    press(page, "0", "3", "9")
    expect(answered(page)).to_have_text("2 of 2 answered")
    press(page, "ArrowUp", "2")
    assert misfits(page, "rating") == []
    press(page, "Enter")
    page.get_by_role("button", name="Submit 1 rating").click()
    is_submitted(page)
    assert judging.stored_votes(held) == [{"clarity": "2", "breadth": "3"}]
    (times,) = speed.pair_times(task).values()
    assert (times.changes, times.revised) == (3, 1)
