"""A span as it is received, whatever sent it, made storable: decoded, masked and cut. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.chats.model import UNSAFE, cut_note
from annotation.traces.masks import DEEPEST, MAX_STRING, Masker

MAX_ID, MAX_NAME, MAX_MESSAGE = 64, 200, 1000
MAX_KEYS, MAX_EVENTS = 4_000, 500  # of one span
MAX_IMAGE_STRING = 5 * 2**20
MAX_SPAN = 4 * 2**20  # characters of a span's attributes and events together
LATEST = 2**63 - 1
# Attributes that hold JSON as text; decoded, so that masks see plain texts and cuts keep the form.
JSON_KEYS = re.compile(
    r"(?:^|\.)(?:input|output|messages?|system_instructions|definitions|arguments|result|value"
    r"|parameters|tool_calls|metadata|prompt|completion|content)\Z"
)
SPAN_KINDS = {
    # OpenInference
    "LLM": "model", "AGENT": "agent", "TOOL": "tool", "RETRIEVER": "retriever",
    "RERANKER": "retriever",
    # GenAI conventions
    "chat": "model", "text_completion": "model", "generate_content": "model",
    "execute_tool": "tool", "invoke_agent": "agent", "create_agent": "agent",
    "invoke_workflow": "agent", "retrieval": "retriever",
    # Langfuse, LangSmith, OpenLLMetry
    "generation": "model", "tool": "tool", "agent": "agent", "retriever": "retriever",
    "llm": "model", "workflow": "agent",
}  # fmt: skip
KIND_KEYS = (
    "openinference.span.kind",
    "gen_ai.operation.name",
    "langfuse.observation.type",
    "traceloop.span.kind",
    "langsmith.span.kind",
)


@dataclass(frozen=True)
class ReceivedSpan:
    """A span before masking. Times are nanoseconds since 1970; None where unknown."""

    trace_id: str
    span_id: str
    parent_id: str = ""
    name: str = ""
    start_ns: int | None = None
    end_ns: int | None = None
    is_error: bool = False
    message: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[Mapping[str, Any], ...] = ()  # {"name", "attributes"}
    resource: Mapping[str, Any] = field(default_factory=dict)
    dropped: int = 0


@dataclass(frozen=True)
class CleanSpan:
    """A span as it is stored; ``masked`` counts replacements by rule, ``size`` is in bytes."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: str
    start_ns: int | None
    end_ns: int | None
    is_error: bool
    message: str
    attributes: dict[str, Any]
    events: list[dict[str, Any]]
    dropped: int
    masked: dict[str, int]
    size: int


def is_valid_id(text: str) -> bool:
    """Whether an id names something: not empty, not only zeros, not longer than is stored."""
    return (
        0 < len(text) <= MAX_ID and bool(text.strip("0")) and text.isascii() and text.isprintable()
    )


def clean_span(span: ReceivedSpan, masker: Masker) -> CleanSpan:
    """Make a span storable: JSON in texts decoded, texts masked and then cut, controls replaced.

    Raises ValueError for ids that name nothing.
    """
    if not (is_valid_id(span.trace_id) and is_valid_id(span.span_id)):
        raise ValueError("the ids of a span are missing or too long")
    before = masker.counts.copy()
    kept = dict(list(span.attributes.items())[-MAX_KEYS:])
    dropped = max(0, span.dropped) + len(span.attributes) - len(kept)
    if service := span.resource.get("service.name"):
        kept.setdefault("service.name", service)
    attributes = _clean(_decode(kept), masker)
    events = [
        {
            "name": storable_text(masker.mask_text(str(one.get("name", ""))), MAX_NAME),
            "attributes": _clean(_decode(one.get("attributes") or {}), masker),
        }
        for one in span.events[:MAX_EVENTS]
    ]
    attributes, events, left_out, size = _within(attributes, events)
    return CleanSpan(
        span.trace_id,
        span.span_id,
        span.parent_id if is_valid_id(span.parent_id) else "",
        storable_text(masker.mask_text(span.name), MAX_NAME) or "?",
        kind_of(span.attributes),
        _moment(span.start_ns),
        _moment(span.end_ns),
        span.is_error,
        storable_text(masker.mask_text(span.message), MAX_MESSAGE),
        attributes,
        events,
        dropped + left_out,
        {name: n - before[name] for name, n in masker.counts.items() if n > before[name]},
        size,
    )


def kind_of(attributes: Mapping[str, Any]) -> str:
    """What a span is, by the conventions that it follows: agent, model, tool, retriever, other."""
    for key in KIND_KEYS:
        kind = SPAN_KINDS.get(str(attributes.get(key, "")))
        if kind:
            return kind
    return "model" if "gen_ai.request.model" in attributes else "other"


def storable_text(text: str, most: int) -> str:
    """Replace what the database or a page cannot hold, and cut."""
    return UNSAFE.sub("\ufffd", text[: most + 1])[:most]


def _moment(nanoseconds: int | None) -> int | None:
    """A time, or None for 0 and for what no clock shows."""
    return nanoseconds if nanoseconds is not None and 0 < nanoseconds <= LATEST else None


def _decode(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _decode_text(value) if isinstance(value, str) and JSON_KEYS.search(key) else value
        for key, value in values.items()
    }


def _decode_text(text: str) -> Any:
    """The value of a text that is a JSON list or object; any other text as it is."""
    if text.lstrip()[:1] not in ("[", "{"):
        return text
    try:
        value = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, list | dict) else text


def _clean(value: Any, masker: Masker) -> Any:
    return _storable(masker.mask_value(value))


def _storable(value: Any, depth: int = 0) -> Any:
    """Cut texts and replace what JSON of the database cannot hold."""
    if isinstance(value, str):
        return _storable_string(value)
    if isinstance(value, list | Mapping) and depth > DEEPEST:
        return None
    if isinstance(value, list):
        return [_storable(one, depth + 1) for one in value]
    if isinstance(value, Mapping):
        return {_storable(str(key)[:300]): _storable(one, depth + 1) for key, one in value.items()}
    if value is None or isinstance(value, bool):
        return value
    fits = isinstance(value, int) and abs(value) < LATEST
    return value if fits or (isinstance(value, float) and math.isfinite(value)) else str(value)[:80]


def _storable_string(value: str) -> str:
    if value.startswith("data:image/"):
        return value if len(value) <= MAX_IMAGE_STRING else f"{value[:60]} (not kept)"
    if len(value) > MAX_STRING + 60:  # masking makes some longer, and a cut one says so
        value = f"{value[:MAX_STRING]}{cut_note(len(value) - MAX_STRING)}"
    return _ODD.sub("\ufffd", value) if _ODD.search(value) else value


_ODD = re.compile("[\x00\ud800-\udfff]")


def _within(
    attributes: dict[str, Any], events: list[dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]], int, int]:
    """Leave out the largest attributes until the span is within its limit: how many went, and its
    size in bytes then."""
    left_out = 0
    sizes = {key: len(json.dumps(value)) for key, value in attributes.items()}
    of_events = len(json.dumps(events)) if events else 0
    total = sum(sizes.values()) + of_events
    if total > MAX_SPAN and events:
        total -= of_events
        left_out, events = len(events), []
    while total > MAX_SPAN:
        largest = max(sizes, key=lambda key: (sizes[key], key))
        total -= sizes.pop(largest)
        attributes = {key: value for key, value in attributes.items() if key != largest}
        left_out += 1
    return attributes, events, left_out, total
