"""ShareGPT: turns as ``from`` and ``value``, calls and observations as turns of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from annotation.chats.model import text_part
from annotation.chats.readers.base import Builder, parse_json, plain_result, text_of
from annotation.chats.readers.content import read_call
from annotation.chats.readers.messages import add_message

CALLS = {"function_call", "function-call", "functioncall", "tool_call", "toolcall"}
RESULTS = {"observation", "function_response", "tool_response", "function-response", "tool"}


def is_turns(value: Any) -> bool:
    """Whether a value is a list of {from, value}."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(one, dict) and isinstance(one.get("from"), str) and "value" in one
            for one in value
        )
    )


def add_turns(builder: Builder, turns: Iterable[Any]) -> None:
    """Add turns of {from, value}; a call names its tool in JSON, and its result follows it."""
    for raw in turns:
        kind = str(raw.get("from", "")).casefold().replace(" ", "_")
        if kind in CALLS:
            builder.begin("assistant")
            asked = parse_json(raw.get("value"))
            rows = asked if isinstance(asked, list) else [asked]
            for row in rows:
                if isinstance(row, dict):
                    builder.call(read_call(row))
                else:
                    builder.add(text_part(str(row)))
            builder.leave_out(raw, {"from", "value", "weight"})
        elif kind in RESULTS:
            builder.end()
            builder.result(plain_result(raw.get("value")), name=text_of(raw, "name"))
        else:
            add_message(builder, raw)
    builder.end()
