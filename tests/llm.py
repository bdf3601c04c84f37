"""A model for tests: an OpenAI-compatible server on loopback whose answers a test scripts."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from annotation.models import Project
from evaluation.models import Endpoint, LanguageModel

Body = dict[str, Any]
Answer = Callable[[Body], str]  # the request's body -> what the model says
_numbers = itertools.count(1)


class Stub:
    """A running server; ``asked`` are the bodies of all requests so far."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.asked, self.lock = answer, [], threading.Lock()  # type: ignore[var-annotated]
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None:
                """Say nothing."""

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with stub.lock:
                    stub.asked.append(body)
                told = json.dumps(stub.completion(body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def completion(self, body: Body) -> Body:
        """An answer as the endpoints give it."""
        text = self.answer(body)
        return {
            "id": "c", "object": "chat.completion", "created": 0, "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop",
                         "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }  # fmt: skip


@contextmanager
def serving(answer: Answer) -> Iterator[Stub]:
    """A stub server for the time of the block."""
    stub = Stub(answer)
    thread = threading.Thread(target=stub.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub.server.shutdown()
        stub.server.server_close()
        thread.join()


def make_model(
    project: Project, base_url: str, *, name: str = "stub-1", form: str = "json_schema",
    **fields: Any,
) -> LanguageModel:  # fmt: skip
    """A model of an endpoint of the project; ``fields`` are the endpoint's (hard_budget...)."""
    endpoint = Endpoint.objects.create(
        project=project, name=f"Endpoint {next(_numbers)}", base_url=base_url,
        created_by=project.owner, **fields,
    )  # fmt: skip
    return LanguageModel.objects.create(
        endpoint=endpoint, name=name, can={"format": form, "limit": "max_tokens"},
        price_in=Decimal("1"), price_out=Decimal("2"),
    )  # fmt: skip
