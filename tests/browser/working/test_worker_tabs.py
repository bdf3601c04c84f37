"""What a worker meets when things go wrong: signed out, two versions, no network, a text unread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.middleware.csrf import CSRF_SECRET_LENGTH
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from annotation.models import Assignment
from annotation.work.actions.drafts import other_versions
from annotation.work.selectors import log
from tests.browser.sign_in import is_well, log_is_sent, sign_in
from tests.browser.working.keys import is_saved, passes, press
from tests.support import factories
from tests.support.studies import judging, labels

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SEVERAL = {
    "dimensions": [
        {"name": name, "label": name.capitalize(), "question": "Which one?", "neutral": True}
        for name in ("first", "second", "third")
    ]
}


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(3, redundancy=5, settings={"min_words": 2, "max_words": 8})


@pytest.fixture
def held(world: factories.World) -> Assignment:
    return factories.claim(world.task, world.worker)


@pytest.fixture
def pairs(world: factories.World) -> Assignment:
    task = judging.make_pairs(world.project, 3, settings=SEVERAL)
    return factories.claim(task, world.worker)


@pytest.fixture
def elsewhere(world: factories.World, browser: Browser, live_server: Any) -> Iterator[Page]:
    """The same person on another device."""
    context = browser.new_context()
    context.clock.install()
    assert world.worker.user is not None
    sign_in(context, world.worker.user, live_server.url)
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


def open_item(page: Page, live_server: Any, held: Assignment, number: int = 1) -> None:
    page.goto(live_server.url + reverse("work_item", args=[held.pk, number]))
    page.wait_for_load_state()


def notice(page: Page) -> Any:
    return page.locator("#notices")


def draft(held: Assignment, number: int = 1) -> Any:
    return held.entries.get(position=number - 1).draft


def test_on_a_phone_a_pair_waits_until_both_responses_were_open(
    page: Page, live_server: Any, pairs: Assignment
) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    open_item(page, live_server, pairs)
    other = page.get_by_role("button", name="Open the right response")
    expect(other).to_be_visible()
    expect(page.locator("[data-unseen]")).to_contain_text("right response has not been on your")
    for line in range(3):
        page.locator(".judgment").nth(line).get_by_role("radio", name="Left").check()
    page.get_by_role("button", name="Next pair").click()
    expect(page.locator(".meta.bars").first).to_contain_text("Pair 1 of 3")  # held
    expect(other).to_be_focused()
    is_well(page)
    press(page, "Enter")  # by keyboard as well
    expect(page.locator("[data-side=right]")).to_be_visible()
    expect(page.locator("[data-side=right]")).to_be_focused()
    expect(page.get_by_role("button", name="Open the left response")).to_be_attached()
    expect(page.locator("[data-unseen]")).to_have_text("")
    page.get_by_role("button", name="Next pair").click()
    expect(page.locator(".meta.bars").first).to_contain_text("Pair 2 of 3")
    assert draft(pairs)["seen"] == "left right"
    log_is_sent(page)
    seen = [e["name"] for e in log.assignment_events(pairs.pk) if e["method"] == "view"]
    assert seen[:2] == ["left", "right"]


def test_side_by_side_both_are_seen_at_once_and_all_keys_open_where_they_can_be_seen(
    page: Page, live_server: Any, pairs: Assignment
) -> None:
    open_item(page, live_server, pairs)
    expect(page.locator(".judgment.current")).to_have_count(1)
    for width, height in ((768, 900), (1360, 700)):
        page.set_viewport_size({"width": width, "height": height})
        press(page, "?")
        keys = page.locator("#keys")
        expect(keys).to_be_visible()
        box = keys.bounding_box()
        assert box is not None
        assert box["y"] >= 0 and box["y"] + box["height"] <= height
        press(page, "?")
        expect(keys).to_be_hidden()
    press(page, *["ArrowLeft"] * 3, "Enter")
    expect(page.locator(".meta.bars").first).to_contain_text("Pair 2 of 3")
    expect(page.locator("[data-other-side]")).to_be_hidden()


def test_signed_out_elsewhere_next_says_so_and_signing_in_leads_back_to_the_question(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    """The cookie of the session is gone; then that of the forms' key as well."""
    open_item(page, live_server, held)
    page.keyboard.type("Nests on chimneys.")
    press(page, "Control+Enter")
    expect(page.locator("h1.question")).to_contain_text("question 2")
    there, written = reverse("work_item", args=[held.pk, 2]), ""
    assert held.worker.user is not None
    for gone, text in ({"name": settings.SESSION_COOKIE_NAME}, "Frogs and mice."), ({}, " Fish."):
        signed_in.clear_cookies(**gone)
        page.keyboard.type(text)
        written += text
        press(page, "Control+Enter")
        dialog = page.get_by_role("dialog", name="You are signed out")
        expect(dialog).to_be_visible()
        if gone:
            is_well(page)
        link = dialog.get_by_role("link", name="Sign in again")
        assert there in (link.get_attribute("href") or "").replace("%2F", "/")
        sign_in(signed_in, held.worker.user, live_server.url)  # in place of the form
        link.click()
        expect(dialog).to_be_hidden()
        expect(page.locator("h1.question")).to_contain_text("question 2")
        expect(page.locator("#answer")).to_have_value(written)
        is_saved(page)
        assert draft(held, 2)["text"] == written
        press(page, "Control+End")


def test_after_a_sign_in_in_another_tab_what_is_typed_is_saved_and_submitted(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    """It renews the key of all forms, which this page was loaded before."""
    open_item(page, live_server, held)
    page.keyboard.type("Nests on chimneys.")
    is_saved(page)
    renewed = {"name": settings.CSRF_COOKIE_NAME, "value": "k" * CSRF_SECRET_LENGTH}
    signed_in.add_cookies([{**renewed, "url": live_server.url}])
    page.keyboard.type(" And churches.")
    is_saved(page)
    assert draft(held, 1)["text"] == "Nests on chimneys. And churches."
    press(page, "Control+Enter")
    expect(page.locator("h1.question")).to_contain_text("question 2")


def test_a_second_device_is_offered_both_versions_and_neither_is_lost(
    page: Page, elsewhere: Page, live_server: Any, pairs: Assignment
) -> None:
    open_item(page, live_server, pairs)
    open_item(elsewhere, live_server, pairs)
    press(page, "ArrowLeft", "ArrowLeft")
    is_saved(page)
    press(elsewhere, "ArrowRight", "ArrowRight", "ArrowRight")
    passes(elsewhere, 1)
    expect(notice(elsewhere)).to_contain_text("changed in another tab or on another device")
    is_well(elsewhere)
    assert draft(pairs)["d-first"] == "left"  # nothing is overwritten yet
    press(elsewhere, "Enter")
    expect(elsewhere.locator(".meta.bars").first).to_contain_text("Pair 1 of 3")  # held
    elsewhere.get_by_role("button", name="Use the other version").click()
    expect(elsewhere.locator("input[name=d-first][value=left]")).to_be_checked()
    elsewhere.get_by_role("button", name="Back to my version").click()
    expect(elsewhere.locator("input[name=d-first][value=right]")).to_be_checked()
    is_saved(elsewhere)
    found = draft(pairs)
    assert [found[f"d-{name}"] for name in ("first", "second", "third")] == ["right"] * 3


def test_a_second_tab_whose_answer_is_replaced_is_told_and_can_have_it_back(
    signed_in: BrowserContext, page: Page, live_server: Any, pairs: Assignment
) -> None:
    open_item(page, live_server, pairs)
    press(page, "ArrowLeft")
    is_saved(page)
    second = signed_in.new_page()
    open_item(second, live_server, pairs)
    expect(second.locator("input[name=d-first][value=left]")).to_be_checked()
    passes(page, 1.6)  # nobody is typing in the first one any more
    press(second, "1", "ArrowRight")
    expect(page.locator("input[name=d-first][value=right]")).to_be_checked()
    expect(notice(page)).to_contain_text("changed in another tab")
    passes(page, 1.6)
    page.get_by_role("button", name="Back to my version").click()
    expect(page.locator("input[name=d-first][value=left]")).to_be_checked()
    is_saved(page)
    assert draft(pairs)["d-first"] == "left"
    expect(notice(second)).to_contain_text("another tab")  # it is told as well


def test_next_says_what_is_wrong_until_it_is_mended_and_takes_no_late_state_for_another_tab(
    page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    late: list[Route] = []

    def hold(route: Route) -> None:
        late.append(route)

    page.route("**/draft/", hold)
    with page.expect_request("**/draft/"):
        page.keyboard.type("One")
        passes(page, 1)
    press(page, "Control+Enter")
    expect(page.locator("#problem")).to_contain_text("1 word; write at least 2.")
    with page.expect_response("**/draft/"):
        late[0].continue_()
    page.wait_for_timeout(200)  # a notice would stand by now
    expect(notice(page)).to_be_empty()
    field, problem = page.locator("#answer"), page.locator("#problem")
    expect(field).to_have_value("One")
    page.unroute("**/draft/")
    field.fill("one two three four five six seven eight nine")
    press(page, "Control+Enter")
    expect(problem).to_contain_text("9 words; write at most 8.")
    expect(page.locator("h1.question")).to_contain_text("question 1")
    expect(field).to_have_value("one two three four five six seven eight nine")
    field.fill("one two three four five")
    expect(problem).to_have_count(0)
    press(page, "Control+Enter")
    expect(page.locator("h1.question")).to_contain_text("question 2")


def test_what_is_typed_in_many_pieces_offline_is_saved_as_it_is_once_there_is_a_network(
    signed_in: BrowserContext, page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    page.keyboard.type("Seen.")
    is_saved(page)
    signed_in.set_offline(True)
    for _ in range(25):  # each is tried, and its answer is lost
        page.keyboard.type("x")
        passes(page, 3)
    signed_in.set_offline(False)
    is_saved(page)
    expect(notice(page)).to_be_empty()
    assert draft(held)["text"] == "Seen." + 25 * "x"


def test_my_version_is_kept_at_once_while_another_device_goes_on_typing(
    page: Page, elsewhere: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    open_item(elsewhere, live_server, held)
    elsewhere.keyboard.type("On poles.")
    is_saved(elsewhere)
    page.keyboard.type("On chimneys.")
    passes(page, 1.1)
    expect(notice(page)).to_contain_text("choose a version")
    elsewhere.keyboard.type(" Or so.")
    is_saved(elsewhere)  # after what is offered here
    page.get_by_role("button", name="Keep my version").click()
    expect(page.locator("[data-saved=server]")).to_be_visible()
    assert draft(held)["text"] == "On chimneys."
    waiting = other_versions(held.entries.get(position=0))
    assert [one["draft"]["text"] for one in waiting] == ["On poles. Or so."]  # not lost either


def test_a_draft_that_cannot_be_saved_holds_up_no_other_item_and_says_nothing_there(
    page: Page, live_server: Any, held: Assignment
) -> None:
    open_item(page, live_server, held)
    long = "word " * 4_100  # more than is taken
    page.locator("#answer").evaluate("field => field.removeAttribute('maxlength')")
    page.locator("#answer").fill(long)
    passes(page, 1.1)
    expect(page.locator("[data-saved=failed]")).to_contain_text("20,000 is the most")
    open_item(page, live_server, held, 2)
    page.keyboard.type("A second answer.")
    is_saved(page)
    expect(page.locator("[data-saved=failed]")).to_be_hidden()
    assert draft(held, 2)["text"] == "A second answer."
    open_item(page, live_server, held)
    assert page.locator("#answer").input_value().startswith("word word")  # it is still here
    page.locator("#answer").fill("Two words.")
    is_saved(page)
    assert draft(held)["text"] == "Two words."


@pytest.mark.parametrize("kind", ["labels", "pairs"])
def test_a_key_while_the_next_item_is_on_its_way_changes_nothing(
    page: Page, live_server: Any, world: factories.World, kind: str
) -> None:
    made = {
        "labels": lambda: labels.make_labels(world.project, fields=(labels.DAMAGE,)),
        "pairs": lambda: judging.make_pairs(world.project, 3, settings=SEVERAL),
    }
    held = factories.claim(made[kind](), world.worker)
    open_item(page, live_server, held)
    late: list[Route] = []

    def hold(route: Route) -> None:
        late.append(route)

    page.route("**/items/1/", hold)
    press(page, *{"labels": ["1"], "pairs": ["ArrowLeft"] * 3}[kind])
    with page.expect_request("**/items/1/"):
        press(page, "Enter")
    expect(page.locator("#work")).to_have_attribute("aria-busy", "true")
    press(page, *{"labels": ["3"], "pairs": ["1", "ArrowRight"]}[kind])
    late[0].continue_()
    expect(page.locator(".meta.bars").first).to_contain_text("2 of 3")
    is_saved(page)
    given = {"labels": ("l-damage", "spots"), "pairs": ("d-first", "left")}[kind]
    assert draft(held)[given[0]] == given[1]
    assert not draft(held, 2)
    press(page, "3")  # and now it is of the second item
    expect(page.locator("#work")).not_to_have_attribute("aria-busy", "true")
