"""Whatever happens on a worker's page, what is stored is what its person last saw, and nothing
typed is out of reach: random walks over every type of task."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from annotation.models import Assignment, Project, Task
from tests.browser.sign_in import sign_in
from tests.browser.working.walks import FETCH, Walk
from tests.support import factories
from tests.support.crawl import watch
from tests.support.studies import judging, labels, ratings, thinking, writing

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
WALKS = int(os.environ.get("CROWDQC_WALKS", "14"))  # over all types; 500 before a release
LENGTH = 14
# What a person does, and the network: as often as it stands here.
ACTIONS = (
    *["type"] * 6,
    *["next"] * 2,
    *["early"] * 2,
    *["wait"] * 2,
    *("ok", "slow", "offline", "busy", "lost"),
    *("back", "skip", "moment", "reload", "leave", "keep", "use"),
)
NOTE = {"name": "note", "label": "Note", "question": "What else?", "kind": "long_text"}
NOTE |= {"required": False}
LINES = {
    "dimensions": [
        {"name": name, "label": name.capitalize(), "question": "Which one?", "neutral": True}
        for name in ("first", "second")
    ],
}
AT_END = """(selector) => {
  const field = [...document.querySelectorAll(selector)].at(-1);
  field?.focus();
  field?.setSelectionRange?.(field.value.length, field.value.length);
  return Boolean(field) && document.activeElement === field;
}"""
OUT = "() => document.activeElement?.blur()"
Write = Callable[[Page, int], None]
Step = tuple[str, int]  # what is done, and in which tab


def text_in(selector: str) -> Write:
    """Types a word at the end of a field; without one the keys go where the focus is."""

    def write(page: Page, number: int) -> None:
        page.evaluate(AT_END, selector)
        page.keyboard.type(f"typed{number} ")

    return write


def keys(*all_keys: str) -> Write:
    """Presses two keys, chosen by the number, outside of fields."""

    def write(page: Page, number: int) -> None:
        page.evaluate(OUT)
        for place in range(2):
            page.keyboard.press(all_keys[(number * 7 + place * 3) % len(all_keys)])

    return write


def in_turn(*writes: Write) -> Write:
    return lambda page, number: writes[number % len(writes)](page, number)


def respond(page: Page, number: int) -> None:
    """Questions before the text, the text, and questions after it."""
    if page.locator("#answer").count():
        text_in("#answer")(page, number)
    elif (radios := page.locator("#work:not([inert]) input[type=radio]")).count():
        radios.nth(number % radios.count()).check(force=True)


def free_text(project: Project) -> Task:
    return factories.make_task(project, 3, settings={"min_words": 1, "max_words": 90})


def written(project: Project) -> Task:
    return writing.make_writing(project, 3, items_per_assignment=3)


KINDS: dict[str, tuple[Callable[[Project], Task], Write]] = {
    "free text": (free_text, text_in("#answer")),
    "labels": (
        lambda project: labels.make_labels(project, fields=(labels.DAMAGE, labels.MORE, NOTE)),
        in_turn(keys("1", "2", "3", "0"), text_in("#f-note")),
    ),
    "writing": (written, respond),
    "pairwise": (
        lambda project: judging.make_pairs(project, 3, settings=LINES),
        keys("ArrowLeft", "ArrowRight", "1", "2", "ArrowDown"),
    ),
    "rating": (
        ratings.make_documents,
        in_turn(keys("1", "2", "3", "4"), text_in("#explanation"), text_in("#evidence")),
    ),
    "think aloud": (
        lambda project: thinking.make_think(project, ("Coherence", "Fluency", "Order")),
        text_in(".attribute textarea"),
    ),
    "checklist": (lambda project: thinking.make_checklist(project, 3), keys("y", "n")),
}


@pytest.fixture
def tabs(browser: Browser) -> Iterator[list[Page]]:
    """Two tabs in one browser and one on another device, whose clock and network tests move."""
    contexts = [browser.new_context() for _ in range(2)]
    errors: list[str] = []
    for context in contexts:
        context.clock.install()
        context.add_init_script(FETCH)
        context.set_default_timeout(10_000)
    found = [contexts[place].new_page() for place in (0, 0, 1)]
    for tab in found:
        watch(tab, errors)
    yield found
    for context in contexts:
        context.close()
    assert errors == []


def walk_fails(walk: Walk, steps: Sequence[Step]) -> str:
    """What is wrong after these steps; empty where nothing is."""
    try:
        walk.begin()
        for name, tab in steps:
            walk.act(name, tab)
        walk.check()
    except AssertionError as error:
        return str(error)
    return ""


def shortened(
    fails: Callable[[Sequence[Step]], str], steps: Sequence[Step], why: str
) -> tuple[Sequence[Step], str]:
    """A failing walk without the steps that it fails without, and why it fails."""
    for place in reversed(range(len(steps))):
        fewer = [*steps[:place], *steps[place + 1 :]]
        if found := fails(fewer):
            steps, why = fewer, found
    return steps, why


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stored_is_what_one_last_saw_and_nothing_typed_is_lost(
    kind: str, tabs: list[Page], live_server: Any
) -> None:
    make, write = KINDS[kind]
    task = make(factories.make_project())
    worker = factories.make_worker(task.project)
    assert worker.user is not None
    held: Assignment = factories.claim(task, worker)
    for tab in tabs[1:]:
        sign_in(tab.context, worker.user, live_server.url)

    for seed in range(-(-WALKS // len(KINDS))):
        rng = random.Random(f"{kind} {seed}")
        steps = [(rng.choice(ACTIONS), int(rng.random() < 0.3)) for _ in range(LENGTH)]
        pair, left = [tabs[0], tabs[1 + seed % 2]], tabs[2 - seed % 2]
        left.goto("about:blank")

        def fails(steps: Sequence[Step], pair: list[Page] = pair) -> str:
            return walk_fails(Walk(pair, held, live_server.url, write), steps)

        if why := fails(steps):
            steps, why = shortened(fails, steps, why)
            raise AssertionError(f"{kind}, walk {seed}: {steps}: {why}")
