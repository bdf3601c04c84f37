"""What a model can do, found by asking it: a few short requests, each of one feature.

What an endpoint does not know it may refuse (HTTP 400) or ignore; so a feature counts as there
only where the answer shows it.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import time
import wave
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from annotation.models import User
from annotation.records.actions.audit import record
from crowdqc import outbound, queue
from crowdqc.errors import Conflict, DomainError
from crowdqc.files.json_input import Unreadable, read_json
from evaluation.llm import completion
from evaluation.llm.client import Sender, plain
from evaluation.llm.completion import CHAT, EMBEDDINGS, TRANSCRIPTIONS, Completion, Outcome
from evaluation.llm.schemas import JSON_OBJECT, JSON_SCHEMA, PLAIN, Strict
from evaluation.models import Endpoint, LanguageModel

TRANSCRIPTS = ("verbose_json", "json")  # forms of an answer; some models know the second alone
LIMITS = ("max_tokens", "max_completion_tokens")
TOPS = (20, 5)  # OpenAI allows 20, some others 5
MOST_NAMES, MOST_BYTES = 500, 4_000_000
WORDS = "Is a stork a bird? Answer yes or no."


class Shade(Strict):
    """A form that nobody answers in by chance."""

    shade: Literal["ultramarine", "vermilion"]
    parts: int


@dataclass(frozen=True)
class ProbeResult:
    """What a probe found: ``can`` as it is stored (None: the model was not reached), and a note."""

    can: dict[str, Any] | None
    note: str


def probe(model: LanguageModel) -> ProbeResult:
    """Ask the model; raises Conflict (no key) and Invalid (address) before anything is sent."""
    with _sender(model.endpoint) as sender:
        if model.use == LanguageModel.Use.EMBEDDING:
            return _embedding(sender, model)
        if model.use == LanguageModel.Use.SPEECH:
            return _speech(sender, model)
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


def _embedding(sender: Sender, model: LanguageModel) -> ProbeResult:
    found = sender.send(EMBEDDINGS, {"model": model.name, "input": ["A stork.", "A chimney."]})
    if found.outcome != Outcome.OK:
        return ProbeResult(None, found.reason)
    widths = {len(vector) for vector in found.vectors}
    if len(found.vectors) != 2 or len(widths) != 1 or 0 in widths:
        return ProbeResult(None, "The endpoint gave no vector for each text.")
    return ProbeResult({"dim": widths.pop()}, "")


def _speech(sender: Sender, model: LanguageModel) -> ProbeResult:
    """Have a second of silence written down: with its duration, else as text alone."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(bytes(32_000))
    found = Completion()
    for form in TRANSCRIPTS:
        sound = ("probe.wav", out.getvalue(), "audio/wav")
        body = {"model": model.name, "file": sound, "response_format": form}
        found = sender.send(TRANSCRIPTIONS, body)
        if found.outcome == Outcome.OK:
            told = found.tokens_in is not None
            note = "" if told else "It tells no duration, so that of the recording is counted."
            return ProbeResult({"transcription": form}, note)
        if found.outcome != Outcome.REJECTED or found.status != 400:
            break
    return ProbeResult(None, found.reason)


def _chat(sender: Sender, model: LanguageModel) -> ProbeResult:
    can: dict[str, Any] = {}
    told = Completion()
    for limit in LIMITS:
        told = sender.send(CHAT, _body(model, {limit: 16}))
        if told.outcome != Outcome.REJECTED or told.status != 400:
            break
    if told.outcome not in (Outcome.OK, Outcome.REFUSED):
        return ProbeResult(None, told.reason)
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
    return ProbeResult(can, " ".join(notes))


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
    """List the models that the endpoint offers at /models, sorted; Conflict if it fails."""
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


# After this a request counts as lost: its page stops asking, and it can be made again.
LOST = dt.timedelta(minutes=5)
SLOW = "It took too long to answer."


def is_probe_pending(asked_at: dt.datetime | None) -> bool:
    """Whether a job is still expected to answer."""
    return asked_at is not None and timezone.now() - asked_at < LOST


@transaction.atomic
def request_probe(*, by: User, model: LanguageModel) -> bool:
    """Queue a probe of the model; return False if one is queued already.

    Raises Conflict where no key can be used and Invalid where the address is not allowed.
    """
    locked = LanguageModel.objects.select_for_update(of=("self",)).get(pk=model.pk)
    if is_probe_pending(locked.probe_asked_at):
        return False
    completion.link_of(model.endpoint)
    locked.probe_asked_at = timezone.now()
    locked.save(update_fields=["probe_asked_at"])
    queue.enqueue("evaluation.jobs.probe_model", model.pk, by.pk)
    return True


def probe_requested(*, by: User, model_id: int) -> str:
    """Probe a model if a probe was requested and not yet done; return a word for the log."""
    rows = LanguageModel.objects.select_related("endpoint__project")
    model = rows.filter(pk=model_id, probe_asked_at__isnull=False).first()
    if model is None:
        return "not mine"
    try:
        return "done" if probe_model(by=by, model=model).can else "failed"
    finally:  # also where the job is stopped: the page must not wait for ever
        LanguageModel.objects.filter(pk=model_id).update(probe_asked_at=None)


def probe_model(*, by: User, model: LanguageModel) -> LanguageModel:
    """Ask the model a few short questions and store what it can do (``can``, ``probe_note``).

    Sends at most eight requests, outside any transaction and outside the budget. A model that
    cannot be reached keeps what was known of it; ``probe_note`` says why.
    """
    try:
        found = probe(model)
    except DomainError as problem:  # no key, or an address that is not allowed
        found = ProbeResult(None, problem.message)
    with transaction.atomic():
        locked = LanguageModel.objects.select_for_update(of=("self",)).get(pk=model.pk)
        if found.can is not None:
            locked.can, locked.probed_at = found.can, timezone.now()
        locked.probe_note, locked.probe_asked_at = found.note[:300], None
        locked.save(update_fields=["can", "probed_at", "probe_note", "probe_asked_at"])
        project = locked.endpoint.project
        record(by=by, project=project, action="model.probe", on=locked, can=found.can or {})
    return locked


@transaction.atomic
def request_names(*, endpoint: Endpoint) -> bool:
    """Have a job ask the endpoint for its models; False where one does already."""
    locked = Endpoint.objects.select_for_update(of=("self",)).get(pk=endpoint.pk)
    if is_probe_pending(locked.names_asked_at):
        return False
    locked.names_asked_at = timezone.now()
    locked.save(update_fields=["names_asked_at"])
    queue.enqueue("evaluation.jobs.list_models", endpoint.pk)
    return True


def list_models(*, endpoint_id: int) -> str:
    """Ask the endpoint for its models and keep their names, or why it tells none."""
    rows = Endpoint.objects.filter(pk=endpoint_id)
    endpoint = rows.filter(names_asked_at__isnull=False).first()
    if endpoint is None:
        return "not mine"
    found: dict[str, object] = {"names_problem": SLOW}
    try:
        found = {"names": model_names(endpoint), "names_problem": ""}
    except DomainError as problem:
        found = {"names_problem": problem.message[:300]}
    finally:
        rows.update(names_asked_at=None, names_at=timezone.now(), **found)
    return "done" if not found["names_problem"] else "failed"
