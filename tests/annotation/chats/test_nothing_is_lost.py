"""Turns and calls are counted in and out, whatever the format, order and cuts."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.chats.model import MAX_TURNS, Chat, dump_chat, load_chat
from annotation.chats.readers.base import UnreadableRecord, fit_document
from annotation.chats.readers.dispatch import RecordReader, read_record
from annotation.chats.readers.files import LineRecord, open_values
from annotation.chats.readers.tree import TraceSpan, order_spans, read_trace
from annotation.files.reading.rows import Problem
from tests.annotation.chats.examples import ONE, PNG, TRACES, TWO, outline

Step = tuple[str, str, list[tuple[str, int, str | None]]]
TEXT = st.text(max_size=12)
CALLS = st.lists(
    st.tuples(st.sampled_from(["add", "find"]), st.integers(0, 3), st.none() | TEXT), max_size=3
)
# A conversation as roles, texts and calls (name, argument, result or none).
CONVERSATION = st.lists(
    st.one_of(
        st.tuples(st.just("user"), TEXT, st.just([])),
        st.tuples(st.just("assistant"), TEXT, CALLS),
    ),
    min_size=1,
    max_size=8,
)


def as_openai(steps: list[Step]) -> list[dict[str, Any]]:
    """Write a conversation as messages of OpenAI's chat."""
    messages: list[dict[str, Any]] = []
    for at, (role, text, calls) in enumerate(steps):
        rows = [
            {"id": f"{at}-{n}", "function": {"name": name, "arguments": json.dumps({"x": x})}}
            for n, (name, x, _) in enumerate(calls)
        ]
        messages.append({"role": role, "content": text, **({"tool_calls": rows} if rows else {})})
        messages += [
            {"role": "tool", "tool_call_id": f"{at}-{n}", "content": result}
            for n, (_, _, result) in reversed(list(enumerate(calls)))
            if result is not None
        ]
    return messages


def as_anthropic(steps: list[Step]) -> list[dict[str, Any]]:
    """Write a conversation as messages of Anthropic."""
    messages: list[dict[str, Any]] = []
    for at, (role, text, calls) in enumerate(steps):
        uses = [
            {"type": "tool_use", "id": f"{at}-{n}", "name": name, "input": {"x": x}}
            for n, (name, x, _) in enumerate(calls)
        ]
        messages.append({"role": role, "content": [{"type": "text", "text": text}, *uses]})
        results = [
            {"type": "tool_result", "tool_use_id": f"{at}-{n}", "content": result}
            for n, (_, _, result) in enumerate(calls)
            if result is not None
        ]
        if results:
            messages.append({"role": "user", "content": results})
    return messages


def as_parts(steps: list[Step]) -> list[dict[str, Any]]:
    """Write a conversation as messages of OpenTelemetry's GenAI conventions."""
    messages: list[dict[str, Any]] = []
    for at, (role, text, calls) in enumerate(steps):
        parts = [
            {"type": "tool_call", "id": f"{at}-{n}", "name": name, "arguments": {"x": x}}
            for n, (name, x, _) in enumerate(calls)
        ]
        messages.append({"role": role, "parts": [{"type": "text", "content": text}, *parts]})
        messages += [
            {
                "role": "tool",
                "parts": [{"type": "tool_call_response", "id": f"{at}-{n}", "response": result}],
            }
            for n, (_, _, result) in enumerate(calls)
            if result is not None
        ]
    return messages


def as_langchain(steps: list[Step]) -> list[dict[str, Any]]:
    """Write a conversation as messages of LangChain."""
    messages: list[dict[str, Any]] = []
    for at, (role, text, calls) in enumerate(steps):
        rows = [
            {"id": f"{at}-{n}", "name": name, "args": {"x": x}}
            for n, (name, x, _) in enumerate(calls)
        ]
        kind = "human" if role == "user" else "ai"
        messages.append({"type": kind, "content": text, **({"tool_calls": rows} if rows else {})})
        messages += [
            {"type": "tool", "tool_call_id": f"{at}-{n}", "content": result}
            for n, (_, _, result) in enumerate(calls)
            if result is not None
        ]
    return messages


def as_ui(steps: list[Step]) -> list[dict[str, Any]]:
    """Write a conversation as messages of Vercel's AI SDK, whose calls hold their results."""
    return [
        {
            "role": role,
            "parts": [
                {"type": "text", "text": text},
                *(
                    {"type": f"tool-{name}", "toolCallId": f"{at}-{n}", "input": {"x": x}}
                    | ({} if result is None else {"output": result})
                    for n, (name, x, result) in enumerate(calls)
                ),
            ],
        }
        for at, (role, text, calls) in enumerate(steps)
    ]


def as_gemini(steps: list[Step]) -> dict[str, Any]:
    """Write a conversation as contents of Gemini."""
    contents: list[dict[str, Any]] = []
    for at, (role, text, calls) in enumerate(steps):
        asked = [
            {"functionCall": {"id": f"{at}-{n}", "name": name, "args": {"x": x}}}
            for n, (name, x, _) in enumerate(calls)
        ]
        given = [
            {"functionResponse": {"id": f"{at}-{n}", "name": name, "response": result}}
            for n, (name, _, result) in enumerate(calls)
            if result is not None
        ]
        who = "user" if role == "user" else "model"
        contents.append({"role": who, "parts": [{"text": text}, *asked]})
        contents += [{"role": "user", "parts": given}] if given else []
    return {"contents": contents}


def as_claude(steps: list[Step]) -> dict[str, Any]:
    """Write a conversation as Claude's export, with another branch beside each message."""
    rows: list[dict[str, Any]] = []
    parent = "00000000-0000-4000-8000-000000000000"
    for at, (message, (role, _, _)) in enumerate(
        zip(as_anthropic_whole(steps), steps, strict=True)
    ):
        sender = "human" if role == "user" else role
        kept = {"uuid": f"m{at}", "sender": sender, "content": message}
        rows.append(
            {"uuid": f"o{at}", "sender": sender, "text": "o", "parent_message_uuid": parent}
        )
        rows.append({**kept, "parent_message_uuid": parent})
        parent = f"m{at}"
    return {"uuid": "c", "chat_messages": rows}


def as_anthropic_whole(steps: list[Step]) -> list[list[dict[str, Any]]]:
    """Write the blocks of each step, with the results beside the calls."""
    blocks = []
    for message in as_anthropic(steps):
        if message["content"][0]["type"] == "tool_result":
            blocks[-1] += message["content"]
        else:
            blocks.append(message["content"])
    return blocks


def as_chatgpt(steps: list[Step]) -> dict[str, Any]:
    """Write a conversation as ChatGPT's export, with another branch beside each message."""
    mapping: dict[str, Any] = {"root": {"parent": None, "message": None}}

    def add(role: str, text: str, **more: Any) -> None:
        content = {"content_type": "text", "parts": [text]}
        for name in ("other", "node"):
            message = {"author": {"role": role}, "content": content, **more}
            mapping[f"{name}{len(mapping) // 2}"] = {"parent": parents[-1], "message": message}
        parents.append([*mapping][-1])

    parents = ["root"]
    for role, text, calls in steps:
        add(role, text)
        for name, x, _ in calls:
            add("assistant", json.dumps({"x": x}), recipient=name)
        for _, _, result in calls:
            if result is not None:
                add("tool", result)
    return {"id": "c", "mapping": mapping, "current_node": parents[-1]}


def counted(chat: Chat) -> tuple[int, int, int]:
    """Count turns, calls, and calls with a result."""
    calls = [call for turn in chat.turns for call in turn.calls]
    return len(chat.turns), len(calls), sum(call.result is not None for call in calls)


@given(CONVERSATION)
@settings(max_examples=30, deadline=None)
def test_turns_calls_and_results_are_the_same_in_all_formats(steps: list[Step]) -> None:
    calls = [call for _, _, rows in steps for call in rows]
    expected = len(steps), len(calls), sum(result is not None for *_, result in calls)
    chats = [
        read_record({"messages": write(steps)}).chat
        for write in (as_openai, as_anthropic, as_parts, as_langchain, as_ui)
    ]
    chats += [read_record(write(steps)).chat for write in (as_gemini, as_claude)]
    assert [counted(chat) for chat in chats] == [expected] * 7
    assert all(outline(chat) == outline(chats[0]) for chat in chats)
    assert load_chat(json.loads(dump_chat(chats[0]))) == chats[0]


@given(CONVERSATION)
@settings(max_examples=30, deadline=None)
def test_a_tree_gives_the_branch_shown_last_and_counts_every_other(steps: list[Step]) -> None:
    calls = [call for _, _, rows in steps for call in rows]
    results = sum(result is not None for *_, result in calls)
    chat = read_record(as_chatgpt(steps)).chat
    assert counted(chat) == (len(steps), len(calls), results)
    assert [turn.text for turn in chat.turns] == [
        turn.text for turn in read_record(as_openai(steps)).chat.turns
    ]
    assert f"other_branches:{len(steps) + len(calls) + results}" in chat.notes
    assert f"other_branches:{len(steps)}" in read_record(as_claude(steps)).chat.notes


def as_spans(steps: list[Step]) -> list[TraceSpan]:
    """Write a conversation as the spans of an agent: each model span repeats the history."""
    spans, messages = [TraceSpan("t", "root", "", "agent", 1, 10**12)], as_openai(steps)
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            attributes = {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": json.dumps(messages[:at]),
                "gen_ai.output.messages": json.dumps([message]),
            }
            begin = 10**9 * (at + 1)
            spans.append(
                TraceSpan("t", f"s{at}", "root", "chat", begin, begin + 5, attributes=attributes)
            )
    return spans


@given(CONVERSATION, st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_a_trace_in_any_order_with_doubles_gives_one_tree_and_each_turn_once(
    steps: list[Step], seed: int
) -> None:
    # Distinct texts, as a turn that is repeated word for word cannot be told from history.
    steps = [(role, f"{at} {text}", calls) for at, (role, text, calls) in enumerate(steps)]
    last = max((at for at, step in enumerate(steps) if step[0] == "assistant"), default=-1)
    steps = steps[: last + 1]
    if not steps:
        return
    spans = as_spans(steps)
    mixed = [*spans, *random.Random(seed).sample(spans, len(spans) // 2)]
    random.Random(seed).shuffle(mixed)
    trace, other = read_trace(spans), read_trace(mixed)
    assert [turn.text for turn in trace.chat.turns] == [text for _, text, _ in steps if text] or (
        len(trace.chat.turns) == len(steps)
    )
    assert outline(other.chat) == outline(trace.chat)
    assert other.chat.spans == trace.chat.spans


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 3)), max_size=30),
    st.randoms(),
)
@settings(max_examples=30, deadline=None)
def test_any_parents_give_a_tree_with_every_span_once(
    edges: list[tuple[int, int, int]], rng: random.Random
) -> None:
    spans = [TraceSpan("t", f"{own}", f"{parent}", "n", start) for own, parent, start in edges]
    listed, counts = order_spans(spans)
    assert len(listed) + counts.get("double_spans", 0) == len(spans)
    rng.shuffle(spans)
    again, _ = order_spans(spans)
    assert [(n.span, n.depth, n.note) for n in again] == [(n.span, n.depth, n.note) for n in listed]


def test_odd_spans_are_kept_and_noted() -> None:
    spans = [
        TraceSpan("t", "a", "b", "x", 5),
        TraceSpan("t", "b", "a", "y", 4),
        TraceSpan("t", "c", "gone", "z", 7, 6),
        TraceSpan("t", "", "", "w", 0, 0),
    ]
    shown = {one.name: one for one in read_trace(spans).chat.spans}
    assert {name: one.note for name, one in shown.items()} == {
        "y": "cycle",
        "x": "open",
        "z": "no parent",
        "w": "no id",
    }
    assert shown["z"].seconds is None and shown["w"].seconds is None and shown["x"].depth == 1


def test_the_oldest_turns_that_a_sender_dropped_leave_no_doubles() -> None:
    """As an SDK whose limit of attributes drops the first messages."""
    steps: list[Step] = [(("user", "assistant")[at % 2], f"turn {at}", []) for at in range(12)]
    spans = as_spans(steps)
    attributes = dict(spans[-1].attributes)
    kept = json.loads(attributes["gen_ai.input.messages"])[5:]
    attributes["gen_ai.input.messages"] = json.dumps(kept)
    cut = TraceSpan("t", "s11", "root", "chat", 12 * 10**9, attributes=attributes, dropped=10)
    trace = read_trace([*spans[:-1], cut])
    assert len(trace.chat.turns) == 12
    assert "attributes_dropped:10" in trace.chat.notes


def test_results_without_their_call_become_turns() -> None:
    raw = [
        {"role": "user", "content": "q"},
        {"role": "tool", "tool_call_id": "gone", "name": "find", "content": "late"},
    ]
    chat = read_record(raw).chat
    assert [(turn.role, turn.name, turn.text) for turn in chat.turns][1] == ("tool", "find", "late")
    assert chat.notes == ("orphan_results:1",)


def test_what_an_export_leaves_out_is_counted_and_named() -> None:
    slugs = ("chatgpt", "claude", "gemini")
    records = {slug: read_record(raw) for slug, raw, _ in ONE if slug in slugs}
    assert {slug: record.chat.notes for slug, record in records.items()} == {
        "chatgpt": ("hidden_messages:1", "other_branches:1"),
        "claude": ("files_not_kept:1", "other_branches:1", "private_fields_left_out:1"),
        "gemini": ("other_branches:1",),
    }
    assert {slug: record.meta["other_branches"] for slug, record in records.items()} == {
        "chatgpt": "assistant: FIRST (2)",
        "claude": "assistant: OTHER (1)",
        "gemini": "assistant: It is warm. (1)",
    }
    assert "x" not in records["claude"].meta.values()
    thread = next(raw for _, raw, _ in ONE if isinstance(raw, dict) and raw.get("has_more"))
    assert read_record(thread).chat.notes == ("pages_missing:1",)


@pytest.mark.parametrize(
    ("app", "raw"),
    [
        ("Slack", {"type": "message", "user": "U1", "text": "Hi", "ts": "1790000000.000100"}),
        ("Discord", {"guild": {}, "channel": {}, "messages": [{"content": "Hi"}]}),
    ],
)
def test_a_chat_between_people_is_refused_by_name(app: str, raw: dict[str, Any]) -> None:
    with pytest.raises(UnreadableRecord, match=app):
        read_record(raw)


def test_what_exceeds_the_limits_is_cut_and_noted() -> None:
    raw = [{"role": "user", "content": str(at)} for at in range(MAX_TURNS + 3)]
    chat = read_record(raw).chat
    assert len(chat.turns) == MAX_TURNS and chat.notes == ("turns_cut:3",)
    long = [
        {"role": "user", "content": [{"type": "text", "text": "x" * 300_000}]},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "name": "f"}]},
        {"role": "tool", "tool_call_id": "1", "content": "y" * 5_000_000},
    ]
    chat = read_record(long).chat
    assert chat.notes == ("texts_cut:2",)
    assert chat.turns[1].calls[0].result[0].cut == 5_000_000 - 64_000  # type: ignore[index,union-attr]
    image = {"type": "image_url", "image_url": {"url": PNG}}
    chat = read_record(
        [{"role": "user", "content": [image, {"type": "text", "text": "q" * 900}]}] * 9
    )
    small = fit_document(chat.chat, 5_000)
    assert len(dump_chat(small)) <= 5_000
    assert {note.partition(":")[0] for note in small.notes} >= {"images_not_kept", "turns_cut"}


def mutated(value: Any, rng: random.Random) -> Any:
    """Return a value in which something somewhere is replaced, left out or doubled."""
    odd = [
        None,
        True,
        7,
        -1.5,
        "",
        "x",
        [],
        {},
        [[]],
        {"type": []},
        "[1",
        '{"a": 1}',
        [None],
        1e300,
    ]
    if rng.random() < 0.15:
        return rng.choice(odd)
    if isinstance(value, list) and value:
        at = rng.randrange(len(value))
        return [*value[:at], mutated(value[at], rng), *value[at + rng.choice([0, 1, 1, 2]) :]]
    if isinstance(value, dict) and value:
        name = rng.choice(list(value))
        return {**value, name: mutated(value[name], rng)}
    return rng.choice(odd)


@pytest.mark.parametrize("seed", range(4))
def test_odd_records_are_read_or_refused_but_never_crash(seed: int) -> None:
    rng = random.Random(seed)
    good = [row[1] for row in (*ONE, *TWO)] + [raw for row in TRACES for raw in row[1]]
    for _ in range(100):
        raw = rng.choice(good)
        for _ in range(rng.randint(1, 3)):
            raw = mutated(raw, rng)
        for event in open_values([raw]).events:
            assert event.line == 1
            assert not isinstance(event, Problem) or "of the kind that" not in event.wrong, (
                raw,
                event,
            )
            assert not isinstance(event, LineRecord) or dump_chat(event.record.chat)


def test_records_of_several_files_do_not_mix() -> None:
    assert not list(RecordReader().finish())
