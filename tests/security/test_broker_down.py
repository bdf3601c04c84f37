"""With the broker down a start of a run answers at once, and the run starts when it is back."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from crowdqc import queue
from evaluation.models import Run
from evaluation.runs import engine as runs
from tests.support import factories as make
from tests.support.processes import ROOT, test_database_url

LIMIT = 0.5  # seconds that a start may take beyond what it takes with the broker there
# A web process of its own: started as the server starts it, it answers three starts of runs.
SCRIPT = """
import json, os, sys, time
import django
django.setup()
# What the first hand-over imports is no waiting for the broker.
import kombu.transport.redis
from crowdqc.celery import app
app.finalize()
app.amqp.queues
from django.db import connection, transaction
from annotation.models import Task
from evaluation.runs import engine as runs
from evaluation.jobs import run_job
connection.ensure_connection()
took = []
for pk in json.loads(sys.argv[1]):
    task = Task.objects.select_related("project").get(pk=pk)
    began = time.perf_counter()
    with transaction.atomic():
        runs.start(by=task.project.owner, task=task)
        before = time.perf_counter() - began
    took.append([before, time.perf_counter() - began])
print(json.dumps(took), flush=True)
os._exit(0)
"""

pytestmark = [pytest.mark.db, pytest.mark.django_db(transaction=True)]


@contextmanager
def closed_port() -> Iterator[int]:
    """A port at which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextmanager
def silent_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(64)
        yield server.getsockname()[1]


@pytest.mark.parametrize("port", [closed_port, silent_port])
def test_starting_a_run_waits_for_no_broker(port: type[Iterator[int]]) -> None:
    """Redis that refuses, and one that never answers: under half a second each (B20)."""
    project = make.make_project()
    tasks = [make.make_task(project, 1) for _ in range(3)]
    with port() as number:
        environment = os.environ | {
            "DATABASE_URL": test_database_url(),
            "BROKER_URL": f"redis://127.0.0.1:{number}/0",
            "DJANGO_SETTINGS_MODULE": "tests.settings",
        }
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, json.dumps([task.pk for task in tasks])],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    took = json.loads(done.stdout.splitlines()[-1])
    # What comes after the run's rows were written is the waiting for the broker.
    assert all(whole - rows < LIMIT for rows, whole in took), took
    assert sum(whole - rows for rows, whole in took) < 2 * LIMIT, took
    # Nothing is lost: the runs are queued, and are handed on again once their age says so.
    assert list(Run.objects.values_list("state", flat=True)) == ["queued"] * 3
    Run.objects.update(created_at="2026-01-01T00:00Z")
    assert runs.resume_abandoned() == 3


def test_a_late_message_holds_up_nobody_behind_it() -> None:
    """After one message that did not leave, the next waits for none (B20)."""
    import threading
    import time

    publisher, gate, sent = queue.Publisher(), threading.Event(), list[int]()
    publisher.publish(lambda: gate.wait(30))
    began = time.monotonic()
    for number in range(queue.MOST + 5):
        publisher.publish(lambda number=number: sent.append(number))  # type: ignore[misc]
    assert time.monotonic() - began < 2 and publisher.late
    gate.set()
    deadline = time.monotonic() + 20
    while publisher.late or not publisher.waiting.empty():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    done = threading.Event()
    publisher.publish(done.set)
    assert done.wait(10)
    assert len(sent) == queue.MOST or len(sent) == queue.MOST - 1
