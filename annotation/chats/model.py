"""The typed form of a conversation: turns with text, images, reasoning and tool calls.

A ``Chat`` is what an item or a candidate holds beside its text. Every reader of a format makes
one, every page and export takes one. Turns are numbered from 1 in the order of ``turns``; a tool's
result stands at the call that asked for it. A trace is the same with ``spans``, a tree of steps,
some of which point at the turn that they made.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = 1
MAX_TURNS, MAX_SPANS = 2_000, 5_000
MAX_TEXT = 200_000  # characters of one text; a longer one is cut, which its part says
MAX_RESULT = 64_000  # characters of one tool result or argument
MAX_IMAGE = 5 * 2**20  # characters of one image as a data address
MAX_DOCUMENT = 16 * 2**20  # characters of a stored conversation
CUT_BEFORE = re.compile(r"\(([\d,]+) characters left out\)$")
IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
IMAGE_DATA = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/=\s]+)\Z")
# Controls but tab and line feed, marks that turn neighbouring text round, halves of surrogates.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")

# Fields whose empty value differs from none at all.
FIGURES = frozenset({"seconds", "offset", "tokens_in", "tokens_out", "result"})

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class TextPart(_Form):
    """Text in Markdown; ``cut`` is how many characters were left out at its end."""

    kind: Literal["text"] = "text"
    text: str = ""
    cut: int = 0


class ReasoningPart(_Form):
    """What a model wrote before its answer."""

    kind: Literal["reasoning"] = "reasoning"
    text: str = ""
    cut: int = 0


class ImagePart(_Form):
    """An image as a data address of an allowed type; without ``data`` the ``note`` says why."""

    kind: Literal["image"] = "image"
    data: str = ""
    alt: str = ""
    note: str = ""


class FilePart(_Form):
    """A file that is named and not kept."""

    kind: Literal["file"] = "file"
    name: str = ""
    media_type: str = ""


class UnknownPart(_Form):
    """Something whose kind no reader knows, shown as JSON."""

    kind: Literal["unknown"] = "unknown"
    name: str = ""
    text: str = ""
    cut: int = 0


Part = Annotated[
    TextPart | ReasoningPart | ImagePart | FilePart | UnknownPart, Field(discriminator="kind")
]


class ToolCall(_Form):
    """A call of a tool: arguments as sent, and the result if there was one."""

    id: str = ""
    name: str
    arguments: str = ""  # as JSON where it is JSON
    arguments_cut: int = 0
    result: tuple[Part, ...] | None = None  # None: no result was recorded
    is_error: bool = False
    seconds: float | None = None

    @property
    def result_text(self) -> str:
        """The result as plain text."""
        return "\n".join(filter(None, (part_text(part) for part in self.result or ())))


class Turn(_Form):
    """What one participant wrote at once, with the tools that they called."""

    role: Role
    name: str = ""  # of the participant or tool, where the source gives one
    parts: tuple[Part, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    model: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    started: str = ""  # ISO 8601
    seconds: float | None = None

    @property
    def text(self) -> str:
        """The texts of the turn, without reasoning and calls."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, TextPart))


class Span(_Form):
    """A step of a trace. ``depth`` and order are those of the tree, roots first."""

    id: str
    parent: str = ""
    name: str
    kind: Literal["agent", "model", "tool", "retriever", "other"] = "other"
    depth: int = 0
    started: str = ""  # ISO 8601; "" if unknown
    offset: float | None = None  # seconds after the trace began
    seconds: float | None = None  # None: open or not known
    is_error: bool = False
    message: str = ""  # of the error
    turn: int | None = None  # the turn that it made
    note: str = ""  # what is odd: "no parent", "cycle", "ends before it begins"
    attributes: str = ""  # as JSON
    dropped: int = 0  # attributes that the sender left out


class Chat(_Form):
    """A conversation, or a trace as the conversation that it made."""

    turns: tuple[Turn, ...]
    tools: str = ""  # definitions offered to the model, as JSON
    spans: tuple[Span, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be read, as codes such as "turns_cut:12"

    def digest(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(dump_chat(self).encode()).hexdigest()

    def numbered(self) -> Iterator[tuple[int, Turn]]:
        """Yield turns with their numbers from 1."""
        return iter(enumerate(self.turns, 1))


def dump_chat(chat: Chat) -> str:
    """Write a conversation as JSON; equal conversations give equal texts."""
    content = {"schema": SCHEMA, **_without_defaults(chat.model_dump(mode="json"))}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _without_defaults(value: Any) -> Any:
    """Leave out what every field holds by itself: None, "", 0, false and empty lists.

    An empty list stays for a call's result, as None means that there was none.
    """
    if isinstance(value, list):
        return [_without_defaults(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_defaults(one)
        for key, one in value.items()
        if one or (key in FIGURES and one is not None)
    }


def load_chat(stored: dict[str, Any]) -> Chat:
    """Read a stored conversation."""
    return Chat.model_validate(stored)


def clean_text(text: str) -> str:
    """Remove terminal codes, and replace characters that cannot be stored or hide others."""
    text = ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return UNSAFE.sub("\ufffd", text)


def cut_note(number: int) -> str:
    """What stands at the end of a text that was cut before; ``count_left_out`` reads it."""
    return f"\u2026 ({number:,} characters left out)"


def count_left_out(text: str, most: int) -> int:
    """Count the characters beyond ``most``, with those that a text says it was cut by before."""
    if len(text) <= most:
        return 0
    before = CUT_BEFORE.search(text[-60:])
    return len(text) - most + (int(before[1].replace(",", "")) if before else 0)


def text_part(text: str) -> TextPart:
    """Make a text part within the limits."""
    clean = clean_text(text)
    return TextPart(text=clean[:MAX_TEXT], cut=count_left_out(clean, MAX_TEXT))


def result_part(text: str) -> TextPart:
    """Make the text of a tool's result within the limits."""
    clean = clean_text(text)
    return TextPart(text=clean[:MAX_RESULT], cut=count_left_out(clean, MAX_RESULT))


def reasoning_part(text: str) -> ReasoningPart:
    """Make a part of reasoning within the limits."""
    clean = clean_text(text)
    return ReasoningPart(text=clean[:MAX_TEXT], cut=count_left_out(clean, MAX_TEXT))


def image_part(address: str, alt: str = "") -> ImagePart:
    """Keep an image given as a data address; of any other address only its name is kept."""
    match = IMAGE_DATA.match(address) if len(address) <= MAX_IMAGE else None
    if match:
        return ImagePart(
            data=f"data:{match[1]};base64,{''.join(match[2].split())}", alt=clean_text(alt)[:300]
        )
    if address.startswith("data:"):
        kind = clean_text(address[5:60].partition(";")[0].partition(",")[0])
        return ImagePart(alt=clean_text(alt)[:300], note=f"not kept: {kind or 'data'}")
    return ImagePart(alt=clean_text(alt)[:300], note=f"not kept: {clean_text(address)[:200]}")


def unknown_part(name: str, content: Any) -> UnknownPart:
    """Keep something of an unknown kind as JSON."""
    clean = clean_text(json.dumps(content, ensure_ascii=False, default=str))
    return UnknownPart(
        name=clean_text(name)[:80], text=clean[:MAX_RESULT], cut=count_left_out(clean, MAX_RESULT)
    )


def tool_call(name: str, arguments: Any, *, id: str = "") -> ToolCall:
    """Make a call without a result; ``arguments``: a JSON text or any JSON value."""
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False, default=str)
    clean = clean_text(arguments)
    return ToolCall(
        id=clean_text(id)[:200],
        name=clean_text(name)[:200] or "?",
        arguments=clean[:MAX_RESULT],
        arguments_cut=count_left_out(clean, MAX_RESULT),
    )


def part_text(part: Part) -> str:
    """The part as plain text."""
    if isinstance(part, ImagePart):
        return f"[image{': ' + part.alt if part.alt else ''}]"
    if isinstance(part, FilePart):
        return f"[file: {part.name}]"
    return part.text
