"""Pages of language models: endpoints, calls, a task's models; and the same over the API."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.authoring.actions import tasks
from annotation.models import Project, Role, Task
from annotation.task_types import TYPES
from evaluation.llm.endpoints import probe as probing
from evaluation.llm_runs import start as ask_start
from evaluation.models import (
    CallState,
    Endpoint,
    LanguageModel,
    LLMAttempt,
    LLMCall,
    Run,
    RunState,
)
from evaluation.runs import engine as runs
from evaluation.runs import run_types
from evaluation.runs.model_answers import model_answers
from tests.evaluation.corpora import texts as corpus
from tests.support import factories
from tests.support.pages import html_of
from tests.support.servers.llm import Stub, make_model, serving
from tests.support.studies.labels import make_labels

pytestmark = pytest.mark.django_db
SECRET = "sk-thisisneverseen-0123456789"


def score(body: dict[str, Any]) -> str:
    """What the stub says: a score, higher for the model that is called so."""
    return json.dumps({"score": 70})


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving(score) as running:
        yield running


@pytest.fixture
def task() -> Task:
    return corpus.make_answered()


@pytest.fixture
def project(task: Task) -> Project:
    return task.project


@pytest.fixture
def client(project: Project) -> Client:
    client = Client()
    client.force_login(project.owner)
    return client


def page(client: Client, name: str, *args: object, query: str = "") -> str:
    response = client.get(reverse(name, args=args) + query)
    assert response.status_code == 200, (name, response.status_code)
    return html_of(response)


def options(model: LanguageModel, **more: Any) -> dict[str, Any]:
    """The form of judging answers point by point, as a browser sends it."""
    return {"model": model.pk, "whose": "systems", "temperature": "0", "max_tokens": "16", **more}


def asked(client: Client, task: Task, model: LanguageModel, **more: Any) -> Run:
    """Start a run from its form and work on it."""
    at = reverse("task_ask", args=[task.project_id, task.pk, "judge_points"])
    response = client.post(at, options(model, **more))
    assert response.status_code == 302, html_of(response)
    run = Run.objects.latest("pk")
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.error
    return run


# Endpoints ---------------------------------------------------------------------------------------


def test_without_an_endpoint_the_page_says_what_needs_one_and_what_does_not(
    client: Client, project: Project
) -> None:
    text = page(client, "models", project.pk)
    assert "No endpoint yet" in text and "Everything that people do works without one." in text
    assert "Models as judges" in text and "Competence of people" in text
    assert reverse("models_endpoint_new", args=[project.pk]) in text


def test_a_requester_sets_up_an_endpoint_and_a_model_and_its_key_is_on_no_page(
    client: Client, project: Project, stub: Stub
) -> None:
    fields = {
        "name": "Own server",
        "base_url": stub.base_url,
        "key_kind": "sealed",
        "key": SECRET,
        "hard_budget": "20",
        "soft_budget": "5",
        "parallel": "2",
        "timeout_seconds": "30",
    }
    response = client.post(reverse("models_endpoint_new", args=[project.pk]), fields)
    endpoint = Endpoint.objects.get()
    at_model = reverse("models_model_new", args=[project.pk, endpoint.pk])
    assert response.headers["Location"] == at_model
    prices = {"name": "tern-2", "use": "chat", "price_in": "0.15", "price_out": "0.6"}
    assert client.post(at_model, prices).status_code == 302
    model = LanguageModel.objects.get()
    client.post(reverse("models_model_probe", args=[project.pk, model.pk]))
    found = reverse("models_model_found", args=[project.pk, model.pk])
    assert "every 1s" in html_of(client.get(found)) and not stub.asked
    assert "models-state" not in html_of(client.get(found))
    assert probing.probe_requested(by=project.owner, model_id=model.pk) == "done"
    told = client.get(found)  # the cell, and the head of the page with it
    assert "every 1s" not in html_of(told) and told.context["state"][0] == "open"
    assert 'id="models-state" hx-swap-oob="true"' in html_of(told)
    assert probing.probe_requested(by=project.owner, model_id=model.pk) == "not mine"

    texts = [page(client, "models", project.pk), page(client, "models_model", project.pk, model.pk)]
    texts.append(page(client, "models_endpoint", project.pk, endpoint.pk))
    for text in texts:
        assert SECRET not in text and "key_sealed" not in text
    assert "Set and sealed." in texts[0] and "€20.00" in texts[0] and "0.15" in texts[0]
    assert "Probe again" in texts[0] and "Not probed yet" not in texts[0]
    # What was typed does not come back with a refusal either.
    refused = client.post(reverse("models_endpoint_new", args=[project.pk]), {**fields, "name": ""})
    assert refused.status_code == 422 and SECRET not in refused.content.decode()


def test_the_models_of_an_endpoint_are_listed_by_a_job_and_kept(
    client: Client, project: Project, stub: Stub
) -> None:
    endpoint = make_model(project, stub.base_url, name="mine").endpoint
    form = reverse("models_model_new", args=[project.pk, endpoint.pk])
    at = reverse("models_names", args=[project.pk, endpoint.pk])
    assert "List models" in html_of(client.get(form))
    for answer in (client.post(at), client.get(at), client.get(form)):
        assert "every 1s" in html_of(answer)
    assert probing.list_models(endpoint_id=endpoint.pk) == "done"
    for answer in (client.get(at), client.get(form)):
        assert "every 1s" not in html_of(answer) and "stub-1" in html_of(answer)
    assert 'data-fill="#id_name" data-fill-empty' in html_of(client.get(at))
    assert client.get(form).context["form"]["name"].value() == "stub-1"  # the only one
    Endpoint.objects.update(names=["stub-1", "stub-2"])
    assert "data-fill-empty" not in html_of(client.get(at))
    assert client.get(form).context["form"]["name"].value() == ""
    client.post(at)
    Endpoint.objects.update(base_url="http://127.0.0.1:9/v1")
    assert probing.list_models(endpoint_id=endpoint.pk) == "failed"
    text = html_of(client.get(at))
    assert "It cannot be reached." in text and "stub-1" in text  # what was known stays


def test_what_is_wrong_stands_beside_its_field(client: Client, project: Project) -> None:
    at = reverse("models_endpoint_new", args=[project.pk])
    fields = {"name": "A", "base_url": "ftp://x", "key_kind": "variable", "key_env": "SECRET_KEY"}
    fields |= {"parallel": "4", "timeout_seconds": "60"}
    text = html_of(client.post(at, fields))
    assert "Begin with http:// or https://" in text
    text = html_of(client.post(at, {**fields, "base_url": "http://127.0.0.1:9/v1"}))
    assert "CROWDQC_KEY_VARIABLES" in text
    assert not Endpoint.objects.exists()


def test_a_key_is_replaced_and_an_endpoint_is_archived_with_its_calls_kept(
    client: Client, project: Project, stub: Stub
) -> None:
    model = make_model(project, stub.base_url)
    at = reverse("models_endpoint", args=[project.pk, model.endpoint_id])
    assert client.post(at, {"key_kind": "sealed", "key": SECRET}).status_code == 302
    assert "Set and sealed." in page(client, "models", project.pk)
    assert client.post(at, {"key_kind": "none"}).status_code == 302
    assert "No key is set." in page(client, "models", project.pk)
    client.post(reverse("models_endpoint_archive", args=[project.pk, model.endpoint_id]))
    assert "No endpoint yet" in page(client, "models", project.pk)
    gone = client.get(reverse("models_model", args=[project.pk, model.pk]))
    assert gone.status_code == 404


def test_a_manager_reads_the_models_and_changes_none(project: Project, stub: Stub) -> None:
    make_model(project, stub.base_url, hard_budget=Decimal(3))
    manager = Client()
    manager.force_login(factories.make_member(project, Role.MANAGER).user)
    text = page(manager, "models", project.pk)
    assert "stub-1" in text and "requesters alone change endpoints" in text
    assert "Archive" not in text and "Add an endpoint" not in text


def test_the_list_of_endpoints_takes_as_many_queries_for_many_as_for_few(
    client: Client, project: Project
) -> None:
    make_model(project, "http://127.0.0.1:9/v1")
    with CaptureQueriesContext(connection) as few:
        page(client, "models", project.pk)
    for number in range(5):
        make_model(project, f"http://127.0.0.1:9/v{number}")
    with CaptureQueriesContext(connection) as many:
        page(client, "models", project.pk)
    assert len(many) == len(few)


# A task's models ---------------------------------------------------------------------------------


def test_without_a_model_the_task_says_what_it_does_without(client: Client, task: Task) -> None:
    text = page(client, "task_models", task.project_id, task.pk)
    assert "Set up a model" in text and "scored by AQER" in text
    assert all(one.name in text for one in model_answers(task))  # imported ones are listed
    assert reverse("models", args=[task.project_id]) in text
    form = page(client, "task_ask", task.project_id, task.pk, "answers")
    assert "Set up a model, and this can be asked" in form and "<select" not in form
    assert (
        client.get(reverse("task_ask", args=[task.project_id, task.pk, "judge_pairs"])).status_code
        == 404
    )


def test_the_preview_tells_calls_and_cost_and_asks_nothing(
    client: Client, task: Task, stub: Stub
) -> None:
    model = make_model(task.project, stub.base_url, hard_budget=Decimal(5))
    at = reverse("task_ask_preview", args=[task.project_id, task.pk, "judge_points"])
    text = html_of(client.post(at, options(model)))
    systems = task.items.count() * 3
    assert f"<b>{systems}</b>" in text and f"Ask {systems} questions, about €" in text
    assert "at most" in text and "The first question as it would be sent" in text
    wrong = html_of(client.post(at, options(model, temperature="9")))
    assert "disabled" in wrong and "emperature" in wrong
    assert not stub.asked and not LLMCall.objects.exists() and not Run.objects.exists()


def test_a_run_is_started_from_its_form_and_its_page_tells_calls_cost_and_what_was_there_before(
    client: Client, task: Task, stub: Stub
) -> None:
    model = make_model(task.project, stub.base_url)
    first = asked(client, task, model)
    text = page(client, "run", task.project_id, first.number)
    asked_for = len(stub.asked)
    assert f"<b>{asked_for}</b> for 24 questions" in text and "stub-1" in text
    assert reverse("models_calls", args=[task.project_id]) + f"?run={first.number}" in text
    second = asked(client, task, model)
    assert len(stub.asked) == asked_for
    text = page(client, "run", task.project_id, second.number)
    assert f"<b>{asked_for}</b> of {asked_for}" in text and "<b>€0</b>" in text

    runs_page = page(client, "task_models", task.project_id, task.pk)
    assert f"Run {second.number}" in runs_page and "Models were asked" in runs_page
    assert "task_models_live" not in runs_page and "every 2s" not in runs_page
    history = page(client, "run_list", task.project_id)
    assert "stub-1, seed" in history
    again = page(
        client, "task_ask", task.project_id, task.pk, "judge_points", query=f"?run={second.number}"
    )
    assert '<option value="systems" selected>' in again


def test_the_list_of_runs_asks_for_itself_while_one_is_in_work_and_then_stops(
    client: Client, task: Task, stub: Stub
) -> None:
    model = make_model(task.project, stub.base_url)
    client.post(
        reverse("task_ask", args=[task.project_id, task.pk, "judge_points"]), options(model)
    )
    run = Run.objects.get()
    live = reverse("task_models_live", args=[task.project_id, task.pk])
    assert 'hx-trigger="every 2s"' in html_of(client.get(live, headers={"HX-Request": "true"}))
    with CaptureQueriesContext(connection) as few:
        page(client, "task_models", task.project_id, task.pk)
    runs.execute(run.pk)
    assert "every 2s" not in html_of(client.get(live, headers={"HX-Request": "true"}))
    for name in ("stub-2", "stub-3"):
        asked(client, task, make_model(task.project, stub.base_url, name=name))
    with CaptureQueriesContext(connection) as many:
        page(client, "task_models", task.project_id, task.pk)
    assert len(many) <= len(few)


def test_passing_the_soft_budget_needs_a_word(client: Client, task: Task, stub: Stub) -> None:
    model = make_model(task.project, stub.base_url, soft_budget=Decimal(0))
    at = reverse("task_ask", args=[task.project_id, task.pk, "judge_points"])
    text = html_of(client.post(f"{at}preview/", options(model)))
    assert "It may pass the soft budget of the endpoint, and I agree to that" in text
    refused = client.post(at, options(model))
    assert refused.status_code == 409 and not Run.objects.exists()
    assert 'name="agreed"' in html_of(refused)
    asked(client, task, model, agreed="1")


def test_a_failed_run_of_calls_is_begun_anew_from_its_own_form(
    client: Client, task: Task, stub: Stub
) -> None:
    model = make_model(task.project, stub.base_url)
    run = asked(client, task, model)
    Run.objects.filter(pk=run.pk).update(state=RunState.FAILED, error="The endpoint went away.")
    text = page(client, "run", task.project_id, run.number)
    at = reverse("task_ask", args=[task.project_id, task.pk, "judge_points"])
    assert f"{at}?run={run.number}" in text and "The endpoint went away." in text


def test_pages_of_runs_and_tasks_open_for_every_type_and_every_way(project: Project) -> None:
    client = Client()
    client.force_login(project.owner)
    made: list[Run] = []
    for slug, type_ in TYPES.items():
        task = tasks.create_task(by=project.owner, project=project, type=slug, title=slug)
        methods = [
            name for name, kind in run_types.run_types().items() if type_.shape in kind.shapes
        ]
        seen = {run.method for run in made}
        for method, state in itertools.product(methods, ("done", "failed", "queued")):
            if method in seen and state != "done":
                continue
            number = len(made) + 2
            made.append(
                Run(
                    project=project,
                    task=task,
                    number=number,
                    method=method,
                    version="1",
                    state=state,
                    lane=str(number),
                    params={"model": 0},
                    error="It ended.",
                    progress=[{"name": "Asking", "state": "done", "done": 1, "total": 2}],
                )
            )
        for name in ("task_models", "task_results", "run_start", "run_schedule", "task"):
            response = client.get(reverse(name, args=[project.pk, task.pk]), follow=True)
            assert response.status_code == 200, (slug, name)
        if not methods:  # nothing judges this shape yet
            continue
        options_page = page(client, "run_start", project.pk, task.pk)
        assert ("Encoder" in options_page) == (type_.shape == "texts"), slug
        for way, _ in ask_start.ways_of(task):
            page(client, "task_ask", project.pk, task.pk, way)
    Run.objects.bulk_create(made)
    for run in made:
        page(client, "run", project.pk, run.number)
    assert f"Run {len(made) + 1}" in page(client, "run_list", project.pk)


# Calls -------------------------------------------------------------------------------------------


def test_calls_are_filtered_counted_by_prompt_and_each_is_shown_with_its_attempts(
    client: Client, task: Task, stub: Stub
) -> None:
    assert "No call yet" in page(client, "models_calls", task.project_id)
    model = make_model(task.project, stub.base_url)
    run = asked(client, task, model)
    call = LLMCall.objects.earliest("pk")
    LLMCall.objects.filter(pk=call.pk).update(
        state=CallState.FAILED,
        reason="No number was given.",
        value=None,
        chances={"Yes": 0.9, "No": 0.1},
    )
    attempt = LLMAttempt.objects.get(call=call)
    attempt.delete()  # a settled one cannot be rewritten
    attempt.pk, attempt.outcome, attempt.reason = None, "wrong_form", "No number was given."
    attempt.save(force_insert=True)
    total = LLMCall.objects.count()
    text = page(client, "models_calls", task.project_id)
    assert f"{total} calls" in text and call.prompt in text
    failed = page(
        client, "models_calls", task.project_id, query=f"?run={run.number}&state=failed&model=x"
    )
    assert "1 call of this choice" in failed and "No number was given." in failed
    none = page(client, "models_calls", task.project_id, query="?run=999")
    assert "No call of this choice" in none

    one = page(client, "models_call", task.project_id, call.pk)
    assert "Not in the form asked for" in one and "No number was given." in one
    assert "90.0%" in one and f"Run {run.number}" in one and "System" in one
    other = factories.make_project(owner=task.project.owner)
    assert client.get(reverse("models_call", args=[other.pk, call.pk])).status_code == 404


def test_calls_take_as_many_queries_for_many_as_for_few(
    client: Client, task: Task, stub: Stub
) -> None:
    model = make_model(task.project, stub.base_url)
    asked(client, task, model)
    with CaptureQueriesContext(connection) as few:
        page(client, "models_calls", task.project_id)
    LLMCall.objects.bulk_create(
        LLMCall(
            project=task.project,
            model=model,
            model_name="m",
            key=str(n),
            prompt=f"p@{n}",
            messages=[],
        )
        for n in range(30)
    )
    with CaptureQueriesContext(connection) as many:
        page(client, "models_calls", task.project_id)
    assert len(many) == len(few)


def test_an_imported_call_says_that_it_was_not_asked_here(client: Client, project: Project) -> None:
    call = LLMCall.objects.create(
        project=project,
        model_name="gpt-4o",
        key="k",
        prompt="published@1",
        messages=[],
        source="import",
        state=CallState.DONE,
        value={"score": 40},
    )
    text = page(client, "models_call", project.pk, call.pk)
    assert "imported as it was published, not asked here" in text
    assert "gpt-4o" in page(client, "models_calls", project.pk)


def test_every_prompt_is_shown_with_the_places_that_are_filled_in(
    client: Client, project: Project
) -> None:
    text = page(client, "models_prompts", project.pk)
    assert 'id="judge_text@1"' in text and "{{answer}}" in text
    assert "Filled in always" in text


def test_a_test_against_people_that_needs_more_items_is_named_before_a_model_is_paid(
    stub: Stub,
) -> None:
    world = factories.make_world(1)
    small, large = (make_labels(world.project, [f"Leaf {k}" for k in range(n)]) for n in (12, 30))
    make_model(world.project, stub.base_url)
    client = Client()
    client.force_login(world.project.owner)
    needs = [
        client.get(reverse("task_ask", args=[one.project_id, one.pk, "answers"])).context[
            "test_needs"
        ]
        for one in (small, large)
    ]
    assert needs == [30, 0]
