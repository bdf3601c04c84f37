"""One request to an OpenAI-compatible endpoint, and what came of it. Never retries by itself."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from openai import APIError, OpenAI

from crowdqc.errors import Conflict
from evaluation.llm.schemas import JSON_OBJECT, JSON_SCHEMA, Schema
from evaluation.models import Endpoint, LanguageModel


@dataclass(frozen=True)
class Completion:
    """What an endpoint answered to one request, or why it did not."""

    text: str = ""
    finish: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency_ms: int = 0
    error: str = ""


def key_of(endpoint: Endpoint) -> str:
    """The endpoint's key; Conflict where the variable that should hold it is not set."""
    if endpoint.key_env:
        value = os.environ.get(endpoint.key_env, "")
        if not value:
            raise Conflict(f"The variable {endpoint.key_env}, which holds the key, is not set.")
        return value
    return "none"


@lru_cache(maxsize=16)
def _client(base_url: str, key: str, timeout: int) -> OpenAI:
    return OpenAI(base_url=base_url, api_key=key, timeout=timeout, max_retries=0)


def complete(
    model: LanguageModel,
    messages: Sequence[Mapping[str, str]],
    schema: Schema,
    params: Mapping[str, Any],
) -> Completion:
    """Send one request."""
    endpoint, more = model.endpoint, dict(params)
    form = model.can.get("format", "text")
    if schema.model is not None and form == JSON_SCHEMA:
        name = schema.name.split("@")[0]
        more["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": name, "schema": schema.json_schema(), "strict": True},
        }
    elif schema.model is not None and form == JSON_OBJECT:
        more["response_format"] = {"type": "json_object"}
    began = time.monotonic()
    client = _client(endpoint.base_url, key_of(endpoint), endpoint.timeout_seconds)
    try:
        sent: Any = list(messages)
        found = client.chat.completions.create(model=model.name, messages=sent, **more)
    except APIError as error:
        return Completion(error=f"{type(error).__name__}: {error}"[:300])
    choice, usage = found.choices[0], found.usage
    return Completion(
        text=choice.message.content or "",
        finish=choice.finish_reason or "",
        tokens_in=usage.prompt_tokens if usage else None,
        tokens_out=usage.completion_tokens if usage else None,
        latency_ms=round(1000 * (time.monotonic() - began)),
    )
