"""A worker's confusion matrix opens and closes in its place, by the keyboard too."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import BrowserContext, expect

from evaluation.models import WorkerScore
from tests.browser.sign_in import sign_in
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.labels.test_runs import scored

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_confusion_matrix_opens_under_its_worker_and_closes_again(
    context: BrowserContext, live_server: Any
) -> None:
    task = corpus.make_labelled(items=24, known=4, workers=6, guessing=1)
    run = scored(task)
    sign_in(context, task.project.owner, live_server.url)
    page = context.new_page()
    page.goto(live_server.url + reverse("label_results", args=[task.project_id, task.pk]))
    row = WorkerScore.objects.filter(run=run, extra__standing="better").earliest("worker_id")
    name = page.locator(f"#open-{row.worker_id}")
    name.focus()
    page.keyboard.press("Enter")
    matrix = page.locator(f"#worker-{row.worker_id} table.heat")
    expect(matrix).to_be_visible()
    expect(name).to_be_focused()
    expect(name).to_have_attribute("aria-expanded", "true")
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    page.keyboard.press("Enter")
    expect(matrix).to_have_count(0)
    expect(name).to_be_focused()


def test_the_page_before_the_first_run_becomes_the_results_without_a_reload(
    context: BrowserContext, live_server: Any
) -> None:
    task = corpus.make_task(items=24)
    sign_in(context, task.project.owner, live_server.url)
    page = context.new_page()
    page.goto(live_server.url + reverse("label_results", args=[task.project_id, task.pk]))
    expect(page.get_by_text("labels and the first run starts automatically")).to_be_visible()
    corpus.make_labelled(items=24, known=0, workers=6, guessing=1, task=task)
    expect(page.get_by_text("Enough labels for a first run")).to_be_visible(timeout=15_000)
    scored(task)
    expect(page.get_by_role("heading", name="Competence")).to_be_visible(timeout=15_000)
    expect(page.locator("#main")).to_have_count(1)
    assert page.locator("[hx-trigger^=every][hx-target='#main']").count() == 0
