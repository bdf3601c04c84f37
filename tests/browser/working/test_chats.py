"""Workers rate conversations turn by turn, and compare two of them, on a desktop and a phone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from annotation.models import Answer, ChoiceValue
from tests.annotation.chats.made import SOLVED, make_chat_task, make_trace
from tests.annotation.chats.test_pairs import chat_of, make_chat_pair
from tests.browser.sign_in import sign_in
from tests.support import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PICTURES = os.environ.get("CROWDQC_PICTURES", "")
LONG = "It is moved. " + "Your seat, meal and bags stay as they were, and nothing is charged. " * 20
SIZES = {"wide": {"width": 1360, "height": 900}, "phone": {"width": 360, "height": 740}}


def picture(page: Page, name: str) -> None:
    """Keep a picture of the whole page, where a folder for them is named."""
    if PICTURES:
        page.screenshot(path=str(Path(PICTURES) / f"{name}.png"), full_page=True)


def opened(browser: Browser, world: factories.World, url: str, size: str) -> Page:
    """A page of the worker of a world in a browser of this size."""
    context = browser.new_context(viewport=SIZES[size])  # type: ignore[arg-type]
    sign_in(context, world.worker.user, url)
    return context.new_page()


def test_worker_rates_turns_by_key(browser: Browser, live_server: Any) -> None:
    world = factories.make_world()
    task = make_chat_task(world.project, n=1)
    found = factories.claim(task, world.worker)
    page = opened(browser, world, live_server.url, "wide")
    page.goto(live_server.url + reverse("work_item", args=[found.pk, 1]))
    picture(page, "chat-wide")
    expect(page.locator("[data-turn]")).to_have_count(5)
    page.keyboard.press("5")  # helpful, turn 3
    page.keyboard.press("Tab")
    page.keyboard.press("3")  # no problem
    page.keyboard.press("t")
    expect(page.locator("#call-3c1")).to_have_attribute("open", "")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("1")
    page.keyboard.press("Tab")
    page.keyboard.press("2")
    page.keyboard.press("Tab")
    page.keyboard.press("2")  # not solved
    expect(page.locator("[data-next]")).to_have_attribute("aria-disabled", "false")
    picture(page, "chat-answered")
    page.locator("[data-next]").click()
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("h1")).to_be_visible()
    page.wait_for_url("**/done/**")
    stored = dict(ChoiceValue.objects.values_list("field", "code"))
    assert stored == {
        "helpful@3": "5",
        "problem@3": "none",
        "helpful@5": "1",
        "problem@5": "made_up",
        "solved": "no",
    }


@pytest.mark.parametrize("size", SIZES)
def test_conversations_fit_the_screen(browser: Browser, live_server: Any, size: str) -> None:
    world = factories.make_world()
    task = make_chat_task(world.project, n=1)
    found = factories.claim(task, world.worker)
    pair = make_chat_pair(
        world.project,
        chat_of("Hi", "Hello, what can I do?", "Move my flight to 6 December."),
        chat_of("Hi", "Hello, what can I do?", "Cancel my flight.", "It is cancelled."),
    )
    judged = factories.claim(pair, world.worker)
    page = opened(browser, world, live_server.url, size)
    for name, number in (("chat", found.pk), ("pair", judged.pk)):
        page.goto(live_server.url + reverse("work_item", args=[number, 1]))
        picture(page, f"{name}-{size}")
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, name
    assert not Answer.objects.exists()


@pytest.mark.parametrize("size", SIZES)
def test_reviewer_goes_from_error_to_error_of_a_trace(
    browser: Browser, live_server: Any, size: str
) -> None:
    world = factories.make_world()
    task = make_chat_task(world.project, n=1, chats=[make_trace()], fields=[SOLVED])
    found = factories.claim(task, world.worker)
    page = opened(browser, world, live_server.url, size)
    page.goto(live_server.url + reverse("work_item", args=[found.pk, 1]))
    picture(page, f"trace-{size}")
    steps = page.locator("[data-steps]")
    expect(steps.locator("summary")).to_contain_text("6 steps")
    if size == "phone":
        expect(steps.locator("ol")).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        steps.locator("summary").click()
    current = steps.locator("[aria-current]")
    expect(current).to_contain_text("write_answer")
    page.keyboard.press("e")
    expect(current).to_contain_text("change_delivery")
    page.keyboard.press("e")
    expect(current).to_contain_text("POST /deliveries")
    steps.get_by_role("link", name="plan").click()
    expect(current).to_contain_text("plan")
    expect(page.locator("#turn-3")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.long
def test_pair_of_conversations_is_judged_by_touch_on_a_phone(
    browser: Browser, live_server: Any
) -> None:
    world = factories.make_world()
    pair = make_chat_pair(
        world.project,
        chat_of("Hi", "Hello, what can I do?", "Move my flight to 6 December.", LONG, "Thanks"),
        chat_of("Hi", "Hello, what can I do?", "Cancel my flight.", "It is cancelled."),
    )
    judged = factories.claim(pair, world.worker)
    context = browser.new_context(viewport=SIZES["phone"], has_touch=True, is_mobile=True)  # type: ignore[arg-type]
    sign_in(context, world.worker.user, live_server.url)
    page = context.new_page()
    page.goto(live_server.url + reverse("work_item", args=[judged.pk, 1]))
    picture(page, "pair-touch")

    def fits() -> bool:
        return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))

    left, right = (page.locator(f"#turn-{side}-3") for side in ("left", "right"))
    box = left.bounding_box()
    assert box is not None and box["height"] < 120 and fits()  # no empty space below a short turn
    expect(right).to_be_hidden()
    page.get_by_role("button", name="Open the right response").tap()
    expect(right).to_be_in_viewport()
    picture(page, "pair-touch-right")
    choice = page.locator(".judgment input[value='right']")
    choice.evaluate("element => element.scrollIntoView({block: 'center'})")
    choice.tap()
    expect(page.locator("[data-next]")).to_have_attribute("aria-disabled", "false")
    assert fits()
    page.locator("[data-next]").tap()
    page.get_by_role("button", name="Submit").tap()
    page.wait_for_url("**/done/**")
    picture(page, "pair-touch-done")
    assert fits() and ChoiceValue.objects.get().code == "second"
    context.close()
