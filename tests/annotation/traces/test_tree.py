"""Spans as a tree and a conversation: the same however they come, and nothing repaired silently."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.chats.judges import hide_judges
from annotation.chats.model import Span
from annotation.traces.tree import StoredSpan, build_chat

SECOND = 10**9
BEGIN = 1_764_410_000 * SECOND


def span(
    name: str, parent: str = "", start: float | None = 0, end: float | None = 1, **more: Any
) -> StoredSpan:
    return StoredSpan(
        id=name,
        parent=parent,
        name=name,
        start_ns=None if start is None else BEGIN + round(start * SECOND),
        end_ns=None if end is None else BEGIN + round(end * SECOND),
        **more,
    )


def model_span(name: str, start: float, sent: list[Any], answer: Any, **more: Any) -> StoredSpan:
    attributes = {"gen_ai.input.messages": sent, "gen_ai.output.messages": [answer]}
    return span(name, start=start, end=start + 1, kind="model", attributes=attributes, **more)


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def build_tree(spans: list[StoredSpan]) -> list[Span]:
    return list(build_chat(spans).spans)


IDS = st.sampled_from("abcdefgh")
SPANS = st.lists(
    st.builds(
        span,
        IDS,
        st.one_of(st.just(""), IDS, st.just("missing")),
        st.one_of(st.none(), st.integers(0, 5)),
        st.one_of(st.none(), st.integers(0, 5)),
    ),
    max_size=8,
    unique_by=lambda one: one.id,
)


@given(SPANS, st.randoms(use_true_random=False))
def test_order_copies_and_splits_of_requests_give_the_same_tree(
    spans: list[StoredSpan], draw: random.Random
) -> None:
    copies = spans + draw.sample(spans, len(spans) // 2)
    draw.shuffle(copies)
    tree = build_tree(spans)
    assert build_tree(copies) == tree
    assert sorted(node.id for node in tree) == sorted(one.id for one in spans)
    assert build_chat(copies).turns == build_chat(spans).turns


@given(SPANS)
def test_every_child_stands_below_its_parent_unless_a_note_says_why(
    spans: list[StoredSpan],
) -> None:
    depths: dict[str, int] = {}
    for node in build_tree(spans):
        parent = depths.get(node.parent)
        if node.depth:
            assert parent == node.depth - 1
        elif node.parent:
            assert node.note in ("no parent", "cycle")
        depths[node.id] = node.depth


def test_orphans_cycles_open_and_backward_spans_are_named() -> None:
    tree = build_tree(
        [
            span("x", "y", 3, 4),
            span("y", "x", 2, 4),
            span("own", "own", 4, 5),
            span("lost", "missing", 1),
            span("open", "", 0, None),
            span("back", "open", 2, 1),
        ]
    )
    assert [(node.id, node.depth, node.note) for node in tree] == [
        ("open", 0, "open"),
        ("back", 1, "ends before it begins"),
        ("lost", 0, "no parent"),
        ("y", 0, "cycle"),
        ("x", 1, ""),
        ("own", 0, "cycle"),
    ]


def test_siblings_stand_by_start_then_id_and_unknown_times_last() -> None:
    root = span("root")
    kids = [
        span("c", "root", None),
        span("b", "root", 1),
        span("a", "root", 1),
        span("z", "root", 0),
    ]
    assert [node.id for node in build_tree([*kids, root])] == ["root", "z", "a", "b", "c"]


def test_durations_of_skewed_clocks_are_unknown_not_negative() -> None:
    shown = {one.id: one for one in build_chat([span("a", "", 5, 3), span("b", "a", 1, 2)]).spans}
    assert shown["a"].seconds is None and shown["a"].offset == 4.0
    assert shown["b"].seconds == 1.0 and shown["b"].offset == 0.0


def test_a_history_that_every_span_repeats_is_shown_once() -> None:
    first = [said("system", "Be brief."), said("user", "Hi"), said("assistant", "Hello")]
    second = [*first, said("user", "Hi")]
    chat = build_chat(
        [
            model_span("two", 2, second, said("assistant", "Again?")),
            model_span("one", 0, first[:2], first[2]),
            model_span("wrapper", 2, second, said("assistant", "Again?")),
        ]
    )
    assert [turn.text for turn in chat.turns] == ["Be brief.", "Hi", "Hello", "Hi", "Again?"]
    assert {one.id: one.turn for one in chat.spans} == {"one": 3, "two": 5, "wrapper": 5}


def test_a_history_whose_beginning_is_lost_continues_the_conversation() -> None:
    turns = [said("user" if n % 2 == 0 else "assistant", f"turn {n}") for n in range(8)]
    chat = build_chat(
        [
            model_span("a", 0, turns[:5], turns[5], dropped=0),
            model_span("b", 2, turns[4:7], turns[7], dropped=36),
        ]
    )
    assert [turn.text for turn in chat.turns] == [f"turn {n}" for n in range(8)]
    assert "attributes_dropped:36" in chat.notes
    assert [one.dropped for one in chat.spans] == [0, 36]


def test_results_of_tools_stand_at_their_calls_with_time_and_error() -> None:
    call = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Lyon"}}
    asked = {"role": "assistant", "parts": [call]}
    tool = span(
        "run", "", 1, 3, kind="tool", is_error=True, message="no answer",
        attributes={"gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c1"},
    )  # fmt: skip
    chat = build_chat([model_span("ask", 0, [said("user", "Rain?")], asked), tool])
    [made] = chat.turns[1].calls
    assert (made.result_text, made.is_error, made.seconds) == ("no answer", True, 2.0)


def test_either_name_of_a_tool_response_is_read() -> None:
    for name in ("response", "result"):
        call = {"type": "tool_call", "id": "c", "name": "f", "arguments": "{}"}
        answer = {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "c", name: "18 C"}],
        }
        sent = [said("user", "q"), {"role": "assistant", "parts": [call]}, answer]
        chat = build_chat([model_span("m", 0, sent, said("assistant", "18"))])
        assert [turn.role for turn in chat.turns] == ["user", "assistant", "assistant"]
        assert chat.turns[1].calls[0].result_text == "18 C"


def test_messages_as_text_and_structured_give_the_same_turns() -> None:
    sent, answer = [said("user", "Hi")], [said("assistant", "Hello")]
    structured = build_chat([model_span("m", 0, sent, answer[0])])
    attributes = {
        "gen_ai.input.messages": json.dumps(sent),
        "gen_ai.output.messages": json.dumps(answer),
    }
    assert build_chat([span("m", kind="model", attributes=attributes)]).turns == structured.turns


def test_json_that_the_sender_cut_is_shown_and_named() -> None:
    cut = json.dumps([said("user", "a long question " * 40)])[:200]
    chat = build_chat([span("m", kind="model", attributes={"gen_ai.input.messages": cut})])
    assert "cut:gen_ai.input.messages" in chat.notes
    assert "a long question" in chat.turns[0].text


def test_flattened_messages_with_gaps_say_how_many_are_missing() -> None:
    attributes: dict[str, Any] = {}
    for number in (37, 38):
        attributes[f"llm.input_messages.{number}.message.role"] = "user"
        attributes[f"llm.input_messages.{number}.message.content"] = f"turn {number}"
    chat = build_chat([span("m", kind="model", attributes=attributes, dropped=74)])
    assert [turn.text for turn in chat.turns] == ["turn 37", "turn 38"]
    assert set(chat.notes) == {"messages_missing:input:37", "attributes_dropped:74"}


def test_data_addresses_are_read_in_the_form_of_each_standard() -> None:
    data = "iVBORw0KGgo="
    address = f"data:image/png;base64,{data}"
    forms = [
        {"type": "blob", "mime_type": "image/png", "modality": "image", "content": data},
        {"type": "image_url", "image_url": {"url": address}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
    ]
    for form in forms:
        sent = [{"role": "user", "parts": [form]}]
        chat = build_chat([model_span("m", 0, sent, said("assistant", "a dot"))])
        assert chat.turns[0].parts[0].data == address  # type: ignore[union-attr]
    flat = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.contents.0.message_content.type": "image",
        "llm.input_messages.0.message.contents.0.message_content.image.image.url": address,
    }
    chat = build_chat([span("m", kind="model", attributes=flat)])
    assert chat.turns[0].parts[0].data == address  # type: ignore[union-attr]


def test_images_elsewhere_are_named_and_never_loaded() -> None:
    form = {"type": "image_url", "image_url": {"url": "https://evil.example/x.png?secret"}}
    sent = [{"role": "user", "parts": [form]}]
    part = build_chat([model_span("m", 0, sent, said("assistant", "ok"))]).turns[0].parts[0]
    assert part.kind == "image" and not part.data and part.note.startswith("not kept")


def test_texts_that_turn_others_round_or_move_the_terminal_are_replaced() -> None:
    sent = [said("user", "safe\u202egnp.exe \x1b[31mred\x1b[0m")]
    chat = build_chat([model_span("m", 0, sent, said("assistant", "<script>alert(1)</script>"))])
    assert chat.turns[0].text == "safe\ufffdgnp.exe red"
    assert chat.turns[1].text == "<script>alert(1)</script>"  # escaped where it is shown


def test_two_thousand_turns_and_spans_are_read_within_limits() -> None:
    turns = [said("user" if n % 2 == 0 else "assistant", f"turn {n}") for n in range(2_100)]
    chat = build_chat([model_span("m", 0, turns[:-1], turns[-1])])
    assert len(chat.turns) == 2_000 and any(note.startswith("turns_cut:") for note in chat.notes)


def test_the_system_prompt_can_be_hidden() -> None:
    sent = [said("system", "The secret recipe."), said("user", "Hi")]
    chat = build_chat([model_span("m", 0, sent, said("assistant", "Hello"))], hide_system=True)
    assert [turn.text for turn in chat.turns] == ["", "Hi", "Hello"]
    assert "secret recipe" not in chat.model_dump_json() and "system_hidden:1" in chat.notes


def test_reviewers_do_not_see_what_a_traced_judge_says() -> None:
    """A judge may be a step of the trace itself, by the names of three conventions."""
    spans = [model_span("m", 0, [said("user", "Hi")], said("assistant", "Hello"))]
    for number, about in enumerate(
        (
            {"openinference.span.kind": "EVALUATOR"},
            {"langfuse.observation.type": "evaluator"},
            {"gen_ai.operation.name": "evaluate"},
            {"gen_ai.evaluation.name": "quality"},
        )
    ):
        judge = model_span(f"j{number}", 2, [said("user", "Rate")], said("assistant", "verdict 0"))
        spans.append(replace(judge, parent="m", attributes={**judge.attributes, **about}))
        below = model_span(f"b{number}", 3, [said("user", "Is it?")], said("assistant", "verdict"))
        spans.append(replace(below, parent=f"j{number}"))
    shown, hidden = build_chat(spans), build_chat(spans, hide_judges=True)
    assert "verdict" in shown.model_dump_json() and len(shown.spans) == 9
    assert [turn.text for turn in hidden.turns] == ["Hi", "Hello"]
    assert [one.name for one in hidden.spans] == ["m"]
    assert "verdict" not in hidden.model_dump_json()
    assert "judge_steps_left_out:8" in hidden.notes
    assert len(build_chat(spans[1:], hide_judges=True).spans) == 8  # judges are what is reviewed
    queued_before = hide_judges(shown)
    assert "verdict" not in queued_before.model_dump_json()
    assert [one.name for one in queued_before.spans] == ["m"]
    assert [turn.text for turn in queued_before.turns[:2]] == ["Hi", "Hello"]
    assert len(queued_before.turns) == len(shown.turns)  # reviews name turns by their number
    assert hide_judges(hidden) is hidden


@pytest.mark.parametrize(("before", "cut"), [(2_050, 51), (1_999, 0)])
def test_turns_cut_from_a_span_and_from_the_whole_are_counted_together(
    before: int, cut: int
) -> None:
    *sent, answer = [said(("user", "assistant")[at % 2], str(at)) for at in range(before + 1)]
    chat = build_chat([model_span("1", 0, sent, answer)])
    assert len(chat.turns) == 2_000
    assert [note for note in chat.notes if note.startswith("turns_cut")] == (
        [f"turns_cut:{cut}"] if cut else []
    )
