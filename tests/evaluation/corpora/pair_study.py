"""Runs of the small pairwise study, and its pages as the owner sees them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.module_loading import import_string

from annotation.models import Task
from evaluation.models import ItemLabel, Run, RunState
from evaluation.pairwise import overlap
from evaluation.runs import engine as runs
from evaluation.runs.official.selectors import official_run
from evaluation.runs.planning import plans
from tests.evaluation.corpora.official_runs import make_official
from tests.support.pages import html_of

QUICK = {"restarts": 3, "draws": 100, "resamples": 200}
CHECKS = {
    "restarts": 1,
    "folds": 2,
    "shuffles": 1,
    "resamples": 100,
    "permutations": 99,
    "worst": 0,
    "gold_resamples": 0,
    "agreeing": 2,
}


def scored(task: Task, **params: Any) -> Run:
    """A finished core run, official where none was; its checks are queued."""
    run = runs.start(by=task.project.owner, task=task, params={**QUICK, **params})
    assert runs.execute(run.pk) == RunState.DONE
    run.refresh_from_db()
    return run if official_run(task) else make_official(run)


def checked(core: Run) -> Run:
    """The checks that follow a core run, done."""
    run = Run.objects.get(source=core)
    Run.objects.filter(pk=run.pk).update(params={**run.params, **CHECKS})
    with one_similarity():
        assert runs.execute(run.pk) == RunState.DONE
    run.refresh_from_db()
    return run


@contextmanager
def one_similarity() -> Iterator[None]:
    """The quickest of the similarities of texts stands for all; one of them loads a model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "SCORES", {"ROUGE-L": overlap.SCORES["ROUGE-L"]})
        yield


def client_of(task: Task) -> Client:
    client = Client()
    client.force_login(task.project.owner)
    return client


def page(task: Task, name: str, *args: object, query: str = "", status: int = 200) -> str:
    """The page as the owner sees it, spaces made plain."""
    url = reverse(name, args=[task.project_id, task.pk, *args]) + query
    response = client_of(task).get(url)
    assert response.status_code == status, (name, response.status_code)
    return html_of(response)


def plan_page(task: Task, query: str = "") -> str:
    """The plan as the owner sees it once the job that the page asked for is done."""
    asked: list[tuple[Any, ...]] = []
    caches["shared"].clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans.queue, "enqueue", lambda *message: asked.append(message))
        waiting = page(task, "task_plan", query=query)
        if not asked:  # refused before anything was simulated
            return waiting
        assert "Simulating." in waiting
        page(task, "task_plan", query=query)
    ((name, *arguments),) = asked  # once, however often the page asks for itself
    import_string(name)(*json.loads(json.dumps(arguments)))
    return page(task, "task_plan", query=query)


EXPLAINED = re.compile(
    r'<button[^>]*class="help-mark".*?</button>'
    r'<span id="help-.*?</span></span></span>(<a [^>]*>[^<]*</a>)?</span>',
    re.DOTALL,
)


def text_of(html: str) -> str:
    """What stands on a page, without its marks and what opens behind a "?"."""
    return " ".join(re.sub(r"<[^>]+>", " ", EXPLAINED.sub("", html)).split())


def published(task: Task, core: Run) -> Run:
    """An imported result that says the opposite of ours on every pair."""
    run = Run.objects.create(
        project=task.project,
        task=task,
        number=90,
        method="published",
        version="1",
        state=RunState.DONE,
        finished_at=timezone.now(),
        trigger="import",
    )
    other = {"first": "second", "second": "first", "neutral": "first"}
    ItemLabel.objects.bulk_create(
        ItemLabel(
            run=run,
            item=label.item,
            dimension=label.dimension,
            component=1,
            label=other[label.label],
            posterior={},
            n=0,
        )
        for label in core.labels.select_related("item")
    )
    return run
