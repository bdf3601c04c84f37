"""Labeling in the browser: by keyboard with a field that depends on another, and marking text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Answer, Assignment, Task
from tests.browser.sign_in import fits, sign_in
from tests.browser.working.keys import is_saved, press, press_at_once
from tests.support import factories
from tests.support.studies import labels

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def tab(context: BrowserContext) -> Iterator[Page]:
    """A phone-wide page, which reports every error of its scripts."""
    context.set_default_timeout(20_000)
    context.clock.install()
    page, errors = context.new_page(), []
    page.set_viewport_size({"width": 360, "height": 740})
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.goto("about:blank")
    assert errors == []


def opened(tab: Page, root: str, task: Task) -> Assignment:
    """The first item of an assignment of a new worker."""
    worker = factories.make_worker(task.project)
    assert worker.user is not None
    held = factories.claim(task, worker)
    sign_in(tab.context, worker.user, root)
    tab.goto(root + reverse("work_item", args=[held.pk, 1]))
    return held


def test_items_are_labeled_by_keyboard_and_a_field_comes_and_goes(
    tab: Page, live_server: Any
) -> None:
    task = labels.make_labels(factories.make_project(), labels.TEXTS[:2])
    opened(tab, live_server.url, task)
    more = tab.locator('[data-field="more"]')
    expect(more).to_be_hidden()
    expect(tab.locator("[data-open]")).to_have_text(", 1 field open")
    tab.keyboard.press("1")
    expect(more).to_be_visible()
    expect(more).to_contain_text("asked because you chose “Brown spots”")
    tab.keyboard.press("Enter")  # held back: the new field is open, and takes the keys
    expect(more).to_contain_text("Not answered yet.")
    tab.keyboard.press("2")
    expect(tab.get_by_label("Curled edges")).to_be_checked()
    fits(tab, "a field that came")
    tab.keyboard.press("Enter")
    expect(tab.locator("#question")).to_contain_text("Item 2 of 2")
    tab.keyboard.press("3")
    expect(more).to_be_hidden()
    tab.keyboard.press("0")
    expect(tab.locator('[data-field="damage"]').get_by_label("Unsure")).to_be_checked()
    press_at_once(tab, "0", "1", "Tab")
    expect(more).to_have_class("option-set current")
    tab.keyboard.press("1")
    tab.keyboard.press("0")
    expect(tab.get_by_label("Yellowing")).not_to_be_checked()
    is_saved(tab)
    tab.reload()
    expect(more.get_by_label("Unsure")).to_be_checked()
    tab.keyboard.press("Enter")
    tab.get_by_role("button", name="Submit 2 items").click()
    expect(tab.get_by_role("heading", name="Submitted")).to_be_visible()
    second = Answer.objects.get(item__task=task, item__key="leaf-2")
    assert list(second.choices.order_by("pk").values_list("field", "code")) == [
        ("damage", "spots"),
        ("more", "unsure"),
    ]


def test_tab_comes_to_every_place_of_a_field_that_arrows_do_not(
    tab: Page, live_server: Any
) -> None:
    order = {"name": "order", "label": "Order", "question": "What is worst?", "kind": "rank"}
    order |= {"options": labels.DAMAGE["options"][:2]}
    count = {"name": "count", "label": "Count", "question": "How many?", "kind": "number"}
    fields = [order, count | {"unsure": True}, labels.DAMAGE]
    task = labels.make_labels(factories.make_project(), ["A leaf."], fields=fields)
    opened(tab, live_server.url, task)
    tab.set_viewport_size({"width": 1200, "height": 900})
    press(tab, "Tab", "2", "Tab", "1", "Tab", "Tab")
    expect(tab.get_by_role("checkbox", name="Unsure")).to_be_focused()
    press(tab, "Space", "Tab", "3", "Tab")
    expect(tab.get_by_role("button", name="Finish")).to_be_focused()
    tab.get_by_role("radio", name="None of these").focus()
    press(tab, "Shift+Tab")
    expect(tab.get_by_role("checkbox", name="Unsure")).to_be_focused()
    press(tab, "Shift+Tab", "Shift+Tab")
    expect(tab.get_by_label("Rank of Holes")).to_be_focused()
    tab.get_by_role("button", name="Finish").click()
    tab.get_by_role("button", name="Submit 1 item").click()
    expect(tab.get_by_role("heading", name="Submitted")).to_be_visible()
    assert dict(Answer.objects.get().choices.values_list("field", "code")) == {
        "order.spots": "2",
        "order.holes": "1",
        "count": "unsure",
        "damage": "none",
    }


def test_text_is_marked_by_keys_and_by_pointer_and_offsets_count_characters(
    tab: Page, live_server: Any
) -> None:
    text = "On Monday 🙂 we met in Bonn & Köln."
    task = labels.make_labels(factories.make_project(), [text], fields=[labels.PLACES])
    opened(tab, live_server.url, task)
    box = tab.locator("[data-marked]")
    expect(box).to_have_text(text)
    box.focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("2")
    expect(tab.locator("[data-marks] tbody tr")).to_have_count(1)
    start = text.index("Bonn") + 1  # the emoji is two units of the browser's
    tab.evaluate(
        """start => {
          const node = document.querySelector("[data-marked]").lastChild;
          const from = node.data.indexOf("Bonn");
          getSelection().setBaseAndExtent(node, from, node, from + 4);
        }""",
        start,
    )
    tab.locator("[data-label-bar] button", has_text="Place").click()
    expect(tab.locator("mark.sp")).to_have_count(2)
    fits(tab, "marked text")
    held = json.loads(tab.locator("[data-spans]").input_value())
    assert [(text[start:end], label) for start, end, label in held] == [
        ("Monday", "date"),
        ("Bonn", "place"),
    ]
    tab.get_by_role("button", name="Remove Monday").click()
    expect(tab.locator("mark.sp")).to_have_count(1)
    tab.get_by_role("button", name="Finish").click()
    tab.get_by_role("button", name="Submit 1 item").click()
    expect(tab.get_by_role("heading", name="Submitted")).to_be_visible()
    span = Answer.objects.get(item__task=task).spans.get()
    assert (text[span.start : span.end], span.target) == ("Bonn", "place")


def test_a_label_is_chosen_first_and_stays_for_the_marks_that_follow(
    tab: Page, live_server: Any
) -> None:
    text = "On Monday we met in Bonn and Ulm."
    task = labels.make_labels(factories.make_project(), [text], fields=[labels.PLACES])
    opened(tab, live_server.url, task)
    place = tab.locator("[data-label-bar] button", has_text="Place")
    place.click()
    expect(place).to_have_attribute("aria-pressed", "true")
    for word in ("Bonn", "Ulm"):  # a click marks the word
        at = tab.evaluate(
            """word => {
              const walker = document.createTreeWalker(
                document.querySelector("[data-marked]"), NodeFilter.SHOW_TEXT);
              while (walker.nextNode()) {
                const from = walker.currentNode.data.indexOf(word);
                if (from < 0) continue;
                const range = document.createRange();
                range.setStart(walker.currentNode, from);
                range.setEnd(walker.currentNode, from + word.length);
                const box = range.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
              }
            }""",
            word,
        )
        tab.mouse.click(*at)
    told = tab.locator("[data-marking]")
    expect(told).to_have_text("What you select next is marked as Place.")
    held = json.loads(tab.locator("[data-spans]").input_value())
    assert [(text[start:end], label) for start, end, label in held] == [
        ("Bonn", "place"),
        ("Ulm", "place"),
    ]
    tab.keyboard.press("Escape")
    expect(place).to_have_attribute("aria-pressed", "false")
    fits(tab, "label first")
    date = tab.locator("[data-label-bar] button", has_text="Date")
    tab.locator("mark.sp").first.click()  # the mark is chosen: a label changes it
    expect(told).to_contain_text("“Bonn” is marked as Place.")
    date.click()
    expect(date).to_have_attribute("aria-pressed", "true")
    held = json.loads(tab.locator("[data-spans]").input_value())
    assert [label for _, _, label in held] == ["date", "place"]
    tab.keyboard.press("1")
    held = json.loads(tab.locator("[data-spans]").input_value())
    assert [label for _, _, label in held] == ["place", "place"]
    tab.keyboard.press("Escape")
    expect(told).to_be_empty()
