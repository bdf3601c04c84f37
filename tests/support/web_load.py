"""A site under load: clients that ask for pages, and gunicorn as production starts it."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.security.proxy.site import free_port
from tests.support.processes import until

PROCESSES, CLIENTS = 2, 4
# A client rests as long as its page took, within these: some are under way at any time, and what
# is being loaded beside them keeps a part of the processors.
LEAST_PAUSE, LONGEST_PAUSE = 0.1, 1.0


class Load:
    """Clients that ask for one page after the other, some on a connection that they keep."""

    def __init__(
        self, port: int, pages: Sequence[object], headers: Mapping[str, str] | None = None
    ) -> None:
        self.port, self.pages, self.headers = port, pages, dict(headers or {})
        self.answered, self.longest = 0, 0.0
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
                page = str(self.pages[turn % len(self.pages)])
                connection.request("GET", page, headers=self.headers)
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
                self.failures.append(f"{answer.status} {page}")
            self.answered += 1
            took = time.perf_counter() - began
            self.longest = max(self.longest, took)
            self._end.wait(min(max(took, LEAST_PAUSE), LONGEST_PAUSE))
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


@contextmanager
def serving(code: Path, url: str, file: Path) -> Iterator[int]:
    """The program of a folder on a database: its port; its process id is in the file.

    The folder may be a link that is turned to another version: USR2 loads what it then names.
    """
    port = free_port()
    command = [
        # By its script: USR2 starts again what stood on the command line.
        *(str(Path(sys.executable).with_name("gunicorn")), "crowdqc.wsgi:application"),
        *("--bind", f"127.0.0.1:{port}", "--pid", str(file), "--log-level", "error"),
        *("--config", "python:crowdqc.web.server", "--workers", str(PROCESSES)),
    ]
    environment = os.environ | {
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
        "PWD": str(code),
    }
    server = subprocess.Popen(command, cwd=code, env=environment)
    try:
        until(lambda: file.exists() and len(workers(server.pid)) == PROCESSES, 90, "web to start")
        yield port
    finally:
        for pid in {server.pid, *(int(one.read_text()) for one in file.parent.glob("*.pid*"))}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            until(lambda gone=pid: is_dead(gone), 60, "web to end")
        server.wait(60)


def answered(load: Load, more: int) -> Callable[[], bool]:
    """Whether so many more requests were answered from now on."""
    goal = load.answered + more
    return lambda: load.answered >= goal


def load_new_program(file: Path, load: Load) -> None:
    """USR2: the new program is loaded beside the old one, which is ended when it serves."""
    master = int(file.read_text())
    os.kill(master, signal.SIGUSR2)
    beside = file.with_name(f"{file.name}.2")
    until(beside.exists, 120, "the new program")
    new = int(beside.read_text())
    until(lambda: len(workers(new)) == PROCESSES, 120, "the new program to serve")
    until(answered(load, 40), 90, "both to be in use")
    os.kill(master, signal.SIGTERM)
    until(lambda: is_dead(master), 90, "the old program to end")
    until(answered(load, 40), 90, "the site to be in use after it")
