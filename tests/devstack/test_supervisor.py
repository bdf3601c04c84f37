"""The one command that runs everything: it comes up, stays up, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

from crowdqc.devstack import Cluster
from crowdqc.devstack.supervisor import FIRST_DELAY, Kept, listen
from tests.support.processes import ROOT, processes_with, until

SERVING = re.compile(r"serving at (http://127\.0\.0\.1:\d+)")


@pytest.fixture
def home(open_folder: Path) -> Path:
    return open_folder / "a home"


class Stack:
    """A real ``manage.py devstack``."""

    def __init__(self, home: Path) -> None:
        self.log = home.parent / "devstack.log"
        private = {"DATABASE_URL", "BROKER_URL", "DJANGO_SETTINGS_MODULE", "CROWDQC_TEST_EMBEDDED"}
        env = {k: v for k, v in os.environ.items() if k not in private}
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "devstack", "--no-demo", "--port", "18765"],
                cwd=ROOT,
                env=env | {"CROWDQC_HOME": str(home)},
                stdout=out,
                stderr=out,
            )

    def address(self) -> str:
        """Where it serves, once it says so."""
        until(lambda: SERVING.search(self.log.read_text()), 150, f"serving: see {self.log}")
        found = SERVING.search(self.log.read_text())
        assert found is not None
        return found[1]

    def children(self) -> dict[str, psutil.Process]:
        """The supervised processes by what they run."""
        names = {
            "gunicorn": "web",
            "crowdqc.jobs.workers": "worker",
            "beat": "scheduler",
            "-D": "database",
        }
        found = {}
        for child in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):  # dead, and not yet reaped
                words = child.cmdline()
                found |= {name: child for mark, name in names.items() if mark in words}
        return found


def status(url: str) -> int:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.status


@pytest.mark.slow
def test_it_serves_heals_and_nothing_remains_once_it_is_killed(home: Path) -> None:
    """How it ends when it is asked to is seen in ``test_survives_kill.py``, after all its work."""
    stack = Stack(home)
    try:
        address = stack.address()
        assert status(f"{address}/readyz") == 200
        parts = {"web", "worker", "scheduler", "database"}
        until(lambda: set(stack.children()) == parts, 10, "all four parts to run")
        children = stack.children()

        children["web"].kill()  # the port stays open meanwhile: requests wait
        assert status(f"{address}/healthz") == 200
        children["database"].kill()
        until(
            lambda: (
                {"web", "database"} <= set(stack.children())
                and stack.children()["database"].pid != children["database"].pid
            ),
            20,
            "web and database to be started again",
        )
        stack.process.kill()  # nobody is left to stop the others: they end by themselves
        stack.process.wait()
        if sys.platform == "linux":
            until(lambda: processes_with(str(home)) == [], 15, "all processes to end")
    finally:
        if stack.process.poll() is None:
            stack.process.terminate()
            stack.process.wait(30)
        shutil.rmtree(Cluster(home).sockets, ignore_errors=True)  # outside, as the path has a space


def test_a_taken_port_is_left_to_its_owner() -> None:
    with socket.socket() as owner:
        owner.bind(("127.0.0.1", 0))
        owner.listen()
        taken = owner.getsockname()[1]
        server, port = listen("127.0.0.1", taken)
        with server:
            assert port != taken
            assert server.getsockname() == ("127.0.0.1", port)


class Failing:
    """A child that has always just died."""

    name = "web"
    starts = 0

    def start(self) -> None:
        self.starts += 1

    def poll(self) -> int:
        return 1


def test_a_child_that_keeps_dying_is_started_ever_later() -> None:
    child, said = Failing(), []
    kept = Kept(child)  # type: ignore[arg-type]
    kept.start()
    waits = []
    for _ in range(3):
        kept.look_after(lambda name, line: said.append(line))
        waits.append(kept.due - time.monotonic())
        kept.look_after(lambda name, line: None)  # not due yet
        kept.due = 0
        kept.look_after(lambda name, line: None)
    assert child.starts == 4
    assert waits == pytest.approx([FIRST_DELAY, 2 * FIRST_DELAY, 4 * FIRST_DELAY], abs=0.2)
    assert said[0] == f"web ended (status 1); starting it again in {FIRST_DELAY:g} s"
