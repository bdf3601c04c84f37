"""Turns as chat messages, as Hugging Face's templates and TRL read them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from annotation.chats.model import Turn

Message = dict[str, Any]


def as_messages(turns: Iterable[Turn]) -> list[Message]:
    """Write turns as messages; tool results follow the message that called the tools.

    Arguments are objects where they are JSON, as templates want them. Reasoning, images and files
    are left out.
    """
    found: list[Message] = []
    for turn in turns:
        message: Message = {"role": turn.role, "content": turn.text}
        if turn.role == "tool" and turn.name:
            message["name"] = turn.name
        if turn.calls:
            message["tool_calls"] = [
                {
                    "type": "function",
                    "function": {"name": call.name, "arguments": _arguments(call.arguments)},
                }
                for call in turn.calls
            ]
        results = [
            {"role": "tool", "name": call.name, "content": call.result_text}
            for call in turn.calls
            if call.result is not None
        ]
        if results and turn.text:  # what was said after the results
            found.append({**message, "content": ""})
            found += [*results, {"role": turn.role, "content": turn.text}]
        else:
            found += [message, *results]
    return found


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
