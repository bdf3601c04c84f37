"""Small records of each format, as documentation and data set cards show them, and their turns.

An outline is a line a turn: role, text, ``>`` calls with their results, ``!`` for errors.
"""

from __future__ import annotations

from typing import Any

from annotation.chats.model import Chat, ImagePart, ReasoningPart, ToolCall

PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhg"
    "GAWjR9awAAAABJRU5ErkJggg=="
)


def outline(chat: Chat) -> list[str]:
    """Write a conversation as lines, one a turn."""
    lines = []
    for turn in chat.turns:
        parts = [
            "(thinks)"
            if isinstance(part, ReasoningPart)
            else ("[image]" if part.data else "[no image]")
            if isinstance(part, ImagePart)
            else getattr(part, "text", "") or f"[{getattr(part, 'name', '')}]"
            for part in turn.parts
        ]
        lines.append(" ".join([f"{turn.role}:", *parts, *map(_call, turn.calls)]))
    return lines


def _call(call: ToolCall) -> str:
    result = "?" if call.result is None else call.result_text
    return f"> {call.name}({call.arguments}) = {'!' if call.is_error else ''}{result}"


CALL = '> get_weather({"city": "Paris"}) = 18C'
WEATHER = ["user: Weather?", f"assistant: {CALL}", "assistant: 18 degrees."]
OPENAI = [
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "18C"},
    {"role": "assistant", "content": "18 degrees."},
]
PAIR_A = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "left"}]
PAIR_B = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "right"}]
LEFT, RIGHT = ["user: q", "assistant: left"], ["user: q", "assistant: right"]

# format, record, outline of its conversation
ONE: list[tuple[str, Any, list[str]]] = [
    ("messages", {"messages": OPENAI}, WEATHER),
    ("messages", OPENAI, WEATHER),
    (
        "messages",
        {
            "messages": [
                {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What?"},
                        {"type": "image_url", "image_url": {"url": PNG}},
                        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
                        {"type": "file", "file": {"filename": "a.pdf", "file_id": "f1"}},
                    ],
                },
                {"role": "assistant", "content": None, "refusal": "No."},
                {
                    "role": "assistant",
                    "content": None,
                    "audio": {"id": "audio_1", "data": "AA==", "transcript": "Spoken."},
                },
            ]
        },
        [
            "system: Be brief.",
            "user: What? [image] [no image] [] [a.pdf]",
            "assistant: No.",
            "assistant: [] Spoken.",
        ],
    ),
    (  # as before 2024
        "messages",
        {
            "messages": [
                {"role": "user", "content": "Weather?"},
                {
                    "role": "assistant",
                    "content": None,
                    "function_call": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
                },
                {"role": "function", "name": "get_weather", "content": "18C"},
                {"role": "assistant", "content": "18 degrees."},
            ]
        },
        WEATHER,
    ),
    (  # Hugging Face: arguments as an object, a tool's message with its name, no content
        "messages",
        {
            "messages": [
                {"role": "user", "content": "Weather?"},
                {
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "type": "function",
                            "function": {"name": "get_weather", "arguments": {"city": "Paris"}},
                        }
                    ],
                },
                {"role": "tool", "name": "get_weather", "content": "18C"},
                {"role": "assistant", "content": "18 degrees."},
            ],
            "tools": [{"type": "function", "function": {"name": "get_weather"}}],
        },
        WEATHER,
    ),
    (
        "messages",
        {
            "messages": [{"role": "user", "content": "q"}],
            "choices": [{"message": {"role": "assistant", "content": "a"}}],
        },
        ["user: q", "assistant: a"],
    ),
    (
        "responses",
        {
            "input": [{"role": "user", "content": "Weather?"}],
            "output": [
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [{"type": "summary_text", "text": "Look it up."}],
                },
                {
                    "type": "function_call",
                    "call_id": "call_1",
                    "name": "get_weather",
                    "arguments": '{"city": "Paris"}',
                },
                {"type": "function_call_output", "call_id": "call_1", "output": "18C"},
                {"type": "future_item", "id": "x"},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "18 degrees."}],
                },
            ],
        },
        [
            "user: Weather?",
            f"assistant: (thinks) {CALL}",
            'assistant: {"type": "future_item", "id": "x"} 18 degrees.',
        ],
    ),
    (
        "anthropic",
        {
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": "Weather?"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Look it up.", "signature": "x"},
                        {
                            "type": "tool_use",
                            "id": "toolu_1",
                            "name": "get_weather",
                            "input": {"city": "Paris"},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "toolu_1",
                            "content": "18C",
                            "is_error": False,
                        }
                    ],
                },
                {"role": "assistant", "content": "18 degrees."},
            ],
        },
        ["system: Be brief.", WEATHER[0], f"assistant: (thinks) {CALL}", WEATHER[2]],
    ),
    (
        "sharegpt",
        {
            "system": "Be brief.",
            "tools": '[{"name": "get_weather"}]',
            "conversations": [
                {"from": "human", "value": "Weather?"},
                {
                    "from": "function_call",
                    "value": '{"name": "get_weather", "arguments": {"city": "Paris"}}',
                },
                {"from": "observation", "value": "18C"},
                {"from": "gpt", "value": "18 degrees."},
            ],
        },
        ["system: Be brief.", *WEATHER],
    ),
    (
        "wildchat",
        {
            "conversation_hash": "h1",
            "model": "m",
            "turn": 1,
            "toxic": False,
            "redacted": False,
            "hashed_ip": "secret-ip",
            "conversation": [
                {
                    "role": "user",
                    "content": "q",
                    "turn_identifier": 1,
                    "toxic": False,
                    "redacted": False,
                    "hashed_ip": "secret-ip",
                    "header": {"user-agent": "secret-agent"},
                    "country": "secret-country",
                    "state": "secret-state",
                },
                {"role": "assistant", "content": "a", "turn_identifier": 2},
            ],
        },
        ["user: q", "assistant: a"],
    ),
    ("prompt", {"prompt": "q", "completion": "a"}, ["user: q", "assistant: a"]),
    (
        "prompt",
        {"prompt": PAIR_A[:1], "completion": PAIR_A[1:], "label": True},
        ["user: q", "assistant: left"],
    ),
    (
        "promptfoo",
        {
            "evalId": "e",
            "results": {
                "version": 3,
                "results": [
                    {
                        "promptIdx": 0,
                        "testIdx": 0,
                        "provider": {"id": "openai:m"},
                        "prompt": {"raw": '[{"role": "user", "content": "q"}]', "label": "p"},
                        "vars": {"x": "1"},
                        "response": {"output": "a"},
                        "success": True,
                        "score": 1,
                        "gradingResult": {"pass": True, "reason": "fine"},
                        "namedScores": {"tone": 0.5},
                    }
                ],
            },
        },
        ["user: q", "assistant: a"],
    ),
    (
        "lm_eval",
        {
            "doc_id": 0,
            "doc": {"question": "2+2"},
            "target": "4",
            "arguments": [["q", {"until": []}]],
            "resps": [["4"]],
            "filtered_resps": ["4"],
            "filter": "none",
            "metrics": ["exact_match"],
            "exact_match": 1.0,
        },
        ["user: q", "assistant: 4"],
    ),
    (
        "lm_eval",
        {
            "doc_id": 1,
            "target": "1",
            "arguments": [["q", " no"], ["q", " yes"]],
            "resps": [[["-3.2", "False"]], [["-0.1", "True"]]],
            "metrics": ["acc"],
            "acc": 1.0,
        },
        ["user: q", "assistant:  yes"],
    ),
    (
        "prm800k",
        {
            "labeler": "w1",
            "question": {"problem": "1+1?", "ground_truth_answer": "2"},
            "label": {
                "steps": [
                    {
                        "completions": [
                            {"text": "Add.", "rating": 1, "flagged": None},
                            {"text": "Guess.", "rating": -1, "flagged": None},
                        ],
                        "human_completion": None,
                        "chosen_completion": 0,
                    },
                    {
                        "completions": [{"text": "It is 3.", "rating": -1, "flagged": None}],
                        "human_completion": {"text": "It is 2."},
                        "chosen_completion": None,
                    },
                    {
                        "completions": [{"text": "So 4.", "rating": -1, "flagged": None}],
                        "human_completion": None,
                        "chosen_completion": None,
                    },
                ],
                "total_time": 1,
                "finish_reason": "found_error",
            },
        },
        ["user: 1+1?", "assistant: Add.", "assistant: It is 2.", "assistant: So 4."],
    ),
]

# format, record, outlines of both sides, winner
TWO: list[tuple[str, Any, list[str], list[str], str]] = [
    (  # the 100k set, conversations as texts
        "arena",
        {
            "question_id": "1",
            "model_a": "m1",
            "model_b": "m2",
            "winner": "tie (bothbad)",
            "judge": "arena_user_1",
            "conversation_a": str(PAIR_A).replace("'", '"'),
            "conversation_b": PAIR_B,
            "turn": 1,
            "anony": True,
            "language": "English",
            "tstamp": 1.7e9,
        },
        LEFT,
        RIGHT,
        "both_bad",
    ),
    (  # the 140k set
        "arena",
        {
            "id": "1",
            "model_a": "m1",
            "model_b": "m2",
            "winner": "model_b",
            "evaluation_session_id": "s",
            "full_conversation": [
                {
                    "user": {
                        "role": "user",
                        "content": [{"type": "text", "text": t, "image": None, "mimeType": None}],
                    },
                    "model_side_a": {"role": "assistant", "content": [{"type": "text", "text": a}]},
                    "model_side_b": {"role": "assistant", "content": [{"type": "text", "text": b}]},
                }
                for t, a, b in (("q", "left", "right"), ("more", "l2", "r2"))
            ],
        },
        [*LEFT, "user: more", "assistant: l2"],
        [*RIGHT, "user: more", "assistant: r2"],
        "model_b",
    ),
    (  # the 55k set
        "arena",
        {
            "id": 65089,
            "model_a": "m1",
            "model_b": "m2",
            "prompt": '["q","again"]',
            "response_a": '["left",null]',
            "response_b": '["right","r2"]',
            "winner_model_a": 1,
            "winner_model_b": 0,
            "winner_tie": 0,
        },
        [*LEFT, "user: again", "assistant:"],
        [*RIGHT, "user: again", "assistant: r2"],
        "model_a",
    ),
    (  # MT-bench, its second turn
        "arena",
        {
            "question_id": 81,
            "model_a": "m1",
            "model_b": "m2",
            "winner": "model_a",
            "judge": "author_2",
            "conversation_a": [*PAIR_A, *PAIR_A],
            "conversation_b": [*PAIR_B, *PAIR_B],
            "turn": 2,
        },
        [*LEFT, *LEFT],
        [*RIGHT, *RIGHT],
        "model_a",
    ),
    (
        "preference",
        {"prompt": PAIR_A[:1], "chosen": PAIR_A[1:], "rejected": PAIR_B[1:]},
        LEFT,
        RIGHT,
        "model_a",
    ),
    (
        "preference",
        {
            "input": {"messages": PAIR_A[:1], "tools": []},
            "preferred_output": PAIR_A[1:],
            "non_preferred_output": PAIR_B[1:],
        },
        LEFT,
        RIGHT,
        "model_a",
    ),
]

START = "2026-01-01T10:00:0"
# Rows of tools that hold traces: format, rows, outline, kinds of the tree's steps with their depth.
TRACES: list[tuple[str, list[Any], list[str], list[str]]] = [
    (
        "langfuse",
        [
            {
                "id": "o3",
                "traceId": "t1",
                "parentObservationId": "o1",
                "type": "GENERATION",
                "name": "second",
                "startTime": START + "3Z",
                "endTime": START + "4Z",
                "model": "m",
                "input": OPENAI[:3],
                "output": {"role": "assistant", "content": "18 degrees."},
                "usageDetails": {"input": 9, "output": 4},
            },
            {
                "id": "o2",
                "traceId": "t1",
                "parentObservationId": "o1",
                "type": "GENERATION",
                "name": "first",
                "startTime": START + "1Z",
                "endTime": START + "2Z",
                "input": {"messages": OPENAI[:1]},
                "output": OPENAI[1],
            },
            {
                "id": "o1",
                "traceId": "t1",
                "parentObservationId": "remote",
                "isRootObservation": True,
                "type": "AGENT",
                "name": "agent",
                "startTime": START + "0Z",
            },
        ],
        WEATHER,
        ["agent", " model", " model"],
    ),
    (  # a trace without observations of models
        "langfuse",
        [
            {
                "id": "t2",
                "name": "chat",
                "timestamp": START + "0Z",
                "input": "q",
                "output": "a",
                "observations": [],
                "scores": [{"name": "helpful", "value": 1, "comment": "yes", "source": "API"}],
            }
        ],
        ["user: q", "assistant: a"],
        ["other"],
    ),
    (  # the REST API of Phoenix, snake_case with nulls
        "spans",
        [
            {
                "name": "llm",
                "context": {"trace_id": "t3", "span_id": "s1"},
                "span_kind": "LLM",
                "parent_id": None,
                "start_time": START + "0Z",
                "end_time": START + "1Z",
                "status_code": "OK",
                "status_message": "",
                "events": [],
                "attributes": {
                    "llm.model_name": "m",
                    "llm.input_messages.0.message.role": "user",
                    "llm.input_messages.0.message.content": "q",
                    "llm.output_messages.0.message.role": "assistant",
                    "llm.output_messages.0.message.content": "a",
                },
            }
        ],
        ["user: q", "assistant: a"],
        ["model"],
    ),
    (
        "spans",
        [
            {
                "trace_id": "0af7651916cd43dd8448eb211c80319c",
                "span_id": "b7ad6b7169203331",
                "parent_span_id": None,
                "name": "chat m",
                "kind": "CLIENT",
                "start_time_unix_nano": "1767261600000000000",
                "end_time_unix_nano": "1767261601000000000",
                "status": {"code": "STATUS_CODE_ERROR", "message": "late"},
                "attributes": [
                    {"key": "gen_ai.operation.name", "value": {"string_value": "chat"}},
                    {
                        "key": "gen_ai.input.messages",
                        "value": {
                            "array_value": {
                                "values": [
                                    {
                                        "kvlist_value": {
                                            "values": [
                                                {"key": "role", "value": {"string_value": "user"}},
                                                {
                                                    "key": "content",
                                                    "value": {"string_value": "q"},
                                                },
                                            ]
                                        }
                                    }
                                ]
                            }
                        },
                    },
                ],
                "events": None,
            }
        ],
        ["user: q"],
        ["model"],
    ),
    (
        "braintrust",
        [
            {
                "id": "r1",
                "span_id": "s2",
                "root_span_id": "s1",
                "span_parents": ["s1"],
                "input": OPENAI[:1],
                "output": [{"message": {"role": "assistant", "content": "a"}}],
                "scores": {"correct": 1},
                "metadata": {"model": "m"},
                "metrics": {"start": 1767261600.5, "end": 1767261601.5, "prompt_tokens": 3},
                "span_attributes": {"type": "llm", "name": "chat"},
                "created": START + "0Z",
            }
        ],
        ["user: Weather?", "assistant: a"],
        ["model"],
    ),
]
