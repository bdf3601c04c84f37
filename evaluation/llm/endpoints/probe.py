"""What a model can do, found by asking it: a few short requests, each of one feature.

What an endpoint does not know it may refuse (HTTP 400) or ignore; so a feature counts as there
only where the answer shows it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.conf import settings

from crowdqc import outbound
from crowdqc.errors import Conflict
from crowdqc.files.json_input import Unreadable, read_json
from evaluation.llm import completion
from evaluation.llm.client import Sender, plain
from evaluation.llm.completion import CHAT, EMBEDDINGS, Completion, Outcome
from evaluation.llm.schemas import JSON_OBJECT, JSON_SCHEMA, PLAIN, Strict
from evaluation.models import Endpoint, LanguageModel

LIMITS = ("max_tokens", "max_completion_tokens")
TOPS = (20, 5)  # OpenAI allows 20, some others 5
MOST_NAMES, MOST_BYTES = 500, 4_000_000
WORDS = "Is a stork a bird? Answer yes or no."


class Shade(Strict):
    """A form that nobody answers in by chance."""

    shade: Literal["ultramarine", "vermilion"]
    parts: int


@dataclass(frozen=True)
class Found:
    """What a probe found: ``can`` as it is stored (None: the model was not reached), and a note."""

    can: dict[str, Any] | None
    note: str


def probe(model: LanguageModel) -> Found:
    """Ask the model; raises Conflict (no key) and Invalid (address) before anything is sent."""
    with _sender(model.endpoint) as sender:
        if model.use == LanguageModel.Use.EMBEDDING:
            return _embedding(sender, model)
        return _chat(sender, model)


@contextlib.contextmanager
def _sender(endpoint: Endpoint) -> Iterator[Sender]:
    link = completion.link_of(endpoint)
    seconds = min(link.timeout, settings.CROWDQC_PROBE_TIMEOUT / 2)
    sender = _Hurried(completion.Link(link.base_url, link.key, seconds))
    try:
        yield sender
    finally:
        sender.close()


class _Hurried(Sender):
    """A sender whose requests are for one probe, which has an end of its own."""

    def __init__(self, link: completion.Link) -> None:
        super().__init__(link)
        self._until = time.monotonic() + settings.CROWDQC_PROBE_TIMEOUT - link.timeout

    def send(self, path: str, body: Mapping[str, Any]) -> Completion:
        if time.monotonic() > self._until:
            return Completion(outcome=Outcome.TIMEOUT, reason="The model is too slow to probe.")
        return super().send(path, body)


def _embedding(sender: Sender, model: LanguageModel) -> Found:
    found = sender.send(EMBEDDINGS, {"model": model.name, "input": ["A stork.", "A chimney."]})
    if found.outcome != Outcome.OK:
        return Found(None, found.reason)
    widths = {len(vector) for vector in found.vectors}
    if len(found.vectors) != 2 or len(widths) != 1 or 0 in widths:
        return Found(None, "The endpoint gave no vector for each text.")
    return Found({"dim": widths.pop()}, "")


def _chat(sender: Sender, model: LanguageModel) -> Found:
    can: dict[str, Any] = {}
    told = Completion()
    for limit in LIMITS:
        told = sender.send(CHAT, _body(model, {limit: 16}))
        if told.outcome != Outcome.REJECTED or told.status != 400:
            break
    if told.outcome not in (Outcome.OK, Outcome.REFUSED):
        return Found(None, told.reason)
    can["limit"] = limit
    can["format"], said = _format(sender, model, limit)
    notes = [said] if said else []
    can["logprobs"] = False
    for tops in TOPS:
        more = {limit: 4, "logprobs": True, "top_logprobs": tops, "temperature": 0}
        found = sender.send(CHAT, _body(model, more))
        if found.outcome == Outcome.OK:
            can["logprobs"] = any(len(top.others) > 1 for top in found.tops)
            can["top_logprobs"] = tops
            break
    seeded = sender.send(CHAT, _body(model, {limit: 4, "seed": 7}))
    can["seed"] = seeded.outcome == Outcome.OK
    if told.tokens_in is None:
        notes.append("It tells no usage, so calls cost what was reserved for them.")
    return Found(can, " ".join(notes))


def _body(model: LanguageModel, more: Mapping[str, Any], words: str = WORDS) -> dict[str, Any]:
    return {"model": model.name, "messages": [{"role": "user", "content": words}], **more}


def _format(sender: Sender, model: LanguageModel, limit: str) -> tuple[str, str]:
    """The best format that the model was held to, and a note."""
    # The question leads away from the form, so that only an endpoint that enforces it obeys.
    form = {"name": "shade", "schema": Shade.model_json_schema(), "strict": True}
    asked = {"type": "json_schema", "json_schema": form}
    found = sender.send(CHAT, _body(model, {limit: 200, "response_format": asked}))
    if found.outcome == Outcome.OK and _fits(found.text):
        return JSON_SCHEMA, ""
    words = "Name one bird. Answer with a JSON object that has the field bird."
    asked = {"type": "json_object"}
    found = sender.send(CHAT, _body(model, {limit: 200, "response_format": asked}, words))
    if found.outcome == Outcome.OK and _is_object(found.text):
        return JSON_OBJECT, "It is not held to a schema; the form is told in words."
    return PLAIN, "It is not held to any form; answers are read from plain text."


def _fits(text: str) -> bool:
    try:
        Shade.model_validate_json(text)
    except ValueError:
        return False
    return True


def _is_object(text: str) -> bool:
    try:
        return isinstance(read_json(text, any_text=True), dict)
    except Unreadable:
        return False


def model_names(endpoint: Endpoint) -> list[str]:
    """What the endpoint lists at /models, in alphabetical order; Conflict says why nothing."""
    link = completion.link_of(endpoint)
    key = {"authorization": f"Bearer {link.key}"}
    seconds = min(link.timeout, settings.CROWDQC_PROBE_TIMEOUT)
    try:
        with outbound.Client(seconds=seconds, most_bytes=MOST_BYTES, headers=key) as client:
            answer = client.send("GET", f"{link.base_url}/models")
        if answer.status != 200:
            raise Conflict(f"{endpoint.name} lists no models: HTTP {answer.status}.")
        names = {str(one["id"])[:160] for one in read_json(answer.body, any_text=True)["data"]}
    except outbound.OutboundError as error:
        raise Conflict(f"{endpoint.name} lists no models. {error}") from None
    except (Unreadable, KeyError, TypeError):
        raise Conflict(f"{endpoint.name} lists no models: its answer is no such list.") from None
    return sorted(plain(name) for name in names)[:MOST_NAMES]
