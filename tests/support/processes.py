"""Real processes beside the tests: their environment, their queue worker, their remains."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import psutil
from django.db import connection, connections

from crowdqc.jobs import worker as heartbeat
from crowdqc.jobs.queues import queue_name

ROOT = Path(__file__).resolve().parents[2]


def test_database_url() -> str:
    """The address of the database this test runs on, for other processes."""
    params = connection.get_connection_params()
    query = {k: params[k] for k in ("host", "port") if params.get(k)}
    user, password = quote(params.get("user", ""), safe=""), params.get("password")
    who = f"{user}:{quote(password, safe='')}@" if password else f"{user}@"
    return f"postgresql://{who}/{quote(params['dbname'])}?{urlencode(query)}"


test_database_url.__test__ = False  # type: ignore[attr-defined]


def empty_queue() -> None:
    """Drop every job that an earlier test left in this test process's queue."""
    from crowdqc.celery import app
    from crowdqc.jobs.queues import ROLES, queue_name

    with app.connection_for_write() as broker:
        channel = broker.default_channel
        prefix = getattr(channel, "global_keyprefix", "")
        if prefix:
            with channel.conn_or_acquire() as client:
                # The client puts the prefix before most names, but not into patterns.
                for key in client.keys(f"{prefix}*"):
                    client.delete(key.decode().removeprefix(prefix))
            return
        for name in map(queue_name, ROLES):
            if channel._has_queue(name):
                channel.queue_purge(name)


def until(condition: Callable[[], object], seconds: float, what: str) -> None:
    """Wait for a condition; fail with ``what`` if it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def killed(act: Callable[[], object], after: float | None = None) -> int:
    """Act in a process of its own, killed after so many seconds; the signal that ended it, or 0."""
    connections.close_all()
    child = os.fork()
    if not child:
        try:
            inherited = _forget_connections()
            act()
            del inherited
        finally:
            os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _forget_connections() -> list[object]:
    """What this process inherited is its parent's; these are kept from being closed.

    A thread in which Playwright's loop runs has connections of its own, which are all that its
    parent closed. No loop runs in a child, so it would find, and share, those from before.
    """
    inherited = list(connections.all(initialized_only=True))
    for one in inherited:
        del connections[one.alias]
    return inherited


class Worker:
    """A real Celery worker on the test's database and broker, for one queue or for all."""

    def __init__(self, log: Path, visibility: int = 20, role: str = "", processes: int = 1) -> None:
        self.log, self.role = log, role
        self._words = ["-c", str(processes), *(["-Q", queue_name(role)] if role else [])]
        self._env = os.environ | {
            "DATABASE_URL": test_database_url(),
            "CROWDQC_VISIBILITY_SECONDS": str(visibility),
        }
        self.process: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    def start(self) -> Worker:
        """Start it and wait until it takes jobs."""
        return self.launch().wait()

    def wait(self) -> Worker:
        """Wait until it takes jobs."""
        try:
            until(self._is_ready, 90, "the worker to be ready")
        except AssertionError as error:
            self.kill()
            raise AssertionError(f"{error}\n{self.log.read_text()[-3000:]}") from error
        return self

    def launch(self) -> Worker:
        """Start it; it takes jobs when it is ready."""
        command = [
            *(sys.executable, "-m", "celery", "-A", "crowdqc", "-q", "worker", *self._words),
            *(
                "--without-gossip",
                "--without-mingle",
                "--without-heartbeat",
                "-I",
                "tests.support.jobs",
            ),
        ]
        self._started = time.monotonic()
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self._env, stdout=out, stderr=out, start_new_session=True
            )
        return self

    def _is_ready(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"the worker ended with status {self.process.returncode}")
        age = heartbeat.heartbeat_age(heartbeat.worker_name(self.role or "default"))
        return age is not None and age < time.monotonic() - self._started

    def kill(self) -> None:
        """``kill -9`` of the worker itself; its pool process has to notice."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def kill_with_pool(self) -> None:
        """``kill -9`` of the worker, and a wait until its pool has noticed and is gone."""
        assert self.process is not None
        pool = psutil.Process(self.process.pid).children(recursive=True)
        self.kill()
        until(lambda: not any(map(_goes_on, pool)), 60, "the killed worker's pool to end")


def _goes_on(process: psutil.Process) -> bool:
    """Whether it runs still; where nobody reaps orphans, a dead one stays as a zombie."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextlib.contextmanager
def queue_worker(log: Path, visibility: int = 20, role: str = "") -> Iterator[Worker]:
    """A worker for the duration of a ``with`` block."""
    empty_queue()
    worker = Worker(log, visibility, role).start()
    try:
        yield worker
    finally:
        worker.kill()


def processes_with(text: str) -> list[int]:
    """Ids of live processes whose command line or environment contains ``text``."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
                continue
            where = " ".join(process.cmdline()) + "\0".join(process.environ().values())
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if text in where:
            found.append(process.pid)
    return found
