"""Runs and scores over the API: started, watched, read page by page, by staff alone."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from annotation.models import User
from evaluation.models import Run, WorkerScore
from evaluation.runs import engine as runs
from tests.evaluation.corpora import texts as corpus
from tests.support import factories as make

pytestmark = [pytest.mark.django_db, pytest.mark.db]
QUICK = {"encoder": "char-svd", "resamples": 200}


def client_of(user: User | None) -> APIClient:
    client = APIClient()
    if user is not None:
        client.credentials(HTTP_AUTHORIZATION=f"Token {make.api_token(user)}")
    return client


def ok(response: Any, status: int = 200) -> Any:
    assert response.status_code == status, response.content
    return response.json()


def test_a_run_is_started_watched_and_its_scores_are_read() -> None:
    task = corpus.make_answered()
    client = client_of(task.project.owner)
    at = f"/api/tasks/{task.pk}/runs/"
    run = ok(client.post(at, {"params": QUICK, "seed": 7}, format="json"), 201)
    assert (run["state"], run["trigger"], run["seed"]) == ("queued", "api", 7)
    again = client.post(at, {"params": QUICK}, format="json")
    assert again.status_code == 409 and again.json()["code"] == "conflict"
    runs.execute(run["id"])
    done = ok(client.get(f"/api/runs/{run['id']}/"))
    assert done["state"] == "done" and done["result_hash"] and len(done["snapshot"]) == 64
    assert {step["state"] for step in done["progress"]} == {"done"}
    assert [row["id"] for row in ok(client.get(at))["results"]] == [run["id"]]

    scores = f"/api/runs/{run['id']}/scores"
    workers = ok(client.get(f"{scores}/workers/"))["results"]
    assert len(workers) == 12 and all(row["worker"] and row["n"] for row in workers)
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in workers if row["low"])
    systems = ok(client.get(f"{scores}/systems/"))["results"]
    assert {(row["system"], row["prompt_strategy"]) for row in systems} == {
        ("Tern-2", "plain"),
        ("Tern-2", "short"),
        ("Auk-1", "plain"),
    }
    items = ok(client.get(f"{scores}/items/"))["results"]
    assert [row["item_id"] for row in items] == corpus.keys() and items[0]["best_answer"]
    with CaptureQueriesContext(connection) as few:
        page = ok(client.get(f"{scores}/answers/?page_size=3"))
    with CaptureQueriesContext(connection) as many:
        ok(client.get(f"{scores}/answers/?page_size=100"))
    assert page["next"] and len(page["results"]) == 3 and len(few) == len(many) <= 5
    assert client.get(f"{scores}/moods/").status_code == 404


def test_a_wrong_option_is_named_and_a_waiting_run_is_cancelled() -> None:
    task = corpus.make_answered(systems=False)
    client = client_of(task.project.owner)
    at = f"/api/tasks/{task.pk}/runs/"
    for params, field in (({"encoder": "none-such"}, "encoder"), ({"speed": 3}, "speed")):
        wrong = client.post(at, {"params": params}, format="json")
        assert wrong.status_code == 422 and field in wrong.json()["fields"]
    assert client.post(at, {"seed": -1}, format="json").status_code == 422
    run = ok(client.post(at, {"params": QUICK}, format="json"), 201)
    assert ok(client.post(f"/api/runs/{run['id']}/cancel/"))["state"] == "cancelled"


def test_scores_are_for_the_people_who_run_the_project() -> None:
    task = corpus.make_answered(systems=False)
    run = runs.start(by=task.project.owner, task=task, params=QUICK)
    worker = make.make_worker(task.project).user
    paths = [f"/api/runs/{run.pk}/", f"/api/tasks/{task.pk}/runs/"]
    paths += [f"/api/runs/{run.pk}/scores/{kind}/" for kind in ("workers", "systems", "answers")]
    people = ((None, 401), (make.make_user(), 404), (worker, 403))
    for user, status in people:
        client = client_of(user)
        for path in paths:
            assert client.get(path).status_code == status, path
        assert client.post(paths[1], {}, format="json").status_code == status
        assert client.post(f"{paths[0]}cancel/").status_code == status
    assert Run.objects.get().state == "queued" and not WorkerScore.objects.exists()


@pytest.mark.parametrize("method", ["rasa", "mace", "magic"])
def test_a_method_that_cannot_score_a_task_is_refused_by_name(method: str) -> None:
    task = corpus.make_answered()
    client = client_of(task.project.owner)
    refused = client.post(f"/api/tasks/{task.pk}/runs/", {"method": method}, format="json")
    assert refused.status_code == 422, refused.content
    assert "aqer" in refused.json()["fields"]["method"] and not Run.objects.exists()


def test_the_methods_that_fit_a_task_say_what_they_take() -> None:
    task = corpus.make_answered()
    told = ok(client_of(task.project.owner).get(f"/api/tasks/{task.pk}/methods/"))
    by_name = {one["method"]: one for one in told}
    text_runs = {"aqer", "aqer_joint", "aqer_panel", "aqer_study", "replacement_texts"}
    assert set(by_name) == text_runs | {"text_methods"}
    options = {one["name"]: one for one in by_name["aqer"]["options"]}
    assert options["encoder"]["default"] == "minilm"
    assert options["resamples"] == {
        "name": "resamples",
        "default": 2000,
        "must": "be 0, or a whole number from 100 to 20,000",
        "label": "Resamples of the questions",
        "help": "For the intervals. 0 leaves them out; else 100 or more.",
    }
    assert by_name["aqer_panel"]["options"][0]["name"] == "panel"
