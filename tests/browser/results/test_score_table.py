"""A table of votes is dropped, read, scored, and says who can be told from guessing."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Route, expect
from playwright.sync_api import Error as PlaywrightError

from evaluation.models import Run, RunState
from evaluation.runs import engine
from tests.browser.polling import polls_often
from tests.browser.sign_in import sign_in
from tests.support import factories
from tests.support.crawl import overflows, violations, watch
from tests.support.uploads import working

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]
LABELS = ("Supported", "Contradicted", "Not in source")


def table_of_votes(folder: Path) -> Path:
    """300 votes of 10 workers, who are right four times in five but for two who do not look."""
    draw = random.Random(20417)
    rows = ["annotator,claim_id,verdict,batch"]
    for item in range(30):
        true = LABELS[item % 3]
        for worker in range(10):
            right = worker < 8 and draw.random() < 0.8
            label = true if right else draw.choice(LABELS)
            rows.append(f"worker-{worker},claim-{item},{label},b1")
    path = folder / "claims.csv"
    path.write_text("\n".join([*rows, "worker-1,,Supported,b1", ""]))
    return path


def test_a_dropped_table_of_300_votes_leads_to_a_verdict(
    context: BrowserContext, live_server: Any, tmp_path: Path
) -> None:
    user = factories.make_user()
    sign_in(context, user, live_server.url)
    polls_often(context)
    page, errors = context.new_page(), list[str]()
    watch(page, errors)
    page.goto(live_server.url + reverse("project_list"))
    page.get_by_role("link", name="Score a table").click()
    with working():
        page.locator("input[type=file]").set_input_files(table_of_votes(tmp_path))
        button = page.get_by_role("button", name="Score 300 labels")
        expect(button).to_be_visible(timeout=15_000)
        # The row without an item is named.
        expect(page.get_by_text("claim_id").first).to_be_visible()
        found = overflows(page) + violations(page)
        page.get_by_label("Comparisons").check()  # another kind, and back
        expect(page.get_by_text("Columns missing", exact=True)).to_be_visible(timeout=15_000)
        page.get_by_label("Labels recognised").check()
        expect(button).to_be_visible(timeout=15_000)
        button.click()
        expect(page.get_by_text("Scoring", exact=True)).to_be_visible(timeout=15_000)
    run = Run.objects.get()
    # The page asks every second, and leads there by itself, once, however long that page takes.
    results, asked = reverse("task_results", args=[run.project_id, run.task_id]), list[str]()

    def late(route: Route) -> None:
        asked.append(route.request.url)
        time.sleep(1)
        with suppress(PlaywrightError):  # asked for anew meanwhile
            route.continue_()

    page.route(f"**{results}", late)
    engine.execute(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.error
    expect(page.get_by_text("8 of 10 workers do better than guessing")).to_be_visible(
        timeout=15_000
    )
    assert len(asked) == 1
    expect(page.get_by_text("8 of 10 workers do better than guessing")).to_be_visible()
    assert (found, errors) == ([], [])
