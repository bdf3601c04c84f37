"""Traces name requests, jobs and queries, and nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.processes import ROOT, test_database_url

SECRET = "a-secret-of-an-invitation-0123456789"
# In a process of its own, as tracing changes what it is loaded into.
SCRIPT = """
import os, sys
import django
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from crowdqc.deployment.traces import start_traces
spans = InMemorySpanExporter()
django.setup()
provider = start_traces(spans)
from django.db import connection
from django.test import Client
from crowdqc.celery import app
from celery import shared_task
secret = sys.argv[1]
client = Client(raise_request_exception=False)
client.cookies["sessionid"] = "one-that-is-looked-up-and-not-found"
client.get(f"/join/{secret}/?name=Ada", headers={"User-Agent": "Ada's browser"})
client.get("/healthz")
@shared_task(name="evaluation.jobs.run_job")
def run_job(what):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT '{secret}', %s", [what])
    raise ValueError(f"Ada wrote {secret}")
app.conf.task_always_eager = True
run_job.apply(args=[secret])
provider.force_flush()
for span in spans.get_finished_spans():
    print(span.to_json(indent=None))
"""


@pytest.mark.django_db
def test_requests_jobs_and_queries_are_traced_without_addresses_values_or_messages() -> None:
    environment = os.environ | {
        "DATABASE_URL": test_database_url(),
        "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
    }
    command = [sys.executable, "-c", SCRIPT, SECRET]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert SECRET not in "".join(lines) and "Ada" not in "".join(lines)
    assert "127.0.0.1" not in "".join(lines)
    spans = [json.loads(line) for line in lines]
    (request,) = [one for one in spans if one["kind"] == "SpanKind.SERVER"]
    assert request["name"] == "GET join/<str:token>/"
    assert request["attributes"]["http.route"] == "join/<str:token>/"
    (job,) = [one for one in spans if one["name"].startswith("run/")]
    assert job["attributes"]["celery.task_name"] == "evaluation.jobs.run_job"
    assert [one["attributes"] for one in job["events"]] == [{"exception.type": "ValueError"}]
    queries = [one for one in spans if one["attributes"].get("db.system") == "postgresql"]
    of = {one["parent_id"] for one in queries}
    assert {request["context"]["span_id"], job["context"]["span_id"]} <= of
    assert any("SELECT '?', %s" in one["attributes"]["db.statement"] for one in queries)
    assert request["resource"]["attributes"]["service.name"] == "crowdqc"
