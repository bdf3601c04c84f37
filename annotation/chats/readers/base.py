"""What all readers share: a builder of conversations, records, and values as text."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from annotation.chats.model import (
    MAX_DOCUMENT,
    MAX_RESULT,
    MAX_TURNS,
    Chat,
    FilePart,
    ImagePart,
    Part,
    Role,
    Span,
    TextPart,
    ToolCall,
    Turn,
    UnknownPart,
    clean_text,
    dump_chat,
    result_part,
)
from crowdqc.files.json_input import Unreadable, read_json

MAX_META, MAX_COLUMNS = 2_000, 100  # characters of a value that is kept, and values
MAX_NAME = 200
MAX_NAMED = 12  # fields that a note names
ESCAPED = 6  # characters of JSON that one character may take
SHORT_RESULT = 2_000  # characters of a result in a conversation that is too large
Winner = Literal["model_a", "model_b", "tie", "both_bad", ""]


class UnreadableRecord(ValueError):
    """A record that no reader knows; the message says why."""


class GroupChat(UnreadableRecord):
    """A chat between people, of which nobody is the assistant."""


@dataclass(frozen=True)
class Score:
    """A score or label that a record brings along; ``turn`` from 1, None for the whole."""

    name: str
    value: str
    explanation: str = ""
    by: str = ""  # who gave it: a person, a model, a metric
    turn: int | None = None


@dataclass(frozen=True)
class ChatPair:
    """Two conversations about the same, and what was said of them."""

    left: Chat
    right: Chat
    system_left: str = ""
    system_right: str = ""
    winner: Winner = ""
    judge: str = ""
    at: str = ""  # as the file has it
    topic: str = ""
    turn: int = 0  # the judged one, from 1; 0: the whole


@dataclass(frozen=True)
class ChatRecord:
    """One conversation, or a pair of them, with what the source says about it.

    ``format`` is a key of ``dispatch.FORMATS``; ``seen`` are the fields that it was recognised by.
    """

    format: str
    seen: tuple[str, ...]
    chat: Chat
    key: str = ""
    system: str = ""  # the model or system that answers in it
    pair: ChatPair | None = None
    scores: tuple[Score, ...] = ()
    target: str = ""  # the answer that the source calls right
    meta: Mapping[str, str] = field(default_factory=dict)

    @property
    def chats(self) -> tuple[Chat, ...]:
        """All conversations of the record."""
        return (self.pair.left, self.pair.right) if self.pair else (self.chat,)


@dataclass
class _Call:
    call: ToolCall
    result: list[Part] | None = None
    is_error: bool = False
    seconds: float | None = None

    def freeze(self) -> ToolCall:
        return self.call.model_copy(
            update={
                "result": None if self.result is None else tuple(self.result),
                "is_error": self.is_error or self.call.is_error,
                "seconds": self.call.seconds if self.seconds is None else self.seconds,
            }
        )


@dataclass
class _Turn:
    head: dict[str, Any]
    parts: list[Part] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)

    def freeze(self) -> Turn:
        return Turn(
            **self.head, parts=tuple(self.parts), calls=tuple(call.freeze() for call in self.calls)
        )


class Builder:
    """Collects turns in order, and puts the results of tools at their calls.

    ``begin`` opens a message, ``add``, ``call`` and ``result`` fill it, ``end`` closes it. Results
    alone make no turn. Text that follows a result in one message begins a new turn.
    """

    def __init__(self, *, name_by_id: bool = False) -> None:
        self.turns: list[_Turn] = []
        self.name_by_id = name_by_id  # results without their call are called by its id
        self.notes: Counter[str] = Counter()
        self.unread: dict[str, None] = {}
        self._head: dict[str, Any] | None = None
        self._turn: _Turn | None = None
        self._filled = False

    def begin(self, role: Role, name: str = "", **facts: Any) -> None:
        """Open a message; ``facts``: model, tokens_in, tokens_out, started, seconds of ``Turn``."""
        self.end()
        self._head = {"role": role, "name": clean_text(name)[:MAX_NAME], **facts}
        self._turn, self._filled = None, False

    def is_open_as(self, role: Role) -> bool:
        """Whether a message of this role is open, and took no result yet."""
        head, answered = self._head, self._filled and self._turn is None
        return head is not None and head["role"] == role and not answered

    def is_thinking(self) -> bool:
        """Whether a message of the assistant is open that holds no text yet."""
        turn = self._turn
        texts = [] if turn is None else [part for part in turn.parts if isinstance(part, TextPart)]
        return self.is_open_as("assistant") and not texts

    def is_reasoning(self) -> bool:
        """Whether a message of the assistant is open that holds reasoning and nothing else."""
        turn = self._turn
        if turn is None or turn.calls or not self.is_open_as("assistant"):
            return False
        return bool(turn.parts) and all(part.kind == "reasoning" for part in turn.parts)

    def end(self) -> None:
        """Close the message; an empty one is a turn as well."""
        if self._head is not None and not self._filled:
            self._open()
        self._head = self._turn = None

    def _open(self) -> _Turn:
        if self._turn is None:
            self._turn = self._append(self._head or {"role": "user"})
            self._filled = True
        return self._turn

    def _append(self, head: dict[str, Any]) -> _Turn:
        turn = _Turn(head)
        if len(self.turns) < MAX_TURNS:
            self.turns.append(turn)
        else:
            self.notes["turns_cut"] += 1
        return turn

    def add(self, *parts: Part) -> None:
        """Add parts to the message."""
        for part in parts:
            self._open().parts.append(part)
            self._note(part)

    def _note(self, part: Part) -> None:
        if isinstance(part, ImagePart) and not part.data:
            self.notes["images_not_kept"] += 1
        elif isinstance(part, FilePart):
            self.notes["files_not_kept"] += 1
        elif isinstance(part, UnknownPart):
            self.notes["unknown_parts"] += 1

    def call(self, call: ToolCall) -> None:
        """Add a call to the message."""
        for part in call.result or ():
            self._note(part)
        self._open().calls.append(_Call(call, None if call.result is None else list(call.result)))

    def result(
        self,
        parts: Iterable[Part],
        *,
        id: str = "",
        name: str = "",
        is_error: bool = False,
        seconds: float | None = None,
    ) -> None:
        """Put a result at its call: by id, else by name, else at the first without a result.

        One without a call becomes a turn of role tool.
        """
        id, name = clean_text(id)[:MAX_NAME], clean_text(name)[:MAX_NAME]
        shown = list(parts)
        for part in shown:
            self._note(part)
        waiting = self._waiting(id, name)
        if waiting is not None:
            waiting.result, waiting.is_error, waiting.seconds = shown, is_error, seconds
        else:
            self.notes["orphan_results"] += 1
            called = id or name if self.name_by_id else name or id
            self._append({"role": "tool", "name": called}).parts.extend(shown)
        self._turn, self._filled = None, True

    def _waiting(self, id: str, name: str) -> _Call | None:
        open_calls = [
            call for turn in reversed(self.turns) for call in turn.calls if call.result is None
        ]
        if id:
            matching = [call for call in open_calls if call.call.id == id]
            # Some sources give ids to results only.
            nameless = [call for call in open_calls if not call.call.id]
            return next(iter([*matching, *nameless]), None)
        named = [call for call in open_calls if name and call.call.name == name]
        if named or name:
            return next(iter(named), None)
        last = next((turn for turn in reversed(self.turns) if turn.calls), None)
        return next((call for call in last.calls if call.result is None), None) if last else None

    def set_last(self, **facts: Any) -> None:
        """Set facts such as ``model`` and ``tokens_in`` of the last turn of the assistant."""
        for turn in reversed(self.turns):
            if turn.head["role"] == "assistant":
                turn.head.update({name: value for name, value in facts.items() if value})
                return

    def leave_out(self, raw: Mapping[str, Any], known: Iterable[str]) -> None:
        """Name the fields of a message that no reader reads."""
        for name in raw.keys() - set(known):
            if raw[name] not in (None, "", [], {}, False):
                self.unread.setdefault(clean_text(str(name))[:60])

    def chat(self, tools: Any = None, spans: Iterable[Span] = ()) -> Chat:
        """Make the conversation, within the limits of its size."""
        self.end()
        notes = self.notes
        offered = "" if tools in (None, "", [], {}) else as_text(tools)
        if len(offered) > MAX_RESULT:
            offered = json.dumps([{"name": name} for name in tool_names(tools)])[:MAX_RESULT]
            notes["tools_shortened"] += 1
        for turn in self.turns:
            notes["texts_cut"] += _count_cut(turn)
        chat = Chat(
            turns=tuple(turn.freeze() for turn in self.turns),
            tools=clean_text(offered),
            spans=tuple(spans),
            notes=note_codes(notes, self.unread),
        )
        return fit_document(chat)


def _count_cut(turn: _Turn) -> int:
    parts = [*turn.parts, *(part for call in turn.calls for part in call.result or ())]
    cut = sum(bool(getattr(part, "cut", 0)) for part in parts)
    return cut + sum(bool(call.call.arguments_cut) for call in turn.calls)


def note_codes(counts: Mapping[str, int], unread: Iterable[str] = ()) -> tuple[str, ...]:
    """Write notes as codes with their counts; ``unread`` are fields that no reader reads."""
    codes = [f"{code}:{count}" for code, count in sorted(counts.items()) if count]
    names = sorted(unread)
    if names:
        more = [f"+{len(names) - MAX_NAMED}"] if len(names) > MAX_NAMED else []
        codes.append("unread_fields:" + ",".join([*names[:MAX_NAMED], *more]))
    return tuple(codes)


def fit_document(chat: Chat, most: int = MAX_DOCUMENT) -> Chat:
    """Keep a conversation below so many characters: without images, then with short results.

    What is still too large loses its last turns. Each step is noted.
    """
    if ESCAPED * _characters(chat) <= most:
        return chat
    for step in (_without_images, _with_short_results):
        if len(dump_chat(chat)) <= most:
            return chat
        chat = step(chat)
    while len(dump_chat(chat)) > most and (chat.turns or chat.spans):
        keep = len(chat.turns) * 3 // 4
        spans = chat.spans[: len(chat.spans) * 3 // 4]
        notes = {"turns_cut": len(chat.turns) - keep, "spans_cut": len(chat.spans) - len(spans)}
        chat = add_notes(
            chat.model_copy(update={"turns": chat.turns[:keep], "spans": spans}), notes
        )
    return chat


def _characters(chat: Chat) -> int:
    """About as many characters as a conversation has; a field or a mark counts some, too."""
    size = len(chat.tools) + sum(len(span.attributes) + 600 for span in chat.spans)
    for turn in chat.turns:
        parts = [*turn.parts, *(part for call in turn.calls for part in call.result or ())]
        size += 200 + sum(len(call.arguments) + 300 for call in turn.calls)
        size += sum(len(getattr(part, "text", getattr(part, "data", ""))) + 60 for part in parts)
    return size


def _without_images(chat: Chat) -> Chat:
    count = 0

    def strip(part: Part) -> Part:
        nonlocal count
        if isinstance(part, ImagePart) and part.data:
            count += 1
            return part.model_copy(update={"data": "", "note": "not kept: too large together"})
        return part

    return add_notes(_map_parts(chat, strip, strip), {"images_not_kept": count})


def _with_short_results(chat: Chat) -> Chat:
    count = 0

    def shorten(part: Part) -> Part:
        nonlocal count
        if isinstance(part, TextPart | UnknownPart) and len(part.text) > SHORT_RESULT:
            count += 1
            cut = part.cut + len(part.text) - SHORT_RESULT
            return part.model_copy(update={"text": part.text[:SHORT_RESULT], "cut": cut})
        return part

    return add_notes(_map_parts(chat, lambda part: part, shorten), {"texts_cut": count})


def _map_parts(chat: Chat, own: Any, of_results: Any) -> Chat:
    turns = []
    for turn in chat.turns:
        calls = tuple(
            call.model_copy(update={"result": tuple(map(of_results, call.result))})
            if call.result
            else call
            for call in turn.calls
        )
        turns.append(turn.model_copy(update={"parts": tuple(map(own, turn.parts)), "calls": calls}))
    return chat.model_copy(update={"turns": tuple(turns)})


def question_and_answer(chat: Chat) -> tuple[str, str] | None:
    """Return what was asked and the one answer, where a conversation is no more than two texts.

    Images and files that were not kept do not count. None for any other conversation.
    """
    if not chat.turns:
        return "", ""
    *asked, answer = chat.turns
    if any(turn.role != "user" for turn in asked):
        return None
    parts = [part for turn in chat.turns for part in turn.parts]
    if answer.role not in ("assistant", "user") or any(turn.calls for turn in chat.turns):
        return None
    if any(part.kind in ("reasoning", "unknown") or getattr(part, "data", "") for part in parts):
        return None
    if answer.role == "user":  # nothing was answered
        return "\n\n".join(turn.text for turn in chat.turns), ""
    return "\n\n".join(turn.text for turn in asked), answer.text


def opening_of(chat: Chat) -> str:
    """Return what was asked first: the texts before the first turn of an assistant."""
    asked = []
    for turn in chat.turns:
        if turn.role == "assistant":
            break
        if turn.role == "user" and turn.text:
            asked.append(turn.text)
    return "\n\n".join(asked)


def add_notes(chat: Chat, counts: Mapping[str, int]) -> Chat:
    """Add counts to the notes of a conversation."""
    total, others = Counter(counts), []
    for note in chat.notes:
        code, _colon, number = note.partition(":")
        if number.isdigit():
            total[code] += int(number)
        else:
            others.append(note)
    return chat.model_copy(update={"notes": (*note_codes(total), *others)})


def tool_names(tools: Any) -> list[str]:
    """List the names of offered tools."""
    rows = tools if isinstance(tools, list) else []
    inner = [row.get("function", row) if isinstance(row, dict) else {} for row in rows]
    return [str(one.get("name", "?"))[:80] for one in inner if isinstance(one, dict)]


# Values ------------------------------------------------------------------------------------------


def as_text(value: Any) -> str:
    """Write any JSON value as a text; a text stays as it is."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, default=str)


def parse_json(value: Any) -> Any:
    """Parse a text that holds JSON of a list or an object; return any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return read_json(value, any_text=True, empty_nan=True)
        except Unreadable:
            return value
    return value


def as_count(value: Any) -> int | None:
    """Return a count of tokens; None where it is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str) and value.isdigit() and len(value) < 13:
        return int(value)
    if isinstance(value, int | float) and 0 <= value < 1e12:
        return int(value)
    return None


def as_seconds(value: Any) -> float | None:
    """Return a duration in seconds; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e9 else None


def moment_text(value: Any) -> str:
    """Write a time as ISO 8601: of a text as it is, of a number as seconds since 1970."""
    if isinstance(value, str):
        return clean_text(value.strip())[:40]
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 4e9:
        return dt.datetime.fromtimestamp(value, dt.UTC).isoformat()
    return ""


def dict_of(value: Any) -> dict[str, Any]:
    """Return the object that a value, or its JSON text, holds; an empty one of anything else."""
    parsed = parse_json(value)
    return parsed if isinstance(parsed, dict) else {}


def type_of(value: Any) -> str:
    """Return the ``type`` that an object names; "" where it names none."""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else ""


def list_of(value: Any) -> list[Any]:
    """Return the list that a value, or its JSON text, holds; an empty one of anything else."""
    parsed = parse_json(value)
    return parsed if isinstance(parsed, list) else []


def text_of(raw: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that holds a text or a number, as a text."""
    for name in names:
        value = raw.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
            return clean_text(str(value)).strip()
    return ""


def meta_of(raw: Mapping[str, Any], used: Iterable[str]) -> dict[str, str]:
    """Return the fields of a record that no reader used, as texts."""
    rest = [name for name in raw if name not in set(used)]
    found: dict[str, str] = {}
    for name in rest:
        value = raw[name]
        if value in (None, "", [], {}):
            continue
        if len(found) == MAX_COLUMNS:
            break
        text = str(value).lower() if isinstance(value, bool) else as_text(value)
        found[clean_text(str(name))[:MAX_NAME]] = clean_text(text)[:MAX_META]
    return found


def score_text(value: Any) -> str:
    """Write the value of a score: true, 1, 0.5, C, or JSON of anything else."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return clean_text(as_text(value))[:MAX_META]


def plain_result(value: Any) -> list[Part]:
    """Make the parts of a tool's result that is a text or any JSON value."""
    return [] if value is None else [result_part(as_text(value))]
