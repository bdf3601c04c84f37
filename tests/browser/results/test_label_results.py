"""The page of labels becomes the results by itself, and a confusion matrix opens in its place."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, expect

from evaluation.models import WorkerScore
from tests.browser.polling import polls_often
from tests.browser.sign_in import is_well, sign_in
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.labels.test_runs import scored

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]


def test_the_page_before_the_first_run_becomes_the_results_and_a_matrix_opens_and_closes(
    context: BrowserContext, live_server: Any
) -> None:
    task = corpus.make_task(items=24, known=4)
    sign_in(context, task.project.owner, live_server.url)
    polls_often(context)
    page = context.new_page()
    page.goto(live_server.url + reverse("label_results", args=[task.project_id, task.pk]))
    expect(page.get_by_text("labels and the first run starts automatically")).to_be_visible()
    corpus.make_labelled(items=24, known=4, workers=6, guessing=1, task=task)
    expect(page.get_by_text("Enough labels for a first run")).to_be_visible(timeout=15_000)
    run = scored(task)
    expect(page.get_by_role("heading", name="Competence")).to_be_visible(timeout=15_000)
    expect(page.locator("#main")).to_have_count(1)
    assert page.locator("[hx-trigger^=every][hx-target='#main']").count() == 0

    row = WorkerScore.objects.filter(run=run, estimate__isnull=False).earliest("worker_id")
    name = page.locator(f"#open-{row.worker_id}")
    name.focus()
    page.keyboard.press("Enter")
    matrix = page.locator(f"#worker-{row.worker_id} table.heat")
    expect(matrix).to_be_visible()
    expect(name).to_be_focused()
    expect(name).to_have_attribute("aria-expanded", "true")
    is_well(page)
    page.keyboard.press("Enter")
    expect(matrix).to_have_count(0)
    expect(name).to_be_focused()
