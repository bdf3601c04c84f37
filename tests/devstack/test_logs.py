"""Logs as JSON: which request, job and run a line belongs to, and nothing about people."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from crowdqc.deployment.errors import INSTALL, report_to_sentry
from tests.support.processes import ROOT, test_database_url

SECRET = "a-secret-of-an-invitation-0123456789"
SCRIPT = """
import logging, sys
import django
django.setup()
from django.test import Client
from crowdqc.celery import app
from crowdqc import queue
app.conf.task_always_eager = True
client = Client(raise_request_exception=False)
client.get(f"/join/{sys.argv[1]}/?name=Ada", headers={"X-Request-ID": "request-0001"})
client.get(f"/nothing/{sys.argv[1]}", headers={"X-Request-ID": "no good id"})
client.get("/healthz")
from celery import shared_task
@shared_task(name="evaluation.jobs.run_job")
def run_job(run_id):
    logging.getLogger("evaluation.runs").warning("step %s of %s", 1, ValueError("Ada wrote this"))
    try:
        raise ValueError("Ada wrote this as well")
    except ValueError:
        logging.getLogger("evaluation.runs").exception("it broke")
run_job.apply(args=[7])
logging.getLogger("gunicorn.error").info("booted")
"""
# In a process of its own, as reporting changes what it is loaded into.
REPORT = """
import sys, warnings
import sentry_sdk
from sentry_sdk.transport import Transport
from crowdqc.deployment.errors import report_to_sentry
class Printed(Transport):
    def capture_envelope(self, envelope):
        for item in envelope.items:
            print(item.payload.get_bytes().decode())
def inner(secret):
    raise ValueError(f"somebody wrote {secret}")
warnings.simplefilter("error")
report_to_sentry("https://key@127.0.0.1/1", "test", transport=Printed())
try:
    inner(sys.argv[1])
except ValueError as error:
    sentry_sdk.capture_exception(error)
sentry_sdk.set_user({"username": "Ada"})
sentry_sdk.capture_message(f"Ada wrote {sys.argv[1]}")
sentry_sdk.flush()
assert not {"openai", "huggingface_hub", "torch"} & set(sys.modules)
"""


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, SECRET],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "crowdqc.settings"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.db
@pytest.mark.django_db(transaction=True)
def test_lines_carry_ids_of_requests_jobs_and_runs_and_nothing_about_people() -> None:
    done = run(SCRIPT, DATABASE_URL=test_database_url(), LOG_FORMAT="json")
    assert done.returncode == 0, done.stderr[-2000:]
    lines: list[dict[str, Any]] = [json.loads(line) for line in done.stderr.splitlines()]
    assert SECRET not in done.stderr and "Ada" not in done.stderr
    joined = next(one for one in lines if one.get("view") == "join")
    assert joined["request_id"] == "request-0001" and joined["ms"] >= 0
    assert {"timestamp", "level", "logger", "event"} <= set(joined)
    missing = [one for one in lines if one["event"] == "Not Found: none"]
    assert missing and len(missing[0]["request_id"]) == 32
    assert not any(one.get("view") == "healthz" for one in lines)
    told = [one for one in lines if one["logger"] == "evaluation.runs"]
    assert [one["event"] for one in told] == ["step 1 of ValueError", "it broke"]
    assert all(one["run_id"] == 7 and one["job"] == "evaluation.jobs.run_job" for one in told)
    assert told[1]["exception"] == "ValueError" and told[1]["stack"]
    assert any(one["event"] == "booted" for one in lines)


@pytest.mark.db
@pytest.mark.django_db(transaction=True)
def test_the_app_starts_with_sentry_and_json() -> None:
    pytest.importorskip("sentry_sdk", reason="sentry-sdk is an extra")
    script = "from crowdqc.devstack import program; program.load_app()"
    done = run(
        script,
        DATABASE_URL=test_database_url(),
        SENTRY_DSN="https://key@127.0.0.1/1",
        LOG_FORMAT="json",
        CROWDQC_METRICS_TOKEN="a token that is long enough",
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_format_that_is_not_known_is_refused() -> None:
    done = run("import crowdqc.settings", LOG_FORMAT="xml")
    assert "LOG_FORMAT must be 'plain' or 'json'." in done.stderr


def test_sentry_is_told_where_an_error_is_and_not_what_it_says() -> None:
    pytest.importorskip("sentry_sdk", reason="sentry-sdk is an extra")
    done = run(REPORT)
    assert done.returncode == 0, done.stderr[-2000:]
    said = done.stdout
    assert "ValueError" in said and '"function":"inner"' in said
    # Nothing of what was in memory, and no name of the machine.
    assert SECRET not in said and "Ada" not in said and "server_name" not in said


def test_sentry_without_its_package_says_how_to_install_it(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    with pytest.raises(Exception, match="sentry-sdk is not installed") as raised:
        report_to_sentry("https://key@127.0.0.1/1", "test")
    assert str(raised.value) == INSTALL
