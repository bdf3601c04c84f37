"""Conversations as what was asked and one text: all turns, calls of tools and their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotation.files.reading.values import displayable_value
from crowdqc.files.json_input import Unreadable, read_json

USER, ASSISTANT, SYSTEM = "user", "assistant", "system"
Message = Mapping[str, Any]


def content_of(raw: Any) -> str | None:
    """Return the text of a message, joining its parts; None if it is not a text."""
    if raw is None:
        return ""
    if isinstance(raw, str):
        return displayable_value(raw.replace("\x00", ""))
    if isinstance(raw, list) and all(isinstance(part, dict) for part in raw):
        texts = [part.get("text") for part in raw]
        return content_of("\n\n".join(text for text in texts if isinstance(text, str)))
    return None


def is_conversation(turns: Any) -> bool:
    """Whether this is a list of {role, content}."""
    return isinstance(turns, list) and all(
        isinstance(turn, dict) and content_of(turn.get("content")) is not None for turn in turns
    )


def texts_in_cell(cell: Any) -> list[str] | None:
    """The texts of a cell that holds a JSON list of texts, empty for null; None of another."""
    if not (isinstance(cell, str) and cell.startswith("[")):
        return None
    try:
        found = read_json(cell, any_text=True)
    except Unreadable:
        return None
    if not isinstance(found, list) or not all(isinstance(one, str | None) for one in found):
        return None
    return [content_of(one) or "" for one in found]


def prompt_of(cell: Any) -> str:
    """A prompt, or the prompts of a cell that holds a list of them, as one text."""
    texts = texts_in_cell(cell)
    return (content_of(cell) or "") if texts is None else "\n\n".join(texts)


def alternating(asked: Sequence[str], said: Sequence[str]) -> list[Message]:
    """Interleave questions and answers as messages."""
    found: list[Message] = []
    for at, answer in enumerate(said):
        if at < len(asked):
            found.append({"role": USER, "content": asked[at]})
        found.append({"role": ASSISTANT, "content": answer})
    return found


def until_turn(turns: Sequence[Message], turn: int) -> Sequence[Message]:
    """Return the messages up to the answer of a turn, counted from 1."""
    begins = [at for at, one in enumerate(turns) if one.get("role") == USER]
    return turns[: begins[turn]] if 0 < turn < len(begins) else turns


def read_turns(turns: Sequence[Message]) -> tuple[str, str]:
    """Return the user's question and the answer; of several turns, the whole conversation."""
    asked = [content_of(one["content"]) or "" for one in turns if one.get("role") == USER]
    answers = [at for at, one in enumerate(turns) if one.get("role") == ASSISTANT]
    others = any(one.get("role") not in (USER, ASSISTANT, SYSTEM) for one in turns)
    if len(answers) < 2 and not others and not any(one.get("tool_calls") for one in turns):
        said = [content_of(turns[at]["content"]) or "" for at in answers]
        return "\n\n".join(asked), said[-1] if said else ""
    first = answers[0] if answers else 0
    before = [content_of(one["content"]) or "" for one in turns[:first] if one.get("role") == USER]
    return "\n\n".join(before), "\n\n".join(_shown(turns[first:]))


def _shown(turns: Sequence[Message]) -> Iterator[str]:
    """The messages as Markdown; of whom each is, where it is not the assistant's answer."""
    for one in turns:
        text, role = content_of(one["content"]) or "", str(one.get("role", ""))
        if text:
            yield text if role == ASSISTANT else f"**{role.capitalize()}:** {text}"
        calls = one.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            made = call.get("function", call) if isinstance(call, dict) else {}
            if isinstance(made, dict):
                yield f"**Tool call:** `{made.get('name', '')}({made.get('arguments', '')})`"
