"""The probes tell apart: alive, ready, and what is missing."""

from __future__ import annotations

import re
import time
from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from annotation import jobs
from crowdqc.celery import app
from crowdqc.jobs import worker
from crowdqc.jobs.broker import default_conninfo, install_queue, oldest_waiting, queue_states
from crowdqc.jobs.queues import ROLES
from crowdqc.web import health
from tests.support.processes import empty_queue

pytestmark = [pytest.mark.db, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def _queue() -> None:
    install_queue(default_conninfo())
    empty_queue()  # of what other tests sent and nobody took


def test_alive_needs_no_database(client: Client) -> None:
    with patch("django.db.connection.cursor", side_effect=OperationalError("down")):
        assert client.get("/healthz").status_code == 200


def test_ready_with_a_fresh_heartbeat(client: Client) -> None:
    worker.record_heartbeats(*map(worker.worker_name, ROLES))
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["ready"] is True
    assert set(answer.json()["parts"]) == set(health.PARTS)


def test_not_ready_without_a_worker(client: Client) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    parts = answer.json()["parts"]
    assert parts["database"]["ok"] and parts["broker"]["ok"]
    assert not parts["worker"]["ok"]
    for role in ROLES:
        assert f"no worker of the queue {role} has reported yet" in parts["worker"]["problem"]


def test_not_ready_while_one_queue_has_no_worker(client: Client) -> None:
    worker.record_heartbeats(*(worker.worker_name(role) for role in ROLES if role != "platforms"))
    problem = client.get("/readyz").json()["parts"]["worker"]["problem"]
    assert problem == "no worker of the queue platforms has reported yet"


def test_not_ready_when_the_worker_has_been_silent(client: Client) -> None:
    from datetime import timedelta

    from django.db.models.functions import Now

    from annotation.models import Heartbeat

    Heartbeat.objects.create(name=worker.WORKER, at=Now() - timedelta(seconds=60))
    answer = client.get("/readyz")
    assert answer.status_code == 503
    problem = answer.json()["parts"]["worker"]["problem"]
    age = re.match(r"the last heartbeat of the queue default is (\d+) seconds old", problem)
    assert age is not None and int(age[1]) >= 60  # more on a machine that is slow to ask


def test_not_ready_when_the_last_heartbeat_is_from_before_the_clock_was_set_back(
    client: Client,
) -> None:
    from datetime import timedelta

    from django.db.models.functions import Now

    from annotation.models import Heartbeat

    Heartbeat.objects.create(name=worker.WORKER, at=Now() + timedelta(hours=1))
    problem = client.get("/readyz").json()["parts"]["worker"]["problem"]
    assert "the last heartbeat of the queue default is" in problem
    worker.record_heartbeats(*map(worker.worker_name, ROLES))
    assert client.get("/readyz").status_code == 200


def test_a_database_that_is_down_is_reported_without_its_address(client: Client) -> None:
    with patch.dict(connection.settings_dict, {"HOST": "/no/such/place", "NAME": "secret"}):
        answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["parts"]["database"] == {"ok": False, "problem": "does not answer"}
    assert b"secret" not in answer.content


def test_not_ready_while_a_migration_is_not_applied(client: Client) -> None:
    """A new program takes no requests before its tables are there; once they are, it stays so."""
    applied = MigrationRecorder(connection).migration_qs.order_by("-pk")
    last = applied.get(pk=applied[0].pk)
    health._seen_applied.clear()
    last.delete()
    try:
        refused = client.get("/readyz?parts=migrations")
        assert refused.status_code == 503
        assert refused.json()["parts"] == {
            "migrations": {"ok": False, "problem": "1 migrations are not applied"}
        }
    finally:
        last.save(force_insert=True)
    assert client.get("/readyz?parts=migrations").status_code == 200
    with patch.dict(connection.settings_dict, {"HOST": "/no/such/place"}):
        assert client.get("/readyz?parts=migrations").status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz?parts=database"])
def test_a_probe_needs_neither_a_name_of_the_site_nor_tls(
    client: Client, settings: Any, path: str
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get(path, headers={"Host": "10.1.2.3:8000"}).status_code == 200


@pytest.mark.queue
def test_not_ready_while_the_oldest_job_of_a_queue_waits_for_too_long(
    client: Client, settings: Any
) -> None:
    """(B8) A stuck queue is seen although its workers live; which one, and for how long."""
    empty_queue()
    worker.record_heartbeats(*map(worker.worker_name, ROLES))
    jobs.fetch_key_set.delay("https://keys.example/")  # nobody takes it
    jobs.look_after_files.delay()
    assert set(oldest_waiting(app)) == {"platforms", "default"}
    states = queue_states(app)
    assert set(states) == set(ROLES)
    assert (states["platforms"].waiting, states["platforms"].running) == (1, 0)
    assert (states["runs"].waiting, states["runs"].oldest, states["runs"].running) == (0, None, 0)
    assert client.get("/readyz").status_code == 200
    settings.CROWDQC_QUEUE_AGE = 0.2
    time.sleep(0.3)
    answer = client.get("/readyz")
    problem = answer.json()["parts"]["queues"]["problem"]
    assert answer.status_code == 503
    assert "the oldest job of the queue platforms has waited" in problem
    empty_queue()
    assert oldest_waiting(app) == {} and client.get("/readyz").status_code == 200


def test_probes_are_read_only(client: Client) -> None:
    assert client.post("/healthz").status_code == 405
    assert client.post("/readyz").status_code == 405
