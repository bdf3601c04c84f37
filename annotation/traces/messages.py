"""What went in and out of one span, as turns: GenAI conventions, OpenInference, Langfuse. Pure.

Values may be JSON as text or structured: exporters send both. What cannot be read is noted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.chats.model import (
    FilePart,
    Part,
    Role,
    ToolCall,
    Turn,
    image_part,
    reasoning_part,
    result_part,
    text_part,
    tool_call,
    unknown_part,
)

ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "human": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "gpt": "assistant",
    "tool": "tool", "function": "tool",
}  # fmt: skip
FLAT = re.compile(r"llm\.(input|output)_messages\.(\d+)\.message\.(.+)\Z")
OLD = re.compile(r"gen_ai\.(prompt|completion)\.(\d+)\.(.+)\Z")
MOST_CALLS = 200


@dataclass(frozen=True)
class SpanTurns:
    """Turns that went in and out of a span, and what it says of its model; falsy without turns."""

    input: tuple[Turn, ...] = ()
    output: tuple[Turn, ...] = ()
    tools: str = ""
    model: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.input or self.output)


def read_turns(
    attributes: Mapping[str, Any], events: Sequence[Mapping[str, Any]] = ()
) -> SpanTurns:
    """Read a span's messages, from whichever convention it follows; the fullest first."""
    notes: list[str] = []
    found: tuple[list[Turn], list[Turn]] = ([], [])
    for reader in (_of_gen_ai, _of_open_inference, _of_events, _of_flat, _of_values):
        found = reader(attributes, events, notes)
        if found[0] or found[1]:
            break
    tools = _parsed(
        attributes.get("gen_ai.tool.definitions")
        or attributes.get("llm.tools")
        or _tools(attributes)
    )
    return SpanTurns(
        tuple(found[0]),
        tuple(found[1]),
        json.dumps(tools, ensure_ascii=False)[:64_000] if tools else "",
        str(
            attributes.get("gen_ai.response.model")
            or attributes.get("gen_ai.request.model")
            or attributes.get("llm.model_name")
            or attributes.get("langfuse.observation.model.name")
            or ""
        )[:160],
        _count(attributes, "gen_ai.usage.input_tokens", "llm.token_count.prompt"),
        _count(attributes, "gen_ai.usage.output_tokens", "llm.token_count.completion"),
        tuple(dict.fromkeys(notes)),
    )


def call_of_span(name: str, attributes: Mapping[str, Any]) -> ToolCall | None:
    """The call that a tool span made, with its result; None where it names none."""
    named = attributes.get("gen_ai.tool.name") or attributes.get("tool.name") or name
    arguments = _first(
        attributes, "gen_ai.tool.call.arguments", "tool.parameters", "input.value",
        "langfuse.observation.input",
    )  # fmt: skip
    result = _first(
        attributes, "gen_ai.tool.call.result", "output.value", "langfuse.observation.output"
    )
    if not named:
        return None
    call = tool_call(str(named), "" if arguments is None else arguments,
                     id=str(attributes.get("gen_ai.tool.call.id")
                            or attributes.get("tool_call.id") or ""))  # fmt: skip
    return call if result is None else call.model_copy(update={"result": tuple(_result(result))})


# -- conventions ---------------------------------------------------------------------------------

Found = tuple[list[Turn], list[Turn]]
Events = Sequence[Mapping[str, Any]]


def _of_gen_ai(attributes: Mapping[str, Any], events: Events, notes: list[str]) -> Found:
    """``gen_ai.input.messages`` and its like, on the span or on the event with the details."""
    values = dict(attributes)
    for event in events:
        if event.get("name") == "gen_ai.client.inference.operation.details":
            values |= event.get("attributes") or {}
    given = [_parsed(values.get(f"gen_ai.{one}.messages")) for one in ("input", "output")]
    system = _parsed(values.get("gen_ai.system_instructions"))
    notes += [
        f"cut:gen_ai.{name}.messages"
        for name, one in zip(("input", "output"), given, strict=True)
        if isinstance(one, str) and one.lstrip()[:1] in ("[", "{")
    ]
    turns = _turns(given[0], notes, "user"), _turns(given[1], notes, "assistant")
    if system:
        parts = _turns([{"role": "system", "parts": system}], notes, "system")
        return [*parts, *turns[0]], turns[1]
    return turns


def _of_open_inference(attributes: Mapping[str, Any], events: Events, notes: list[str]) -> Found:
    """``llm.input_messages.N.message.*``, flattened; gaps where the sender left attributes out."""
    sides: dict[str, dict[int, dict[str, Any]]] = {"input": {}, "output": {}}
    for key, value in attributes.items():
        match = FLAT.match(key)
        if match:
            sides[match[1]].setdefault(int(match[2]), {})[match[3]] = value
    for name, messages in sides.items():
        missing = max(messages, default=-1) + 1 - len(messages)
        if missing:
            notes.append(f"messages_missing:{name}:{missing}")
    given = [[_unflat(messages[n]) for n in sorted(messages)] for messages in sides.values()]
    return _turns(given[0], notes, "user"), _turns(given[1], notes, "assistant")


def _unflat(flat: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {
        name: flat[name] for name in ("role", "content", "tool_call_id", "name") if name in flat
    }
    contents: dict[int, dict[str, Any]] = {}
    calls: dict[int, dict[str, Any]] = {}
    for key, value in flat.items():
        if match := re.match(r"contents\.(\d+)\.message_content\.(.+)\Z", key):
            contents.setdefault(int(match[1]), {})[match[2]] = value
        elif match := re.match(r"tool_calls\.(\d+)\.tool_call\.(.+)\Z", key):
            calls.setdefault(int(match[1]), {})[match[2]] = value
    if contents:
        message["content"] = [
            {
                "type": one.get("type", "text"),
                "text": one.get("text"),
                "image_url": {"url": one.get("image.image.url", "")},
            }
            for _, one in sorted(contents.items())
        ]
    if calls:
        message["tool_calls"] = [
            {
                "id": one.get("id", ""),
                "function": {
                    "name": one.get("function.name"),
                    "arguments": one.get("function.arguments"),
                },
            }
            for _, one in sorted(calls.items())
        ]
    return message


def _of_events(attributes: Mapping[str, Any], events: Events, notes: list[str]) -> Found:
    """Span events of older emitters: ``gen_ai.user.message``, ``gen_ai.choice`` and so on."""
    turns: Found = ([], [])
    for event in events:
        match = re.match(r"gen_ai\.(system|user|assistant|tool)\.message\Z", str(event.get("name")))
        body = dict(event.get("attributes") or {})
        if match:
            body.setdefault("role", match[1])
            turns[0].extend(_turns([body], notes, "user"))
        elif event.get("name") == "gen_ai.choice":
            message = _parsed(body.get("message")) or body
            turns[1].extend(_turns([message], notes, "assistant"))
    return turns


def _of_flat(attributes: Mapping[str, Any], events: Events, notes: list[str]) -> Found:
    """``gen_ai.prompt.N.role`` and ``gen_ai.completion.N.content`` of OpenLLMetry."""
    sides: dict[str, dict[int, dict[str, Any]]] = {"prompt": {}, "completion": {}}
    for key, value in attributes.items():
        if match := OLD.match(key):
            sides[match[1]].setdefault(int(match[2]), {})[match[3]] = value
    return (
        _turns([sides["prompt"][n] for n in sorted(sides["prompt"])], notes, "user"),
        _turns([sides["completion"][n] for n in sorted(sides["completion"])], notes, "assistant"),
    )


def _of_values(attributes: Mapping[str, Any], events: Events, notes: list[str]) -> Found:
    """Input and output as any values: messages where they are such, else texts."""
    given = _first(
        attributes, "langfuse.observation.input", "input.value", "inputs", "langfuse.trace.input",
        "traceloop.entity.input", "gen_ai.prompt",
    )  # fmt: skip
    out = _first(
        attributes, "langfuse.observation.output", "output.value", "outputs",
        "langfuse.trace.output", "traceloop.entity.output", "gen_ai.completion",
    )  # fmt: skip
    return _turns(_messages(given), notes, "user"), _turns(_messages(out), notes, "assistant")


def _messages(value: Any) -> Any:
    """The messages within a value: a list, or what stands under a usual name; else the value."""
    value = _parsed(value)
    if isinstance(value, dict):
        for name in ("messages", "input", "output", "choices", "generations"):
            inner = _parsed(value.get(name))
            if isinstance(inner, list) and inner:
                inner = inner[0] if isinstance(inner[0], list) and inner[0] else inner
                return [
                    one["message"] if isinstance(one, dict) and isinstance(one.get("message"), dict)
                    else one
                    for one in inner
                ]  # fmt: skip
        if "role" in value or "tool_calls" in value:
            return [value]
    return value


def _turns(given: Any, notes: list[str], role: Role) -> list[Turn]:
    """Messages as turns; results of tools stand at their calls."""
    given = _parsed(given)
    if given is None or given in ("", []):
        return []
    if isinstance(given, str | int | float):
        return [Turn(role=role, parts=(text_part(str(given)),))]
    if isinstance(given, dict):
        if not _is_message(given):
            return [
                Turn(role=role, parts=(text_part(json.dumps(given, ensure_ascii=False, indent=1)),))
            ]
        given = [given]
    turns: list[Turn] = []
    for message in given:
        if isinstance(message, dict):
            _add_message(turns, message, role)
        elif message not in (None, ""):
            turns.append(Turn(role=role, parts=(text_part(_as_text(message)),)))
    return turns


def _is_message(value: Mapping[str, Any]) -> bool:
    return bool({"role", "content", "parts", "tool_calls", "type", "kwargs"} & value.keys())


def _add_message(turns: list[Turn], message: Mapping[str, Any], usual: Role) -> None:
    if isinstance(message.get("kwargs"), dict):  # LangChain's own form
        kind = str((message.get("id") or [""])[-1]).removesuffix("Message").lower()
        message = {"role": kind, **message["kwargs"]}
    role = ROLES.get(
        str(message.get("role") or message.get("type") or message.get("from")).lower(), usual
    )
    content = message.get("parts") if message.get("parts") is not None else message.get("content")
    if content is None:
        content = message.get("value")
    parts: list[Part] = []
    calls: list[ToolCall] = []
    results: list[tuple[str, str, list[Part], bool]] = []
    for block in _blocks(content):
        _add_block(block, parts, calls, results)
    for one in _listed(message.get("tool_calls"))[:MOST_CALLS]:
        if isinstance(one, dict):
            function = _parsed(one.get("function"))
            body = function if isinstance(function, dict) else one
            calls.append(
                _call(body.get("name"), body.get("arguments", body.get("args")), one.get("id"))
            )
    old = _parsed(message.get("function_call"))
    if isinstance(old, dict):
        calls.append(_call(old.get("name"), old.get("arguments"), ""))
    name = str(message.get("name") or "")[:120]
    if role == "tool" and not results:
        given = str(message.get("tool_call_id") or message.get("id") or "")
        results.append(
            (given, name, [_shortened(part) for part in parts], message.get("status") == "error")
        )
        parts = []
    for given_id, tool, found, is_error in results:
        if not _attach(turns, given_id, tool, found, is_error=is_error):
            turns.append(Turn(role="tool", name=tool, parts=tuple(found)))
    if parts or calls or (role != "tool" and not results):
        turns.append(
            Turn(
                role=role,
                name="" if role == "tool" else name,
                parts=tuple(parts),
                calls=tuple(calls),
            )
        )


def _add_block(
    block: Mapping[str, Any] | str,
    parts: list[Part],
    calls: list[ToolCall],
    results: list[tuple[str, str, list[Part], bool]],
) -> None:
    """Read one part of a message, of any of the known kinds."""
    if isinstance(block, str):
        parts.append(text_part(block))
        return
    kind = str(block.get("type") or ("text" if "text" in block else ""))
    text = block.get("text", block.get("content"))
    if kind in ("text", "input_text", "output_text", "refusal"):
        if text := text if text is not None else block.get("refusal"):
            parts.append(text_part(_as_text(text)))
    elif kind in ("reasoning", "thinking"):
        parts.append(reasoning_part(_as_text(block.get("thinking", text))))
    elif kind in ("tool_call", "tool_use", "server_tool_call", "function_call"):
        inner = block.get("server_tool_call")
        arguments = block.get("arguments", block.get("input", inner))
        calls.append(_call(block.get("name"), arguments, block.get("id") or block.get("call_id")))
    elif kind in (
        "tool_call_response",
        "tool_result",
        "server_tool_call_response",
        "function_call_output",
    ):
        value = _first(
            block, "response", "result", "content", "output", "server_tool_call_response"
        )
        given_id = block.get("id") or block.get("tool_use_id") or block.get("call_id") or ""
        results.append(
            (
                str(given_id),
                str(block.get("name") or ""),
                list(_result(value)),
                bool(block.get("is_error")),
            )
        )
    elif kind in ("image_url", "image", "input_image", "blob", "uri"):
        parts.append(_image(block))
    elif kind in ("file", "input_audio", "document", "input_file"):
        parts.append(FilePart(name=str(block.get("file_id") or block.get("filename") or kind)[:200],
                              media_type=str(block.get("mime_type") or "")[:80]))  # fmt: skip
    else:
        parts.append(unknown_part(kind or "part", dict(block)))


def _image(block: Mapping[str, Any]) -> Part:
    """An image of any standard: a data address, base64 with its type, or another's address."""
    source = block.get("source") if isinstance(block.get("source"), dict) else {}
    media = str(block.get("mime_type") or (source or {}).get("media_type") or "")
    data = block.get("content") if block.get("type") == "blob" else (source or {}).get("data")
    if isinstance(data, str):
        return image_part(f"data:{media};base64,{data}")
    if media and not media.startswith("image/"):
        return FilePart(name=str(block.get("uri") or "")[:200], media_type=media[:80])
    address = block.get("image_url", block.get("uri", block.get("image")))
    if isinstance(address, dict):
        address = address.get("url")
    return image_part(str(address or ""))


def _call(name: Any, arguments: Any, given_id: Any) -> ToolCall:
    return tool_call(
        str(name or "?"), "" if arguments is None else arguments, id=str(given_id or "")
    )


def _attach(
    turns: list[Turn], given_id: str, tool: str, result: Sequence[Part], *, is_error: bool
) -> bool:
    """Put a result at its call: by id, else the first call without one; False if there is none."""
    for number in range(len(turns) - 1, -1, -1):
        turn = turns[number]
        for place, call in enumerate(turn.calls):
            named = call.id == given_id if given_id else not tool or call.name == tool
            if named and call.result is None:
                filled = call.model_copy(update={"result": tuple(result), "is_error": is_error})
                calls = (*turn.calls[:place], filled, *turn.calls[place + 1 :])
                turns[number] = turn.model_copy(update={"calls": calls})
                return True
    return False


def _result(value: Any) -> Iterable[Part]:
    value = _parsed(value)
    if (
        isinstance(value, list)
        and value
        and all(isinstance(one, dict) and "type" in one for one in value)
    ):
        parts: list[Part] = []
        for block in value:
            _add_block(block, parts, [], [])
        return [_shortened(part) for part in parts]
    return [result_part(_as_text(value))] if value is not None else []


def _shortened(part: Part) -> Part:
    return result_part(part.text) if part.kind == "text" else part


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _blocks(content: Any) -> list[Any]:
    content = _parsed(content)
    if content is None or content == "":
        return []
    if isinstance(content, list):
        return [one for one in content if isinstance(one, dict | str)]
    return [content if isinstance(content, dict) else _as_text(content)]


def _parsed(value: Any) -> Any:
    """JSON that stands as text; anything else, and JSON that was cut, as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _listed(value: Any) -> list[Any]:
    value = _parsed(value)
    return value if isinstance(value, list) else []


def _first(values: Mapping[str, Any], *keys: str) -> Any:
    return next((values[key] for key in keys if values.get(key) is not None), None)


def _tools(attributes: Mapping[str, Any]) -> list[Any]:
    found = [
        (int(match[1]), _parsed(value))
        for key, value in attributes.items()
        if (match := re.match(r"llm\.tools\.(\d+)\.tool\.json_schema\Z", key))
    ]
    return [value for _, value in sorted(found, key=lambda one: one[0])]


def _count(attributes: Mapping[str, Any], *keys: str) -> int | None:
    value = _first(attributes, *keys)
    return int(value) if isinstance(value, int | float) and 0 <= value < 2**31 else None
