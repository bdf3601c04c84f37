"""Task types that are thrown away: one of a known shape is judged, one of another left alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Task
from annotation.task_types import TYPES
from annotation.task_types.free_text.type import FreeText
from crowdqc.errors import Invalid
from evaluation.models import Run, RunState
from evaluation.overview import results
from evaluation.runs import engine as runs
from evaluation.runs import schedules
from evaluation.runs.adapters import ShapeAdapter, adapter_of, precision
from evaluation.runs.selectors.words import results_page
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.support import factories
from tests.support.everything import ROUTES
from tests.support.pages import html_of

QUICK = {"encoder": "char-svd", "resamples": 200}


class Notes(FreeText):
    """Free text under another name."""

    slug = "notes"


class Songs(FreeText):
    """What nobody here can judge."""

    slug = "songs"
    shape = "songs"


def answered(kind: FreeText) -> Task:
    """A task of this type that people have answered, in the browser and from a file."""
    task = corpus.make_task()
    factories.claim_and_submit(task)
    factories.make_answers(task, dict(corpus.people()))
    Task.objects.filter(pk=task.pk).update(type=kind.slug, domain="Birds")
    task.refresh_from_db()
    return task


def pages(task: Task) -> Iterator[tuple[str, str]]:
    """Every page that needs no more than the task and who worked on it."""
    work = Assignment.objects.filter(task=task, state="submitted").latest("pk")
    values = {
        "project_id": task.project_id,
        "task_id": task.pk,
        "worker_id": work.worker_id,
        "membership_id": work.worker_id,
        "assignment_id": work.pk,
        "name": "Birds",
    }
    for name, route in ROUTES.items():
        if name.startswith("api") or "<int:project_id>" not in route:
            continue
        wanted = [part.split(":")[-1].split(">")[0] for part in route.split("<")[1:]]
        if set(wanted) <= set(values):
            yield name, reverse(name, kwargs={part: values[part] for part in wanted})


@pytest.mark.django_db
def test_a_type_of_a_known_shape_is_judged_as_its_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TYPES, Notes.slug, Notes())
    task = answered(Notes())
    run = runs.start(by=task.project.owner, task=task, params=QUICK)
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.DONE
    make_official(run)
    client = Client()
    client.force_login(task.project.owner)
    shown = {name: client.get(address) for name, address in pages(task)}
    assert not [name for name, answer in shown.items() if answer.status_code >= 500]
    for name in (
        "task_results",
        "task_results_systems",
        "run_start",
        "review",
        "study",
        "domain_board",
    ):
        assert shown[name].status_code == 200, name
    assert "AQER" in shown["task_results"].content.decode()
    assert "> score " in html_of(shown["review_answers"])


@pytest.mark.django_db
def test_a_type_of_an_unknown_shape_has_plain_pages_and_no_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(TYPES, Songs.slug, Songs())
    task = answered(Songs())
    assert type(adapter_of(task)) is ShapeAdapter
    client = Client()
    client.force_login(task.project.owner)
    shown = {name: client.get(address) for name, address in pages(task)}
    assert not [name for name, answer in shown.items() if answer.status_code >= 500]
    assert len(shown) > 50
    for name in ("task_models", "review", "review_answers", "worker_card", "project", "results"):
        assert shown[name].status_code == 200, name
    for name in ("pair_results", "rating_results", "writing_results", "study", "point_judges"):
        assert shown[name].status_code == 404, name
    asked = reverse("task_models", args=[task.project_id, task.pk])
    assert shown["task_results"]["Location"] == shown["run_start"]["Location"] == asked
    assert results_page(task) == asked and not results.tasks(task.project)
    with pytest.raises(Invalid, match="this task asks for something else"):
        runs.start(by=task.project.owner, task=task)
    assert not schedules.start_due() and not Run.objects.exists()
    assert precision(task).half is None
