"""The spans of a trace as a tree, and the conversation that they made. Pure.

The same spans give the same tree, in whichever order, requests and number of copies they came.
Nothing is repaired in silence: a missing parent, a cycle, an end before the beginning is a note.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from annotation.chats.model import (
    MAX_SPANS,
    MAX_TURNS,
    Chat,
    Span,
    Turn,
    clean_text,
    result_part,
)
from annotation.traces.messages import SpanTurns, call_of_span, read_turns

NO_PARENT, CYCLE, BACKWARDS, OPEN = "no parent", "cycle", "ends before it begins", "open"
MAX_ATTRIBUTES = 16_000  # characters of a span's attributes as they are shown
Kind = Literal["agent", "model", "tool", "retriever", "other"]


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


@dataclass(frozen=True)
class Node:
    """A span in its place: how deep, and what is odd about it."""

    span: StoredSpan
    depth: int
    note: str = ""


def order_of(span: StoredSpan) -> tuple[bool, int, str]:
    """Key that orders siblings: by their start, those without one last, then by id."""
    return (span.start_ns is None, span.start_ns or 0, span.id)


def build_tree(spans: Iterable[StoredSpan]) -> list[Node]:
    """Order spans as a tree, roots first and each before its children; the first of an id counts.

    A span whose parent is not there is a root with a note. In a cycle the span that began first
    becomes a root, so that every span is in the tree exactly once.
    """
    by_id: dict[str, StoredSpan] = {}
    for span in spans:
        by_id.setdefault(span.id, span)
    ordered = sorted(by_id.values(), key=order_of)
    notes = {one.id: NO_PARENT for one in ordered if one.parent and one.parent not in by_id}
    parents = {one.id: one.parent for one in ordered if one.parent in by_id}
    for start in _cycle_starts(ordered, parents):
        del parents[start]
        notes[start] = CYCLE
    children: dict[str, list[StoredSpan]] = {}
    for span in ordered:
        children.setdefault(parents.get(span.id, ""), []).append(span)
    nodes: list[Node] = []
    waiting = [(span, 0) for span in reversed(children.get("", []))]
    while waiting:
        span, depth = waiting.pop()
        nodes.append(Node(span, depth, notes.get(span.id) or _time_note(span)))
        waiting += [(child, depth + 1) for child in reversed(children.get(span.id, []))]
    return nodes


def _cycle_starts(ordered: Sequence[StoredSpan], parents: Mapping[str, str]) -> list[str]:
    """The first span of each cycle, by ``order_of``."""
    place = {span.id: number for number, span in enumerate(ordered)}
    done: set[str] = set()
    found = []
    for span in ordered:
        path: dict[str, None] = {}
        at = span.id
        while at and at not in done and at not in path:
            path[at] = None
            at = parents.get(at, "")
        if at in path:
            names = list(path)
            found.append(min(names[names.index(at) :], key=place.__getitem__))
        done.update(path)
    return found


def _time_note(span: StoredSpan) -> str:
    if span.start_ns is not None and span.end_ns is not None and span.end_ns < span.start_ns:
        return BACKWARDS
    return OPEN if span.end_ns is None else ""


def seconds_of(span: StoredSpan) -> float | None:
    """Duration in seconds; None of an open span, or of one that ends before it begins."""
    if span.start_ns is None or span.end_ns is None or span.end_ns < span.start_ns:
        return None
    return (span.end_ns - span.start_ns) / 1e9


def moment_of(nanoseconds: int | None) -> str:
    """A time as ISO 8601 in UTC; "" for none, or one that no calendar has."""
    if nanoseconds is None:
        return ""
    try:
        return dt.datetime.fromtimestamp(nanoseconds / 1e9, dt.UTC).isoformat(
            timespec="milliseconds"
        )
    except (ValueError, OverflowError, OSError):
        return ""


def build_chat(spans: Iterable[StoredSpan], *, hide_system: bool = False) -> Chat:
    """Make the conversation of a trace, with its tree of spans.

    Each model span carries the whole history: what is there already is not repeated.
    ``hide_system`` leaves the texts of system prompts out.
    """
    nodes = build_tree(spans)
    history = _History()
    made: dict[str, int] = {}
    read = {node.span.id: read_turns(node.span.attributes, node.span.events) for node in nodes}
    by_time = sorted(nodes, key=lambda node: order_of(node.span))
    models = [node for node in by_time if node.span.kind == "model" and read[node.span.id]]
    for node in models:
        number = history.add(read[node.span.id], node.span)
        if number:
            made[node.span.id] = number
    if not history.turns:  # no model span with content: what went in and out of the outermost span
        outer = next((node.span for node in nodes if read[node.span.id]), None)
        if outer is not None:
            made[outer.id] = history.add(read[outer.id], outer)
    for node in by_time:
        number = history.fill(node.span) if node.span.kind == "tool" else 0
        if number:
            made[node.span.id] = number
    turns = history.turns
    if hide_system:
        turns = [_without_text(turn) for turn in turns]
    counts = {
        "turns_cut": len(turns) - MAX_TURNS,
        "spans_cut": len(nodes) - MAX_SPANS,
        "system_hidden": sum(map(operator.is_not, turns, history.turns)),
        "attributes_dropped": sum(node.span.dropped for node in nodes),
    }
    notes = [*history.notes, *(f"{name}:{n}" for name, n in counts.items() if n > 0)]
    starts = [node.span.start_ns for node in nodes if node.span.start_ns is not None]
    first = min(starts, default=None)
    return Chat(
        turns=tuple(turns[:MAX_TURNS]),
        tools=history.tools,
        spans=tuple(
            _shown(node, first, made, hide_system=hide_system) for node in nodes[:MAX_SPANS]
        ),
        notes=tuple(notes),
    )


def _without_text(turn: Turn) -> Turn:
    if turn.role != "system" or not turn.parts:
        return turn
    return turn.model_copy(update={"parts": ()})


def _shown(node: Node, first: int | None, made: Mapping[str, int], *, hide_system: bool) -> Span:
    span = node.span
    began = span.start_ns
    shown = {key: value for key, value in span.attributes.items() if not _is_content(key)}
    turn = made.get(span.id)
    return Span(
        id=span.id,
        parent=span.parent,
        name=clean_text(span.name),
        kind=cast(
            Kind, span.kind if span.kind in ("agent", "model", "tool", "retriever") else "other"
        ),
        depth=node.depth,
        started=moment_of(began),
        offset=None if began is None or first is None else (began - first) / 1e9,
        seconds=seconds_of(span),
        is_error=span.is_error,
        message=clean_text(span.message),
        turn=turn if turn is None or turn <= MAX_TURNS else None,
        note=node.note,
        attributes=_as_json(shown if hide_system or span.kind == "model" else span.attributes),
        dropped=span.dropped,
    )


def _is_content(key: str) -> bool:
    """Whether an attribute holds messages, which stand in the conversation."""
    return key.startswith(
        (
            *("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"),
            *("llm.input_messages", "llm.output_messages", "input.value", "output.value"),
            *("langfuse.observation.input", "langfuse.observation.output", "gen_ai.prompt"),
            *("gen_ai.completion", "inputs", "outputs"),
        )
    )


def _as_json(attributes: Mapping[str, Any]) -> str:
    if not attributes:
        return ""
    text = clean_text(json.dumps(attributes, ensure_ascii=False, sort_keys=True))
    return text if len(text) <= MAX_ATTRIBUTES else text[:MAX_ATTRIBUTES] + "\u2026"


Key = tuple[str, str, tuple[tuple[str, str], ...]]


def _key(turn: Turn) -> Key:
    """What makes two turns the same: role, parts and calls, not results, times or tokens."""
    parts = json.dumps(
        [part.model_dump(mode="json") for part in turn.parts if part.kind != "reasoning"]
    )
    digest = hashlib.sha256(parts.encode()).hexdigest() if turn.parts else ""
    return (
        turn.role,
        digest,
        tuple((call.name, _same_json(call.arguments)) for call in turn.calls),
    )


def _same_json(text: str) -> str:
    """Arguments however they are spaced and ordered."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


class _History:
    """Turns so far; each span adds what its history does not repeat."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.tools = ""
        self.notes: list[str] = []
        self._keys: list[Key] = []
        self._seen = Counter[Key]()

    def add(self, read: SpanTurns, span: StoredSpan) -> int:
        """Add a span's turns; the number of its first output, or of its last turn."""
        if len(read.tools) > len(self.tools):
            self.tools = read.tools
        for note in read.notes:
            if note not in self.notes:
                self.notes.append(note)
        output = [_with_figures(turn, read, span) for turn in read.output]
        turns = [*read.input, *output]
        if not turns:
            return 0
        places = self._place(turns)
        at = len(read.input) if output else len(turns) - 1
        return places[at] + 1

    def _place(self, turns: Sequence[Turn]) -> list[int]:
        """Where each turn stands, after the new ones were added at the end."""
        keys = [_key(turn) for turn in turns]
        start = self._overlap(keys)
        places: list[int] = []
        if start is not None:
            shared = min(len(self.turns) - start, len(keys))
            places = list(range(start, start + shared))
            for offset in range(shared):
                self._merge(start + offset, turns[offset])
        else:
            counted = Counter[Key]()
            for key, turn in zip(keys, turns, strict=True):
                counted[key] += 1
                if counted[key] <= self._seen[key]:
                    place = self._nth(key, counted[key])
                    self._merge(place, turn)
                    places.append(place)
                else:
                    places.append(self._append(key, turn))
            return places
        for key, turn in zip(keys[len(places) :], turns[len(places) :], strict=True):
            places.append(self._append(key, turn))
        return places

    def _overlap(self, keys: Sequence[Key]) -> int | None:
        """From where on the known turns are the beginning of these, or hold all of them."""
        for start, key in enumerate(self._keys):
            if key == keys[0]:
                rest = self._keys[start : start + len(keys)]
                if rest == list(keys[: len(rest)]):
                    return start
        return None

    def _nth(self, key: Key, n: int) -> int:
        places = [place for place, known in enumerate(self._keys) if known == key]
        return places[n - 1]

    def _append(self, key: Key, turn: Turn) -> int:
        self.turns.append(turn)
        self._keys.append(key)
        self._seen[key] += 1
        return len(self.turns) - 1

    def _merge(self, place: int, turn: Turn) -> None:
        """Take over results, reasoning and figures that the known turn lacks."""
        known = self.turns[place]
        calls = tuple(
            new.model_copy(update={"seconds": old.seconds}) if old.result is None else old
            for old, new in zip(known.calls, turn.calls, strict=True)
        )
        update: dict[str, Any] = {}
        if calls != known.calls:
            update["calls"] = calls
        if len(turn.parts) > len(known.parts):
            update["parts"] = turn.parts
        for name in ("model", "tokens_in", "tokens_out", "started", "seconds"):
            if getattr(known, name) in (None, "") and getattr(turn, name) not in (None, ""):
                update[name] = getattr(turn, name)
        if update:
            self.turns[place] = known.model_copy(update=update)

    def fill(self, span: StoredSpan) -> int:
        """Give a tool span's result to its call; the number of the turn, or 0."""
        call = call_of_span(span.name, span.attributes)
        if call is None:
            return 0
        found: tuple[int, int] | None = None
        for number, turn in enumerate(self.turns):
            for place, known in enumerate(turn.calls):
                by_id = bool(call.id) and known.id == call.id
                by_name = known.name == call.name and known.result is None and not call.id
                if by_id or (by_name and found is None):
                    found = (number, place)
                if by_id:
                    break
        if found is None:
            return 0
        number, place = found
        turn, known = self.turns[number], self.turns[number].calls[place]
        result = known.result if known.result is not None else call.result
        if result is None and span.is_error:
            result = (result_part(span.message),) if span.message else ()
        filled = known.model_copy(
            update={
                "result": result,
                "is_error": known.is_error or span.is_error,
                "seconds": known.seconds if known.seconds is not None else seconds_of(span),
            }
        )
        calls = (*turn.calls[:place], filled, *turn.calls[place + 1 :])
        self.turns[number] = turn.model_copy(update={"calls": calls})
        return number + 1


def _with_figures(turn: Turn, read: SpanTurns, span: StoredSpan) -> Turn:
    """An output with the model, tokens and time of its span, where it has none."""
    update: dict[str, Any] = {}
    for name, value in (
        ("model", read.model),
        ("tokens_in", read.tokens_in),
        ("tokens_out", read.tokens_out),
        ("started", moment_of(span.start_ns)),
        ("seconds", seconds_of(span)),
    ):
        if getattr(turn, name) in (None, "") and value not in (None, ""):
            update[name] = value
    return turn.model_copy(update=update) if update else turn


def first_line(chat: Chat, most: int = 200) -> str:
    """The first line that a user wrote, as the title of a trace."""
    for role in ("user", "assistant"):
        for turn in chat.turns:
            text = turn.text.strip() if turn.role == role else ""
            if text:
                return text.splitlines()[0][:most]
    return chat.spans[0].name[:most] if chat.spans else ""
