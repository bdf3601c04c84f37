"""What a span says of a conversation, in each convention of its attributes and events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.chats.model import Chat
from annotation.chats.readers.dispatch import RecordReader
from annotation.chats.readers.spans import kind_of, read_span, turns_of_span
from tests.annotation.chats.examples import CALL, OPENAI, outline

ASKED = [{"role": "user", "content": "q"}]
ANSWERED = [{"role": "assistant", "content": "a"}]
PARTS = [{"role": "user", "parts": [{"type": "text", "content": "q"}]}]
MADE = [{"role": "assistant", "parts": [{"type": "text", "content": "a"}], "finish_reason": "stop"}]
FLAT = {
    "gen_ai.prompt.0.role": "user",
    "gen_ai.prompt.0.content": "q",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "a",
}


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.input.messages": json.dumps(PARTS), "gen_ai.output.messages": json.dumps(MADE)},
        {"gen_ai.input.messages": PARTS, "gen_ai.output.messages": MADE},
        {"gen_ai": {"input": {"messages": PARTS}, "output": {"messages": MADE}}},
        {"gen_ai.prompt": json.dumps(ASKED), "gen_ai.completion": json.dumps(ANSWERED)},
        FLAT,
        {
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "q",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.contents.0.message_content.type": "text",
            "llm.output_messages.0.message.contents.0.message_content.text": "a",
        },
        {  # as Phoenix's page exports it
            "llm": {
                "input_messages": [{"message": {"role": "user", "content": "q"}}],
                "output_messages": [{"message": {"role": "assistant", "content": "a"}}],
            }
        },
        {"ai.prompt.messages": json.dumps(ASKED), "ai.response.text": "a"},
        {"langfuse.observation.input": json.dumps(ASKED), "langfuse.observation.output": "a"},
        {"input.value": json.dumps({"messages": ASKED}), "output.value": "a"},
        {
            "mlflow.spanInputs": json.dumps({"messages": ASKED}),
            "mlflow.spanOutputs": json.dumps({"choices": [{"message": ANSWERED[0]}]}),
        },
        {"traceloop.entity.input": "q", "traceloop.entity.output": "a"},
    ],
)
def test_messages_are_read_in_each_convention(attributes: dict[str, Any]) -> None:
    content = read_span(attributes, kind="model")
    assert outline(Chat(turns=content.turns)) == ["user: q", "assistant: a"]
    assert [len(content.before), len(content.made)] == [1, 1]


def test_messages_in_events_of_older_clients_are_read() -> None:
    call = OPENAI[1]["tool_calls"]
    events = [
        {"name": "gen_ai.system.message", "attributes": {"content": "Be brief."}},
        {"name": "gen_ai.user.message", "attributes": {"content": "q"}},
        {"name": "gen_ai.assistant.message", "attributes": {"tool_calls": json.dumps(call)}},
        {"name": "gen_ai.tool.message", "attributes": {"id": "call_1", "content": "18C"}},
        {"name": "gen_ai.choice", "attributes": {"index": 0, "message": json.dumps(ANSWERED[0])}},
    ]
    turns = turns_of_span({"gen_ai.operation.name": "chat"}, events)
    assert outline(Chat(turns=tuple(turns))) == [
        "system: Be brief.",
        "user: q",
        f"assistant: {CALL}",
        "assistant: a",
    ]


def test_result_of_a_call_is_read_under_both_of_its_names() -> None:
    """The schema calls it response, the example of the documentation result."""
    asked = [{"type": "tool_call", "id": "1", "name": "f", "arguments": {"x": 1}}]
    for name in ("response", "result"):
        answer = [{"type": "tool_call_response", "id": "1", name: "ok"}]
        messages = [{"role": "assistant", "parts": asked}, {"role": "tool", "parts": answer}]
        (turn,) = turns_of_span({"gen_ai.input.messages": messages, "gen_ai.request.model": "m"})
        assert turn.calls[0].result_text == "ok"


def test_kinds_models_tokens_and_scores_of_spans() -> None:
    assert kind_of({"openinference.span.kind": "RETRIEVER"}) == "retriever"
    assert kind_of({"gen_ai.operation.name": "execute_tool"}) == "tool"
    assert kind_of({"gen_ai.request.model": "m"}) == "model"
    assert kind_of({"http.method": "GET"}) == "other"
    attributes = {
        **FLAT,
        "gen_ai.response.model": "m-1",
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
        "annotations.0.annotation.name": "correct",
        "annotations.0.annotation.label": "yes",
        "annotations.0.annotation.annotator_kind": "HUMAN",
    }
    evaluated = {
        "name": "gen_ai.evaluation.result",
        "attributes": {
            "gen_ai.evaluation.name": "tone",
            "gen_ai.evaluation.score.value": 0.5,
            "gen_ai.evaluation.explanation": "dry",
        },
    }
    content = read_span(attributes, [evaluated], kind="model")
    made = content.made[0]
    assert (made.model, made.tokens_in, made.tokens_out) == ("m-1", 12, 3)
    assert [(one.name, one.value, one.explanation, one.by) for one in content.scores] == [
        ("tone", "0.5", "dry", ""),
        ("correct", "yes", "", "HUMAN"),
    ]


def test_documents_of_a_retriever_are_the_result_of_its_call() -> None:
    attributes = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": "grebes",
        "retrieval.documents.0.document.content": "Grebes dive.",
        "retrieval.documents.0.document.score": 0.9,
    }
    call = read_span(attributes, name="search").call
    assert call and (call.name, call.arguments) == ("search", "grebes")
    assert json.loads(call.result_text) == [{"content": "Grebes dive.", "score": 0.9}]


def test_agents_beside_each_other_keep_their_turns() -> None:
    """Two agents with histories of their own in one trace, their calls in turn."""
    rows = []
    for step in range(2):
        for agent in ("left", "right"):
            history = [
                {"role": role, "content": f"{agent} {role} {at}"}
                for at in range(step)
                for role in ("user", "assistant")
            ]
            sent = [
                {"role": "system", "content": f"You are {agent}."},
                *history,
                {"role": "user", "content": f"{agent} user {step}"},
            ]
            made = [{"role": "assistant", "content": f"{agent} assistant {step}"}]
            rows.append(
                {
                    "trace_id": "t",
                    "span_id": f"{agent}{step}",
                    "start_time": f"2026-01-01T10:00:0{len(rows)}Z",
                    "attributes": {
                        "gen_ai.operation.name": "chat",
                        "gen_ai.input.messages": json.dumps(sent),
                        "gen_ai.output.messages": json.dumps(made),
                    },
                }
            )
    reader = RecordReader()
    for row in rows:
        assert not list(reader.read(row))
    (record,) = reader.finish()
    texts = [line.split(": ", 1)[1] for line in outline(record.chat)]  # type: ignore[union-attr]
    assert len(texts) == len(set(texts)) == 10
    assert [span.turn for span in record.chat.spans] == [3, 6, 8, 10]  # type: ignore[union-attr]
