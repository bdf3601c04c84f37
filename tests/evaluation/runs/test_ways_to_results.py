"""From a task to its result and the report of it without a detour."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Task
from evaluation.models import Endpoint, Run, RunState
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora.pair_study import client_of
from tests.evaluation.score_table.test_pages import drop as drop_table
from tests.evaluation.score_table.test_pages import run_quickly, votes
from tests.evaluation.score_table.test_pages import score as score_table
from tests.support import factories
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db


def start_of(task: Task, query: str = "") -> str:
    return reverse("run_start", args=[task.project_id, task.pk]) + query


def test_a_run_starts_in_one_click_and_its_page_leads_to_the_result() -> None:
    task = corpus.make_labelled(items=8, known=0, workers=4, guessing=0)
    Task.objects.filter(pk=task.pk).update(state="closed")
    task.assignments.update(settled_at="2026-01-01T00:00:00Z")
    client = client_of(task)
    page = html_of(client.get(reverse("task", args=[task.project_id, task.pk])))
    form = re.search(rf'<form method="post" action="{start_of(task)}">(.*?)</form>', page, re.S)
    assert form and 'name="again"' in form[1] and "Start a run" in form[1]

    there = client.post(start_of(task), {"again": "1"})["Location"]
    waiting = html_of(client.get(there))
    asked = re.search(r'id="run-live" hx-get="([^"]*)"', waiting)
    assert asked and not client.get(asked[1]).headers.get("HX-Redirect")
    assert client.post(start_of(task), {"again": "1"})["Location"] == there
    run = Run.objects.get()  # a second click starts no second run
    Run.objects.filter(pk=run.pk).update(state=RunState.DONE)
    results = f"{reverse('label_items', args=[task.project_id, task.pk])}?run={run.number}"
    assert client.get(asked[1])["HX-Redirect"] == results
    assert client.get(there)["Location"] == results
    plain = reverse("run", args=[task.project_id, run.number])
    assert client.get(plain).status_code == 200


@pytest.mark.parametrize(
    ("query", "given", "opened"),
    [("", None, False), ("?options=1", None, True), ("", {"seed": "much"}, True)],
)
def test_options_of_a_run_are_folded_until_somebody_wants_them(
    query: str, given: dict[str, str] | None, opened: bool
) -> None:
    task = corpus.make_labelled(items=8, known=0, workers=4, guessing=0)
    client, url = client_of(task), start_of(task, query)
    page = html_of(client.get(url) if given is None else client.post(url, given))
    fold = re.search(r"<details class=\"more\"( open)?><summary>Options</summary>", page)
    assert fold and bool(fold[1]) is opened


def test_the_report_is_one_click_away_from_results_of_labels_and_pairs() -> None:
    client = Client()
    client.force_login(factories.make_user())
    pairs = ["judge,prompt_id,system_a,system_b,winner"]
    pairs += [f"w{k % 4},p{k // 4},a,b,{'model_a' if k % 3 else 'model_b'}" for k in range(40)]
    for text in (votes(), "\n".join(pairs)):
        score_table(client, drop_table(client, text))
        run = Run.objects.exclude(state=RunState.DONE).get()
        run_quickly(run)
        page = html_of(
            client.get(reverse("task_results", args=[run.project_id, run.task_id]), follow=True)
        )
        outside = re.sub(r"<details.*?</details>", "", page, flags=re.S)
        report = reverse("run_report", args=[run.project_id, run.number])
        assert outside.count(f'action="{report}"') == 1
        assert client.post(report, {"form": "html"}).status_code == 302


def test_whoever_needs_a_model_for_a_task_comes_back_to_it() -> None:
    task = corpus.make_labelled(items=4, known=0, workers=2, guessing=0)
    client, at = client_of(task), [task.project_id]
    empty = html_of(client.get(reverse("task_models", args=[*at, task.pk])))
    page = f"{reverse('models', args=at)}?task={task.pk}"
    assert f'href="{page}"' in empty
    new = f"{reverse('models_endpoint_new', args=at)}?task={task.pk}"
    assert f'href="{new}"' in html_of(client.get(page))
    endpoint = {
        "name": "Local",
        "base_url": "https://models.example/v1",
        "key_kind": "none",
        "parallel": "4",
        "timeout_seconds": "60",
    }
    model_form = client.post(new, endpoint)["Location"]
    made = client.post(model_form, {"name": "small", "use": "chat"})["Location"]
    assert Endpoint.objects.get().models.count() == 1
    back = re.search(r'href="([^"]*)">\s*Back to “', html_of(client.get(made)))
    assert back and back[1] == reverse("task_models", args=[*at, task.pk])
