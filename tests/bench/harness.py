"""What the web benchmarks share: a scratch database, gunicorn on it, and clients that measure.

Everything runs as in production: PostgreSQL, gunicorn with threads, psycopg's pool, keep-alive.
The clients are threads of this process, so they share the machine with what they measure.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

ROOT = Path(__file__).resolve().parent.parent.parent
CSRF = "b" * 32
Someone = TypeVar("Someone")


class NotHere(Exception):
    """What a benchmark needs is not on this machine: the message says what, and what to do."""


@contextlib.contextmanager
def scratch_database() -> Iterator[dict[str, str]]:
    """The environment of a new, migrated database; dropped afterwards.

    On the server of DATABASE_URL where that is set, else on an embedded cluster of its own.
    """
    import psycopg
    from psycopg import sql

    with contextlib.ExitStack() as stack:
        base = os.environ.get("DATABASE_URL")
        if not base:
            from crowdqc.devstack import Cluster

            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="crowdqc-bench-"))
            if os.geteuid() == 0:
                Path(home).chmod(0o711)  # the database's account has to walk through it
            cluster = Cluster(Path(home)).start(tied=True)
            stack.callback(cluster.stop)
            from crowdqc.devstack import database_url

            base = database_url(Path(home))
        parts, name = urlsplit(base), f"crowdqc_bench_{secrets.token_hex(4)}"
        admin = psycopg.connect(urlunsplit(parts._replace(path="/postgres")), autocommit=True)
        stack.callback(admin.close)
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        stack.callback(admin.execute, drop)
        environment = {
            **os.environ,
            "DATABASE_URL": urlunsplit(parts._replace(path=f"/{name}")),
            "SECRET_KEY": "for benchmarks only",
            "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
            "LOG_LEVEL": "ERROR",
        }
        python(environment, "manage.py", "migrate", "--verbosity", "0")
        yield environment


def python(environment: dict[str, str], *arguments: str) -> str:
    """Run Python in the repository; returns what it printed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{arguments} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def fill(environment: dict[str, str], **sizes: int) -> dict[str, Any]:
    """What ``tests.bench.service.fill`` made of the database: sessions, addresses, ids."""
    plain = environment
    found: dict[str, Any] = json.loads(
        python(plain, "-m", "tests.bench.service.fill", json.dumps(sizes))
    )
    return found


@contextlib.contextmanager
def served(environment: dict[str, str], app: str, *, workers: int) -> Iterator[int]:
    """gunicorn as the stack starts it, serving ``app``; gives its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        app,
        "--bind",
        f"127.0.0.1:{port}",
        "--log-level",
        "error",
        "--config",
        "python:crowdqc.web.server",
        "--workers",
        str(workers),
    ]
    server = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if server.poll() is not None:
                raise RuntimeError("gunicorn ended before it served anything.")
            time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait(timeout=30)


@dataclass
class Client:
    """One signed-in browser, or a program with a token, on one kept-alive connection.

    Times every request it makes.
    """

    port: int
    session: str = ""
    token: str = ""
    times: dict[str, list[float]] = field(default_factory=dict)
    connection: http.client.HTTPConnection | None = None

    def ask(self, name: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and the JSON, the Location or the page; the time goes to ``name``."""
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Token {self.token}"
        else:
            headers["Cookie"] = f"sessionid={self.session}; csrftoken={CSRF}"
            headers["X-CSRFToken"] = CSRF
        data = None if body is None else json.dumps(body)
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        began = time.perf_counter()
        self.connection.request(method, path, body=data, headers=headers)
        response = self.connection.getresponse()
        content = response.read()
        self.times.setdefault(name, []).append(time.perf_counter() - began)
        if response.status >= 400:
            return response.status, content[:500]
        if response.headers.get("Content-Type", "").startswith("application/json"):
            return response.status, json.loads(content)
        return response.status, response.headers.get("Location") or content.decode()


def together(
    clients: Sequence[Someone],
    seconds: float,
    turn: Callable[[Someone], None],
    *,
    every: float = 0.0,
) -> float:
    """Let every client take turns for so many seconds at once; gives the seconds it took.

    With ``every`` a client begins a turn at most once in so many seconds, at its own moment, as
    people do; without it there is always one request of each client on its way.
    """
    errors: list[BaseException] = []
    began = time.perf_counter()
    end = began + seconds

    def run(client: Someone) -> None:
        begins = began + every * clients.index(client) / len(clients)
        try:
            while max(begins, time.perf_counter()) < end and not errors:
                time.sleep(max(0.0, begins - time.perf_counter()))
                turn(client)
                begins += every
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return time.perf_counter() - began


def warm(clients: list[Client], seconds: float, turn: Callable[[Client], None]) -> None:
    """The same without counting: imports, plans and connections are there afterwards."""
    together(clients, seconds, turn)
    for client in clients:
        client.times.clear()


def percentile(clients: list[Client], name: str, share: float = 0.95) -> float:
    """Milliseconds within which this share of the requests was answered."""
    times = sorted(time for client in clients for time in client.times.get(name, []))
    if not times:
        raise RuntimeError(f"Nothing was measured under {name!r}.")
    return 1000 * times[min(len(times) - 1, int(share * len(times)))]


def count(clients: list[Client], name: str) -> int:
    """Requests answered under this name."""
    return sum(len(client.times.get(name, [])) for client in clients)


def best(work: Callable[[], Any], times: int) -> tuple[float, Any]:
    """The least seconds of several runs, and what came out."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), found


def figure(
    name: str, value: float, unit: str, peer: tuple[str, float], note: str
) -> dict[str, Any]:
    """One row of ``build/bench.json``; ``peer`` is its name and value, the ratio value to peer."""
    peer_name, peer_value = peer
    return {
        "name": name,
        "value": round(value, 2),
        "unit": unit,
        "peer": peer_name,
        "peer_value": round(peer_value, 2),
        "ratio": round(value / peer_value, 3) if peer_value else None,
        "note": note,
    }


def trivial(port: int, clients: int, seconds: float) -> tuple[float, list[Client]]:
    """Requests a second of the read-plus-insert view, and the clients with their times."""
    made = [Client(port) for _ in range(clients)]

    def turn(client: Client) -> None:
        status, _ = client.ask("trivial", "POST", "/", {})
        if status != 200:
            raise RuntimeError(f"The trivial view answered {status}.")

    warm(made, 1.0, turn)
    took = together(made, seconds, turn)
    return count(made, "trivial") / took, made
