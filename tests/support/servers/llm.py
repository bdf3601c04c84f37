"""A model for tests: an OpenAI-compatible server on loopback whose answers a test scripts."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import math
import re
import sys
import threading
import time
import wave
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from annotation.models import Project
from evaluation.models import Endpoint, LanguageModel

Body = dict[str, Any]
WIDTH = 16  # of the stub's vectors
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Fault:
    """What an endpoint may do instead of answering.

    An HTTP ``status`` with ``headers`` and an ``error`` in words; ``text`` with a ``finish`` reason
    (cut off: "length") or a ``refusal``; before that a pause of ``seconds``, or the answer a byte
    at a time with ``drip`` seconds between two, or the connection ``cut``.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str = "scripted"
    text: str = ""
    finish: str = "stop"
    refusal: str = ""
    seconds: float = 0.0
    drip: float = 0.0
    cut: bool = False
    raw: bytes | None = None


@dataclass(frozen=True)
class Chances:
    """An answer of one token with the probabilities of it and of others in its place."""

    text: str
    chances: Mapping[str, float]


# The request's body -> what the model says, or a fault.
Answer = Callable[[Body], "str | Fault | Chances"]


class Stub:
    """A running server; ``asked`` are the bodies of all requests so far, ``keys`` their keys.

    It lists the model stub-1 at /models and turns texts into vectors of ``width`` letter counts.
    """

    def __init__(self, answer: Answer, *, usage: bool = True) -> None:
        self.answer, self.usage, self.width = answer, usage, WIDTH
        self.asked: list[Body] = []
        self.keys: list[str] = []
        self.lock = threading.Lock()
        self.server = _Server(("127.0.0.1", 0), _handler(self))
        self.base_url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def completion(self, body: Body, said: str | Fault | Chances) -> Body:
        """An answer as the endpoints give it."""
        if "prompt" in body:
            return self.echo(body)
        message: Body = {
            "role": "assistant",
            "content": said if isinstance(said, str) else said.text,
        }
        choice: Body = {"index": 0, "finish_reason": "stop", "message": message}
        if isinstance(said, Fault):
            choice["finish_reason"] = said.finish
            message["refusal"] = said.refusal or None
        if isinstance(said, Chances) and body.get("logprobs"):
            tops = [
                {"token": token, "logprob": math.log(chance)}
                for token, chance in said.chances.items()
            ]
            first = {"token": said.text, "logprob": -0.1, "top_logprobs": tops}
            choice["logprobs"] = {"content": [first]}
        told = {
            "id": "c",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [choice],
        }
        if self.usage:
            told["usage"] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return told

    def transcription(self, body: Body, said: str | Chances) -> Body:
        """A transcript as the endpoints give it, with the duration where the form has one."""
        told: Body = {"text": said if isinstance(said, str) else said.text}
        if body["response_format"] == "verbose_json" and self.usage:
            with wave.open(io.BytesIO(body["file"]["bytes"])) as sound:
                told["duration"] = sound.getnframes() / sound.getframerate()
        return told

    def echo(self, body: Body) -> Body:
        """The prompt with its tokens, as vLLM gives it: words with the space behind them.

        A token's log-probability is minus a tenth of its length; the first one has none.
        """
        words = ["<s>", *re.findall(r"\S+\s*", body["prompt"]), "End"]
        chances = [None, *(-len(word) / 10 for word in words[1:])]
        found = {"tokens": words, "token_logprobs": chances if body.get("echo") else [None] * 3}
        choice = {"index": 0, "text": "".join(words), "logprobs": found, "finish_reason": "length"}
        usage = {"prompt_tokens": len(words) - 1, "completion_tokens": 1}
        return {"object": "text_completion", "choices": [choice], "usage": usage}

    def vectors(self, body: Body) -> Body:
        """Vectors as the endpoints give them: how often each of some letters stands in a text."""
        letters = [chr(97 + k) for k in range(self.width)]
        rows = [
            {
                "index": at,
                "object": "embedding",
                "embedding": [text.lower().count(letter) + 0.01 for letter in letters],
            }
            for at, text in enumerate(body["input"])
        ]
        return {
            "object": "list",
            "model": body["model"],
            "data": rows,
            "usage": {"prompt_tokens": 10, "total_tokens": 10},
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that its other end has left, as killed workers do."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _form_of(content_type: str, sent: bytes) -> Body:
    """The fields of a multipart form; of a file its name, type and bytes."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    found: Body = {}
    for part in BytesParser(policy=HTTP).parsebytes(head + sent).iter_parts():
        data, file = part.get_payload(decode=True), part.get_filename()
        name = str(part.get_param("name", header="content-disposition"))
        assert isinstance(data, bytes)
        told = {"name": file, "type": part.get_content_type(), "bytes": data}
        found[name] = told if file else data.decode()
    return found


def _handler(stub: Stub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            names = {"object": "list", "data": [{"id": "stub-1", "object": "model"}]}
            self._tell(json.dumps(names).encode())

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path.endswith("/audio/transcriptions"):
                body = _form_of(self.headers["Content-Type"], sent)
            else:
                body = json.loads(sent)
            with stub.lock:
                stub.asked.append(body)
                stub.keys.append(self.headers.get("Authorization", ""))
            if self.path.endswith("/embeddings"):
                return self._tell(json.dumps(stub.vectors(body)).encode())
            said = stub.answer(body)
            if isinstance(said, Fault):
                return self._fail(body, said)
            if "file" in body:
                return self._tell(json.dumps(stub.transcription(body, said)).encode())
            return self._tell(json.dumps(stub.completion(body, said)).encode())

        def _fail(self, body: Body, fault: Fault) -> None:
            time.sleep(fault.seconds)
            if fault.status != 200:
                told = json.dumps({"error": {"message": fault.error}}).encode()
            else:
                told = json.dumps(stub.completion(body, fault)).encode()
            told = told if fault.raw is None else fault.raw
            if fault.cut:
                told = told[: len(told) // 2]
            with contextlib.suppress(ConnectionError):  # whoever asked may have gone
                self._tell(told, fault)

        def _tell(self, told: bytes, fault: Fault = Fault()) -> None:
            self.send_response(fault.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(told) * (2 if fault.cut else 1)))
            for name, value in fault.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if fault.cut:
                self.wfile.write(told)
                self.close_connection = True
                return
            step = 1 if fault.drip else len(told)
            for start in range(0, len(told), step):
                self.wfile.write(told[start : start + step])
                time.sleep(fault.drip)

    return Handler


@contextmanager
def serving(answer: Answer, *, usage: bool = True) -> Iterator[Stub]:
    """A stub server for the time of the block."""
    stub = Stub(answer, usage=usage)
    thread = threading.Thread(target=stub.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub.server.shutdown()
        stub.server.server_close()
        thread.join()


def make_model(
    project: Project,
    base_url: str,
    *,
    name: str = "stub-1",
    form: str = "json_schema",
    use: str = "chat",
    can: Mapping[str, Any] | None = None,
    **fields: Any,
) -> LanguageModel:
    """A model of an endpoint of the project; ``fields`` are the endpoint's (hard_budget...)."""
    endpoint = Endpoint.objects.create(
        project=project,
        name=f"Endpoint {next(_numbers)}",
        base_url=base_url,
        created_by=project.owner,
        **fields,
    )
    told: Body = {"format": form, "limit": "max_tokens"} if use == "chat" else {"dim": WIDTH}
    if use == "speech":
        told = {"transcription": "verbose_json"}
    return LanguageModel.objects.create(
        endpoint=endpoint,
        name=name,
        use=use,
        can={**told, **(can or {})},
        price_in=Decimal("1"),
        price_out=Decimal("2"),
    )
