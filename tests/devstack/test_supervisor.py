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

PARTS = {"web", "scheduler", "postgres", "worker-default", "watch"}
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

    def replaced(self, before: dict[str, psutil.Process], *names: str) -> bool:
        """Whether other processes do now what these did."""
        now = self.children()
        return all(name in now and now[name].pid != before[name].pid for name in names)

    def children(self) -> dict[str, psutil.Process]:
        """The supervised processes by their names."""
        found: dict[str, psutil.Process] = {}
        for child in psutil.Process(self.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # dead, and not yet reaped
                found.setdefault(child.name(), child)  # parents come first
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
        assert status(f"{address}/healthz") == 200  # pages come before the workers are there
        until(lambda: "ready at" in stack.log.read_text(), 150, "the whole stack to be ready")
        assert status(f"{address}/readyz") == 200
        children = stack.children()
        assert set(children) >= PARTS

        children["web"].kill()  # the port stays open meanwhile: requests wait
        assert status(f"{address}/healthz") == 200
        killed = ("worker-default", "watch", "scheduler", "postgres")
        for name in killed:
            children[name].kill()
        until(lambda: stack.replaced(children, *killed, "web"), 30, "all to be started again")
        program = stack.children()["web"].parent()
        assert program is not None
        program.kill()  # what all of them were forked from
        until(lambda: stack.replaced(children, *PARTS), 90, "the whole program to be back")
        assert status(f"{address}/healthz") == 200
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
