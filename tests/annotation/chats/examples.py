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


def _node(
    parent: str,
    role: str,
    text: str = "",
    *,
    recipient: str = "all",
    name: str = "",
    content: dict[str, Any] | None = None,
    **about: Any,
) -> dict[str, Any]:
    """A node of ChatGPT's tree."""
    content = content or {"content_type": "text", "parts": [text]}
    author = {"role": role, "name": name}
    message = {"author": author, "content": content, "recipient": recipient, "metadata": about}
    return {"parent": parent, "message": message}


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
    (  # ChatGPT's export: an answer that was made again, a tool, and a system prompt that is empty
        "chatgpt",
        {
            "conversation_id": "c1",
            "title": "Jokes",
            "current_node": "a3",
            "mapping": {
                "r": {"id": "r", "parent": None, "message": None},
                "s": _node("r", "system", ""),
                "u": _node("s", "user", "Tell a joke"),
                "a1": _node("u", "assistant", "FIRST"),
                "x": _node("a1", "user", "More"),
                "t": _node(
                    "u",
                    "assistant",
                    content={
                        "content_type": "thoughts",
                        "thoughts": [{"summary": "A joke", "content": "hm"}],
                    },
                ),
                "c": _node("t", "assistant", "{}", recipient="web.run"),
                "o": _node("c", "tool", "found", name="web.run"),
                "a2": _node("o", "assistant", "SECOND"),
                "h": _node("a2", "user", "Hidden", is_visually_hidden_from_conversation=True),
                "a3": _node("h", "assistant", "THIRD"),
            },
        },
        [
            "user: Tell a joke",
            "assistant: (thinks) > web.run({}) = found",
            "assistant: SECOND",
            "assistant: THIRD",
        ],
    ),
    (  # Claude's export, whose text is empty beside blocks; an attachment with its text
        "claude",
        {
            "uuid": "u0",
            "account": {"uuid": "x"},
            "chat_messages": [
                {
                    "uuid": "m1",
                    "sender": "human",
                    "text": "Ask",
                    "content": [],
                    "attachments": [{"file_name": "a.txt", "extracted_content": "inside"}],
                },
                {"uuid": "m2", "sender": "assistant", "text": "OTHER", "parent_message_uuid": "m1"},
                {
                    "uuid": "m3",
                    "parent_message_uuid": "m1",
                    "sender": "assistant",
                    "text": "",
                    "content": [
                        {"type": "thinking", "thinking": "hmm", "start_timestamp": "x"},
                        {"type": "tool_use", "name": "web_search", "input": {"q": 1}},
                        {
                            "type": "tool_result",
                            "name": "web_search",
                            "content": [{"type": "text", "text": "found"}],
                        },
                        {"type": "text", "text": "Reply"},
                    ],
                },
            ],
        },
        [
            "user: Ask [a.txt] inside",
            'assistant: (thinks) > web_search({"q": 1}) = found',
            "assistant: Reply",
        ],
    ),
    (  # a stored call of Gemini
        "gemini",
        {
            "request": {
                "systemInstruction": {"parts": [{"text": "Be brief."}]},
                "contents": [
                    {
                        "role": "user",
                        "parts": [
                            {"text": "Weather?"},
                            {
                                "inline_data": {
                                    "mime_type": "image/png",
                                    "data": PNG.partition(",")[2],
                                }
                            },
                        ],
                    },
                    {
                        "role": "model",
                        "parts": [
                            {"text": "Look.", "thought": True},
                            {
                                "functionCall": {"name": "get_weather", "args": {"city": "Paris"}},
                                "thoughtSignature": "eA==",
                            },
                        ],
                    },
                    {
                        "role": "user",
                        "parts": [
                            {"functionResponse": {"name": "get_weather", "response": {"t": 18}}}
                        ],
                    },
                ],
            },
            "response": {
                "candidates": [
                    {
                        "content": {
                            "parts": [
                                {"executableCode": {"language": "PYTHON", "code": "print(2)"}},
                                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
                                {"text": "18 degrees."},
                            ]
                        }
                    },
                    {"content": {"parts": [{"text": "It is warm."}]}},
                ],
            },
        },
        [
            "system: Be brief.",
            "user: Weather? [image]",
            'assistant: (thinks) > get_weather({"city": "Paris"}) = {"t": 18}',
            "assistant: > code_execution(print(2)) = 2",
            "assistant: 18 degrees.",
        ],
    ),
    (  # items as OpenAI's API lists them, newest first
        "responses",
        {
            "object": "list",
            "data": [
                {
                    "id": "m2",
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "18 degrees."}],
                },
                {"type": "function_call_output", "call_id": "call_1", "output": "18C"},
                {
                    "type": "function_call",
                    "call_id": "call_1",
                    "name": "get_weather",
                    "arguments": '{"city": "Paris"}',
                },
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look."}]},
                {
                    "id": "m1",
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "Weather?"}],
                },
            ],
            "has_more": False,
        },
        ["user: Weather?", f"assistant: (thinks) {CALL}", "assistant: 18 degrees."],
    ),
    (  # messages of a thread of OpenAI's assistants, newest first
        "messages",
        {
            "object": "list",
            "data": [
                {
                    "object": "thread.message",
                    "created_at": 60,
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": {"value": "18 degrees.", "annotations": []}}
                    ],
                },
                {
                    "object": "thread.message",
                    "created_at": 50,
                    "role": "user",
                    "content": [{"type": "text", "text": {"value": "Weather?", "annotations": []}}],
                },
            ],
            "has_more": True,
        },
        ["user: Weather?", "assistant: 18 degrees."],
    ),
    (  # the state of a thread of LangGraph, with a call that could not be read
        "messages",
        {
            "thread_id": "t1",
            "values": {
                "messages": [
                    {"type": "human", "content": "Weather?"},
                    {
                        "type": "ai",
                        "content": "",
                        "tool_calls": [
                            {"name": "get_weather", "args": {"city": "Paris"}, "id": "c1"}
                        ],
                        "invalid_tool_calls": [{"name": "draw", "args": "{x", "id": "c2"}],
                    },
                    {"type": "tool", "content": "18C", "tool_call_id": "c1"},
                    {"type": "ai", "content": "18 degrees."},
                ]
            },
        },
        ["user: Weather?", f"assistant: {CALL} > draw({{x) = !?", "assistant: 18 degrees."],
    ),
    (  # Vercel's AI SDK: calls hold their results
        "messages",
        {
            "messages": [
                {
                    "role": "user",
                    "parts": [
                        {"type": "text", "text": "Weather?"},
                        {"type": "file", "mediaType": "image/png", "url": PNG},
                    ],
                },
                {
                    "role": "assistant",
                    "parts": [
                        {"type": "step-start"},
                        {
                            "type": "tool-get_weather",
                            "toolCallId": "c1",
                            "state": "output-available",
                            "input": {"city": "Paris"},
                            "output": "18C",
                        },
                        {
                            "type": "dynamic-tool",
                            "toolName": "draw",
                            "toolCallId": "c2",
                            "state": "output-error",
                            "input": {},
                            "errorText": "no pen",
                        },
                        {"type": "text", "text": "18 degrees.", "state": "done"},
                    ],
                },
                {"role": "user", "content": "Rome?"},
                {
                    "role": "assistant",
                    "content": "20.",
                    "toolInvocations": [
                        {
                            "state": "result",
                            "toolCallId": "c3",
                            "toolName": "find",
                            "args": {"q": 1},
                            "result": "20",
                        }
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool-call", "toolCallId": "c4", "toolName": "find", "input": {}}
                    ],
                },
                {
                    "role": "tool",
                    "content": [
                        {
                            "type": "tool-result",
                            "toolCallId": "c4",
                            "toolName": "find",
                            "output": {"type": "error-text", "value": "none"},
                        }
                    ],
                },
            ]
        },
        [
            "user: Weather? [image]",
            f"assistant: 18 degrees. {CALL} > draw({{}}) = !no pen",
            "user: Rome?",
            'assistant: 20. > find({"q": 1}) = 20',
            "assistant: > find({}) = !none",
        ],
    ),
    (  # results of MCP, with structured content that no text repeats
        "messages",
        [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "function": {"name": "a", "arguments": "{}"}},
                    {"id": "c2", "function": {"name": "b", "arguments": "{}"}},
                ],
            },
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": {
                    "content": [
                        {"type": "text", "text": "18C"},
                        {"type": "resource", "resource": {"uri": "file:///b", "text": "inside"}},
                    ],
                    "structuredContent": {"t": 18},
                },
            },
            {
                "role": "tool",
                "tool_call_id": "c2",
                "content": {"content": [{"type": "text", "text": "no pen"}], "isError": True},
            },
        ],
        [
            "user: Weather?",
            'assistant: > a({}) = 18C\n[file: file:///b]\ninside\n{"t": 18} > b({}) = !no pen',
        ],
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
    (  # HH-RLHF: each side is a whole conversation in one text
        "preference",
        {
            "chosen": "\n\nHuman: q\n\nAssistant: Well?\n\nHuman: More\n\nAssistant: left",
            "rejected": "\n\nHuman: q\n\nAssistant: Well?\n\nHuman: More\n\nAssistant: right",
        },
        ["user: q", "assistant: Well?", "user: More", "assistant: left"],
        ["user: q", "assistant: Well?", "user: More", "assistant: right"],
        "model_a",
    ),
    (  # the prompt stands beside the conversations as well
        "preference",
        {"question": "q", "chosen": PAIR_A, "rejected": PAIR_B},
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
