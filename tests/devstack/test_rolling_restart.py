"""Web processes are replaced while people use the site, and no request fails."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from django.urls import reverse_lazy

from tests.security.proxy.front import free_port
from tests.support.processes import ROOT, test_database_url, until

PROCESSES, CLIENTS = 2, 4
PAGES = ("/healthz", reverse_lazy("login"))
pytestmark = pytest.mark.slow


class Load:
    """Clients that ask for one page after the other, some on a connection that they keep."""

    def __init__(self, port: int) -> None:
        self.port, self.answered, self.longest = port, 0, 0.0
        self.failures: list[str] = []
        self._end = threading.Event()
        self._threads = [
            threading.Thread(target=self._ask, args=(bool(n % 2),)) for n in range(CLIENTS)
        ]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, keeps: bool) -> None:
        connection, turn = None, 0
        while not self._end.is_set():
            turn, began = turn + 1, time.perf_counter()
            fresh = connection is None
            connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, 30)
            try:
                connection.request("GET", str(PAGES[turn % len(PAGES)]))
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                connection = None
                # A kept connection may be closed between two requests: browsers ask again.
                if fresh or not isinstance(error, (http.client.RemoteDisconnected, OSError)):
                    self.failures.append(repr(error))
                continue
            if answer.status != 200:
                self.failures.append(f"{answer.status}")
            self.answered += 1
            self.longest = max(self.longest, time.perf_counter() - began)
            if not keeps or answer.will_close:
                connection.close()
                connection = None
        if connection is not None:
            connection.close()


def workers(master: int) -> set[int]:
    with suppress(psutil.NoSuchProcess):
        return {one.pid for one in psutil.Process(master).children()}
    return set()


def is_dead(pid: int) -> bool:
    """A process that ended and that its parent, this one, has not asked for yet is none."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


@pytest.fixture
def web(transactional_db: None, tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """gunicorn as production starts it: its port, and the file with its process id."""
    port, file = free_port(), tmp_path / "gunicorn.pid"
    command = [
        # By its script: USR2 starts again what stood on the command line.
        *(str(Path(sys.executable).with_name("gunicorn")), "crowdqc.wsgi:application"),
        *("--bind", f"127.0.0.1:{port}", "--pid", str(file), "--log-level", "error"),
        *("--config", "python:crowdqc.web.server", "--workers", str(PROCESSES)),
    ]
    environment = os.environ | {"DATABASE_URL": test_database_url(), "CROWDQC_POOL": "1"}
    server = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        until(lambda: file.exists() and len(workers(server.pid)) == PROCESSES, 90, "web to start")
        yield port, file
    finally:
        for pid in {server.pid, *(int(one.read_text()) for one in tmp_path.glob("*.pid*"))}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            until(lambda gone=pid: is_dead(gone), 60, "web to end")
        server.wait(60)


def answered(load: Load, more: int) -> Callable[[], bool]:
    """Whether so many more requests were answered from now on."""
    goal = load.answered + more
    return lambda: load.answered >= goal


def test_new_processes_take_over_without_a_failed_request(web: tuple[int, Path]) -> None:
    """HUP: settings are read anew, the program stays."""
    port, file = web
    master = int(file.read_text())
    with Load(port) as load:
        until(answered(load, 40), 90, "the site to be in use")
        for _ in range(2):
            before = workers(master)
            os.kill(master, signal.SIGHUP)
            until(
                lambda old=before: (now := workers(master)) and not now & old,
                90,
                "the old processes to be gone",
            )
            until(answered(load, 40), 90, "the site to be in use after it")
    assert load.failures == []
    print(f"{load.answered} requests, the longest {load.longest:.2f} s")


def test_a_new_program_takes_over_without_a_failed_request(web: tuple[int, Path]) -> None:
    """USR2: a new program is loaded beside the old one, which is ended when it serves."""
    port, file = web
    master = int(file.read_text())
    with Load(port) as load:
        until(answered(load, 40), 90, "the site to be in use")
        os.kill(master, signal.SIGUSR2)
        beside = file.with_name(f"{file.name}.2")
        until(beside.exists, 120, "the new program")
        new = int(beside.read_text())
        until(lambda: len(workers(new)) == PROCESSES, 120, "the new program to serve")
        until(answered(load, 40), 90, "both to be in use")
        os.kill(master, signal.SIGTERM)
        until(lambda: is_dead(master), 90, "the old program to end")
        until(answered(load, 40), 90, "the site to be in use after it")
    assert load.failures == []
    print(f"{load.answered} requests, the longest {load.longest:.2f} s")
