"""The quiz on a phone: its terms, a failed try with explanations, and the second one passed."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Assignment
from tests.annotation.work.test_quiz import SECRET, WHY, make_quiz
from tests.browser.sign_in import fits
from tests.support import factories
from tests.support.kept import kept

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]


@pytest.fixture
@kept
def world() -> factories.World:
    """The project of a task with a quiz; its worker is signed in."""
    task, user = make_quiz(), factories.make_user()
    worker = factories.make_worker(task.project)
    return factories.World(task.project, task.project.owner, user, worker, user, task)


def answer_all(page: Page, text: str) -> None:
    """Start, answer both questions, and submit."""
    page.get_by_role("link", name="Start with question 1").click()
    for number in (1, 2):
        expect(page.locator(".meta", has_text=f"Question {number} of 2")).to_be_visible()
        page.locator("textarea.answer").fill(text)
        page.get_by_role("button", name="Finish" if number == 2 else "Next").click()
    page.get_by_role("button", name="Submit 2 answers").click()


def test_a_worker_fails_reads_why_passes_and_starts_on_a_phone(
    page: Page, live_server: Any
) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(live_server.url + reverse("work_home"))
    expect(page.get_by_text("2 right to pass, two tries")).to_be_visible()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("First a quiz, try 1 of 2.")).to_be_visible()
    fits(page, "the terms of the quiz")
    answer_all(page, "It has a nest")
    expect(page.get_by_role("heading", name="Quiz not passed")).to_be_visible()
    expect(page.get_by_text(WHY).first).to_be_visible()
    fits(page, "a failed try")
    page.get_by_role("button", name="Try the quiz again").click()
    answer_all(page, SECRET)
    expect(page.get_by_role("heading", name="Quiz passed")).to_be_visible()
    page.get_by_role("button", name="Start with 2 questions").click()
    expect(page.locator(".meta", has_text="Question 1 of 2")).to_be_visible()
    assert list(Assignment.objects.order_by("pk").values_list("quiz", "quiz_passed")) == [
        (1, False),
        (2, True),
        (None, False),
    ]
