"""A judgment study built in a real browser: earlier answers and a file, seven dimensions, pairs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Task
from annotation.task_types.pairwise import type as pairwise
from tests.browser.sign_in import goes_to, is_well, reporting, saves, sign_in
from tests.support import factories, uploads
from tests.support.kept import kept

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TOPICS = 12
QUESTIONS = [f"What is known about bird number {n + 1}?" for n in range(TOPICS)]


@pytest.fixture
@kept
def world() -> factories.World:
    """A free-text task that two people have answered in full."""
    world = factories.make_world(TOPICS, questions=QUESTIONS, redundancy=2)
    for name in ("first", "second"):
        texts = {
            f"q-{n + 1:03d}": f"My {name} thought on bird {n + 1}. " + "It flies south. " * (n + 3)
            for n in range(TOPICS)
        }
        factories.claim_and_submit(world.task, texts=texts)
    return world


@pytest.fixture
def page(world: factories.World, context: BrowserContext, live_server: Any) -> Iterator[Page]:
    """The requester's browser, which reports every error of its scripts."""
    sign_in(context, world.requester, live_server.url)
    yield from reporting(context)


def begins(page: Page, live_server: Any, world: factories.World) -> str:
    """A new task of judgments; gives its builder's address."""
    page.goto(live_server.url + reverse("task_new", args=[world.project.pk]))
    page.get_by_label("Title").fill("Which answer is better?")
    page.get_by_label("Pairwise judgments").check()
    is_well(page)
    page.get_by_role("button", name="Create task").click()
    page.wait_for_url("**/build/*")
    return page.url.partition("?")[0]


def asks_the_seven_and_one(page: Page) -> None:
    """The seven by one button; one of them is worded anew in its place, and an own one is added."""
    page.get_by_role("button", name="Use seven ready-made dimensions").click()
    rows = page.locator("#asked tbody tr")
    expect(rows).to_have_count(7)
    page.get_by_role("link", name="Edit Broad coverage").click()
    saves(page, "Name", "Breadth")
    expect(page.locator("#open-text")).to_contain_text("Breadth")
    expect(page.locator("#preview")).to_contain_text("Breadth")
    page.get_by_label("Name of a new dimension").fill("Tone")
    page.get_by_role("button", name="Add a dimension").click()
    expect(page.locator("#asked")).to_contain_text("Called tone in exports.")
    is_well(page)
    page.get_by_role("button", name="Remove this line").click()
    expect(rows).to_have_count(7)


def takes_answers(page: Page) -> None:
    """All answers of the earlier task, each question a topic."""
    goes_to(page, "Texts")
    page.get_by_label("Task", exact=True).select_option(index=0)
    page.get_by_role("button", name="Add these answers").click()
    expect(page.locator("#texts h2").first).to_contain_text("24 on 12 topics")
    expect(page.locator("#notices")).to_contain_text("24 new texts and 12 new topics.")


def takes_a_file(page: Page) -> None:
    """Two systems' texts on the same topics, through the page that shows how a file is read."""
    rows = [
        {
            "topic": f"q-{n + 1:03d}",
            "query": question,
            "model": system,
            "response": f"{system} on bird {n + 1}: " + "the sources agree [1]. " * (n % 4 + 2),
        }
        for n, question in enumerate(QUESTIONS)
        for system in ("Halcyon", "Orrery")
    ]
    page.get_by_role("link", name="Choose a file").click()
    content = "\n".join(map(json.dumps, rows)).encode()
    page.locator("input[type=file]").set_input_files(
        {"name": "systems.jsonl", "mimeType": "application/jsonl", "buffer": content}
    )
    select = page.get_by_label("column response read as")
    if select.input_value() != "text":
        with page.expect_response("**/import/*/"):
            select.select_option("text")
    is_well(page)
    page.get_by_role("button", name="Import 24 rows").click()
    page.wait_for_url("**/build/")
    goes_to(page, "Texts")
    expect(page.locator("#texts h2").first).to_contain_text("48 on 12 topics, by 3 authors")


def makes_pairs(page: Page) -> None:
    """All pairs of a topic, a third asked again; one becomes an attention pair."""
    goes_to(page, "Pairs")
    expect(page.locator("#pairs-state")).to_contain_text("96 pairs are made of this design, 24")
    page.get_by_text("Choose an attention pair").click()
    page.get_by_role("link", name=QUESTIONS[0]).click()
    page.get_by_label("Right", exact=True).select_option(index=2)
    page.locator("#attention-form").get_by_label("Overall quality").select_option("right")
    is_well(page)
    page.get_by_role("button", name="Add this attention pair").click()
    expect(page.locator("#attention h2 >> nth=0")).to_contain_text("1")
    saves(page, "An assignment holds", "1")
    expect(page.get_by_text("are made of this design")).to_be_visible()
    is_well(page)


def pays(page: Page) -> None:
    goes_to(page, "Time and pay")
    saves(page, "Pairs an assignment", "12")
    saves(page, "Pay per assignment", "4.80")
    saves(page, "Minimum time", "600")
    # The order of pairs is that of an assignment's size: they were made again.
    goes_to(page, "Pairs")
    expect(page.get_by_text("are made of this design")).to_be_visible()


def sums_up_and_publishes(page: Page, pairs: int) -> None:
    """The summary says what it comes to, with the interval to expect; then it is published."""
    expect(page.locator("#costline")).to_contain_text(
        re.compile(r"\d+ pairs of two systems can(not)? separate close ones")
    )
    page.get_by_role("link", name="Publish…").click()
    dialog = page.locator("dialog#publish")
    assignments = 5 + (pairs - 1) * 5 // 12
    for words in (f"{pairs} pairs", "an hour", f"€{assignments * 4.8:.2f} at most"):
        expect(dialog).to_contain_text(words)
    dialog.get_by_text("What this can show").click()
    for words in (
        f"{pairs * 5 * 7:,}",
        f"{pairs * 5:,} judgments on 7 lines",
        "separate close ones",
    ):
        expect(dialog).to_contain_text(words)
    is_well(page)
    dialog.get_by_role("button", name=re.compile("^Publish for")).click()
    expect(page.locator(".state").first).to_contain_text("Open")
    expect(page.locator("main")).to_contain_text(f"0 of {pairs * 5} judgments collected.")


@pytest.mark.long
def test_a_study_of_twelve_topics_is_built_from_answers_and_a_file_and_published(
    page: Page, live_server: Any, world: factories.World
) -> None:
    build = begins(page, live_server, world)
    asks_the_seven_and_one(page)
    takes_answers(page)
    with uploads.working():
        takes_a_file(page)
    makes_pairs(page)
    pays(page)
    task = Task.objects.get(type="pairwise")
    pairs = task.items.filter(expected__isnull=True).count()
    assert 90 <= pairs <= 95  # 96 without the attention pair and, perhaps, its repeat
    sums_up_and_publishes(page, pairs)
    task.refresh_from_db()
    assert task.state == "open" and task.current is not None
    settings = task.current.settings
    labels = [row["label"] for row in settings["dimensions"]]
    assert labels == [
        "Breadth" if row["name"] == "coverage_broad" else row["label"] for row in pairwise.TEMPLATE
    ]
    assert settings["gold_per_assignment"] == 1 and task.current.min_seconds == 600
    # Somebody who wrote some of the texts gets only pairs of others.
    for number, held in ((0, 12), (1, 13)):  # the attention pair holds a text of the first one
        author = world.task.assignments.order_by("pk")[number].worker
        lease = factories.claim(task, author)
        entries = lease.entries.select_related("item__first", "item__second")
        authors = {e.item.first.author_id for e in entries if e.item.first}
        authors |= {e.item.second.author_id for e in entries if e.item.second}
        assert author.pk not in authors and len(entries) == held
    page.goto(build)
    is_well(page)
