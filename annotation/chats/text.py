"""A conversation as plain text, for models, search, and exports without turns."""

from __future__ import annotations

import json
from collections.abc import Sequence

from annotation.chats.model import Chat, ReasoningPart, ToolCall, Turn, part_text

ROLE_NAMES = {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Tool"}
MAX_PLAIN = 100_000  # characters


def plain_text(chat: Chat, *, most: int = MAX_PLAIN, system: bool = False) -> str:
    """Write turns as text, each after its number and role; the middle is left out above ``most``.

    Without ``system`` the instructions to the model are left out, so that titles and lists begin
    with what the user wrote.
    """
    blocks = [
        turn_text(turn, number)
        for number, turn in chat.numbered()
        if system or turn.role != "system"
    ]
    return shorten_blocks(blocks, most)


def turn_text(turn: Turn, number: int) -> str:
    """Write one turn as text: its role, its texts, and a line for each call and result."""
    lines = [call_text(call, f"{number}c{at}") for at, call in enumerate(turn.calls, 1)]
    lines += [part_text(part) for part in turn.parts if not isinstance(part, ReasoningPart)]
    return f"[{number}] {ROLE_NAMES[turn.role]}: " + "\n".join(filter(None, lines))


def call_text(call: ToolCall, unit: str) -> str:
    """Write a call under its unit ("4c1"), with its result on a line below."""
    asked = f"[{unit}] {call.name}({call.arguments})"
    if call.result is None:
        return asked
    mark = "error: " if call.is_error else ""
    return f"{asked}\n=> {mark}{call.result_text}"


def shorten_blocks(blocks: Sequence[str], most: int) -> str:
    """Join blocks with empty lines; where they are too long, leave out whole blocks in the middle.

    The first block and the last ones stay, and a line says how many turns are left out.
    """
    whole = "\n\n".join(blocks)
    if len(whole) <= most or len(blocks) < 2:
        return whole[:most]
    first, kept = blocks[0][: most // 3], list[str]()
    room = most - len(first) - 60
    for block in reversed(blocks[1:]):
        if kept and len(block) + 2 > room:
            break
        kept.insert(0, block[:room])
        room -= len(block) + 2
    left_out = len(blocks) - 1 - len(kept)
    gap = [f"[{left_out} turns left out]"] if left_out else []
    return "\n\n".join([first, *gap, *kept])


def pretty_json(text: str) -> str:
    """Indent a text that is a JSON object or list; return any other as it is."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text
