"""Spans of traces that come in while ten people answer: how many a second, and what people notice.

A span is stored when its request is answered. The peer, Phoenix, answers first and stores later, so
it is given until the last span is in its database.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import itertools
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.bench import harness
from tests.bench.harness import Client, figure, percentile
from tests.bench.peers.environments import PEERS, command_of

PEOPLE = 10
EVERY = 3.0  # seconds that a person takes for an assignment of five items
SECONDS = 20.0
SENDERS = 4
TRACES, STEPS = 10, 10  # of a request
BATCH = TRACES * STEPS
RATE = 500  # spans a second that the endpoint has to keep up with
LABELS = {"l-verdict": "supported", "l-tone": "calm", "l-sure": "3"}
WORDS = "Your parcel is on its way to the shop and will be there on Friday before noon. " * 8
SETTLE = """
import os, time, django
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
django.setup()
from annotation.traces.actions.settle import settle_due
while True:
    settle_due()
    time.sleep(5)
"""


@dataclass
class Sender:
    """An application that exports its spans; every request has new traces."""

    port: int
    path: str = "/v1/traces"
    token: str = ""
    connection: http.client.HTTPConnection | None = None
    sent: int = 0
    times: dict[str, list[float]] = field(default_factory=dict)

    def send(self) -> None:
        headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        data = body()
        began = time.perf_counter()
        self.connection.request("POST", self.path, body=data, headers=headers)
        answer = self.connection.getresponse()
        said = answer.read()
        if answer.status == 503:  # the peer takes no more for a moment
            time.sleep(0.1)
            return
        if answer.status != 200:
            raise RuntimeError(f"Spans were answered by {answer.status}: {said[:200]!r}")
        self.times.setdefault("spans", []).append(time.perf_counter() - began)
        self.sent += BATCH


def body() -> bytes:
    """A request of a batch, as the SDK of OpenTelemetry writes it."""
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    now = time.time_ns()
    for _ in range(TRACES):
        trace, ids = uuid.uuid4().bytes, [os.urandom(8) for _ in range(STEPS)]
        history = [{"role": "user", "parts": [{"type": "text", "content": WORDS}]}]
        for number, own in enumerate(ids):
            span = spans.add(trace_id=trace, span_id=own, name=f"step {number}")
            span.parent_span_id = ids[0] if number else b""
            span.start_time_unix_nano = now + number * 10**6
            span.end_time_unix_nano = now + (number + 1) * 10**6
            own_kind = "chat" if number % 2 else "execute_tool"
            values = {"gen_ai.operation.name": own_kind if number else "invoke_agent"}
            if number % 2:
                answer = {"role": "assistant", "parts": [{"type": "text", "content": WORDS}]}
                values["gen_ai.input.messages"] = json.dumps(history)
                values["gen_ai.output.messages"] = json.dumps([answer])
            elif number:
                values["gen_ai.tool.name"] = "find_order"
                values["gen_ai.tool.call.arguments"] = json.dumps({"order": number})
            for key, value in values.items():
                span.attributes.add(key=key).value.string_value = value
    return gzip.compress(request.SerializeToString(), 1)


def answering(claim: str) -> Any:
    """One turn of a person's program: an assignment is taken and handed in."""

    def turn(client: Client) -> None:
        status, found = client.ask("work", "POST", claim, {})
        if status != 200:
            raise RuntimeError(f"claim answered {status}: {found!r}")
        answers = {str(entry["item"]): LABELS for entry in found["entries"]}
        path = f"/api/work/assignments/{found['id']}/submit/"
        status, said = client.ask(
            "work", "POST", path, {"key": str(uuid.uuid4()), "answers": answers}
        )
        if status != 200:
            raise RuntimeError(f"submit answered {status}: {said!r}")

    return turn


def beside(senders: list[Sender], *, every: float = 0.0) -> tuple[threading.Thread, list[float]]:
    """Let applications send on a thread of their own; the seconds it took come into the list."""
    took: list[float] = []

    def send() -> None:
        took.append(harness.together(senders, SECONDS, Sender.send, every=every))

    thread = threading.Thread(target=send)
    thread.start()
    return thread, took


@contextlib.contextmanager
def phoenix() -> Iterator[tuple[int, Path]]:
    """The port of a running Phoenix, and the file of its database."""
    command = command_of("phoenix")
    with tempfile.TemporaryDirectory() as home, contextlib.ExitStack() as stack:
        ports = []
        for _ in range(2):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                ports.append(probe.getsockname()[1])
        variables = {
            **os.environ,
            "HOME": home,
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": str(ports[0]),
            "PHOENIX_GRPC_PORT": str(ports[1]),
            "PHOENIX_WORKING_DIR": home,
            "PHOENIX_TELEMETRY_ENABLED": "false",
        }
        log = stack.enter_context((Path(home) / "log").open("w"))
        server = subprocess.Popen([command, "serve"], env=variables, stdout=log, stderr=log)
        stack.callback(server.wait, 20)
        stack.callback(server.terminate)
        for _ in range(240):
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{ports[0]}/healthz", timeout=2),
            ):
                break
            time.sleep(0.5)
        yield ports[0], Path(home) / "phoenix.db"


def peer_rate() -> float:
    """Spans a second that Phoenix stores, with nothing else to do."""
    with phoenix() as (port, database):
        senders = [Sender(port) for _ in range(SENDERS)]
        senders[0].send()
        began = time.perf_counter()
        harness.together(senders, SECONDS, Sender.send)
        wanted = sum(sender.sent for sender in senders)
        for _ in range(600):
            with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as rows:
                [stored] = rows.execute("SELECT count(*) FROM spans").fetchone()
            if stored >= wanted:
                break
            time.sleep(0.2)
        return float(stored / (time.perf_counter() - began))


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    peer = peer_rate()
    with harness.scratch_database() as environment:
        paths = harness.fill(
            environment, items=20_000, people=PEOPLE, answered=0, labels=1, sources=1
        )
        turn = answering(paths["api_claim"])
        settling = subprocess.Popen(
            [sys.executable, "-c", SETTLE], cwd=harness.ROOT, env=environment
        )
        try:
            with harness.served(environment, "crowdqc.wsgi", workers=2) as port:
                people = [Client(port, token=token) for token in paths["tokens"]]
                harness.warm(people, 2.0, turn)
                harness.together(people, SECONDS, turn, every=EVERY)
                alone = percentile(people, "work")
                rates = []
                for every in (0.0, SENDERS * BATCH / RATE):
                    senders = [
                        Sender(port, "/otel/v1/traces", paths["source"]) for _ in range(SENDERS)
                    ]
                    senders[0].send()
                    for client in people:
                        client.times.clear()
                    before = sum(sender.sent for sender in senders)
                    thread, took = beside(senders, every=every)
                    harness.together(people, SECONDS, turn, every=EVERY)
                    thread.join()
                    rates.append((sum(one.sent for one in senders) - before) / took[0])
                    last = senders
        finally:
            settling.terminate()
            settling.wait()
    note = (
        f"two gunicorn processes, {SENDERS} applications, {BATCH} spans a request as gzipped "
        f"protobuf with messages, masked and stored when answered, beside {PEOPLE} people who each "
        f"hand in five labels every {EVERY:.0f} s, and settling; aim {RATE} spans/s"
    )
    alone_peer = (f"{PEERS['phoenix']}, alone", peer)
    every_span = sorted(itertools.chain.from_iterable(one.times["spans"] for one in last))
    return [
        figure("spans received beside ten people", rates[0], "spans/s", alone_peer, note),
        figure("spans received, paced", rates[1], "spans/s", ("spans sent", float(RATE)), note),
        figure(
            f"request of {BATCH} spans at {RATE}/s, p95",
            1000 * every_span[int(0.95 * len(every_span))],
            "ms", ("second", 1000.0), note,
        ),
        figure(
            f"API of work at {RATE} spans/s, p95",
            percentile(people, "work"),
            "ms", ("without spans", alone), note,
        ),
    ]  # fmt: skip
