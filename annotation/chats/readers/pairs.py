"""Pairs of conversations: arenas of all years, MT-bench, and preferences for training."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from annotation.chats.model import MAX_TEXT, Chat, clean_text
from annotation.chats.readers.base import (
    Builder,
    ChatPair,
    ChatRecord,
    UnreadableRecord,
    Winner,
    add_notes,
    as_text,
    dict_of,
    list_of,
    meta_of,
    moment_text,
    parse_json,
    text_of,
)
from annotation.chats.readers.messages import ROLES, add_messages, is_messages
from annotation.chats.readers.sharegpt import add_turns, is_turns

# Ways of writing a verdict, without case and punctuation.
VERDICTS: dict[str, Winner] = {
    "modela": "model_a",
    "a": "model_a",
    "modelb": "model_b",
    "b": "model_b",
    "tie": "tie",
    "bothgood": "tie",
    "tiebothgood": "tie",
    "bothbad": "both_bad",
    "tiebothbad": "both_bad",
}
# One column for each outcome, which is 1 or true where it came out so.
OUTCOMES: dict[str, Winner] = {
    "winner_model_a": "model_a",
    "winner_model_b": "model_b",
    "winner_tie": "tie",
    "winner_both_bad": "both_bad",
}
JUDGES = ("judge", "judge_hash", "user", "user_id", "annotator", "evaluation_session_id")
TIMES = ("tstamp", "timestamp", "created_at", "time")
PROMPTS = ("prompt", "query", "instruction", "question")
# How HH-RLHF writes a whole conversation as one text.
TRANSCRIPT = re.compile(r"\s*Human:.*\n\nAssistant:", re.DOTALL)
SPEAKER = re.compile(r"\n\n(Human|Assistant):[ ]?")
KEYS = ("question_id", "id", "conversation_id", "battle_id")


def verdict_of(raw: Mapping[str, Any]) -> Winner:
    """Read the verdict of a row: one ``winner``, or a column for each outcome; "" without one."""
    if raw.get("winner") in (None, "") and OUTCOMES.keys() & raw.keys():
        came = [
            name for name in OUTCOMES if str(raw.get(name, "")).casefold() in ("1", "1.0", "true")
        ]
        return OUTCOMES[came[0]] if len(came) == 1 else ""
    bare = re.sub(r"[\W_]+", "", str(raw.get("winner", ""))).casefold()
    return VERDICTS.get(bare, "")


def conversation(value: Any, *, turn: int = 0) -> Chat:
    """Make the conversation of a list of messages, or of the JSON text of one.

    ``turn`` from 1 leaves out what follows the answer in this turn, which is noted. Raises
    UnreadableRecord where the value is no list of messages.
    """
    messages = parse_json(value)
    builder = Builder()
    if is_turns(messages):
        add_turns(builder, messages)
    elif isinstance(messages, list) and all(isinstance(one, dict) for one in messages):
        kept = messages[: _end_of_turn(messages, turn)]
        builder.notes["turns_after_judged"] += len(messages) - len(kept)
        add_messages(builder, kept)
    else:
        raise UnreadableRecord("not a list of messages")
    return builder.chat()


def _end_of_turn(messages: list[dict[str, Any]], turn: int) -> int:
    begins = [
        at
        for at, one in enumerate(messages)
        if ROLES.get(str(one.get("role", "")).casefold()) == "user"
    ]
    return begins[turn] if 0 < turn < len(begins) else len(messages)


def alternating(prompts: list[Any], answers: list[Any]) -> Chat:
    """Make a conversation of questions and answers in turn; null is an empty text."""
    builder = Builder()
    for at in range(max(len(prompts), len(answers))):
        for role, rows in (("user", prompts), ("assistant", answers)):
            if at < len(rows):
                add_messages(builder, [{"role": role, "content": _content(rows[at])}])
    return builder.chat()


def _content(value: Any) -> Any:
    return value if isinstance(value, str | list) or value is None else as_text(value)


def read_arena(raw: Mapping[str, Any], seen: tuple[str, ...]) -> ChatRecord:
    """Read a battle of an arena or of MT-bench, in conversations or as prompt and responses."""
    turn = _turn_of(raw)
    sides = [read_side(raw, side, turn) for side in ("a", "b")]
    winner = verdict_of(raw)
    judge, topic = text_of(raw, *JUDGES), text_of(raw, *KEYS)
    if isinstance(raw.get("judge"), list):
        judge = ", ".join(map(str, raw["judge"]))
    when = next((moment_text(raw[name]) for name in TIMES if raw.get(name)), "")
    if raw.get("winner") not in (None, "") and not winner:
        sides = [add_notes(side, {"unknown_verdicts": 1}) for side in sides]
    used = {"conversation_a", "conversation_b", "full_conversation", "response_a", "response_b"}
    used |= {"model_a", "model_b", "winner", "turn", *JUDGES, *TIMES, *OUTCOMES, *KEYS[:1]}
    left, right = sides
    pair = ChatPair(
        left,
        right,
        text_of(raw, "model_a"),
        text_of(raw, "model_b"),
        winner,
        judge,
        when,
        topic,
        turn,
    )
    if not {"conversation_a", "full_conversation"} & raw.keys():
        used |= set(PROMPTS)
    return ChatRecord(
        "arena", seen, pair.left, text_of(raw, *KEYS), pair=pair, meta=meta_of(raw, used)
    )


def _turn_of(raw: Mapping[str, Any]) -> int:
    """The judged turn. Arena files count turns there; the last one is judged either way."""
    number = text_of(raw, "turn")
    return int(number) if number.isdigit() and len(number) < 4 else 0


def read_side(raw: Mapping[str, Any], side: str, turn: int = 0) -> Chat:
    """Read the conversation of a side, "a" or "b", up to the judged turn (0: all of it).

    The fields are those of arenas: ``full_conversation``, ``conversation_a``, or ``prompt`` with
    ``response_a``. Raises UnreadableRecord where a conversation is no list of messages.
    """
    rounds = list_of(raw.get("full_conversation"))
    own = parse_json(raw.get(f"conversation_{side}"))
    full = [
        message
        for one in rounds
        if isinstance(one, dict)
        for message in (one.get("user"), one.get(f"model_side_{side}"))
        if message is not None
    ]
    said = any(one and name != "role" for row in full for name, one in dict_of(row).items())
    if said and len(full) >= len(own if isinstance(own, list) else []):
        return conversation(full)
    if own is not None and own != "":
        return conversation(own, turn=turn)
    prompts = next((parse_json(raw[name]) for name in PROMPTS if raw.get(name)), None)
    return _answered(prompts, raw.get(f"response_{side}"))


def plain_texts(value: Any) -> tuple[str, str] | None:
    """Return question and answer of a list of two plain messages, without building a conversation.

    Most battles are these. None of anything else, which ``read_side`` reads.
    """
    messages = parse_json(value)
    if not (isinstance(messages, list) and len(messages) == 2):
        return None
    for message, role in zip(messages, ("user", "assistant"), strict=True):
        plain = isinstance(message, dict) and message.keys() == {"role", "content"}
        if not (plain and message["role"] == role and isinstance(message["content"], str)):
            return None
    texts = [clean_text(message["content"]) for message in messages]
    return (texts[0], texts[1]) if max(map(len, texts)) <= MAX_TEXT else None


def _answered(prompts: Any, given: Any) -> Chat:
    """Make the conversation of prompts and their answers; an empty one without answers."""
    if given in (None, ""):
        return conversation([])
    answers = parse_json(given)
    if is_messages(answers):
        return conversation([*_as_messages(prompts, "user"), *answers])
    listed = isinstance(answers, list) and all(isinstance(one, str | None) for one in answers)
    if not listed:
        answer = {"role": "assistant", "content": _content(given)}
        return conversation([*_as_messages(prompts, "user"), answer])
    prompts = prompts if isinstance(prompts, list) else [] if prompts is None else [prompts]
    if is_messages(prompts):
        texts = [{"role": "assistant", "content": one} for one in answers]
        return conversation([*prompts, *texts])
    return alternating(prompts, answers)


def _as_messages(value: Any, role: str) -> list[Any]:
    parsed = parse_json(value)
    if parsed in (None, ""):
        return []
    if isinstance(parsed, str) and TRANSCRIPT.match(parsed):
        said = SPEAKER.split(f"\n\n{parsed.lstrip()}")[1:]
        turns = [
            {"role": who, "content": text} for who, text in zip(said[::2], said[1::2], strict=True)
        ]
        is_open = role == "user" and not turns[-1]["content"].strip()  # what is to be answered
        return turns[:-1] if is_open else turns
    if is_messages(parsed):
        return list(parsed)
    rows = parsed if isinstance(parsed, list) else [parsed]
    return [{"role": role, "content": _content(one)} for one in rows]


def _questions(messages: list[Any]) -> list[Any]:
    rows = [one for one in messages if isinstance(one, dict)]
    return [
        one.get("content")
        for one in rows
        if ROLES.get(str(one.get("role", "")).casefold()) == "user"
    ]


def read_preference(raw: Mapping[str, Any], seen: tuple[str, ...]) -> ChatRecord:
    """Read a preference: prompt, chosen and rejected, or OpenAI's preferred and other output.

    Beside results of a model that judged, the vote is the model's, and "chosen" the known answer.
    """
    inner = raw.get("input")
    tools = raw.get("tools")
    if "preferred_output" in raw:
        before = list_of(inner.get("messages") if isinstance(inner, dict) else inner)
        tools = inner.get("tools") if isinstance(inner, dict) else tools
        better, other = raw["preferred_output"], raw.get("non_preferred_output")
    else:
        prompt = next((raw[name] for name in PROMPTS if raw.get(name)), None)
        before = _as_messages(prompt, "user")
        better, other = raw.get("chosen"), raw.get("rejected")
    sides = []
    for value in (better, other):
        builder = Builder()
        messages = _as_messages(value, "assistant")
        is_whole = _questions(before) == _questions(messages)[: len(_questions(before))]
        add_messages(builder, messages if is_whole else [*before, *messages])
        sides.append(builder.chat(parse_json(tools)))
    left, right = sides
    vote = _vote_of_model(raw)
    pair = ChatPair(
        left,
        right,
        text_of(raw, "chosen_model") or "chosen",
        text_of(raw, "rejected_model") or "rejected",
        vote or "model_a",
        text_of(raw, "model") if vote else "",
        topic=text_of(raw, "prompt_id", "id"),
    )
    used = {*PROMPTS, "chosen", "rejected", "input", "preferred_output", "non_preferred_output"}
    used |= {"tools", "chosen_model", "rejected_model", *(("model",) if vote else ())}
    return ChatRecord(
        "preference",
        seen,
        pair.left,
        text_of(raw, "id"),
        pair=pair,
        target="chosen" if vote else "",
        meta=meta_of(raw, used),
    )


def _vote_of_model(raw: Mapping[str, Any]) -> Winner:
    """Which of chosen and rejected the model prefers that judged both; "" where none did."""
    if not text_of(raw, "model"):
        return ""
    try:
        if {"scores_chosen", "scores_rejected"} <= raw.keys():
            better = float(raw["scores_chosen"]) - float(raw["scores_rejected"])
        else:
            better = 2 * float(raw["results"]) - 1
    except (KeyError, TypeError, ValueError):
        return ""
    return "model_a" if better > 0 else "model_b" if better < 0 else "tie"
