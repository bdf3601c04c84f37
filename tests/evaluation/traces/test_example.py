"""The traced application of docs/examples: from its spans to a rate that holds the true one."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from django.urls import reverse

from annotation.accounts.projects.actions import invitation_token, invite
from annotation.authoring.actions import tasks
from annotation.models import Role, Trace
from annotation.traces.actions.queue import create_queue
from annotation.traces.actions.sources import create_source
from tests.annotation.traces.test_settling import settle_all
from tests.evaluation.traces.test_queue import rates_of, run_on
from tests.support import factories

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "traced_app"
RULES = [{"kind": "random", "share": 0.5}, {"kind": "error", "share": 1.0}]


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The application and its reviewers, and no trace of them afterwards."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    names = ("app", "reviewers")
    yield [importlib.import_module(name) for name in names]
    for name in names:
        sys.modules.pop(name, None)


def test_the_traced_application_gets_a_rate_that_holds_the_true_one(
    live_server: Any, modules: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    app, reviewers = modules
    caches["shared"].clear()
    monkeypatch.setattr(reviewers, "ERRORS", 0.0)
    project = factories.make_project()
    by = project.owner
    source, token = create_source(
        by=by, project=project, name="support", settings={"rules": RULES, "budget": 0}
    )
    task = create_queue(by=by, source=source, reviews=2)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"{live_server.url}/otel")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"Authorization=Bearer%20{token}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60")
    truth = app.main(80, seed=3)
    settle_all()
    assert Trace.objects.count() == 80
    assert {one.spans_kept for one in Trace.objects.all()} == {4}
    tasks.publish(by=by, task=task)
    invitation = invitation_token(invite(by=by, project=project, role=Role.WORKER, max_uses=3))
    tokens = [
        factories.api_token(factories.make_user(), ["work"], per_minute=6000) for _ in range(2)
    ]
    drawn = Trace.objects.filter(item__isnull=False).count()
    tokens.append(factories.api_token(factories.make_user(), ["read"]))
    assert reviewers.main(f"{live_server.url}/join/{invitation}/", task.pk, tokens) == 2 * drawn
    said = capsys.readouterr().out
    assert "Token 3 gave no review" in said and "conversations failed" in said
    run_on(task)
    result = rates_of(project)
    assert result.uses_judge and result.rate.low <= truth <= result.rate.high
    client = Client()
    client.force_login(by)
    page = client.get(reverse("trace_list", args=[project.pk])).content.decode()
    assert re.search(r"About \d+\.\d% of 80 traces fail as judged by 2 reviewers \(95% CI", page)
    assert "customer40" not in page and "[EMAIL]" in "".join(
        Trace.objects.exclude(item=None).values_list("item__question", flat=True)
    )
