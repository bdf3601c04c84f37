"""A requester sets up a model in a real browser, probes it, asks it, and follows a call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Task
from evaluation.llm.endpoints import probe as probing
from evaluation.models import Endpoint, LanguageModel, Run
from evaluation.runs import engine as runs
from tests.browser.polling import polls_often
from tests.browser.sign_in import misfits, reporting, sign_in
from tests.evaluation.corpora import texts as corpus
from tests.support.servers.llm import Stub, serving

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving(lambda body: json.dumps({"score": 70})) as running:
        yield running


@pytest.fixture
def task() -> Task:
    return corpus.make_answered()


@pytest.fixture
def page(task: Task, context: BrowserContext, live_server: Any) -> Iterator[Page]:
    """The requester's browser, which reports every error of its scripts."""
    sign_in(context, task.project.owner, live_server.url)
    polls_often(context)
    yield from reporting(context)


def looked_at(page: Page, name: str) -> None:
    """The page in a state to which no crawl comes."""
    assert misfits(page, name) == []


def sets_up(page: Page, stub: Stub) -> None:
    """An endpoint without a key, and a model whose name the endpoint may tell."""
    page.get_by_role("link", name="Add an endpoint").first.click()
    page.get_by_label("Name", exact=True).fill("Own server")
    page.get_by_label("Address", exact=True).fill(stub.base_url)
    page.get_by_label("None is needed").check()
    page.get_by_label("Soft budget").fill("0")
    page.get_by_label("Hard budget").fill("20")
    page.get_by_role("button", name="Add the endpoint").click()
    expect(page.locator("h1")).to_have_text("Add a model of Own server")
    page.get_by_label("Name", exact=True).fill("tern-2")
    page.wait_for_load_state()  # the list comes without loading the page
    page.get_by_role("button", name="List models").click()
    expect(page.locator("#names")).to_contain_text("Asking Own server for its models")
    probing.list_models(endpoint_id=Endpoint.objects.get().pk)  # the job
    expect(page.locator("#names")).to_contain_text("1 model listed", timeout=15_000)
    page.get_by_label("Price of what is sent").fill("0.15")
    page.get_by_label("Price of what it answers").fill("0.6")
    looked_at(page, "model-new")
    page.get_by_role("button", name="Add the model").click()
    expect(page.locator("table.models")).to_contain_text("Not probed yet")
    page.get_by_role("button", name="Probe tern-2").click()
    expect(page.locator("table.models")).to_contain_text("Probing")
    model = LanguageModel.objects.get()
    probing.probe_requested(by=model.endpoint.created_by, model_id=model.pk)  # the job
    expect(page.locator("table.models")).to_contain_text("Answers in JSON", timeout=15_000)
    looked_at(page, "models")


def asks(page: Page, task: Task) -> Run:
    """From the task to the way of asking, whose preview follows the options, and its start."""
    page.goto(page.url.split("/projects/")[0] + reverse("task", args=[task.project_id, task.pk]))
    page.get_by_role("link", name="Models on this task").click()
    at = reverse("task_ask", args=[task.project_id, task.pk, "judge_points"])
    page.locator(f"a[href='{at}']").click()
    preview = page.locator("#ask-preview")
    expect(preview.get_by_role("button")).to_contain_text("Ask ")
    before = preview.get_by_role("button").inner_text()
    page.get_by_label("Answers of").select_option("systems")
    expect(preview.get_by_role("button")).not_to_have_text(before)
    page.get_by_text("The first question as it would be sent").click()
    looked_at(page, "ask")
    page.get_by_label("It may pass the soft budget").check()
    preview.get_by_role("button").click()
    expect(page.locator("h1")).to_contain_text("Run 1")
    return Run.objects.get()


def test_a_model_is_set_up_probed_asked_and_its_calls_are_followed(
    page: Page, live_server: Any, task: Task, stub: Stub
) -> None:
    page.goto(live_server.url + reverse("task_models", args=[task.project_id, task.pk]))
    page.get_by_role("link", name="Set up a model").click()
    sets_up(page, stub)
    assert LanguageModel.objects.get().probed_at is not None
    run = asks(page, task)
    if run.state == "queued":
        runs.execute(run.pk)
    page.reload()
    expect(page.locator("#page-head")).to_contain_text("Finished")
    page.get_by_role("link", name="Show all calls").click()
    expect(page.locator("h1")).to_have_text("Calls")
    page.locator("table.calls a.name").first.click()
    expect(page.locator("h1")).to_contain_text("Call ")
    page.goto(live_server.url + reverse("task_models", args=[task.project_id, task.pk]))
    expect(page.locator("#asked-live")).to_contain_text("Run 1")
