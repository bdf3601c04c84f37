"""Messages with a role: OpenAI's chat, Hugging Face, Anthropic, LangChain, GenAI parts, Gemini."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from annotation.chats.model import Role, ToolCall, reasoning_part, text_part, unknown_part
from annotation.chats.readers.base import (
    Builder,
    as_count,
    as_seconds,
    as_text,
    dict_of,
    list_of,
    moment_text,
    parse_json,
    text_of,
    type_of,
)
from annotation.chats.readers.content import (
    add_content,
    is_failed,
    read_call,
    result_parts,
    sdk_call,
)
from annotation.chats.readers.items import add_item, is_item

ROLES: dict[str, Role] = {
    **dict.fromkeys(("system", "developer", "system_prompt", "systemmessage"), "system"),
    **dict.fromkeys(("user", "human", "prompter", "humanmessage", "input"), "user"),
    **dict.fromkeys(
        (
            *("assistant", "ai", "gpt", "chatgpt", "bot", "chatbot", "model", "aimessage"),
            *("aimessagechunk", "bing", "bard", "claude", "agent", "output", "assistant_message"),
        ),
        "assistant",
    ),
    **dict.fromkeys(
        (
            *("tool", "function", "observation", "ipython", "environment", "toolmessage"),
            *("functionmessage", "tool_response", "function_response", "tool_result"),
            *("tool_output", "function_output"),
        ),
        "tool",
    ),
}
# What the readers below read, and what says nothing about the conversation.
READ = {
    *("role", "content", "parts", "name", "tool_calls", "function_call", "tool_call_id"),
    *("reasoning_content", "reasoning", "refusal", "audio", "model", "function", "error"),
    *("from", "value", "type", "tool_use_id", "call_id", "is_error", "text", "usage"),
    *("created_at", "timestamp", "time", "started", "seconds", "status", "recipient"),
    *("tool_call_name", "tool_name", "id", "object", "index", "source", "finish_reason"),
    *("stop_reason", "stop_sequence", "invalid_tool_calls", "usage_metadata", "user"),
    *("additional_kwargs", "response_metadata", "example", "lc_attributes", "images"),
    *("turn_identifier", "language", "reasoning_details", "container", "phase", "internal"),
    *("thinking", "toolInvocations", "toolCallId", "toolName"),
}


TOKENS_IN = ("prompt_tokens", "input_tokens", "promptTokens", "promptTokenCount", "input")
TOKENS_OUT = (
    *("completion_tokens", "output_tokens", "completionTokens", "candidatesTokenCount", "output"),
)


def is_message(raw: Any) -> bool:
    """Whether a value is a message with a role, or one of LangChain or ShareGPT."""
    if not isinstance(raw, dict):
        return False
    if isinstance(raw.get("role"), str) or (isinstance(raw.get("from"), str) and "value" in raw):
        return True
    return _langchain(raw) is not None


def is_messages(value: Any) -> bool:
    """Whether a value is a list of messages or items, with one message at least."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(is_message(one) or is_item(one) for one in value)
        and any(map(is_message, value))
    )


def oldest_first(rows: list[Any]) -> list[Any]:
    """Turn stored messages and items round where they came newest first, as OpenAI lists them.

    This is told by their times, by calls that follow their outputs, or by an answer at the
    beginning and a question at the end.
    """
    known = [one for one in rows if isinstance(one, dict)]
    times = [one["created_at"] for one in known if isinstance(one.get("created_at"), int)]
    if len(times) > 1 and times[0] != times[-1]:
        return rows[::-1] if times[0] > times[-1] else rows
    ids = [(text_of(one, "call_id"), type_of(one).endswith("_output")) for one in known]
    for at, (id, is_output) in enumerate(ids):
        if id and (id, not is_output) in ids[at + 1 :]:
            return rows[::-1] if is_output else rows
    said = [ROLES.get(one["role"]) for one in known if isinstance(one.get("role"), str)]
    is_turned = said[:1] == ["assistant"] and said[-1] != "assistant"
    return rows[::-1] if is_turned else rows


def add_messages(builder: Builder, messages: Iterable[Any]) -> None:
    """Add messages in their order; what is no message becomes a turn that shows it as JSON."""
    for raw in messages:
        add_message(builder, raw)
    builder.end()


def add_items(builder: Builder, items: Iterable[Any]) -> None:
    """Add the items of a response; what a model wrote up to a tool's result is one turn.

    Items of unknown types are shown as JSON.
    """
    for raw in items:
        if isinstance(raw, dict) and "role" not in raw and type_of(raw):
            add_item(builder, raw)
        elif isinstance(raw, dict) and raw.get("role") == "assistant" and builder.is_thinking():
            builder.leave_out(raw, READ)
            add_content(builder, raw.get("content"))
        else:
            add_message(builder, raw)
    builder.end()


def add_message(builder: Builder, raw: Any) -> None:
    """Add one message, or an item of OpenAI's responses."""
    raw = parse_json(raw)
    if not isinstance(raw, dict):
        builder.notes["unreadable_messages"] += 1
        builder.begin("user")
        builder.add(text_part(raw) if isinstance(raw, str) else unknown_part("message", raw))
        return
    if is_item(raw):
        add_item(builder, raw)
        return
    raw = _langchain(raw) or raw
    given = text_of(raw, "role", "from", "type")
    role = ROLES.get(given.casefold().replace(" ", "_"))
    name = text_of(raw, "name")
    if role is None:  # such as "critic": shown under its own name
        builder.notes["unknown_roles"] += 1
        role, name = "user", name or given
    if role == "tool":
        _add_result(builder, raw)
        return
    builder.begin(role, name, **_facts(raw, role))
    builder.leave_out(raw, READ)
    _add_body(builder, raw)


def _facts(raw: Mapping[str, Any], role: Role) -> dict[str, Any]:
    usage = raw.get("usage") or raw.get("usage_metadata")
    usage = usage if isinstance(usage, dict) else {}
    facts: dict[str, Any] = {"started": moment_text(raw.get("created_at") or raw.get("timestamp"))}
    if role == "assistant":
        facts["model"] = text_of(raw, "model")[:200] or text_of(
            dict_of(raw.get("response_metadata")), "model_name", "model"
        )
        facts |= usage_of(usage)
        facts["seconds"] = as_seconds(raw.get("seconds"))
    return facts


def usage_of(usage: Mapping[str, Any]) -> dict[str, int | None]:
    """Read counts of tokens as OpenAI, Anthropic and LangChain write them."""

    def first(*names: str) -> int | None:
        return next((as_count(usage[name]) for name in names if usage.get(name) is not None), None)

    return {
        "tokens_in": first(*TOKENS_IN),
        "tokens_out": first(*TOKENS_OUT),
    }


def _add_body(builder: Builder, raw: Mapping[str, Any]) -> None:
    for name in ("reasoning_content", "reasoning", "thinking"):
        value = raw.get(name)
        if isinstance(value, str) and value:
            builder.add(reasoning_part(value))
            break
    calls = raw.get("tool_calls")
    content = next(
        (raw[name] for name in ("content", "parts", "value", "text") if raw.get(name) is not None),
        None,
    )
    rows = [read_call(one) for one in calls] if isinstance(calls, list) else []
    if rows and isinstance(content, list):  # LangChain repeats Anthropic's calls in both places
        own = {call.id for call in rows if call.id}
        content = [one for one in content if not _repeats(one, own)]
    add_content(builder, content)
    refusal = raw.get("refusal")
    if isinstance(refusal, str) and refusal:
        builder.notes["refusals"] += 1
        builder.add(text_part(refusal))
    audio = raw.get("audio")
    if isinstance(audio, dict):
        add_content(builder, [{"type": "audio", **audio}])
    for image in raw.get("images") or [] if isinstance(raw.get("images"), list) else []:
        add_content(
            builder, [image if isinstance(image, dict) else {"type": "image", "url": image}]
        )
    for call in (*rows, *_failed_calls(builder, raw), *map(sdk_call, _invocations(raw))):
        builder.call(call)
    legacy = raw.get("function_call")
    if isinstance(legacy, dict):
        builder.call(read_call(legacy))


def _failed_calls(builder: Builder, raw: Mapping[str, Any]) -> Iterable[ToolCall]:
    """Calls that LangChain could not parse; the reason is named."""
    for one in list_of(raw.get("invalid_tool_calls")):
        builder.leave_out({"error": dict_of(one).get("error")}, ())
        yield read_call(one).model_copy(update={"is_error": True})


def _invocations(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Calls that the AI SDK writes beside the text, but for those that are among the parts."""
    parts = map(dict_of, list_of(raw.get("parts")))
    there = {text_of(dict_of(one.get("toolInvocation")) or one, "toolCallId") for one in parts}
    rows = map(dict_of, list_of(raw.get("toolInvocations")))
    return [one for one in rows if one and text_of(one, "toolCallId") not in there]


def _repeats(block: Any, ids: set[str]) -> bool:
    return type_of(block) == "tool_use" and text_of(block, "id") in ids


def _add_result(builder: Builder, raw: Mapping[str, Any]) -> None:
    builder.end()
    parts = raw.get("parts")
    if isinstance(parts, list):  # GenAI: a message of role tool whose parts are the results
        builder.begin("tool", text_of(raw, "name"))
        builder.leave_out(raw, READ)
        add_content(builder, parts)
        builder.end()
        return
    content = raw.get("content", raw.get("value"))
    if isinstance(content, list) and any(
        type_of(one) in ("tool_result", "tool-result") for one in content
    ):
        builder.begin("tool", text_of(raw, "name"))
        add_content(builder, content)
        builder.end()
        return
    error = raw.get("error")
    shown = result_parts(builder, content)
    if error and not any(getattr(part, "text", "") for part in shown):
        message = error.get("message") if isinstance(error, dict) else error
        shown = result_parts(builder, as_text(message))
    builder.leave_out(raw, READ)
    builder.result(
        shown,
        id=text_of(raw, "tool_call_id", "tool_use_id", "call_id", "toolCallId"),
        name=text_of(raw, "name", "function", "tool_name", "tool_call_name", "toolName"),
        is_error=bool(error)
        or raw.get("status") == "error"
        or bool(raw.get("is_error"))
        or is_failed(content),
        seconds=as_seconds(raw.get("seconds")),
    )


LANGCHAIN = {"human", "ai", "system", "tool", "function", "aimessagechunk"}


def _langchain(raw: Mapping[str, Any]) -> dict[str, Any] | None:
    """A message of LangChain as role and content: of its constructor, its dict, or its fields."""
    kind, inner = type_of(raw), raw
    if kind == "constructor" and isinstance(raw.get("kwargs"), dict):
        path = raw.get("id")
        kind = str(path[-1]) if isinstance(path, list) and path else ""
        inner = raw["kwargs"]
    elif isinstance(raw.get("data"), dict) and kind.casefold() in LANGCHAIN:
        inner = raw["data"]
    elif "role" in raw or kind.casefold() not in LANGCHAIN or "content" not in raw:
        return None
    role = ROLES.get(kind.casefold())
    if role is None:
        return None
    more = inner.get("additional_kwargs")
    more = more if isinstance(more, dict) else {}
    found = {**inner, "role": role}
    for name in ("tool_calls", "function_call", "reasoning_content"):
        if not found.get(name) and more.get(name):
            found[name] = more[name]
    return found
