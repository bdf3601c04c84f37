"""The parts of a conversation that a field can be asked about: whole, turns, and tool calls."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext, gettext_lazy

from annotation.chats.model import Chat
from crowdqc.web.terms import Words

WHOLE, ASSISTANT, TURNS, LAST, CALLS = "", "assistant", "turns", "last", "calls"
PER: Mapping[str, Words] = {
    WHOLE: gettext_lazy("The whole conversation"),
    ASSISTANT: gettext_lazy("Each assistant turn"),
    LAST: gettext_lazy("The last assistant turn"),
    TURNS: gettext_lazy("Every turn"),
    CALLS: gettext_lazy("Each tool call"),
}
AMONG = (ASSISTANT, TURNS, CALLS)  # parts of which one can be chosen
MARK = "@"  # between a field's name and its unit: "helpful@4", "correct@4c1"
MOST_UNITS = 200  # of a field on one page
LONGEST_UNIT = 8  # characters


def units_of(chat: Chat) -> dict[str, list[str]]:
    """List the units of each kind: the numbers of turns, and "4c1" for the first call of turn 4.

    A conversation with over MOST_UNITS of a kind has its last ones.
    """
    shown = [number for number, turn in chat.numbered() if turn.role != "system"]
    answers = [number for number in shown if chat.turns[number - 1].role == "assistant"]
    spoken = [number for number in answers if chat.turns[number - 1].text.strip()]
    calls = [
        f"{number}c{at}"
        for number, turn in chat.numbered()
        for at, _call in enumerate(turn.calls, 1)
    ]
    found = {
        TURNS: [str(number) for number in shown],
        ASSISTANT: [str(number) for number in answers],
        LAST: [str(number) for number in (spoken or answers)[-1:]],
        CALLS: calls,
    }
    return {kind: units[-MOST_UNITS:] for kind, units in found.items() if units}


def split_unit(name: str) -> tuple[str, str]:
    """Split a stored field into its name and its unit, "" for the whole."""
    field, _mark, unit = name.partition(MARK)
    return field, unit


def unit_label(unit: str) -> str:
    """Return the words for a unit, such as "Turn 4, call 1"."""
    turn, _call, call = unit.partition("c")
    if not call:
        return gettext("Turn %(turn)s") % {"turn": turn}
    return gettext("Turn %(turn)s, call %(call)s") % {"turn": turn, "call": call}


def turn_of(unit: str) -> int:
    """Return the number of the turn that a unit belongs to; 0 for the whole."""
    return int(unit.partition("c")[0]) if unit else 0
