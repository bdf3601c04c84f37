"""A system that is told of events: a server on loopback whose answers a test scripts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What it answers, after a pause; with ``drip`` its body comes a byte at a time."""

    status: int = 204
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    drip: float = 0.0


@dataclass(frozen=True)
class Got:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass
class Receiver:
    """``got`` are all requests so far; ``answer`` says what to reply to each."""

    url: str
    got: list[Got]
    answer: Callable[[Got], Reply]


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A running one, which takes everything until told otherwise."""
    made = Receiver("", [], lambda got: Reply())

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"] or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            got = Got(self.path, headers, body)
            made.got.append(got)
            self.reply(made.answer(got))

        def reply(self, reply: Reply) -> None:
            time.sleep(reply.seconds)
            try:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                step = 1 if reply.drip else max(1, len(reply.body))
                for start in range(0, len(reply.body), step):
                    self.wfile.write(reply.body[start : start + step])
                    time.sleep(reply.drip)
            except OSError:
                pass  # nobody listens any more

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_port}/events?room=1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
