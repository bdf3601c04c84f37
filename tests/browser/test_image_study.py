"""A study of images from a template to Label Studio: answered on phones, scored, exported."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.authoring.actions.drafts import edit_draft
from annotation.models import Assignment, Task
from annotation.work.actions import answers
from evaluation.models import WorkerScore
from tests.browser.sign_in import fits, goes_to, reporting, saves, sign_in
from tests.evaluation.labels.test_runs import scored
from tests.support import factories
from tests.support.studies.labels import LEAVES

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TRUTH = {"1": "Brown spots", "2": "Holes", "3": "None", "4": "Brown spots"}
CODES = {"Brown spots": "spots", "Holes": "holes", "None": "none"}
WHY = "The spots are round and dry."


@pytest.fixture
def page(context: BrowserContext, live_server: Any) -> Any:
    """The requester's browser, which reports every error of its scripts."""
    sign_in(context, factories.make_user(), live_server.url)
    yield from reporting(context)


def build(page: Page, root: str) -> Task:
    """From a template: two leaves with a known answer, a quiz of one, and what is published."""
    page.goto(root + reverse("project_new"))
    page.get_by_label("Name").fill("Leaves")
    page.get_by_role("button", name="Create project").click()
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("link", name="Create a task").click()
    page.get_by_role("button", name="Label images").click()
    page.wait_for_url("**/build/*")
    task = Task.objects.get()
    settings = {"content": "image", "fields": LEAVES}
    edit_draft(by=task.project.owner, task=task, fields={"settings": settings})
    page.reload()
    goes_to(page, "Known answers")
    for number in ("1", "2"):
        with page.expect_response("**/build/**"):
            page.get_by_label("Item", exact=True).select_option(f"template-example-{number}")
        page.get_by_label("Damage").select_option(label=TRUTH[number])
        page.get_by_label("Explanation").fill(WHY)
        page.get_by_role("button", name="Add known answer").click()
        known = page.locator("#known tbody tr", has_text=f"template-example-{number}")
        expect(known).to_contain_text(TRUTH[number])
    saves(page, "Length of the quiz", "1")
    fits(page, "known answers and a quiz")
    page.get_by_role("link", name="Publish…").click()
    page.locator("dialog").get_by_role("button", name="Publish").click()
    expect(page.locator("#notices")).to_contain_text("4 example items")
    return Task.objects.get()


class Phone:
    """A worker at a phone."""

    def __init__(self, context: BrowserContext, root: str, task: Task) -> None:
        self.worker = factories.make_worker(task.project)
        assert self.worker.user is not None
        sign_in(context, self.worker.user, root)
        self.tab = context.new_page()
        self.tab.set_viewport_size({"width": 360, "height": 740})
        self.tab.goto(root + reverse("work_home"))

    def begins(self, button: str) -> None:
        """Start what the page offers, past its first page."""
        self.tab.get_by_role("button", name=button).click()
        self.tab.get_by_role("link", name="Start with item 1").or_(
            self.tab.locator("#question")
        ).first.click()

    def labels(self, count: int, *, rightly: bool = True) -> None:
        """Every item of the assignment; how much of a leaf is damaged only where it is."""
        tab = self.tab
        for number in range(1, count + 1):
            expect(tab.locator("#question")).to_contain_text(f"Item {number} of {count}")
            image = tab.locator("[data-zoom-frame] img")
            truth = TRUTH[str(image.get_attribute("alt"))[-1]]
            chosen = truth if rightly else "None"
            tab.locator('[data-field="damage"]').get_by_text(chosen, exact=True).click()
            extent = tab.locator('[data-field="extent"]')
            if chosen == "None":
                expect(extent).to_be_hidden()
            else:
                extent.get_by_role("radio").first.check()
            fits(tab, "an image with its fields")
            tab.get_by_role("button", name="Next item" if number < count else "Finish").click()
        tab.get_by_role("button", name="Submit").click()

    def sees(self, heading: str) -> None:
        expect(self.tab.get_by_role("heading", name=heading)).to_be_visible()
        fits(self.tab, heading)


def answer_by_program(task: Task) -> None:
    """A third to fifth worker, who has passed the quiz before, over the API's action."""
    worker = factories.make_worker(task.project)
    for _ in range(2):  # the quiz, then the items
        held = factories.claim(task, worker)
        drafts = {}
        for slot in held.entries.select_related("item"):
            code = CODES[TRUTH[slot.item.key[-1]]]
            more = {} if code == "none" else {"l-extent": "1"}
            drafts[slot.item.pk] = {"l-damage": code, **more}
        assert worker.user is not None
        answers.submit_assignment(by=worker.user, assignment=held, key=uuid.uuid4(), drafts=drafts)


@pytest.mark.long
def test_images_from_a_template_are_labeled_on_phones_scored_and_exported(
    page: Page, context: BrowserContext, live_server: Any
) -> None:
    task = build(page, live_server.url)
    requester = task.created_by

    first = Phone(context, live_server.url, task)
    first.begins("Start")
    first.labels(1, rightly=False)
    first.sees("Quiz not passed")
    expect(first.tab.get_by_text(WHY).first).to_be_visible()
    first.begins("Try the quiz again")
    first.labels(1)
    first.sees("Quiz passed")
    first.begins("Start with 2 items")
    first.labels(2)
    first.sees("Submitted")
    second = Phone(context, live_server.url, task)
    second.begins("Start")
    second.labels(1)
    second.begins("Start with 2 items")
    second.labels(2)
    second.sees("Submitted")
    assert list(Assignment.objects.order_by("pk").values_list("quiz", "quiz_passed")) == [
        (1, False),
        (2, True),
        (None, False),
        (1, True),
        (None, False),
    ]

    answer_by_program(task)
    run = scored(task)
    sign_in(context, requester, live_server.url)
    page.goto(live_server.url + reverse("label_results", args=[task.project_id, task.pk]))
    row = WorkerScore.objects.get(run=run, worker=first.worker)
    page.locator(f"#open-{row.worker_id}").click()
    expect(page.locator(f"#worker-{row.worker_id} .confusion")).to_be_visible()
    fits(page, "one worker's confusion")

    page.goto(live_server.url + reverse("task", args=[task.project_id, task.pk]))
    fits(page, "the task")
    with page.expect_download() as download:
        page.get_by_role("link", name="Label Studio as JSON", exact=True).click()
    rows = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert [row["data"]["image"][-10:] for row in rows] == [f"leaf-{n}.png" for n in "1234"]
    given = [[one["result"][0]["value"] for one in row["annotations"]] for row in rows]
    assert given == [[], [], [{"choices": ["none"]}] * 3, [{"choices": ["spots"]}] * 3]
