"""The broker is restarted, the clock is set: work goes on."""

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
from kombu import Connection

from crowdqc.jobs.broker import broker_settings
from crowdqc.jobs.queues import queue_name
from tests.support.jobs import note
from tests.support.processes import ROOT, test_database_url, until

pytestmark = [
    pytest.mark.db,
    pytest.mark.queue,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
WORKER = "import sys, tests.support.jobs; from crowdqc.jobs.workers import main; "
JUMP = """
import sys, threading, time
now, sleep, set_back = time.time, time.sleep, [0.0]
time.time = lambda: now() + set_back[0]
def sleep_and_jump(seconds):
    watches = threading.current_thread().name == "clock-watch"  # it has looked once
    sleep(0.01 if watches else seconds)
    if watches:
        set_back[0] = -3600.0
time.sleep = sleep_and_jump
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
    options = broker_settings(own["BROKER_URL"])["broker_transport_options"]
    options["global_keyprefix"] = f"crowdqc:{queue_name('default')}:"  # as tests.settings says

    def send() -> None:
        with Connection(own["BROKER_URL"], transport_options=options) as connection:
            note.apply_async((str(done),), queue=queue_name("files"), connection=connection)

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
