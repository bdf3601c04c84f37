"""A tool as it is measured: a server, people who sign in, and one turn of a person."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

QUESTIONS = 4_000
ANSWER = "It means what I think it means."


@dataclass
class Person:
    """Somebody with a browser: one kept-alive connection, cookies, and the times of requests."""

    name: str
    port: int
    times: dict[str, list[float]] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    connection: http.client.HTTPConnection | None = None

    def ask(
        self,
        name: str,
        method: str,
        path: str,
        *,
        form: Mapping[str, str] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """The status and the JSON, the Location or the page. Raises RuntimeError from 400 on."""
        sent = {"Accept": "*/*", **(headers or {})}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{key}={value}" for key, value in self.cookies.items())
        data = None
        if form is not None:
            data = urlencode(form)
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        elif body is not None:
            data = json.dumps(body)
            sent["Content-Type"] = "application/json"
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        began = time.perf_counter()
        try:
            self.connection.request(method, path, body=data, headers=sent)
            response = self.connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError):  # closed while it was idle
            self.connection = None
            return self.ask(name, method, path, form=form, body=body, headers=headers)
        content = response.read()
        self.times.setdefault(name, []).append(time.perf_counter() - began)
        for value in response.headers.get_all("Set-Cookie") or []:
            self.cookies.update({key: one.value for key, one in SimpleCookie(value).items()})
        if response.status >= 400:
            raise RuntimeError(f"{method} {path} answered {response.status}: {content[:500]!r}")
        if response.headers.get("Content-Type", "").startswith("application/json"):
            return response.status, json.loads(content)
        return response.status, response.headers.get("Location") or content.decode()


@dataclass
class Tool:
    """A running server; a turn asks for the next item ("next") and hands it in ("submit")."""

    name: str
    port: int
    processes: Sequence[int]
    sign_in: Callable[[Person], None]
    turn: Callable[[Person], None]

    def people(self, number: int) -> list[Person]:
        """So many people, signed in."""
        made = [Person(f"person-{at}", self.port) for at in range(number)]
        for person in made:
            self.sign_in(person)
        return made

    def memory(self) -> float:
        """Megabytes of its processes and their children, shared pages by halves (PSS)."""
        return sum(pss_of(pid) for root in self.processes for pid in family(root)) / 1e6


def family(root: int) -> list[int]:
    """A process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        found.append(waiting.pop())
        waiting += parents.get(found[-1], [])
    return found


def pss_of(pid: int) -> float:
    """Bytes of a process, 0 when it is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * float(line.split()[1])
    return 0.0


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def answers(port: int, path: str) -> bool:
    """Whether a server gives a page here; an open port may be a trial of whether it is free."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextlib.contextmanager
def started(
    command: Sequence[str | Path],
    folder: Path,
    environment: Mapping[str, str],
    port: int,
    path: str = "/",
) -> Iterator[int]:
    """The process of a server once it gives this page; it and its children end afterwards."""
    log = folder / "log.txt"
    with log.open("w") as out:
        server = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        for _ in range(3000):
            if answers(port, path):
                break
            if server.poll() is not None:
                raise RuntimeError(f"{command[0]} ended:\n{log.read_text()[-2000:]}")
            time.sleep(0.1)
        yield server.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=60)
