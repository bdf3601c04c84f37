"""Screening, panel, second task: who was chosen sees and takes it, and nobody else does."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from annotation.models import Membership, Panel, Project, Task
from evaluation.runs import engine as runs
from tests.browser.sign_in import sign_in
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.support import factories

WAIT = 20_000  # ms, for a page that a loaded machine draws
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]


def make_screened() -> tuple[Task, Task]:
    """A finished screening of people who can sign in, and a second task that is paused."""
    task = corpus.make_answered(systems=False)
    for worker in Membership.objects.filter(project=task.project, role="worker"):
        worker.user = factories.make_user()
        worker.save(update_fields=["user"])
        factories.make_consent(worker)
    run = runs.start(
        by=task.project.owner, task=task, params={"encoder": "char-svd", "resamples": 200}
    )
    assert runs.execute(run.pk) == "done"
    run.refresh_from_db()
    make_official(run)
    second = factories.make_task(task.project, 2, title="More of Gull Rock")
    Task.objects.filter(pk=second.pk).update(state="paused")
    return task, second


def person(project: Project, name: str) -> Any:
    return Membership.objects.get(project=project, external_id=name).user


def test_a_screening_fills_a_panel_whose_members_alone_see_and_take_the_second_task(
    browser: Browser, live_server: Any
) -> None:
    task, second = make_screened()
    project, url = task.project, live_server.url
    here = f"{url}/projects/{project.pk}"
    context = browser.new_context()
    context.set_default_timeout(20_000)
    sign_in(context, project.owner, url)
    page = context.new_page()
    page.goto(f"{here}/tasks/{task.pk}/results/")
    page.get_by_role("button", name="More").click()
    page.locator("#page-head").get_by_role("link", name="Choose a panel").click()
    expect(page.get_by_text("5 workers of 12 would be let in")).to_be_visible()
    page.get_by_label("How many").fill("3")
    expect(page.get_by_role("button", name="Let in 3 workers")).to_be_visible(timeout=WAIT)
    expect(page.get_by_text(re.compile("cannot be separated at this border"))).to_be_visible()
    page.get_by_label("By hand").check()
    expect(page.get_by_role("button", name="Let in, nobody is chosen")).to_be_disabled(timeout=WAIT)
    page.get_by_label("The best").check()
    page.get_by_label("Panel").fill("Keepers")
    page.get_by_role("button", name="Let in 3 workers").dblclick()
    expect(page.locator("h1")).to_have_text("Keepers", timeout=WAIT)
    panel = Panel.objects.get()
    assert (panel.selections.count(), panel.members.count()) == (1, 3)
    page.goto(f"{here}/tasks/{second.pk}/")
    page.get_by_label("Only the members of").fill("Keepers")
    page.get_by_role("button", name="Save who may work").click()
    expect(page.get_by_text("only the panel Keepers")).to_be_visible()
    page.get_by_text("Resume…", exact=True).click()
    page.get_by_role("button", name="Resume the task").click()
    expect(page.get_by_text("The task is open.")).to_be_visible()
    context.close()
    chosen = panel.members.select_related("worker__user").first()
    assert chosen is not None
    for user, on in ((chosen.worker.user, True), (person(project, "wrong-0"), False)):
        context = browser.new_context()
        sign_in(context, user, url)
        page = context.new_page()
        page.goto(f"{url}/work/")
        offer = page.get_by_text("More of Gull Rock")
        if not on:
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            expect(offer).to_have_count(0)
        else:
            expect(offer.first).to_be_visible()
            page.get_by_role("button", name=re.compile("Start|Take|Begin")).first.click()
            page.wait_for_url("**/work/assignments/**")
        context.close()
    assert set(second.assignments.values_list("worker_id", flat=True)) == {chosen.worker_id}
