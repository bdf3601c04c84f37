"""A trace as a tree of steps, and the one conversation that its models had. Pure.

Every model span repeats the history that it was sent, so that a turn is kept once. Any order of
spans, duplicates among them and missing parents give the same tree; what is odd is noted at its
span.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from annotation.chats.model import (
    MAX_SPANS,
    MAX_TURNS,
    Chat,
    Span,
    TextPart,
    ToolCall,
    Turn,
    clean_text,
    part_text,
    text_part,
)
from annotation.chats.readers.base import (
    Builder,
    Score,
    as_text,
    fit_document,
    moment_text,
    note_codes,
    parse_json,
)
from annotation.chats.readers.spans import CONTENT, INPUTS, OUTPUTS, Kind, SpanContent, read_span

MAX_ATTRIBUTES, MAX_VALUE = 8_000, 1_000  # characters of a span's attributes, and of one of them
NANO = 1e9
PART_NOTES = {"image": "images_not_kept", "file": "files_not_kept", "unknown": "unknown_parts"}


@dataclass(frozen=True)
class TraceSpan:
    """One step as a source holds it. Times are nanoseconds since 1970; None or 0: not known.

    ``kind`` is set where the source says it outside the attributes.
    """

    trace_id: str
    span_id: str
    parent_id: str = ""
    name: str = ""
    start_ns: int | None = None
    end_ns: int | None = None
    is_error: bool = False
    message: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Mapping[str, Any]] = ()
    dropped: int = 0
    kind: Kind | None = None
    scores: tuple[Score, ...] = ()


@dataclass(frozen=True)
class Trace:
    """A trace as a conversation, with the scores of its spans."""

    chat: Chat
    system: str = ""  # the model of its last answer
    scores: tuple[Score, ...] = ()


@dataclass
class _Node:
    span: TraceSpan
    children: list[_Node] = field(default_factory=list)
    note: str = ""
    depth: int = 0


def order_spans(spans: Iterable[TraceSpan]) -> tuple[list[_Node], Counter[str]]:
    """Return the spans as a list in the order of their tree, and counts of what was left out.

    Of spans with one id the first stays, in an order that does not depend on how they came.
    """
    nodes: dict[str, _Node] = {}
    counts: Counter[str] = Counter()
    for number, span in enumerate(sorted(spans, key=_rank)):
        key = span.span_id or f"?{number}"
        if key in nodes:
            counts["double_spans"] += 1
        else:
            nodes[key] = _Node(span, note="" if span.span_id else "no id")
    roots, breaks = [], _cycle_starts(nodes)
    for key, node in nodes.items():
        parent = node.span.parent_id
        if not parent:
            roots.append(node)
        elif parent not in nodes:
            node.note = node.note or "no parent"
            roots.append(node)
        elif key in breaks:
            node.note = "cycle"
            roots.append(node)
        else:
            nodes[parent].children.append(node)
    listed: list[_Node] = []
    waiting = roots[::-1]
    while waiting:
        node = waiting.pop()
        listed.append(node)
        for child in reversed(node.children):
            child.depth = node.depth + 1
            waiting.append(child)
    return listed, counts


def _rank(span: TraceSpan) -> tuple[Any, ...]:
    """Order of siblings: by their start, those without one last, then by id and content."""
    own = [span.parent_id, span.name, span.end_ns, span.message, span.attributes]
    content = json.dumps(own, default=str, sort_keys=True)
    return (not span.start_ns, span.start_ns or 0, span.span_id, content)


def _cycle_starts(nodes: Mapping[str, _Node]) -> set[str]:
    """Return the first span, by rank, of each cycle of parents."""
    places = {key: at for at, key in enumerate(nodes)}
    done: set[str] = set()
    starts: set[str] = set()
    for key in nodes:
        path: dict[str, None] = {}
        at = key
        while at in nodes and at not in done and at not in path:
            path[at] = None
            at = nodes[at].span.parent_id
        if at in path:
            cycle = list(path)[list(path).index(at) :]
            starts.add(min(cycle, key=places.__getitem__))
        done |= path.keys()
    return starts


def read_trace(spans: Iterable[TraceSpan]) -> Trace:
    """Make the conversation and the tree of one trace."""
    listed, counts = order_spans(spans)
    in_time = sorted(range(len(listed)), key=lambda at: _rank(listed[at].span))
    known, read = _KnownMessages(), dict[int, SpanContent]()
    for at in in_time:
        span = listed[at].span
        read[at] = read_span(
            span.attributes, span.events, name=span.name, kind=span.kind, skip=known.skip
        )
    contents = [read[at] for at in range(len(listed))]
    history = _History()
    made = {at: history.add(contents[at]) for at in in_time if contents[at].kind == "model"}
    if not history.ids:
        made |= _from_outer(history, listed, contents)
    tool_spans = [at for at in in_time if contents[at].call is not None]
    made |= {at: history.add_call(contents[at], listed[at].span) for at in tool_spans}
    places = {turn: at for at, turn in enumerate(history.ids, 1)}
    numbers = {
        at: places[turn]
        for at, turn in made.items()
        if turn is not None and places[turn] <= MAX_TURNS
    }
    for at, turn in made.items():
        if turn is not None and contents[at].kind == "model":
            history.date_turn(turn, listed[at].span)
    starts = [node.span.start_ns for node in listed if node.span.start_ns]
    begin = min(starts, default=None)
    shown = [
        _span(node, content, begin, numbers.get(at))
        for at, (node, content) in enumerate(zip(listed, contents, strict=True))
    ]
    kept = _within(shown, counts)
    turns, cut = history.frozen()
    counts["turns_cut"] += cut
    counts["attributes_dropped"] = sum(node.span.dropped for node in listed)
    chat = Chat(
        turns=turns,
        tools=_offered(contents),
        spans=tuple(kept),
        notes=_notes(contents, turns, counts),
    )
    models = [turn.model for turn in turns if turn.model]
    scores = tuple(
        replace(one, turn=numbers.get(at)) if one.turn is None else one
        for at, (node, content) in enumerate(zip(listed, contents, strict=True))
        for one in (*node.span.scores, *content.scores)
    )
    return Trace(fit_document(chat), models[-1] if models else "", scores)


def _notes(
    contents: Sequence[SpanContent], turns: Sequence[Turn], counts: Counter[str]
) -> tuple[str, ...]:
    """Notes of all spans, of which each repeats those of its history, and of the turns."""
    notes, unread = Counter[str](), set[str]()
    for note in (one for content in contents for one in content.notes):
        code, _colon, value = note.partition(":")
        if not value.isdigit():
            unread |= set(value.split(","))
        elif code not in PART_NOTES.values():
            notes[code] = max(notes[code], int(value))
    notes.update(counts)  # turns that a span was cut by are not among those cut of the whole
    for part in (one for turn in turns for one in turn.parts):
        if part.kind in PART_NOTES and not getattr(part, "data", ""):
            notes[PART_NOTES[part.kind]] += 1
    return note_codes(notes, unread)


def _offered(contents: Sequence[SpanContent]) -> str:
    """The tools offered to the models, each once."""
    builder = Builder()
    rows: dict[str, Any] = {}
    for content in contents:
        for one in content.tools if isinstance(content.tools, list) else []:
            rows.setdefault(json.dumps(one, sort_keys=True, default=str), one)
    return builder.chat(list(rows.values())).tools


def _within(spans: list[Span], counts: Counter[str]) -> list[Span]:
    counts["spans_cut"] += max(0, len(spans) - MAX_SPANS)
    return spans[:MAX_SPANS]


def _span(node: _Node, content: SpanContent, begin: int | None, turn: int | None) -> Span:
    span, note = node.span, node.note
    seconds = None
    if span.start_ns and span.end_ns:
        seconds = (span.end_ns - span.start_ns) / NANO
        if seconds < 0:
            seconds, note = None, note or "ends before it begins"
    if not span.end_ns:
        note = note or "open"
    attributes, left_out = _attributes_text(span, has_turn=turn is not None)
    return Span(
        id=clean_text(span.span_id)[:64],
        parent=clean_text(span.parent_id)[:64],
        name=clean_text(span.name)[:200] or "?",
        kind=content.kind,
        depth=node.depth,
        started=moment_text(span.start_ns / NANO) if span.start_ns else "",
        offset=(span.start_ns - begin) / NANO if span.start_ns and begin else None,
        seconds=seconds,
        is_error=span.is_error,
        message=clean_text(span.message)[:1_000],
        turn=turn,
        note=note,
        attributes=attributes,
        dropped=span.dropped + left_out,
    )


def _attributes_text(span: TraceSpan, *, has_turn: bool) -> tuple[str, int]:
    """The attributes of a span as JSON, without what stands in turns; how many were left out."""
    kept: dict[str, Any] = {}
    size, left_out = 2, 0
    for key, value in span.attributes.items():
        if has_turn and key.startswith(CONTENT):
            continue
        text = as_text(value)
        shown = value if len(text) <= MAX_VALUE else text[:MAX_VALUE] + "\u2026"
        size += len(key) + min(len(text), MAX_VALUE) + 8
        if size > MAX_ATTRIBUTES:
            left_out += 1
        elif value is not None:
            kept[clean_text(str(key))[:200]] = shown
    text = json.dumps(kept, ensure_ascii=False, default=str) if kept else ""
    return clean_text(text), left_out


def _from_outer(
    history: _History, listed: Sequence[_Node], contents: Sequence[SpanContent]
) -> dict[int, int | None]:
    """Take turns of agents, or the input and output of roots, where no model has any."""
    made: dict[int, int | None] = {}
    for at, content in enumerate(contents):
        if content.kind == "agent" and content.turns:
            made[at] = history.add(content)
    if history.ids or not listed:
        return made
    for at, node in enumerate(listed):
        if node.depth:
            continue
        given = {
            key: value
            for key, value in node.span.attributes.items()
            if key.startswith((*INPUTS, *OUTPUTS))
        }
        content = read_span(given, kind="model")
        if content.turns:
            made[at] = history.add(content)
    return made


class _KnownMessages:
    """Messages that were sent before: a longer history begins with a shorter one."""

    MOST = 16  # histories of agents beside each other

    def __init__(self) -> None:
        self._lists: list[list[int]] = []

    def skip(self, messages: list[Any]) -> int:
        """Count the first messages that an earlier span sent as its whole history."""
        prints = [hash(json.dumps(one, sort_keys=True, default=str)) for one in messages]
        known = [one for one in self._lists if prints[: len(one)] == one]
        longest = max(known, key=len, default=[])
        if longest:
            self._lists.remove(longest)
        self._lists = [*self._lists[-self.MOST :], prints]
        # The same history again is read whole: its answer is another try.
        return len(longest) if len(longest) < len(prints) else 0


class _History:
    """The turns of a trace, each once; results come to their calls from wherever they stand.

    A thread is the history of one agent. Agents beside each other have one each, and a history that
    goes on otherwise than before shares its beginning with the other.
    """

    def __init__(self) -> None:
        self.ids: list[int] = []  # of the turns, in their order
        self.by_id: dict[int, Turn] = {}
        self.prints: dict[int, str] = {}
        self.threads: list[list[int]] = []
        self._places: dict[str, list[tuple[int, int]]] = {}  # print -> thread, and place in it

    @property
    def turns(self) -> list[Turn]:
        """All turns, in their order."""
        return [self.by_id[one] for one in self.ids]

    def add(self, content: SpanContent) -> int | None:
        """Add the new turns of a model's span; return the id of the first turn that it made."""
        sent = list(content.before)
        prints = [print_of(turn) for turn in sent]
        thread, start, count = self._overlap(prints, content.made)
        known = self.threads[thread]
        for at in range(count):
            self._merge(known[start + at], sent[at])
        for turn, digest in zip(sent[count:], prints[count:], strict=True):
            if turn.role == "system" and digest in self._places:
                continue  # the same instructions before another history
            if turn.role == "tool" and self._answer(turn):
                continue
            self._append(thread, turn, digest)
        first = None
        follows = start + count if count == len(sent) else len(known)
        for turn in content.made:
            digest = print_of(turn)
            if follows < len(known) and self.prints[known[follows]] == digest:
                self._merge(known[follows], turn)
                own = known[follows]
            else:
                own = self._append(thread, turn, digest)
            follows += 1
            first = own if first is None else first
        return first

    def _overlap(self, prints: Sequence[str], made: Sequence[Turn]) -> tuple[int, int, int]:
        """Find the thread that the turns sent continue, from where on, and how many they share.

        They continue its end, are a part of it, or begin as it does. One or two turns are a part
        only where the same answer follows.
        """
        answer = print_of(made[0]) if made else ""
        best: tuple[int, bool, int, int] | None = None  # count, at the end, thread, start
        for thread, start in self._places.get(prints[0], ()) if prints else ():
            known = self.threads[thread]
            count = 0
            for own, digest in zip(known[start:], prints, strict=False):
                if self.prints[own] != digest:
                    break
                count += 1
            ends, whole = start + count == len(known), count == len(prints)
            same = not ends and self.prints[known[start + count]] == answer
            if ends or (whole and (count > 2 or same)) or (start == 0 and count > 1):
                best = max(best or (0, False, 0, 0), (count, ends, thread, start))
        if best is None:
            self.threads.append([])
            return len(self.threads) - 1, 0, 0
        count, ends, thread, start = best
        if ends or count == len(prints):
            return thread, start, count
        shared = self.threads[thread][: start + count]  # from here on it goes another way
        self.threads.append([])
        for own in shared:
            self._link(len(self.threads) - 1, own)
        return len(self.threads) - 1, start, count

    def _append(self, thread: int, turn: Turn, digest: str) -> int:
        own = self._insert(len(self.ids), turn, digest)
        self._link(thread, own)
        return own

    def _insert(self, at: int, turn: Turn, digest: str) -> int:
        own = len(self.by_id)
        self.by_id[own], self.prints[own] = turn, digest
        self.ids.insert(at, own)
        return own

    def _link(self, thread: int, own: int) -> None:
        """Put a turn at the end of a thread."""
        self._places.setdefault(self.prints[own], []).append((thread, len(self.threads[thread])))
        self.threads[thread].append(own)

    def _merge(self, own_id: int, other: Turn) -> None:
        """Take results and facts that a later copy of a turn has."""
        own = self.by_id[own_id]
        update: dict[str, Any] = {
            name: value
            for name in ("model", "tokens_in", "tokens_out", "started", "seconds")
            if not getattr(own, name) and (value := getattr(other, name))
        }
        if any(
            mine.result is None and theirs.result is not None
            for mine, theirs in zip(own.calls, other.calls, strict=True)
        ):
            update["calls"] = tuple(
                mine.model_copy(update={"result": theirs.result, "is_error": theirs.is_error})
                if mine.result is None and theirs.result is not None
                else mine
                for mine, theirs in zip(own.calls, other.calls, strict=True)
            )
        if update:
            self.by_id[own_id] = own.model_copy(update=update)

    def _answer(self, turn: Turn) -> bool:
        """Put an orphaned result at the call of this id, where there is one without a result."""
        for own_id in reversed(self.ids):
            own = self.by_id[own_id]
            for place, call in enumerate(own.calls):
                if turn.name and turn.name in (call.id, call.name) and call.result is None:
                    calls = list(own.calls)
                    calls[place] = call.model_copy(update={"result": turn.parts})
                    self.by_id[own_id] = own.model_copy(update={"calls": tuple(calls)})
                    return True
        return False

    def add_call(self, content: SpanContent, span: TraceSpan) -> int:
        """Find the call that a tool's span ran, or add a turn for it; return the turn's id."""
        call = content.call
        assert call is not None  # noqa: S101 (only spans with a call come here)
        seconds = None
        if span.start_ns and span.end_ns and span.end_ns >= span.start_ns:
            seconds = (span.end_ns - span.start_ns) / NANO
        if span.is_error and call.result is None and span.message:
            call = call.model_copy(update={"result": (text_part(span.message),)})
        for own_id in self.ids:
            turn = self.by_id[own_id]
            for place, other in enumerate(turn.calls):
                if other.seconds is None and _is_same_call(other, call):
                    result = call.result if other.result is None else other.result
                    update = {"result": result, "seconds": seconds}
                    update["is_error"] = other.is_error or span.is_error
                    calls = list(turn.calls)
                    calls[place] = other.model_copy(update=update)
                    self.by_id[own_id] = turn.model_copy(update={"calls": tuple(calls)})
                    return own_id
        made = call.model_copy(update={"seconds": seconds, "is_error": span.is_error})
        turn, at = Turn(role="assistant", calls=(made,)), len(self.ids)
        last = self.by_id[self.ids[-1]] if at else None
        if last is not None and last.role == "assistant" and not last.calls:
            at -= 1  # before the answer that the trace ends with
        return self._insert(at, turn, print_of(turn))

    def date_turn(self, own_id: int, span: TraceSpan) -> None:
        """Set when a turn was made and how long that took, where it does not say so itself."""
        own = self.by_id[own_id]
        if own.started or not span.start_ns:
            return
        took = (span.end_ns - span.start_ns) / NANO if span.end_ns else None
        update: dict[str, Any] = {"started": moment_text(span.start_ns / NANO)}
        update["seconds"] = own.seconds if took is None or took < 0 else took
        self.by_id[own_id] = own.model_copy(update=update)

    def frozen(self) -> tuple[tuple[Turn, ...], int]:
        """Return the turns within their limit, and how many were cut."""
        turns = self.turns
        return tuple(turns[:MAX_TURNS]), max(0, len(turns) - MAX_TURNS)


def _is_same_call(one: ToolCall, other: ToolCall) -> bool:
    if one.id and other.id:
        return one.id == other.id
    if one.name != other.name:
        return False
    same_result = one.result is not None and one.result_text == other.result_text
    return (
        not other.arguments or same_result or canonical(one.arguments) == canonical(other.arguments)
    )


def canonical(arguments: str) -> str:
    """Write arguments so that equal JSON is equal text."""
    parsed = parse_json(arguments)
    if isinstance(parsed, dict | list):
        return json.dumps(parsed, sort_keys=True, ensure_ascii=False)
    return arguments.strip()


def print_of(turn: Turn) -> str:
    """Return a text by which turns are compared: role, texts, images and calls.

    Reasoning is left out, as histories mostly come without it, and so are results.
    """
    texts = [part.text.strip() for part in turn.parts if isinstance(part, TextPart)]
    others = [part_text(part) for part in turn.parts if part.kind not in ("text", "reasoning")]
    calls = [[call.name, canonical(call.arguments)] for call in turn.calls]
    return json.dumps([turn.role, " ".join(filter(None, texts)), others, calls])
