"""The replay page in a real browser: it plays, it jumps, and its last frame is the text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Answer
from tests.browser.sign_in import misfits, sign_in
from tests.evaluation.corpora import replay as replay_corpus
from tests.evaluation.corpora.replay import Session
from tests.support import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]
# What stands in the text pane without what is struck, as the text that it is.
TEXT = """() => [...document.querySelector("[data-text]").children].map((line) => {
    const copy = line.cloneNode(true);
    copy.querySelectorAll("del").forEach((gone) => gone.remove());
    return copy.textContent;
}).join("\\n")"""


@pytest.fixture
def written() -> tuple[Answer, Session]:
    cache.clear()
    answer, session, _ = replay_corpus.submitted(replay_corpus.make_task(passages=12))
    return answer, session


@pytest.fixture
def world(written: tuple[Answer, Session]) -> factories.World:
    """The one who reviews stands where other tests have their worker: signed in."""
    task = written[0].item.task
    owner = task.project.owner
    reviewer = factories.make_member(task.project, user=owner)
    return factories.World(task.project, owner, owner, reviewer, owner, task)


def opens(page: Page, live_server: Any, answer: Answer, more: str = "") -> None:
    task = answer.item.task
    page.goto(
        live_server.url + reverse("replay", args=[task.project_id, task.pk, answer.pk]) + more
    )
    expect(page.locator("[data-ready]")).to_be_visible()


def is_at(page: Page) -> str:
    return page.locator(".time [data-now]").inner_text()


def test_it_plays_is_scrubbed_and_jumps_to_pastes_big_changes_and_pauses(
    page: Page, live_server: Any, written: tuple[Answer, Session]
) -> None:
    answer, session = written
    opens(page, live_server, answer)
    assert page.evaluate(TEXT) == session.text
    plays(page, session)
    is_scrubbed(page, session)
    jumps(page)
    deleted = next(e for e in session.events if e.get("delta") and e["delta"][2] > 20)
    opens(page, live_server, answer, f"?at={deleted['time'] / 1000 + 9}")
    strikes_and_links(page)
    assert misfits(page, "replay") == []  # half played


def plays(page: Page, session: Session) -> None:
    """From the start, as it opens at the end."""
    page.get_by_role("button", name="60×").click()
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    expect(page.locator("[data-text]")).to_contain_text(re.compile(r"^Both probes(?!.*power\.)"))
    page.get_by_role("button", name="Pause", exact=True).click()
    early = page.evaluate(TEXT)
    assert 0 < len(early) < len(session.text)
    assert page.evaluate("new URL(location).searchParams.get('at')")


def is_scrubbed(page: Page, session: Session) -> None:
    """By keyboard, to both ends."""
    scrub = page.get_by_role("slider", name="Moment of the writing")
    scrub.focus()
    page.keyboard.press("End")
    assert page.evaluate(TEXT) == session.text
    page.keyboard.press("Shift+ArrowLeft")
    assert page.evaluate(TEXT) == session.text[:-1]
    page.keyboard.press("ArrowLeft")
    assert len(page.evaluate(TEXT)) < len(session.text) - 1
    page.keyboard.press("Home")
    assert page.evaluate(TEXT) == ""
    assert scrub.get_attribute("aria-valuetext", timeout=1000).startswith("0:00 of ")  # type: ignore[union-attr]


def jumps(page: Page) -> None:
    """By keys, from the start."""
    told = page.locator("[data-told]")
    page.keyboard.press("p")
    expect(told).to_contain_text("Paste of 13 words, from a passage")
    expect(page.locator("[data-text] .from-passage").first).to_have_text(
        "Each draws power from decaying plutonium and loses about four watts a year"
    )
    page.keyboard.press("p")
    page.keyboard.press("p")
    expect(told).to_contain_text("from outside")
    expect(page.locator("[data-text] .from-outside").first).to_contain_text("In 2023 engineers")
    page.keyboard.press("b")
    expect(told).to_contain_text("came in at once")
    expect(page.locator("[data-text] .from-nowhere").first).to_contain_text("Whether anybody")
    page.goto(page.url.split("?", maxsplit=1)[0] + "?at=0")
    expect(page.locator("[data-ready]")).to_be_visible()
    assert page.evaluate(TEXT) == ""
    page.keyboard.press("l")
    expect(told).to_contain_text("without a change")
    page.get_by_text("Keys", exact=True).click()
    page.get_by_label("Space, P, B and L work as keys").uncheck()
    before = is_at(page)
    page.locator("body").press("p")
    assert is_at(page) == before


def strikes_and_links(page: Page) -> None:
    """Deleted words, and passages that are cited."""
    expect(page.locator("[data-text] del").first).to_contain_text("moons of four planets")
    page.get_by_role("link", name="Go there").first.click()
    expect(page.locator("[data-text] .from-outside").first).to_be_visible()
    cited = page.locator("[data-text] a.cite").first
    assert cited.get_attribute("href") == "#passage-2"
    expect(page.locator("#passage-2")).to_be_visible()


@pytest.mark.long
def test_a_frame_of_a_long_log_is_drawn_at_once(page: Page, live_server: Any) -> None:
    """Five thousand changes: opened in a second, and any moment drawn within a frame."""
    cache.clear()
    task = replay_corpus.make_task(passages=40)
    lease = factories.claim(task, factories.make_worker(task.project))
    session = Session(f"item-{lease.entries.get().item_id}")
    while len(session.events) < 4990:
        session.types("so it goes [2] on ").wait(1.7).deletes(3 + len(session.text) // 250)
    factories.make_log(lease, session.events[:1000])
    for start in range(1000, len(session.events), 1000):
        extend(lease, session.events[start : start + 1000], start)
    answer = factories.submit(lease, session.text).answers.get()
    page_context(page.context, task, live_server)
    opens(page, live_server, answer)
    assert page.evaluate(TEXT) == session.text
    slowest = page.evaluate(
        """() => {
            const scrub = document.querySelector("[data-scrub]");
            const took = [];
            for (let k = 0; k < 60; k++) {
                scrub.value = String(Math.round((scrub.max * ((k * 37) % 60)) / 60));
                const since = performance.now();
                scrub.dispatchEvent(new Event("input", { bubbles: true }));
                took.push(performance.now() - since);
            }
            return took.sort((a, b) => a - b)[30];
        }"""
    )
    assert slowest < 16


def extend(lease: Any, events: list[dict[str, Any]], first: int) -> None:
    from annotation.work.actions import events as actions

    stream = lease.streams.get()
    actions.append_events(
        by=lease.worker.user,
        assignment=lease,
        stream_key=stream.key,
        first_seq=first,
        events=events,
    )


def page_context(context: BrowserContext, task: Any, live_server: Any) -> None:
    sign_in(context, task.project.owner, live_server.url)
