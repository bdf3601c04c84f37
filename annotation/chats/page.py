"""What pages show of a conversation: turns with their parts, calls folded, fields beside them.

Pure. Texts are rendered by the one sanitiser; nothing is loaded from elsewhere, and images are
shown only as the data that was kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.chats.model import (
    Chat,
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCall,
    Turn,
)
from annotation.chats.notes import note_texts
from annotation.chats.steps import StepsView, view_steps
from annotation.chats.storage import chat_of
from annotation.chats.text import pretty_json
from annotation.models import ChatContent
from crowdqc.numbers import count, duration, plural
from crowdqc.web.markdown import render_markdown
from crowdqc.web.terms import Words

ROLE_LABELS: Mapping[Role, Words] = {
    "system": gettext_lazy("System"),
    "user": gettext_lazy("User"),
    "assistant": gettext_lazy("Assistant"),
    "tool": gettext_lazy("Tool"),
}
LINE = 60  # characters of arguments and results on the line of a folded call
NO_LINES: Mapping[str, Sequence[Any]] = {}


@dataclass(frozen=True)
class PartView:
    """A part as it is shown; ``kind``: text, image, file, reasoning or unknown."""

    kind: str
    html: SafeString | str = ""
    name: str = ""
    data: str = ""
    note: str = ""


@dataclass(frozen=True)
class CallView:
    """A call of a tool: its line when folded, and its arguments and result."""

    unit: str  # "4c1"
    name: str
    line: str
    result_line: str
    arguments: str
    results: tuple[PartView, ...]
    result_text: str
    size: str
    is_error: bool
    error: str
    notes: tuple[str, ...]
    lines: Sequence[Any]  # the fields asked about it


@dataclass(frozen=True)
class TurnView:
    """A turn as it is shown; ``lines`` are the fields asked about it."""

    number: int
    role: Role
    label: str
    parts: tuple[PartView, ...]
    calls: tuple[CallView, ...]
    lines: Sequence[Any]
    facts: tuple[str, ...]

    @property
    def is_folded(self) -> bool:
        """Whether the turn starts folded: instructions to the model are long and seldom judged."""
        return self.role == "system"

    @property
    def text(self) -> str:
        """The turn's texts as written."""
        return "\n\n".join(part.name for part in self.parts if part.kind == "text")

    @property
    def first_words(self) -> str:
        """The beginning of the turn's text, for its folded line."""
        return next((one_line(part.name, 90) for part in self.parts if part.kind == "text"), "")


@dataclass(frozen=True)
class ChatView:
    """A conversation as a page shows it."""

    turns: tuple[TurnView, ...]
    notes: tuple[str, ...]
    has_calls: bool
    steps: StepsView

    @property
    def first_words(self) -> str:
        """How the first turn that is no instruction begins."""
        return next((turn.first_words for turn in self.turns if turn.role != "system"), "")


def chat_page(
    row: ChatContent,
    by_unit: Mapping[str, Sequence[Any]] = NO_LINES,
    *,
    hides_system: bool = False,
    facts: bool = False,
) -> ChatView:
    """Return a stored conversation as shown; ``by_unit``: fields by the unit they are about.

    ``facts``: models, tokens and times of turns, which would unblind workers.
    """
    return view_chat(chat_of(row), by_unit, hides_system=hides_system, facts=facts)


def view_chat(
    chat: Chat,
    by_unit: Mapping[str, Sequence[Any]] = NO_LINES,
    *,
    hides_system: bool = False,
    facts: bool = False,
) -> ChatView:
    """Return a conversation as shown."""
    turns = tuple(
        view_turn(turn, number, by_unit, facts=facts)
        for number, turn in chat.numbered()
        if not (hides_system and turn.role == "system")
    )
    return ChatView(
        turns,
        tuple(note_texts(chat.notes)) if facts else (),
        any(turn.calls for turn in chat.turns),
        view_steps(chat, facts=facts),
    )


@dataclass(frozen=True)
class PairView:
    """Two conversations as shown beside each other: what both begin with, and the rest of each."""

    shared: ChatView
    sides: tuple[ChatView, ChatView]
    first_difference: int | None  # the number of the turn; None: they are the same


def pair_page(first: ChatContent, second: ChatContent) -> PairView:
    """Return two stored conversations as shown, their common beginning apart."""
    chats = chat_of(first), chat_of(second)
    same = shared_turns(*chats)
    shared = Chat(turns=chats[0].turns[:same])
    sides = tuple(
        replace(view, turns=view.turns[same:]) for view in (view_chat(chat) for chat in chats)
    )
    ends = same == max(len(chat.turns) for chat in chats)
    return PairView(view_chat(shared), (sides[0], sides[1]), None if ends else same + 1)


def shared_turns(first: Chat, second: Chat) -> int:
    """Count the turns that both conversations begin with, whatever ids, models and times say."""
    same = 0
    for one, other in zip(first.turns, second.turns, strict=False):
        if _content(one) != _content(other):
            break
        same += 1
    return same


def _content(turn: Turn) -> object:
    calls = tuple((call.name, call.arguments, call.result, call.is_error) for call in turn.calls)
    return turn.role, turn.parts, calls


def view_turn(
    turn: Turn, number: int, by_unit: Mapping[str, Sequence[Any]], *, facts: bool
) -> TurnView:
    """Return one turn as shown."""
    label = str(ROLE_LABELS[turn.role])
    return TurnView(
        number=number,
        role=turn.role,
        label=f"{label}, {turn.name}" if turn.role == "tool" and turn.name else label,
        parts=tuple(view_part(part) for part in turn.parts),
        calls=tuple(
            _call(call, f"{number}c{at}", by_unit) for at, call in enumerate(turn.calls, 1)
        ),
        lines=by_unit.get(str(number), ()),
        facts=_facts(turn) if facts else (),
    )


def view_part(part: Part) -> PartView:
    """Return one part as shown."""
    if isinstance(part, TextPart):
        return PartView(
            "text",
            render_markdown(part.text, breaks=True, math=True),
            part.text,
            note=_cut(part.cut),
        )
    if isinstance(part, ReasoningPart):
        return PartView(
            "reasoning",
            render_markdown(part.text, breaks=True, math=True),
            part.text,
            note=_cut(part.cut),
        )
    if isinstance(part, ImagePart):
        return PartView("image", name=part.alt or _("image"), data=part.data, note=part.note)
    if isinstance(part, FilePart):
        return PartView("file", name=part.name, note=part.media_type)
    return PartView("unknown", pretty_json(part.text), part.name, note=_cut(part.cut))


def _call(call: ToolCall, unit: str, by_unit: Mapping[str, Sequence[Any]]) -> CallView:
    result = call.result_text
    notes = [_cut(call.arguments_cut)] if call.arguments_cut else []
    if call.result is None:
        notes.append(_("no result was recorded"))
    texts = [part for part in call.result or () if isinstance(part, TextPart)]
    notes += [_cut(part.cut) for part in texts if part.cut]
    seconds = "" if call.seconds is None else duration(call.seconds)
    return CallView(
        unit=unit,
        name=call.name,
        line=one_line(call.arguments),
        result_line=one_line(result),
        arguments=pretty_json(call.arguments),
        results=tuple(view_part(part) for part in call.result or () if part not in texts),
        result_text=pretty_json("\n".join(part.text for part in texts)),
        size=filesizeformat(len(call.arguments) + len(result)),
        is_error=call.is_error,
        error=(_("Error after %(seconds)s") % {"seconds": seconds} if seconds else _("Error"))
        if call.is_error
        else "",
        notes=tuple(notes),
        lines=by_unit.get(unit, ()),
    )


def _facts(turn: Turn) -> tuple[str, ...]:
    found = [turn.model]
    if turn.tokens_in is not None or turn.tokens_out is not None:
        found.append(
            _("%(read)s tokens in, %(written)s out")
            % {"read": count(turn.tokens_in or 0), "written": count(turn.tokens_out or 0)}
        )
    if turn.seconds is not None:
        found.append(duration(turn.seconds))
    return tuple(filter(None, found))


def _cut(characters: int) -> str:
    if not characters:
        return ""
    return _("cut: %(characters)s not shown") % {"characters": plural(characters, "character")}


def one_line(text: str, most: int = LINE) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text[: most * 4].split())
    return line if len(line) <= most and len(text) <= most * 4 else f"{line[: most - 1]}…"
