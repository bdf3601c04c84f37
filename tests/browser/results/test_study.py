"""A judgment study from its first judge to its files: judged by keyboard, read, mended.

How one is built is ``tests/browser/building/test_build_study.py``'s.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, Page, expect

from annotation.formats.exports.pairwise import PAIR_EXPORTS
from annotation.models import Answer, Membership, Task
from annotation.work.selectors import speed
from evaluation.models import Run, RunState
from evaluation.runs import engine as runs
from tests.browser.polling import polls_often
from tests.browser.sign_in import sign_in
from tests.evaluation.corpora import pairs as pair_corpus
from tests.support import factories

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.long,
]
BUNDLE = 6


@pytest.fixture
def task() -> Task:
    """Three topics of four texts each."""
    return pair_corpus.make_task(topics=3, sources=4)


@pytest.fixture
def page(task: Task, context: BrowserContext, live_server: Any) -> Iterator[Page]:
    """The requester's browser, which reports every error of its scripts."""
    sign_in(context, task.project.owner, live_server.url)
    polls_often(context)
    context.set_default_timeout(20_000)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.goto("about:blank")
    assert errors == []


def judges(browser: Browser, live_server: Any, worker: Membership) -> None:
    """One takes an assignment and chooses the left one always, without touching the mouse."""
    assert worker.user is not None
    context = browser.new_context()
    sign_in(context, worker.user, live_server.url)
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.goto(live_server.url + reverse("work_home"))
    page.get_by_role("button", name="Start Which tea text is better?").focus()
    page.keyboard.press("Enter")
    for number in range(1, BUNDLE + 1):
        expect(page.locator(".meta.bars").first).to_contain_text(f"Pair {number} of {BUNDLE}")
        expect(page.locator(".judgment.current")).to_have_count(1)
        page.wait_for_load_state()  # of the first pair; the others come without loading
        for _ in range(2):  # lines of a pair
            page.keyboard.press("ArrowLeft")
        expect(page.locator("[data-answered]")).to_have_text("2 of 2 answered")
        page.keyboard.press("Enter")
    page.get_by_role("button", name=f"Submit {BUNDLE} pairs").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()
    context.close()


def counted(page: Page) -> Any:
    return page.locator("#study-live dl.figures > div").first


def run_now(task: Task) -> Run:
    """What the background does a moment later: the core run of the judgments there are."""
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 200})
    assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
    return run


def excludes(page: Page, live_server: Any, task: Task, worker: Membership) -> None:
    """From the list of workers over the preview to the decision, with a reason."""
    page.goto(live_server.url + reverse("pair_workers", args=[task.project_id, task.pk]))
    page.get_by_role("row").filter(has_text=worker.pseudonym).get_by_role(
        "link", name="Preview"
    ).click()
    expect(page.locator("h1")).to_have_text(f"Results without {worker.pseudonym}")
    expect(page.locator("main")).to_contain_text("Nothing changes until you confirm below.")
    assert not task.exclusions.exists()  # a preview changes nothing
    button = page.get_by_role("button", name=f"Leave {worker.pseudonym} out of results")
    button.click()
    expect(page.get_by_label("Reason")).to_be_focused()  # asked for; nothing is done without
    assert not task.exclusions.exists()
    page.get_by_label("Reason").fill("the left one on every line of every pair")
    button.click()
    expect(page.locator("main")).to_contain_text("left out")
    assert task.exclusions.filter(worker=worker, undone_at__isnull=True).count() == 1


def downloads(page: Page, title: str, form: str, tmp_path: Path, name: str) -> Path:
    menu = page.locator(".export-menu")
    if not menu.is_visible():
        page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        menu.locator("li").filter(has_text=title).get_by_role("link", name=form, exact=True).click()
    path = tmp_path / name
    download.value.save_as(path)
    return path


def battle(row: dict[str, Any]) -> tuple[Any, ...]:
    """A battle without what only names and times tell."""
    said = [row[side][-1]["content"] for side in ("conversation_a", "conversation_b")]
    return (row["question_id"], row["model_a"], row["model_b"], row["winner"], *said)


def test_a_study_is_judged_read_live_mended_and_exported(
    page: Page, browser: Browser, live_server: Any, task: Task, tmp_path: Path
) -> None:
    results = live_server.url + reverse("pair_results", args=[task.project_id, task.pk])
    page.goto(results)
    page.evaluate("window.sameDocument = true")
    hasty = factories.make_worker(task.project)
    judges(browser, live_server, hasty)
    # Nobody reloads: the requester's page counts by itself.
    expect(counted(page)).to_contain_text(str(BUNDLE), timeout=20_000)
    times = speed.pair_times(task)
    assert len(times) == BUNDLE and all(row.changes == 2 for row in times.values())
    items, rng = list(task.items.order_by("position")), np.random.default_rng(1)
    for _ in range(2):
        pair_corpus.judge(task, factories.make_worker(task.project), items, "careful", rng)
    run = run_now(task)
    expect(page.locator("table.board").first).to_be_visible(timeout=20_000)
    expect(page.locator("main")).to_contain_text(f"Run {run.number}")
    assert page.evaluate("window.sameDocument") is True

    excludes(page, live_server, task, hasty)
    again = run_now(task)
    assert again.number > run.number
    again.refresh_from_db()
    assert again.snapshot is not None and again.snapshot.counts["workers"] == 2
    page.goto(results)
    expect(page.locator("main")).to_contain_text(re.compile(r"[Ee]xcluded|[Ll]eft out"))
    round_trips(page, task, tmp_path)


def round_trips(page: Page, task: Task, tmp_path: Path) -> None:
    """What was exported is imported into an empty task, and exported again the same."""
    arena = downloads(page, "Arena battles", "JSONL", tmp_path, "battles.jsonl")
    frame = downloads(page, "crowd-kit, comparisons", "CSV", tmp_path, "frame.csv")
    battles = [json.loads(line) for line in arena.read_text(encoding="utf-8").splitlines()]
    assert battles and {row["winner"] for row in battles} <= {"model_a", "model_b", "tie"}
    rows = list(csv.DictReader(io.StringIO(frame.read_text(encoding="utf-8"))))
    counting = Answer.objects.filter(item__task=task, counts=True, worker__isnull=False)
    excluded = task.exclusions.values("worker")
    assert len(rows) == counting.exclude(worker__in=excluded).count()
    assert set(rows[0]) == {"worker", "left", "right", "label"}

    owner = task.project.owner.username
    call_command("crowdqc_import", "arena", str(arena), "--new-project", "Battles", "--by", owner)
    other = Task.objects.exclude(project=task.project).get(type="pairwise")
    parts = PAIR_EXPORTS["arena"].lines(other, "jsonl", "")
    back = [json.loads(line) for part in parts for line in part.splitlines()]
    assert sorted(map(battle, back)) == sorted(map(battle, battles))
