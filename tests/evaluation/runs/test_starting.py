"""Every kind of runs can be started from a page, over the API and from the command line."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse
from rest_framework.test import APIClient

from annotation.authoring.actions import tasks
from annotation.models import Task
from annotation.task_types import TYPES, get_type
from annotation.traces.actions.queue import create_queue
from annotation.traces.actions.sources import create_source
from evaluation.registry import ADAPTERS, IMPORTED, RUN_TYPES
from evaluation.runs.run_types import RunType
from tests.annotation.chats.made import PROBLEM, make_chat_task
from tests.support import factories
from tests.support.everything import ROUTES
from tests.support.studies import thinking

# Kinds that are neither a task's own, nor asked, nor follow another: the page that starts them.
STARTED_AT = {
    "trace_rates": "trace_list",
    "turn_study": "turn_results",
    "aqer_joint": "run_start",
    "aqer_study": "study_start",
    "aqer_panel": "panel_evaluate",
    "explanation_scorer": "run_start",
    "replacement": "run_start",
    "replacement_texts": "run_start",
    "text_methods": "run_start",
    "text_references": "run_start",
}


@pytest.fixture
def task_of_each_type(db: None) -> list[Task]:
    project = factories.make_project()
    made = [
        tasks.create_task(by=project.owner, project=project, type=slug, title=slug)
        for slug in TYPES
    ]
    source, _token = create_source(by=project.owner, project=project, name="shop")
    made.append(create_queue(by=project.owner, source=source, reviews=2))
    asked_of_turns = make_chat_task(project, fields=[PROBLEM])
    return [*made, asked_of_turns, thinking.make_think(project, settings={"recording": "offered"})]


def page_of(kind: RunType) -> str:
    """The name of the page that starts such runs; "" for none."""
    if kind.asking is not None:
        return "task_ask"
    followed = [other.slug for other in RUN_TYPES.values() if other.follow_up == kind.slug]
    own = {one.main_run for one in ADAPTERS}
    if own & {kind.slug, *followed}:
        return "run_start"
    return STARTED_AT.get(kind.slug, "")


def test_every_kind_has_a_page_that_starts_it() -> None:
    assert [slug for slug, kind in RUN_TYPES.items() if page_of(kind) not in ROUTES] == []
    assert not RUN_TYPES.keys() & IMPORTED.keys()


def test_every_kind_is_offered_over_the_api_and_on_a_page_of_a_task_that_it_fits(
    task_of_each_type: list[Task],
) -> None:
    offered = set()
    for task in task_of_each_type:
        client = APIClient()
        client.force_login(task.project.owner)
        told = [
            row["method"]
            for name in ("api_methods", "api_asking")
            for row in client.get(reverse(name, args=[task.pk])).json()
        ]
        fitting = {slug for slug, kind in RUN_TYPES.items() if kind.fits(task)}
        assert len(told) == len(set(told)) and set(told) == fitting, get_type(task.type).slug
        offered |= fitting
        for slug in fitting:
            if RUN_TYPES[slug].asking is not None:
                page = reverse("task_ask", args=[task.project_id, task.pk, slug])
                assert client.get(page).status_code == 200, slug
    assert offered == set(RUN_TYPES)


def test_every_kind_is_listed_on_the_command_line_with_each_of_its_options() -> None:
    for slug, kind in RUN_TYPES.items():
        out = StringIO()
        call_command("crowdqc_run", "--options", "--method", slug, stdout=out)
        for name in kind.options.defaults:
            assert f"{name} = " in out.getvalue(), (slug, name)
