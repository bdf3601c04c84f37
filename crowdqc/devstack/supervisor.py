"""One command for the whole stack: database, web, worker and scheduler, started and kept up."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from crowdqc.devstack.places import DevstackError
from crowdqc.devstack.postgres import Cluster
from crowdqc.devstack.processes import Child

ROOT = Path(__file__).resolve().parents[2]
TICK_SECONDS = 0.1
PROBE_SECONDS = 0.3
# A job cut off here is delivered again; waiting longer would only look like a hang.
WORKER_GRACE_SECONDS = 3.0
WEB_GRACE_SECONDS = 5.0
FIRST_DELAY, LONGEST_DELAY, STEADY_SECONDS = 0.5, 30.0, 60.0
SCHEDULER_DELAY_SECONDS = 5.0
PORTS_TRIED = 20


def listen(host: str, port: int) -> tuple[socket.socket, int]:
    """A listening socket on ``port``, else on the next free one.

    The supervisor keeps it open, so that connections wait instead of failing while the web
    process is being restarted.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in [*range(port, port + PORTS_TRIED), 0]:
        server = socket.socket(family, socket.SOCK_STREAM)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind((host, candidate))
            server.listen(256)
        except OSError as error:
            server.close()
            if isinstance(error, PermissionError) or candidate == 0:
                raise DevstackError(f"cannot listen on {host}: {error.strerror}") from error
            continue
        return server, server.getsockname()[1]
    raise AssertionError("unreachable: port 0 either binds or raises")


@dataclass
class Kept:
    """A child that is started again when it dies, each time a little later."""

    child: Child
    delay: float = FIRST_DELAY
    started: float = 0.0
    due: float = 0.0
    running: bool = False

    def start(self) -> None:
        """Start the child now."""
        self.child.start()
        self.started = time.monotonic()
        self.running = True

    def look_after(self, say: Callable[[str, str], None]) -> None:
        """Notice a death and start again when it is due."""
        now = time.monotonic()
        if not self.running:
            if now >= self.due:
                self.start()
            return
        status = self.child.poll()
        if status is None:
            return
        if now - self.started > STEADY_SECONDS:
            self.delay = FIRST_DELAY
        how = f"signal {-status}" if status < 0 else f"status {status}"
        say("devstack", f"{self.child.name} ended ({how}); starting it again in {self.delay:g} s")
        self.running, self.due = False, now + self.delay
        self.delay = min(self.delay * 2, LONGEST_DELAY)


@dataclass
class Supervisor:
    """Runs the stack in the foreground until it is told to stop.

    Parameters
    ----------
    host, port
        Where to serve; the next free port is taken when that one is in use, and said.
    demo
        Whether to load the demo data (the command ``load_demo``, where it exists).
    """

    host: str = "127.0.0.1"
    port: int = 8000
    demo: bool = True
    _kept: list[Kept] = field(default_factory=list)
    _demo: Child | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _print_lock: threading.Lock = field(default_factory=threading.Lock)
    _closing_lines: list[str] = field(default_factory=list)

    def say(self, name: str, line: str) -> None:
        """Print one line with its origin before it."""
        with self._print_lock:
            print(f"{name:<9}| {line}", flush=True)  # whole lines, also when read through a pipe

    def _say_and_keep(self, name: str, line: str) -> None:
        """Say it now, and what follows the last empty line again when the stack is ready."""
        if line:
            self._closing_lines.append(line)
        else:
            self._closing_lines.clear()
        self.say(name, line)

    def run(self) -> int:
        """Start everything, keep it up, stop it on SIGINT or SIGTERM; the exit status."""
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, self._on_signal)
        cluster = None if os.environ.get("DATABASE_URL") else Cluster()
        server = None
        try:
            if cluster is not None:
                self._start_database(cluster)
            env = os.environ | ({"DATABASE_URL": cluster.url} if cluster else {})
            if not self._migrate(env):
                return 0 if self._stop.is_set() else 1
            server, port = listen(self.host, self.port)
            if port != self.port:
                self.say("devstack", f"port {self.port} is taken, using {port}")
            env.setdefault("CROWDQC_BASE_URL", f"http://{self._reached_by()}:{port}")
            self._start_children(env, server)
            self._demo = self._start_demo(env)
            self._watch(cluster, port)
            return 0
        except DevstackError as error:
            self.say("devstack", str(error))
            return 1
        finally:
            self._stop_children()
            if server is not None:
                server.close()
            if cluster is not None:
                self._stop_database(cluster)
            self.say("devstack", "stopped")

    def _on_signal(self, signum: int, frame: object) -> None:
        if self._stop.is_set():  # asked twice: do not wait for anybody
            for kept in self._kept:
                kept.child.finish(0)
        self._stop.set()

    # -- database and preparation --------------------------------------------------------------

    def _start_database(self, cluster: Cluster) -> None:
        if not cluster.data.exists():
            self.say("database", f"creating a PostgreSQL cluster in {cluster.folder}")
        cluster.start(tied=True)
        self.say("database", f"PostgreSQL is running (process {cluster.pid()})")

    def _stop_database(self, cluster: Cluster) -> None:
        if cluster.owned:
            cluster.stop()
        else:
            cluster.release()

    def _migrate(self, env: dict[str, str]) -> bool:
        """Bring the tables up to date; False if that failed or a stop was asked for."""
        if not self._migrations_are_due():
            return True
        step = self._command("migrate", ["migrate", "--noinput"], env, self.say)
        while (status := step.poll()) is None and not self._stop.wait(TICK_SECONDS):
            pass
        step.finish(0)
        if status not in (0, None):
            self.say("devstack", f"the migration failed with status {status}")
        return status == 0

    def _migrations_are_due(self) -> bool:
        """Asked here, as a process for it takes seconds that a usual start can spare."""
        from django.db import Error, connection
        from django.db.migrations.executor import MigrationExecutor

        try:
            executor = MigrationExecutor(connection)
            return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
        except Error as error:
            raise DevstackError(f"the database does not answer: {error}") from error
        finally:
            connection.close()

    def _start_demo(self, env: dict[str, str]) -> Child | None:
        """Load the demo data beside the starting processes, which its scores need."""
        from django.core.management import get_commands

        if not self.demo or "load_demo" not in get_commands():
            return None
        return self._command("demo", ["load_demo"], env, self._say_and_keep)

    def _command(
        self, name: str, args: list[str], env: dict[str, str], say: Callable[[str, str], None]
    ) -> Child:
        """A management command, started."""
        line = [sys.executable, str(ROOT / "manage.py"), *args]
        child = Child(name, line, env=env, cwd=ROOT, say=say)
        child.start()
        return child

    # -- children ------------------------------------------------------------------------------

    def _start_children(self, env: dict[str, str], server: socket.socket) -> None:
        python = [sys.executable, "-m"]
        # Django's checks have run in the migration or run in the web process.
        celery = [*python, "celery", "--skip-checks", "-A", "crowdqc", "-q"]
        # One line on every start about running as root would say nothing about this stack.
        quiet = {
            "PYTHONWARNINGS": "ignore:You're running the worker with superuser",
            # Two lines for every periodic job would bury what matters.
            "LOG_LEVEL": env.get("LOG_LEVEL", "WARNING"),
        }
        web = [
            *(*python, "gunicorn", "crowdqc.wsgi:application", "--bind", f"fd://{server.fileno()}"),
            *("--worker-class", "gthread", "--workers", "2", "--threads", "4"),
            *("--timeout", "60", "--graceful-timeout", "4", "--no-control-socket"),
        ]
        # Fewer processes than a server gets: one machine runs everything here.
        shares = ("default=1", "runs=2", "files=1", "platforms=2", "models=1")
        worker = [*python, "crowdqc.jobs.workers", *shares]
        beat = [*celery, "beat", "--loglevel", "WARNING", "--pidfile="]
        for name, args, extra, death, fds in (
            ("web", web, {"CROWDQC_POOL": "1"}, signal.SIGTERM, [server.fileno()]),
            ("worker", worker, quiet, signal.SIGKILL, []),
            ("scheduler", beat, {}, signal.SIGKILL, []),
        ):
            child = Child(
                name,
                args,
                env=env | extra,
                cwd=ROOT,
                say=self.say,
                parent_death_signal=death,
                pass_fds=fds,
            )
            self._kept.append(Kept(child))
        for kept in self._kept:
            if kept.child.name == "scheduler":  # nothing is due yet; the others need the processor
                kept.due = time.monotonic() + SCHEDULER_DELAY_SECONDS
            else:
                kept.start()

    def _stop_children(self) -> None:
        if self._demo is not None:
            self._demo.finish(0)
        for kept in self._kept:
            kept.child.request_stop()
        deadline = time.monotonic() + WEB_GRACE_SECONDS
        worker_deadline = time.monotonic() + WORKER_GRACE_SECONDS
        for kept in self._kept:
            until = worker_deadline if kept.child.name == "worker" else deadline
            kept.child.finish(until - time.monotonic())
        self._kept.clear()

    def _watch(self, cluster: Cluster | None, port: int) -> None:
        address = f"http://{self._reached_by()}:{port}"
        began = time.monotonic()
        ready, probe_due, complain_due = False, 0.0, began + 30
        while not self._stop.wait(TICK_SECONDS):
            if cluster is not None and not cluster.is_running():
                self.say("devstack", "the database ended; starting it again")
                cluster.start(tied=True)
            for kept in self._kept:
                # The demo starts its own runs; a periodic job must not be first.
                if kept.child.name != "scheduler" or self._demo is None:
                    kept.look_after(self.say)
            now = time.monotonic()
            if ready or now < probe_due:
                continue
            probe_due = now + PROBE_SECONDS
            problem = self._demo_problem() or self._probe(address)
            if problem is None:
                ready = True
                for line in self._closing_lines:
                    self.say("devstack", line)
                self.say("devstack", f"serving at {address} (Ctrl-C stops everything)")
            elif now > complain_due:
                complain_due = now + 30
                self.say("devstack", f"not ready after {now - began:.0f} s: {problem}")
        self.say("devstack", "stopping")

    def _demo_problem(self) -> str | None:
        """Why the demo data keeps the stack from being ready; a failure only leaves it out."""
        if self._demo is None:
            return None
        status = self._demo.poll()
        if status is None:
            return "the demo data is being loaded"
        self._demo.finish(0)
        self._demo = None
        if status != 0:
            self._closing_lines.clear()
            self.say("devstack", f"the demo data was not loaded (status {status})")
        return None

    def _reached_by(self) -> str:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return f"[{host}]" if ":" in host else host

    def _probe(self, address: str) -> str | None:
        """What keeps the stack from being ready, None if nothing does."""
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=2):  # noqa: S310 - http
                return None
        except urllib.error.HTTPError as error:
            with error:
                body = error.read()
            try:
                parts = json.loads(body)["parts"]
            except (ValueError, KeyError, TypeError):
                return f"the web process answers {error.code}"
            return "; ".join(f"{k}: {v['problem']}" for k, v in parts.items() if not v["ok"])
        except OSError as error:
            return f"the web process does not answer ({error})"
