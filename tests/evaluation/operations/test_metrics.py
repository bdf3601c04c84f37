"""What Prometheus reads: who may, what it says, and what a scrape costs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest

from annotation.models import LedgerEntry
from crowdqc.deployment.backup import recovery
from crowdqc.deployment.backup.records import BackupState
from crowdqc.deployment.backup.recovery import RecoveryState
from crowdqc.jobs import worker
from crowdqc.jobs.broker import default_conninfo, install_queue
from crowdqc.jobs.queues import ROLES
from crowdqc.metrics import jobs, processes
from evaluation.models import Endpoint, Run
from evaluation.operations import actions
from evaluation.operations.selectors import figures
from tests.support import factories as make
from tests.support.servers.llm import make_model

pytestmark = [pytest.mark.db, pytest.mark.django_db(transaction=True)]
TOKEN = "a token for the metrics of this test"
SHOWN = {"Authorization": f"Bearer {TOKEN}"}
MONITORING = Path(__file__).resolve().parents[3] / "docs" / "admin" / "monitoring"


@pytest.fixture(autouse=True)
def _on(settings: Any) -> None:
    install_queue(default_conninfo())
    settings.CROWDQC_METRICS_TOKEN = TOKEN
    settings.MIDDLEWARE = ["crowdqc.web.metrics.RequestMetrics", *settings.MIDDLEWARE]


def scrape(client: Client) -> dict[str, float]:
    """Every sample by its name and labels."""
    answer = client.get("/metrics", headers=SHOWN)
    assert answer.status_code == 200
    lines = [line for line in answer.content.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_nobody_reads_metrics_without_the_token(client: Client, settings: Any) -> None:
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert client.post("/metrics", headers=SHOWN).status_code == 405
    settings.CROWDQC_METRICS_TOKEN = ""
    assert client.get("/metrics", headers=SHOWN).status_code == 404
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


def test_metrics_count_what_is_there(client: Client) -> None:
    task = make.make_task(make.make_project(), 1)
    Run.objects.create(
        project=task.project, task=task, number=1, method="aqer", version="1", state="failed"
    )
    make_model(task.project, "http://127.0.0.1:9")
    Endpoint.objects.update(spent="1.25")
    worker.record_heartbeats(*map(worker.worker_name, ROLES))
    actions.add_to_samples({"finished:runs": 2, "failed:runs": 1})
    actions.add_to_samples({"finished:runs": 3})
    found = scrape(client)
    assert found['crowdqc_runs{state="failed"}'] == 1
    assert found['crowdqc_runs{state="done"}'] == 0
    assert found['crowdqc_llm_spend_total{currency="EUR"}'] == 1.25
    assert found['crowdqc_jobs_finished_hour{queue="runs"}'] == 5
    assert found['crowdqc_jobs_failed_hour{queue="runs"}'] == 1
    assert found['crowdqc_worker_heartbeat_age_seconds{queue="models"}'] < 60
    assert found["crowdqc_database_size_bytes"] > 1e6
    assert found["crowdqc_leases"] == 0
    assert found['crowdqc_payments_open{state="unclear"}'] == 0
    assert found['crowdqc_queue_jobs_waiting{queue="default"}'] >= 0
    assert all(found[f'crowdqc_part_up{{part="{part}"}}'] == 1 for part in ("queues", "ledger"))
    assert not any(name.startswith("crowdqc_last_backup") for name in found)  # not known yet


def test_recovery_is_measured_where_it_is_configured(client: Client, settings: Any) -> None:
    assert not any(name.startswith("crowdqc_recovery") for name in scrape(client))
    settings.CROWDQC_RECOVERY_FOLDER, settings.CROWDQC_RECOVERY_SECONDS = "/srv/recovery", 90.0
    never = scrape(client)
    assert never["crowdqc_recovery_loss_seconds"] == 90
    assert not any(name.endswith("timestamp_seconds") for name in never)
    now = timezone.now()
    with patch.object(recovery, "recovery_state", return_value=RecoveryState(now, None, now)):
        found = scrape(client)
    assert found["crowdqc_recovery_log_timestamp_seconds"] == pytest.approx(now.timestamp())
    assert found["crowdqc_recovery_base_timestamp_seconds"] == pytest.approx(now.timestamp())


def test_requests_are_counted_by_view_and_status_and_never_by_address(client: Client) -> None:
    before = scrape(client)
    for _ in range(3):
        client.get("/healthz")
    client.get("/join/a-secret-that-nobody-may-read/")
    answer = client.get("/metrics", headers=SHOWN).content.decode()
    after = scrape(client)
    counted = 'crowdqc_http_requests_total{method="GET",status="200",view="healthz"}'
    assert after[counted] - before.get(counted, 0) == 3
    assert after['crowdqc_http_request_duration_seconds_count{view="healthz"}'] >= 3
    assert "a-secret" not in answer


def test_a_part_that_cannot_be_read_is_left_out_and_said_not_to_be_up(client: Client) -> None:
    with (
        patch.object(figures, "runs", side_effect=OperationalError("db at 10.0.0.7")),
        patch.object(figures, "queues", side_effect=ConnectionError("down")),
    ):
        found = scrape(client)
    assert found['crowdqc_part_up{part="runs"}'] == found['crowdqc_part_up{part="queues"}'] == 0
    assert found['crowdqc_part_up{part="leases"}'] == 1
    assert not any(name.startswith(("crowdqc_runs", "crowdqc_queue")) for name in found)


def test_a_scrape_costs_the_same_number_of_queries_at_any_size(client: Client) -> None:
    def cost() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            scrape(client)
        return len(queries)

    make.make_task(make.make_project(), 1)
    actions.take_samples()
    few = cost()
    for _ in range(5):
        project = make.make_project()
        make_model(project, "http://127.0.0.1:9")
        for number in range(4):
            task = make.make_task(project, 2)
            Run.objects.create(
                project=project, task=task, number=number, method="aqer", version="1", state="done"
            )
    actions.take_samples()
    assert cost() == few


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_promtool_accepts_the_metrics(client: Client) -> None:
    make_model(make.make_project(), "http://127.0.0.1:9")
    worker.record_heartbeats(*map(worker.worker_name, ROLES))
    actions.take_samples()
    client.get("/healthz")
    text = client.get("/metrics", headers=SHOWN).content
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_promtool_accepts_the_alerts() -> None:
    rules = str(MONITORING / "alerts.yml")
    subprocess.run(["promtool", "check", "rules", "--lint-fatal", rules], check=True)


@pytest.mark.parametrize("name", ["alerts.yml", "dashboard.json", "README.md"])
def test_alerts_and_dashboard_ask_for_metrics_that_there_are(
    client: Client, settings: Any, name: str
) -> None:
    make_model(make.make_project(), "http://127.0.0.1:9")
    client.get("/healthz")
    settings.CROWDQC_RECOVERY_FOLDER, now = "/srv/recovery", timezone.now()
    state = BackupState(made_at=now, tested_at=now, test_error="A table differs.")
    with (
        patch.object(figures, "last_backup", return_value=state),
        patch.object(figures, "certificate_end", return_value=now),
        patch.object(recovery, "recovery_state", return_value=RecoveryState(now, None, now)),
    ):
        text = client.get("/metrics", headers=SHOWN).content.decode()
    assert "crowdqc_restore_test_failed 1.0" in text and "crowdqc_backup_failed 0.0" in text
    registry = CollectorRegistry()
    for collector in (processes.Processes(os.getpid(), "tests"), processes.Disks()):
        registry.register(collector)
    for metric in (jobs.JOBS, jobs.TIMES, jobs.SCHEDULED):
        registry.register(metric)
    text += generate_latest(registry).decode()
    there = set(re.findall(r"^# TYPE (crowdqc_\w+) ", text, re.MULTILINE))
    there |= {f"{one}_bucket" for one in there}
    asked = set(re.findall(r"\bcrowdqc_[a-z_]+", (MONITORING / name).read_text()))
    assert asked and asked <= there, asked - there


def test_what_is_owed_to_workers_is_what_the_books_say(client: Client) -> None:
    task = make.make_task(make.make_project(), 1)
    own = {"project": task.project, "task": task, "currency": "EUR"}
    paid, work = "paid:hand", f"work:{task.pk}"
    LedgerEntry.objects.create(
        **own, kind="correction", debit=work, credit="worker:1", amount="2.50", key="a"
    )
    LedgerEntry.objects.create(
        **own, kind="payment", debit="worker:1", credit=paid, amount="1.00", key="b"
    )
    actions.take_samples()
    assert scrape(client)['crowdqc_ledger_owed{currency="EUR"}'] == 1.5
