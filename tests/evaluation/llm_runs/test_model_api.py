"""Models over the API: listed without keys, previewed, asked, and their calls read."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from rest_framework.test import APIClient

from evaluation.llm.endpoints import actions as endpoints
from evaluation.runs import engine as runs
from tests.evaluation.corpora import texts as corpus
from tests.support.factories import api_token
from tests.support.servers.llm import make_model, serving

pytestmark = pytest.mark.django_db
SECRET = "sk-thisisneverseen-0123456789"


def test_models_are_asked_over_the_api_with_their_cost_told_first() -> None:
    with serving(lambda body: json.dumps({"score": 70})) as stub:
        asks_over_the_api(stub.base_url)


def asks_over_the_api(base_url: str) -> None:
    """The whole way of a program: which models, which ways, what it costs, asking, the calls."""
    task = corpus.make_answered()
    model = make_model(task.project, base_url, soft_budget=Decimal(0))
    endpoints.set_key(by=task.project.owner, endpoint=model.endpoint, key=SECRET)
    client = APIClient(HTTP_AUTHORIZATION=f"Token {api_token(task.project.owner)}")
    listed = client.get(f"/api/projects/{task.project_id}/models/")
    assert [row["name"] for row in listed.json()["results"]] == ["stub-1"]
    assert SECRET not in listed.content.decode()
    ways = client.get(f"/api/tasks/{task.pk}/asking/").json()
    assert {"answers", "judge_points"} <= {way["method"] for way in ways}

    at = f"/api/tasks/{task.pk}/asking/judge_points/"
    body = {"params": {"model": model.pk, "whose": "systems"}}
    told = client.post(f"{at}preview/", body, format="json").json()
    assert told["calls"] == task.items.count() * 3 and told["over_soft"]
    assert Decimal(told["at_most"]) >= Decimal(told["cost"]) > 0
    assert client.post(at, body, format="json").json()["code"] == "soft-budget"
    started = client.post(at, {**body, "agreed": True}, format="json")
    assert started.status_code == 201
    runs.execute(started.json()["id"])
    calls = client.get(f"/api/runs/{started.json()['id']}/calls/?page_size=2").json()
    assert len(calls["results"]) == 2 and calls["next"]
    assert calls["results"][0]["value"] == {"score": 70.0}
    elsewhere = client.post(
        f"/api/tasks/{task.pk}/runs/", {"method": "judge_points"}, format="json"
    )
    assert elsewhere.status_code == 422 and "asking/judge_points" in elsewhere.content.decode()
