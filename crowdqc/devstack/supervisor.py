"""Start and keep up the whole stack: database, web, worker and scheduler."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from crowdqc.deployment.installation import default_home
from crowdqc.devstack.places import DevstackError
from crowdqc.devstack.postgres import Cluster
from crowdqc.devstack.processes import Child
from crowdqc.jobs.family import FIRST_DELAY, LONGEST_DELAY, STEADY_SECONDS

ROOT = Path(__file__).resolve().parents[2]
TICK_SECONDS = 0.1
PROBE_SECONDS = 0.3
# A job cut off then is delivered again; waiting longer would only look like a hang.
GRACE_SECONDS = 5.0
DEMO = "demo"
# As crowdqc.devstack.program exits; starting it again would not help.
FAILED_MIGRATION, FAILED_LOAD = 3, 4
FAILURES = {FAILED_MIGRATION: "the migration failed", FAILED_LOAD: "the program cannot be loaded"}
PORTS_TRIED = 20


def open_socket(host: str, port: int) -> tuple[socket.socket, int]:
    """Return a listening socket on ``port``, or on the next free port.

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
class RestartingChild:
    """A child that is restarted when it dies, with growing delays."""

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

    def restart_if_due(self, say: Callable[[str, str], None]) -> bool:
        """Restart a dead child when due; return whether it was started."""
        now = time.monotonic()
        if not self.running:
            if now >= self.due:
                self.start()
                return True
            return False
        status = self.child.poll()
        if status is None:
            return False
        if now - self.started > STEADY_SECONDS:
            self.delay = FIRST_DELAY
        how = f"signal {-status}" if status < 0 else f"status {status}"
        say("devstack", f"{self.child.name} ended ({how}); starting it again in {self.delay:g} s")
        self.running, self.due = False, now + self.delay
        self.delay = min(self.delay * 2, LONGEST_DELAY)
        return False


@dataclass
class Supervisor:
    """Run the stack in the foreground until it is stopped.

    Parameters
    ----------
    host, port
        Where to serve; the next free port is taken when that one is in use, and said.
    demo
        Whether to load the demo data.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    demo: bool = True
    _program: RestartingChild | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _print_lock: threading.Lock = field(default_factory=threading.Lock)
    _closing_lines: list[str] = field(default_factory=list)

    def print_line(self, name: str, line: str) -> None:
        """Print a line with its origin as prefix."""
        if name == DEMO:  # what follows its last empty line is said again when the stack is ready
            if not line:
                self._closing_lines.clear()
            else:
                self._closing_lines.append(line)
        with self._print_lock:
            print(f"{name:<9}| {line}", flush=True)  # whole lines, also when read through a pipe

    def run(self) -> int:
        """Start everything, keep it up, stop on a signal; return the exit status."""
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, self._on_signal)
        cluster = None if os.environ.get("DATABASE_URL") else Cluster()
        server = None
        try:
            server, port = open_socket(self.host, self.port)
            if port != self.port:
                self.print_line("devstack", f"port {self.port} is taken, using {port}")
            self._program = RestartingChild(self._child(cluster, server, port))
            self._program.start()  # it loads while the database starts
            if cluster is not None:
                self._start_database(cluster)
            self._program.child.send_byte()
            return self._watch(cluster, port)
        except DevstackError as error:
            self.print_line("devstack", str(error))
            return 1
        finally:
            if self._program is not None:
                self._program.child.request_stop()
                self._program.child.finish(GRACE_SECONDS)
            if server is not None:
                server.close()
            if cluster is not None:
                self._stop_database(cluster)
            self.print_line("devstack", "stopped")

    def _on_signal(self, signum: int, frame: object) -> None:
        if self._stop.is_set() and self._program is not None:  # asked twice: wait for nobody
            self._program.child.finish(0)
        self._stop.set()

    # -- the parts -----------------------------------------------------------------------------

    def _start_database(self, cluster: Cluster) -> None:
        if not cluster.data.exists():
            self.print_line("database", f"creating a PostgreSQL cluster in {cluster.folder}")
        cluster.start(tied=True)
        self.print_line("database", f"PostgreSQL is running (process {cluster.pid()})")

    def _stop_database(self, cluster: Cluster) -> None:
        if cluster.is_owned:
            cluster.stop()
        else:
            cluster.release()

    def _child(self, cluster: Cluster | None, server: socket.socket, port: int) -> Child:
        """Create the program of web, workers and scheduler."""
        env = os.environ | ({"DATABASE_URL": cluster.url} if cluster else {})
        env.setdefault("CROWDQC_BASE_URL", f"http://{self._reached_by()}:{port}")
        # Two lines for every periodic job would bury what matters.
        env.setdefault("LOG_LEVEL", "WARNING")
        # One line on every start about running as root would say nothing about this stack.
        env["PYTHONWARNINGS"] = "ignore:You're running the worker with superuser"
        # Each thread that allocates would otherwise have tens of megabytes to itself.
        env.setdefault("MALLOC_ARENA_MAX", "2")
        # Compiled once, beside the code where that can be written to: what an installer has
        # compiled is not compiled again.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        if not os.access(ROOT, os.W_OK):
            env["PYTHONPYCACHEPREFIX"] = str(default_home() / "bytecode")
        return Child(
            "devstack",
            [sys.executable, "-m", "crowdqc.devstack.program", str(server.fileno())],
            env=env,
            cwd=ROOT,
            say=self.print_line,
            pass_fds=[server.fileno()],
            parts=["migrate", "web", "worker", "scheduler", *([DEMO] if self.demo else [])],
        )

    def _watch(self, cluster: Cluster | None, port: int) -> int:
        assert self._program is not None  # noqa: S101 - started above
        program, address = self._program, f"http://{self._reached_by()}:{port}"
        began = time.monotonic()
        served, ready, probe_due, complain_due = False, False, 0.0, began + 30
        while not self._stop.wait(TICK_SECONDS):
            if cluster is not None and not cluster.is_running():
                self.print_line("devstack", "the database ended; starting it again")
                cluster.start(tied=True)
            if failure := FAILURES.get(program.child.poll() or 0):
                self.print_line("devstack", failure)
                return 1
            if program.restart_if_due(self.print_line):
                program.child.send_byte()  # the database is there
            now = time.monotonic()
            if ready or now < probe_due:
                continue
            probe_due = now + PROBE_SECONDS
            if not served and self._probe(port, "/healthz") is None:
                served = True
                self.print_line("devstack", f"serving at {address}; the workers are starting")
            problem = self._demo_problem() or self._probe(port, "/readyz")
            if problem is None and served:
                ready = True
                for line in self._closing_lines:
                    self.print_line("devstack", line)
                self.print_line("devstack", f"ready at {address} (Ctrl-C stops everything)")
            elif problem is not None and now > complain_due:
                complain_due = now + 30
                self.print_line("devstack", f"not ready after {now - began:.0f} s: {problem}")
        self.print_line("devstack", "stopping")
        return 0

    def _demo_problem(self) -> str | None:
        """Return why the demo data is missing; a failure only leaves it out."""
        assert self._program is not None  # noqa: S101 - started above
        return "the demo data is being loaded" if self._program.child.is_writing(DEMO) else None

    def _loopback(self) -> str:
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104

    def _reached_by(self) -> str:
        host = self._loopback()
        return f"[{host}]" if ":" in host else host

    def _probe(self, port: int, path: str) -> str | None:
        """Return the problem that our own probe reports, or None."""
        # By hand: the modules that speak HTTP would double the memory of this process.
        request = f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n"
        answer = b""
        try:
            with socket.create_connection((self._loopback(), port), timeout=2) as asked:
                asked.sendall(request.encode())
                while piece := asked.recv(65536):
                    answer += piece
        except OSError as error:
            return f"the web process does not answer ({error})"
        head, _, body = answer.partition(b"\r\n\r\n")
        status = head.split(b" ", 2)[1:2]
        if status == [b"200"]:
            return None
        try:
            parts = json.loads(body)["parts"]
        except (ValueError, KeyError, TypeError):
            return f"the web process answers {b''.join(status).decode() or 'nothing'}"
        return "; ".join(f"{k}: {v['problem']}" for k, v in parts.items() if not v["ok"])
