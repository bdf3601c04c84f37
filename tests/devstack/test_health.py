"""The probes tell apart: alive, ready, and what is missing."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from django.db import OperationalError
from django.test import Client

from crowdqc import heartbeat
from crowdqc.broker import default_conninfo, install_queue

pytestmark = [pytest.mark.db, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def _queue() -> None:
    install_queue(default_conninfo())


def test_alive_needs_no_database(client: Client) -> None:
    with patch("django.db.connection.cursor", side_effect=OperationalError("down")):
        assert client.get("/healthz").status_code == 200


def test_ready_with_a_fresh_heartbeat(client: Client) -> None:
    heartbeat.beat(heartbeat.WORKER)
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["ready"] is True
    assert set(answer.json()["parts"]) == {"database", "broker", "worker"}


def test_not_ready_without_a_worker(client: Client) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    parts = answer.json()["parts"]
    assert parts["database"]["ok"] and parts["broker"]["ok"]
    assert parts["worker"] == {"ok": False, "problem": "no worker has reported yet"}


def test_not_ready_when_the_worker_has_been_silent(client: Client) -> None:
    from datetime import timedelta

    from django.db.models.functions import Now

    from annotation.models import Heartbeat

    Heartbeat.objects.create(name=heartbeat.WORKER, at=Now() - timedelta(seconds=60))
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "60 seconds old" in answer.json()["parts"]["worker"]["problem"]


def test_a_database_that_is_down_is_reported_without_its_address(client: Client) -> None:
    with patch("crowdqc.health.connection.cursor", side_effect=OperationalError("secret host")):
        answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["parts"]["database"] == {"ok": False, "problem": "does not answer"}
    assert b"secret" not in answer.content


def test_probes_are_read_only(client: Client) -> None:
    assert client.post("/healthz").status_code == 405
    assert client.post("/readyz").status_code == 405
