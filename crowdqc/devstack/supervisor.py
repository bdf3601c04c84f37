"""One command for the whole stack: database, web, worker and scheduler, started and kept up."""

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
FAILED_MIGRATION = 3  # as crowdqc.devstack.program exits
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

    def look_after(self, say: Callable[[str, str], None]) -> bool:
        """Notice a death and start again when it is due; whether it was started just now."""
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
    """Runs the stack in the foreground until it is told to stop.

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
    _program: Kept | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _print_lock: threading.Lock = field(default_factory=threading.Lock)
    _closing_lines: list[str] = field(default_factory=list)

    def say(self, name: str, line: str) -> None:
        """Print one line with its origin before it."""
        if name == DEMO:  # what follows its last empty line is said again when the stack is ready
            if not line:
                self._closing_lines.clear()
            else:
                self._closing_lines.append(line)
        with self._print_lock:
            print(f"{name:<9}| {line}", flush=True)  # whole lines, also when read through a pipe

    def run(self) -> int:
        """Start everything, keep it up, stop it on SIGINT or SIGTERM; the exit status."""
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, self._on_signal)
        cluster = None if os.environ.get("DATABASE_URL") else Cluster()
        server = None
        try:
            server, port = listen(self.host, self.port)
            if port != self.port:
                self.say("devstack", f"port {self.port} is taken, using {port}")
            self._program = Kept(self._child(cluster, server, port))
            self._program.start()  # it loads while the database starts
            if cluster is not None:
                self._start_database(cluster)
            self._program.child.tell()
            return self._watch(cluster, port)
        except DevstackError as error:
            self.say("devstack", str(error))
            return 1
        finally:
            if self._program is not None:
                self._program.child.request_stop()
                self._program.child.finish(GRACE_SECONDS)
            if server is not None:
                server.close()
            if cluster is not None:
                self._stop_database(cluster)
            self.say("devstack", "stopped")

    def _on_signal(self, signum: int, frame: object) -> None:
        if self._stop.is_set() and self._program is not None:  # asked twice: wait for nobody
            self._program.child.finish(0)
        self._stop.set()

    # -- the parts -----------------------------------------------------------------------------

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

    def _child(self, cluster: Cluster | None, server: socket.socket, port: int) -> Child:
        """Web, workers and scheduler, as one program."""
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
            say=self.say,
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
                self.say("devstack", "the database ended; starting it again")
                cluster.start(tied=True)
            if program.child.poll() == FAILED_MIGRATION:
                self.say("devstack", "the migration failed")
                return 1
            if program.look_after(self.say):
                program.child.tell()  # the database is there
            now = time.monotonic()
            if ready or now < probe_due:
                continue
            probe_due = now + PROBE_SECONDS
            if not served and self._probe(port, "/healthz") is None:
                served = True
                self.say("devstack", f"serving at {address}; the workers are starting")
            problem = self._demo_problem() or self._probe(port, "/readyz")
            if problem is None and served:
                ready = True
                for line in self._closing_lines:
                    self.say("devstack", line)
                self.say("devstack", f"ready at {address} (Ctrl-C stops everything)")
            elif problem is not None and now > complain_due:
                complain_due = now + 30
                self.say("devstack", f"not ready after {now - began:.0f} s: {problem}")
        self.say("devstack", "stopping")
        return 0

    def _demo_problem(self) -> str | None:
        """Why the demo data keeps the stack from being ready; a failure only leaves it out."""
        assert self._program is not None  # noqa: S101 - started above
        return "the demo data is being loaded" if self._program.child.is_writing(DEMO) else None

    def _loopback(self) -> str:
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104

    def _reached_by(self) -> str:
        host = self._loopback()
        return f"[{host}]" if ":" in host else host

    def _probe(self, port: int, path: str) -> str | None:
        """What a page of our own says is wrong, None if nothing is."""
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
