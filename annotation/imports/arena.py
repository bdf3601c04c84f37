"""Arena battles (JSONL): two models' conversations, which one won, and who says so.

A conversation's last assistant message is the text under judgment, what the user said is its
query; ``model_a`` stood on the left. Both kinds of tie are neutral.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, NamedTuple

from annotation.formats.limits import check_size
from annotation.formats.sources import encoding_of, lines, of_bytes
from annotation.sides import LEFT, NEUTRAL, RIGHT
from crowdqc.json_input import Unreadable, read_json

from .base import MAX_SHOWN, Problem, refuse

WINNERS = {"model_a": LEFT, "model_b": RIGHT, "tie": NEUTRAL, "tie (bothbad)": NEUTRAL}
TOPIC = "all"  # of battles that name no question
LIMITS = {"question_id": 80, "model_a": 120, "model_b": 120, "judge": 120}
MAX_BYTES = 200 * 2**20  # every battle repeats both of its texts
MAX_LINE = 2_000_000  # characters


class Battle(NamedTuple):
    """One battle; ``left`` and ``right`` are a model's name and its text."""

    line: int
    topic: str
    query: str
    left: tuple[str, str]
    right: tuple[str, str]
    winner: str  # left, neutral or right
    judge: str
    at: dt.datetime | None


def read_battles(content: bytes, name: str, *, judge: str = "") -> list[Battle]:
    """The battles of a file, in its order; ``judge`` stands in for judges that are not named.

    Raises Invalid whose ``rows`` name line, column, value, wrong and mend of each bad battle.
    """
    check_size(len(content), MAX_BYTES)
    problems: list[Problem] = []
    battles = []
    source = of_bytes(content)
    for number, line in enumerate(lines(source, encoding_of(source), MAX_LINE), 1):
        if line.strip():
            found = _battle(_Line(number, problems), line, judge)
            if found is not None:
                battles.append(found)
    refuse(name, problems, len(battles), "battles")
    return battles


class _Line:
    """Where a battle stands, and the list that takes what is wrong with it."""

    def __init__(self, number: int, problems: list[Problem]) -> None:
        self.number, self.problems = number, problems

    def bad(self, column: str, value: Any, wrong: str, mend: str) -> None:
        shown = str(value)[:MAX_SHOWN]
        self.problems.append(Problem(self.number, column, shown, wrong, mend))

    def text(self, raw: Mapping[str, Any], column: str) -> str:
        value = raw.get(column)
        value = "" if value is None else str(value).strip().replace("\x00", "")
        if len(value) > LIMITS[column]:
            most = LIMITS[column]
            self.bad(
                column, value, f"{len(value):,} characters; {most} is the most.", "Shorten it."
            )
        return value


def _battle(line: _Line, text: str, judge: str) -> Battle | None:
    before = len(line.problems)
    try:
        raw = read_json(text, any_text=True)
    except Unreadable as error:
        line.bad("", text, error.says, "Write one battle as an object on this line.")
        return None
    if not isinstance(raw, dict):
        line.bad("", text, "A JSON object is wanted here.", "Write one battle on this line.")
        return None
    topic = line.text(raw, "question_id") or TOPIC
    models = [line.text(raw, column) for column in ("model_a", "model_b")]
    for column, model in zip(("model_a", "model_b"), models, strict=True):
        if not model:
            line.bad(column, "", "The model is not named.", "Write its name.")
    if raw.get("winner") not in WINNERS:
        known = ", ".join(WINNERS)
        line.bad("winner", raw.get("winner"), "This is not an outcome.", f"One of {known}.")
    who = line.text(raw, "judge") or judge
    if not who:
        line.bad("judge", "", "Nobody is named who judged it.", "Name one, or say --judge NAME.")
    sides = [_said(line, raw, column) for column in ("conversation_a", "conversation_b")]
    if len(line.problems) == before and models[0] == models[1] and sides[0][1] == sides[1][1]:
        line.bad("model_b", models[1], "A text meets itself.", "Leave the battle out.")
    at = _moment(line, raw.get("tstamp"))
    if len(line.problems) > before:
        return None
    left, right = zip(models, (said for _, said in sides), strict=True)
    query = sides[0][0] or sides[1][0]
    return Battle(line.number, topic, query, left, right, WINNERS[raw["winner"]], who, at)


def _said(line: _Line, raw: Mapping[str, Any], column: str) -> tuple[str, str]:
    """What the user asked and the last thing the assistant said; empty where nothing is given."""
    turns = raw.get(column)
    if turns is None:
        return "", ""
    if not isinstance(turns, list) or not all(
        isinstance(turn, dict) and isinstance(turn.get("content"), str) for turn in turns
    ):
        line.bad(column, turns, "This is not a conversation.", "A list of {role, content}.")
        return "", ""
    asked = [turn["content"] for turn in turns if turn.get("role") == "user"]
    said = [turn["content"] for turn in turns if turn.get("role") == "assistant"]
    last = said[-1] if said else ""
    return "\n\n".join(asked).replace("\x00", ""), last.replace("\x00", "")


def _moment(line: _Line, raw: Any) -> dt.datetime | None:
    if raw is None or raw == "":
        return None
    try:
        at = dt.datetime.fromtimestamp(float(raw), dt.UTC)
        if at.year >= 1990:
            return at
    except (TypeError, ValueError, OverflowError, OSError):
        pass
    line.bad("tstamp", raw, "This is not a time.", "Seconds since 1970, or leave it out.")
    return None
