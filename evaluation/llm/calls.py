"""Calls as rows: found or made by their key, sent, and settled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from evaluation.llm import client
from evaluation.llm.ask import Ask, Preview, Reply
from evaluation.llm.schemas import JSON_SCHEMA, WrongForm, telling
from evaluation.models import CallState, CallUse, LanguageModel, LLMCall, Run
from evaluation.progress import Recorder


def messages_of(model: LanguageModel, ask: Ask) -> list[dict[str, str]]:
    """What is sent: the prompt, with the form in words for a model that needs them."""
    messages = [dict(message) for message in ask.prompt.messages]
    if model.can.get("format", "text") != JSON_SCHEMA and telling(ask.schema):
        messages[-1]["content"] += f"\n\n{telling(ask.schema)}"
    return messages


def key_of(model: LanguageModel, ask: Ask, messages: Sequence[Mapping[str, str]]) -> str:
    """SHA-256 over everything that an answer depends on."""
    parts = [
        model.endpoint.base_url, model.name, messages, dict(ask.params), ask.schema.name,
        ask.schema.json_schema(), ask.prompt.ref, ask.replicate, ask.by_chance,
    ]  # fmt: skip
    told = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(told.encode()).hexdigest()


def ask_all(
    run: Run, model: LanguageModel, asks: Sequence[Ask], steps: Recorder | None = None
) -> list[Reply]:
    """A reply for each question, in their order."""
    replies: list[Reply] = []
    for number, ask in enumerate(asks, 1):
        replies.append(_one(run, model, ask))
        if steps is not None:
            steps.advance(number, len(asks))
    return replies


def _one(run: Run, model: LanguageModel, ask: Ask) -> Reply:
    messages = messages_of(model, ask)
    call, _ = LLMCall.objects.get_or_create(
        project_id=run.project_id, key=key_of(model, ask, messages),
        defaults={
            "model": model, "base_url": model.endpoint.base_url, "model_name": model.name,
            "prompt": ask.prompt.ref, "messages": messages, "params": dict(ask.params),
            "schema": ask.schema.name, "replicate": ask.replicate,
        },
    )  # fmt: skip
    CallUse.objects.get_or_create(run=run, subject=ask.subject, defaults={"call": call})
    cached = call.state == CallState.DONE
    if not cached:
        _send(model, ask, call, messages)
    value: Any = call.value
    return Reply(ask.subject, call.pk, value, call.text, call.reason, cached, call.chances)


def _send(
    model: LanguageModel, ask: Ask, call: LLMCall, messages: Sequence[Mapping[str, str]]
) -> None:
    for _ in range(ask.tries):
        found = client.complete(model, messages, ask.schema, ask.params)
        call.attempts += 1
        call.text, call.reason = found.text, found.error
        call.tokens_in, call.tokens_out = found.tokens_in, found.tokens_out
        call.latency_ms, call.finished_at = found.latency_ms, timezone.now()
        call.state = CallState.FAILED
        if not found.error:
            try:
                call.value, call.state = ask.schema.parse(found.text), CallState.DONE
            except WrongForm as problem:
                call.reason = str(problem)
        if call.state == CallState.DONE:
            break
    call.save()


def preview(model: LanguageModel, asks: Sequence[Ask]) -> Preview:
    """What these questions would cost."""
    keys = [key_of(model, ask, messages_of(model, ask)) for ask in asks]
    cached = LLMCall.objects.filter(
        project_id=model.endpoint.project_id, key__in=keys, state=CallState.DONE
    ).count()
    return Preview(len(asks), cached, 0, 0, None, None, None)
