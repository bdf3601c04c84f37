"""What pages ask for: one stylesheet, one script, and few requests in all."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Assignment
from tests.browser.sign_in import sign_in
from tests.support import factories
from tests.support.studies import judging

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
MOST = 8  # of a worker's page, the document included


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(3, redundancy=5)


@pytest.fixture
def held(world: factories.World) -> Assignment:
    return factories.claim(world.task, world.worker)


def requests_of(page: Page, address: str) -> list[str]:
    """What a browser without a cache asks for until nothing more comes."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return asked


def test_a_page_of_answering_needs_at_most_eight_requests(
    page: Page, held: Assignment, live_server: Any
) -> None:
    address = reverse("work_item", args=[held.pk, 1])
    asked = requests_of(page, live_server.url + address)
    expect(page.locator("textarea.answer")).to_be_visible()
    assert len(asked) <= MOST, asked
    assert [url.rpartition("/")[2] for url in asked if url.endswith((".css", ".js"))] == [
        "worker.css",
        "worker.js",
    ]


def test_pairs_in_another_language_need_at_most_eight_requests(
    page: Page, world: factories.World, live_server: Any
) -> None:
    """Keys are shown in a third font, and what scripts say comes as a script of its own."""
    assert world.worker.user is not None
    world.worker.user.language = "de"
    world.worker.user.save()
    pairs = factories.claim(judging.make_pairs(world.project, 3), world.worker)
    asked = requests_of(page, live_server.url + reverse("work_item", args=[pairs.pk, 1]))
    expect(page.locator(".judgment.current")).to_have_count(1)
    assert any(url.endswith("/words/de.js") for url in asked)
    assert len(asked) <= MOST, asked


def test_the_home_of_a_worker_needs_at_most_eight_requests(
    page: Page, held: Assignment, live_server: Any
) -> None:
    asked = requests_of(page, live_server.url + reverse("work_home"))
    assert len(asked) <= MOST, asked


def test_staff_get_one_stylesheet_and_one_script(context: BrowserContext, live_server: Any) -> None:
    task = factories.make_task()
    sign_in(context, task.project.owner, live_server.url)
    page = context.new_page()
    asked = requests_of(page, live_server.url + reverse("task", args=[task.project_id, task.pk]))
    assert [url.rpartition("/")[2] for url in asked if url.endswith((".css", ".js"))] == [
        "staff.css",
        "staff.js",
    ]
