"""The stored spans of a trace as a tree and a conversation, read as those of files are. Pure."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from annotation.chats.judges import is_judge, with_steps_below
from annotation.chats.model import Chat, Turn
from annotation.chats.readers.spans import Kind
from annotation.chats.readers.tree import TraceSpan, read_trace

MESSAGES = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions")
FLAT = re.compile(r"llm\.(input|output)_messages\.(\d{1,6})\.")
KINDS = ("agent", "model", "tool", "retriever")


@dataclass(frozen=True)
class StoredSpan:
    """What a tree needs of a stored span. Times are nanoseconds since 1970."""

    id: str
    parent: str = ""
    name: str = ""
    kind: str = "other"
    start_ns: int | None = None
    end_ns: int | None = None
    is_error: bool = False
    message: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Mapping[str, Any]] = ()
    dropped: int = 0


def build_chat(
    spans: Iterable[StoredSpan], *, hide_system: bool = False, hide_judges: bool = False
) -> Chat:
    """Make the conversation of a trace, with its tree of spans.

    ``hide_system`` leaves the texts of system prompts out, ``hide_judges`` steps of judges with all
    that stands below them, which say what they think of the rest.
    """
    spans = list(spans)
    judges = judge_spans(spans) if hide_judges else frozenset()
    spans = [span for span in spans if span.id not in judges]
    chat = read_trace(_as_read(span) for span in spans).chat
    notes, turns = [*chat.notes, *sender_notes(spans)], chat.turns
    notes += [f"judge_steps_left_out:{len(judges)}"] if judges else []
    if hide_system:
        hidden = sum(turn.role == "system" and bool(turn.parts) for turn in turns)
        turns = tuple(_without_text(turn) for turn in turns)
        notes += [f"system_hidden:{hidden}"] if hidden else []
    return chat.model_copy(update={"turns": turns, "notes": tuple(notes)})


def judge_spans(spans: Sequence[StoredSpan]) -> frozenset[str]:
    """Ids of the spans of judges and of all below them; none where a trace is all a judge's."""
    found = [span.id for span in spans if is_judge(span.attributes)]
    return with_steps_below(found, {span.id: span.parent for span in spans})


def sender_notes(spans: Iterable[StoredSpan]) -> list[str]:
    """Name what senders cut: JSON that ends early, and messages whose numbers are missing."""
    cut: set[str] = set()
    missing = {"input": 0, "output": 0}
    for span in spans:
        numbers: dict[str, set[int]] = {"input": set(), "output": set()}
        for key, value in span.attributes.items():
            if key in MESSAGES and isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
                cut.add(key)  # what could be read was decoded when it came
            elif match := FLAT.match(key):
                numbers[match[1]].add(int(match[2]))
        for side, seen in numbers.items():
            missing[side] = max(missing[side], max(seen, default=-1) + 1 - len(seen))
    return [f"cut:{key}" for key in sorted(cut)] + [
        f"messages_missing:{side}:{number}" for side, number in missing.items() if number
    ]


def _as_read(span: StoredSpan) -> TraceSpan:
    return TraceSpan(
        trace_id="",
        span_id=span.id,
        parent_id=span.parent,
        name=span.name,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        is_error=span.is_error,
        message=span.message,
        attributes=span.attributes,
        events=span.events,
        dropped=span.dropped,
        kind=cast(Kind, span.kind) if span.kind in KINDS else None,
    )


def _without_text(turn: Turn) -> Turn:
    return turn.model_copy(update={"parts": ()}) if turn.role == "system" else turn


def moment_of(nanoseconds: int | None) -> dt.datetime | None:
    """A time in UTC; None for none, or one that no calendar has."""
    if nanoseconds is None:
        return None
    try:
        return dt.datetime.fromtimestamp(nanoseconds / 1e9, dt.UTC)
    except (ValueError, OverflowError, OSError):
        return None


def first_line(chat: Chat, most: int = 200) -> str:
    """The first line that a user wrote, as the title of a trace."""
    for role in ("user", "assistant"):
        for turn in chat.turns:
            text = turn.text.strip() if turn.role == role else ""
            if text:
                return text.splitlines()[0][:most]
    return chat.spans[0].name[:most] if chat.spans else ""
