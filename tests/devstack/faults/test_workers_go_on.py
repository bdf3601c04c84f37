"""The broker is restarted, a job takes too much memory, the clock is set: work goes on."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from crowdqc.celery import app
from crowdqc.jobs import worker as heartbeat
from crowdqc.jobs.broker import queue_states
from crowdqc.jobs.queues import queue_name
from evaluation.models import JobFailure
from evaluation.operations.selectors import samples
from tests.support.jobs import die_once, note, take_all_memory
from tests.support.processes import ROOT, empty_queue, test_database_url, until

pytestmark = [
    pytest.mark.db,
    pytest.mark.queue,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
WORKER = "import sys, tests.support.jobs; from crowdqc.jobs.workers import main; "
SEND = """
import sys, django
django.setup()
from crowdqc.jobs.queues import queue_name
from tests.support.jobs import note
note.apply_async((sys.argv[1],), queue=queue_name("files"))
"""
JUMP = """
import os, sys, threading, time
real, set_back = time.time, [0.0]
time.time = lambda: real() + set_back[0]
def jump():
    while not os.path.exists(os.path.join(os.environ["CROWDQC_ALIVE"], "scheduler")):
        time.sleep(0.1)
    time.sleep(3)  # until the watch has looked once
    set_back[0] = -3600.0
threading.Thread(target=jump, daemon=True).start()
from crowdqc.celery import app
sys.exit(app.start(["--quiet", "beat", "--pidfile="]))
"""


@contextmanager
def workers(**environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of the queue of files."""
    family = subprocess.Popen(
        [sys.executable, "-c", WORKER + "sys.exit(main(['files=1']))"],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": test_database_url()} | environment,
    )
    try:
        yield family
    finally:
        family.kill()
        family.wait()


def lines(path: Path) -> int:
    """How many jobs have ended."""
    return path.read_text().count("end") if path.exists() else 0


def _ended(path: Path, number: int) -> Callable[[], bool]:
    return lambda: lines(path) >= number  # delivery is at least once


def test_a_job_killed_for_its_memory_is_given_out_again_and_a_failed_one_is_noted(
    tmp_path: Path,
) -> None:
    empty_queue()
    with workers() as family:
        until(lambda: heartbeat.age("worker-files") is not None, 150, "the worker to be there")
        (main,) = psutil.Process(family.pid).children()
        done = tmp_path / "done"
        die_once.apply_async((str(done),), queue=queue_name("files"))
        until(_ended(done, 1), 90, "the job to be done at its second delivery")
        take_all_memory.apply_async(("what Ada wrote",), queue=queue_name("files"))
        until(JobFailure.objects.exists, 60, "the failure to be noted")
        note.apply_async((str(tmp_path / "later"), 2.0), queue=queue_name("files"))
        until(lambda: queue_states(app)["files"].running == 1, 60, "the broker to say that it runs")
        until(_ended(tmp_path / "later", 1), 60, "a later job")
        assert psutil.Process(family.pid).children()[0].pid == main.pid  # it never ended
        until(lambda: samples.last_hour("finished")["files"] >= 3, 30, "the jobs to be counted")
    row = JobFailure.objects.get()
    error = row.error.partition(",")[0]  # without its line
    assert (row.job, row.queue, error) == (
        take_all_memory.name,
        "files",
        "OutOfMemory in crowdqc.jobs.task",
    )
    assert samples.last_day("failed")["files"] == 1


class Redis:
    """A broker of this test's own, which keeps what it was given."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.command = [
            *("redis-server", "--port", str(self.port), "--dir", str(folder)),
            *("--appendonly", "yes", "--save", "", "--bind", "127.0.0.1"),
        ]
        self.start()

    def start(self) -> None:
        self.server = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        until(self._answers, 30, "the broker to be there")

    def _answers(self) -> bool:
        with socket.socket() as asked:
            return asked.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        self.server.kill()
        self.server.wait()


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
def test_a_worker_goes_on_when_the_broker_is_back(tmp_path: Path) -> None:
    broker, done = Redis(tmp_path), tmp_path / "done"
    own = {
        "BROKER_URL": f"redis://127.0.0.1:{broker.port}/0",
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "DATABASE_URL": test_database_url(),
    }

    def send() -> None:
        command = [sys.executable, "-c", SEND, str(done)]
        subprocess.run(command, cwd=ROOT, env=os.environ | own, check=True)

    try:
        with workers(**own) as family:
            send()
            until(_ended(done, 1), 150, "the first job")
            (main,) = psutil.Process(family.pid).children()
            broker.kill()
            broker.start()
            send()
            until(_ended(done, 2), 150, "a job after the broker came back")
            assert psutil.Process(family.pid).children()[0].pid == main.pid
    finally:
        broker.kill()


def test_a_scheduler_whose_clock_is_set_back_ends_to_be_started_anew(tmp_path: Path) -> None:
    own = {
        "DATABASE_URL": test_database_url(),
        "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
        "BROKER_URL": "",
        "CROWDQC_ALIVE": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", JUMP],
        cwd=ROOT,
        env=os.environ | own,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 1, done.stderr[-2000:]
    assert "the clock jumped by -3600 seconds; the scheduler restarts" in done.stderr
