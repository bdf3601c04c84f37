"""What one span of a trace says of a conversation: messages sent and made, a call, its scores.

Attributes come flat (``llm.input_messages.0.message.role``) or nested, messages as JSON text or as
structured values. Read are OpenTelemetry's GenAI conventions with their older events,
OpenInference, OpenLLMetry, Vercel's AI SDK, MLflow, and what Langfuse's SDK writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from annotation.chats.model import ToolCall, Turn, result_part, tool_call
from annotation.chats.readers.base import (
    Builder,
    Score,
    as_text,
    parse_json,
    score_text,
    text_of,
)
from annotation.chats.readers.messages import add_messages, is_messages, usage_of

Kind = Literal["agent", "model", "tool", "retriever", "other"]
KINDS: dict[str, Kind] = {
    **dict.fromkeys(
        ("llm", "chat", "text_completion", "generate_content", "generation", "completion"), "model"
    ),
    **dict.fromkeys(
        ("chat_model", "ai.generatetext.dogenerate", "ai.streamtext.dostream"), "model"
    ),
    **dict.fromkeys(("tool", "execute_tool", "ai.toolcall", "function"), "tool"),
    **dict.fromkeys(("agent", "invoke_agent", "create_agent", "invoke_workflow"), "agent"),
    **dict.fromkeys(("retriever", "reranker", "retrieval"), "retriever"),
}
KIND_KEYS = (
    *("openinference.span.kind", "gen_ai.operation.name", "langfuse.observation.type"),
    *("traceloop.span.kind", "langsmith.span.kind", "mlflow.spanType", "ai.operationId"),
)
INPUTS = (
    *("input.value", "langfuse.observation.input", "traceloop.entity.input", "mlflow.spanInputs"),
    *("gen_ai.tool.call.arguments", "ai.toolCall.args", "tool.parameters", "input"),
)
OUTPUTS = (
    *("output.value", "langfuse.observation.output", "traceloop.entity.output"),
    *("mlflow.spanOutputs", "gen_ai.tool.call.result", "ai.toolCall.result", "output"),
)
MODELS = (
    *("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id"),
    *("langfuse.observation.model.name", "llm.request.model"),
)
DETAILS = "gen_ai.client.inference.operation.details"
EVALUATION = "gen_ai.evaluation.result"
OLD_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
# Attributes whose content is read into turns, so that the span does not repeat it.
CONTENT = (
    *("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"),
    *("gen_ai.tool.definitions", "gen_ai.prompt", "gen_ai.completion", "llm.input_messages"),
    *("llm.output_messages", "llm.tools", "llm.prompts", "ai.prompt", "ai.response", "input.value"),
    *("output.value", "langfuse.observation.input", "langfuse.observation.output"),
    *("traceloop.entity.input", "traceloop.entity.output", "mlflow.spanInputs"),
    *("mlflow.spanOutputs", "llm.request.functions", "gen_ai.tool.call.arguments"),
    *("gen_ai.tool.call.result", "tool.parameters", "retrieval.documents", "input", "output"),
)


@dataclass(frozen=True)
class SpanContent:
    """What a span says: turns sent to a model and made by it, or the call of a tool."""

    kind: Kind
    before: tuple[Turn, ...] = ()
    made: tuple[Turn, ...] = ()
    call: ToolCall | None = None
    tools: Any = None
    scores: tuple[Score, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns of the span."""
        return (*self.before, *self.made)


def turns_of_span(
    attributes: Mapping[str, Any], events: Sequence[Mapping[str, Any]] = ()
) -> list[Turn]:
    """Return the turns of a span; ``events`` are objects with ``name`` and ``attributes``."""
    return list(read_span(attributes, events).turns)


def kind_of(attributes: Mapping[str, Any]) -> Kind:
    """Return what a span is, by the attributes of any convention."""
    for key in KIND_KEYS:
        kind = KINDS.get(str(attributes.get(key, "")).casefold())
        if kind:
            return kind
    return "model" if text_of(attributes, *MODELS) else "other"


def read_span(
    attributes: Mapping[str, Any],
    events: Sequence[Mapping[str, Any]] = (),
    *,
    name: str = "",
    kind: Kind | None = None,
    skip: Callable[[list[Any]], int] = lambda messages: 0,
) -> SpanContent:
    """Read one span; ``kind`` where the source says it in another way than by attributes.

    ``skip`` says how many of the messages sent are known, so that they are not read again.
    """
    flat = flatten(attributes)
    for event in events:
        if event.get("name") == DETAILS:
            flat |= flatten(_attributes(event))
    kind = kind or kind_of(flat)
    scores = tuple(_scores(flat, events))
    if kind in ("tool", "retriever"):
        return SpanContent(kind, call=_call(flat, name), scores=scores)
    sent, made = Builder(name_by_id=True), Builder()
    before, after = _messages(flat, events)
    if not before and not after and kind in ("model", "agent"):
        given = _first(flat, INPUTS), _first(flat, OUTPUTS)
        before, after = _sides(*given)
    add_messages(sent, before[skip(before) :])
    _take_results(sent)
    add_messages(made, after)
    usage = usage_of(
        {
            "input": _first(flat, ("gen_ai.usage.input_tokens", "llm.token_count.prompt")),
            "output": _first(flat, ("gen_ai.usage.output_tokens", "llm.token_count.completion")),
        }
    )
    made.set_last(**usage, model=text_of(flat, *MODELS))
    first, second = sent.chat(), made.chat()
    return SpanContent(
        kind,
        first.turns,
        second.turns,
        tools=_tools(flat),
        scores=scores,
        notes=(*first.notes, *second.notes),
    )


def _take_results(builder: Builder) -> None:
    """Leave orphans as they are: whether they belong to an earlier span is seen in the trace."""
    builder.notes.pop("orphan_results", None)


def flatten(attributes: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Write nested objects of attributes flat, except where they hold a message or JSON itself."""
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        path = f"{prefix}{key}"
        nested = isinstance(value, dict) and (path not in ("input", "output") or "value" in value)
        if depth < 12 and path in _NESTED and nested:
            found |= flatten(value, f"{path}.", depth + 1)
        elif value is not None:
            found[path] = value
    return found


# Objects of exports that nest attributes by their dots.
_NESTED = {
    *("llm", "input", "output", "gen_ai", "gen_ai.input", "gen_ai.output", "openinference"),
    *("openinference.span", "llm.token_count", "tool", "gen_ai.usage", "gen_ai.request"),
    *("gen_ai.response", "gen_ai.operation", "retrieval", "session", "user"),
}


def _attributes(event: Mapping[str, Any]) -> dict[str, Any]:
    value = event.get("attributes")
    return value if isinstance(value, dict) else {}


def _first(flat: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((flat[name] for name in names if flat.get(name) not in (None, "")), None)


# Messages ----------------------------------------------------------------------------------------


def _messages(
    flat: Mapping[str, Any], events: Sequence[Mapping[str, Any]]
) -> tuple[list[Any], list[Any]]:
    """Return the messages sent to a model and those that it made, by the first convention there."""
    for reader in (_gen_ai, _open_inference, _numbered, _vercel):
        before, after = reader(flat)
        if before or after:
            return before, after
    return _from_events(events)


def _gen_ai(flat: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    before = _message_list(flat.get("gen_ai.input.messages"))
    after = _message_list(flat.get("gen_ai.output.messages"), "assistant")
    told = parse_json(flat.get("gen_ai.system_instructions"))
    if told and (before or after):
        rows = told if isinstance(told, list) else [told]
        before = [{"role": "system", "content": rows}, *before]
    return before, after


def _message_list(value: Any, role: str = "user") -> list[Any]:
    parsed = parse_json(value)
    if parsed in (None, "", [], {}):
        return []
    if is_messages(parsed):
        return list(parsed)
    if isinstance(parsed, dict) and isinstance(parsed.get("role"), str):
        return [parsed]
    if isinstance(parsed, list):
        return [
            one if isinstance(one, dict) and "role" in one else _said(one, role) for one in parsed
        ]
    return [_said(parsed, role)]


def _said(value: Any, role: str) -> dict[str, Any]:
    return {"role": role, "content": value if isinstance(value, str) else as_text(value)}


def _open_inference(flat: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    return (
        [_open_message(one) for one in _entries(flat, "llm.input_messages")],
        [_open_message(one) for one in _entries(flat, "llm.output_messages")],
    )


def _entries(flat: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Gather ``prefix.N.rest`` into one object for each N, in their order."""
    own = flat.get(prefix)
    if isinstance(own, list):
        return [flatten_all(one) for one in own if isinstance(one, dict)]
    found: dict[int, dict[str, Any]] = {}
    for key, value in flat.items():
        if key.startswith(f"{prefix}."):
            number, _dot, rest = key[len(prefix) + 1 :].partition(".")
            if number.isdigit() and len(number) < 7:
                if rest:
                    found.setdefault(int(number), {})[rest] = value
                elif isinstance(value, dict):
                    found[int(number)] = flatten_all(value)
    return [found[number] for number in sorted(found)]


def flatten_all(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Write all objects within an object flat; lists stay."""
    found: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, dict):
            found |= flatten_all(inner, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = inner
    return found


def _open_message(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Write a message of OpenInference as one of a chat."""
    inner = {key.removeprefix("message."): value for key, value in flat.items()}
    made: dict[str, Any] = {"role": inner.get("role", "assistant")}
    for name in ("content", "name", "tool_call_id"):
        if inner.get(name) is not None:
            made[name] = inner[name]
    contents = [_open_content(one) for one in _entries(inner, "contents")]
    if contents:
        made["content"] = contents
    calls = [_open_call(one) for one in _entries(inner, "tool_calls")]
    if calls:
        made["tool_calls"] = calls
    if inner.get("function_call_name"):
        made["function_call"] = {
            "name": inner["function_call_name"],
            "arguments": inner.get("function_call_arguments_json", ""),
        }
    return made


def _open_content(flat: Mapping[str, Any]) -> dict[str, Any]:
    inner = {key.removeprefix("message_content."): value for key, value in flat.items()}
    address = inner.get("image.image.url") or inner.get("image.url")
    if address:
        return {"type": "image_url", "image_url": {"url": address}}
    if inner.get("text") is not None and inner.get("type", "text") in ("text", "reasoning"):
        return {"type": inner.get("type", "text"), "text": inner["text"]}
    return {**inner, "type": str(inner.get("type", "unknown"))}


def _open_call(flat: Mapping[str, Any]) -> dict[str, Any]:
    inner = {key.removeprefix("tool_call."): value for key, value in flat.items()}
    return {
        "id": inner.get("id", ""),
        "function": {
            "name": inner.get("function.name", ""),
            "arguments": inner.get("function.arguments", ""),
        },
    }


def _numbered(flat: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Read messages of OpenLLMetry, ``gen_ai.prompt.0.content``, or all as one JSON text."""
    sides = []
    for name, role in (("gen_ai.prompt", "user"), ("gen_ai.completion", "assistant")):
        rows = []
        for entry in _entries(flat, name):
            made = {"role": role, **{key: one for key, one in entry.items() if "." not in key}}
            made["content"] = parse_json(made.get("content"))
            if calls := _entries(entry, "tool_calls"):
                made["tool_calls"] = calls
            rows.append(made)
        sides.append(rows or _message_list(flat.get(name), role))
    return sides[0], sides[1]


def _vercel(flat: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    before = _message_list(flat.get("ai.prompt.messages") or flat.get("ai.prompt"))
    text, calls = flat.get("ai.response.text"), parse_json(flat.get("ai.response.toolCalls"))
    after = []
    if text or calls:
        rows = calls if isinstance(calls, list) else []
        after = [
            {
                "role": "assistant",
                "content": text,
                "tool_calls": [
                    {
                        "id": text_of(one, "toolCallId"),
                        "name": text_of(one, "toolName"),
                        "arguments": one.get("input", one.get("args", {})),
                    }
                    for one in rows
                    if isinstance(one, dict)
                ],
            }
        ]
    return before, after


def _from_events(events: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[Any]]:
    before: list[Any] = []
    after: list[Any] = []
    for event in events:
        name, about = str(event.get("name", "")), _attributes(event)
        body = {**about, **_attributes({"attributes": event.get("body")})}
        if name in OLD_ROLES:
            calls = parse_json(body.get("tool_calls"))
            before.append(
                {
                    "role": body.get("role") or OLD_ROLES[name],
                    "content": parse_json(body.get("content")),
                    **({"tool_calls": calls} if isinstance(calls, list) else {}),
                    **({"tool_call_id": body["id"]} if body.get("id") else {}),
                }
            )
        elif name == "gen_ai.choice":
            message = parse_json(body.get("message"))
            message = (
                message
                if isinstance(message, dict)
                else {"content": message or body.get("content")}
            )
            calls = parse_json(body.get("tool_calls") or message.get("tool_calls"))
            after.append(
                {
                    "role": "assistant",
                    **message,
                    **({"tool_calls": calls} if isinstance(calls, list) else {}),
                }
            )
        elif name == "gen_ai.content.prompt":
            before += _message_list(body.get("gen_ai.prompt"))
        elif name == "gen_ai.content.completion":
            after += _message_list(body.get("gen_ai.completion"), "assistant")
    return before, after


def _sides(given: Any, made: Any) -> tuple[list[Any], list[Any]]:
    """Messages of what was put in and what came out, where no convention names them."""
    before = [] if given is None else messages_of(given, "user")
    after = [] if made is None else messages_of(made, "assistant")
    return before, after


def messages_of(value: Any, role: str) -> list[Any]:
    """Return the messages that an input or output holds, in the shapes of clients and chains.

    Lists of messages, ``{"messages"}``, ``{"choices"}``, LangChain's ``generations``, the
    ``output`` of a response, one message; else the value as one message of ``role``.
    """
    parsed = parse_json(value)
    if isinstance(parsed, list) and len(parsed) == 1 and isinstance(parsed[0], list):
        parsed = parsed[0]  # LangChain sends a batch of one
    if is_messages(parsed):
        return list(parsed)
    blocks = parsed if isinstance(parsed, list) else []
    if blocks and all(isinstance(one, dict) and "type" in one for one in blocks):
        return [{"role": role, "content": parsed}]
    if blocks and all(isinstance(one, dict) and "message" in one for one in blocks):
        parsed = {"choices": blocks}
    if isinstance(parsed, dict):
        if isinstance(parsed.get("role"), str):
            return [parsed]
        found = _messages_within(parsed, role)
        if found is not None:
            return found
    return [_said(parsed, role)]


def _messages_within(value: Mapping[str, Any], role: str) -> list[Any] | None:
    system = value.get("system") or value.get("instructions")
    first = [{"role": "system", "content": system}] if isinstance(system, str | list) else []
    for name in ("messages", "input", "output", "prompts"):
        inner = parse_json(value.get(name))
        if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], list):
            inner = inner[0]
        if is_messages(inner):
            return [*first, *inner]
    choices = value.get("choices")
    if isinstance(choices, list) and choices:
        rows = [one.get("message", one.get("text")) for one in choices if isinstance(one, dict)]
        return [one if isinstance(one, dict) else _said(one, role) for one in rows]
    generations = value.get("generations")
    if isinstance(generations, list) and generations:
        flat = [one for row in generations for one in (row if isinstance(row, list) else [row])]
        rows = [one.get("message") or one.get("text") for one in flat if isinstance(one, dict)]
        return [one if isinstance(one, dict) else _said(one, role) for one in rows]
    content = value.get("content")
    if isinstance(content, list) and "stop_reason" in value:  # a message of Anthropic
        return [{"role": role, "content": content}]
    for name in _PLAIN:
        if isinstance(value.get(name), str) and value[name]:
            return [*first, {"role": role, "content": value[name]}]
    return None


_PLAIN = ("question", "query", "input", "prompt", "answer", "output", "text", "response", "content")


# Calls, tools, scores ----------------------------------------------------------------------------


def _call(flat: Mapping[str, Any], name: str) -> ToolCall:
    """Make the call that a span of a tool or a retriever is."""
    names = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "tool_call.function.name")
    asked = _first(flat, INPUTS)
    asked = _first(flat, ("tool_call.function.arguments",)) if asked is None else asked
    ids = ("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id")
    call = tool_call(
        text_of(flat, *names) or name, "" if asked is None else asked, id=text_of(flat, *ids)
    )
    outcome = _first(flat, OUTPUTS)
    documents = _entries(flat, "retrieval.documents")
    if documents:
        outcome = [
            {key.removeprefix("document."): value for key, value in one.items()}
            for one in documents
        ]
    if outcome is None:
        return call
    return call.model_copy(update={"result": (result_part(_result_text(outcome)),)})


def _result_text(outcome: Any) -> str:
    """The content of a tool's message, where that is what came out; else all of it."""
    parsed = parse_json(outcome)
    if isinstance(parsed, dict):
        inner = parsed.get("kwargs") if parsed.get("type") == "constructor" else parsed
        inner = inner if isinstance(inner, dict) else {}
        is_message = inner.get("type") == "tool" or inner.get("tool_call_id")
        if is_message and isinstance(inner.get("content"), str):
            return str(inner["content"])
    return as_text(outcome)


def _tools(flat: Mapping[str, Any]) -> Any:
    found = parse_json(_first(flat, ("gen_ai.tool.definitions", "ai.prompt.tools")))
    if found:
        return found
    rows = [_tool(one) for one in _entries(flat, "llm.tools")]
    return rows or _entries(flat, "llm.request.functions") or None


def _tool(flat: Mapping[str, Any]) -> Any:
    return parse_json(flat.get("tool.json_schema", flat.get("json_schema", dict(flat))))


def _scores(flat: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> Iterable[Score]:
    prefix = "gen_ai.evaluation"
    for event in events:
        if event.get("name") == EVALUATION:
            about = _attributes(event)
            given = _first(about, (f"{prefix}.score.value", f"{prefix}.score.label"))
            yield Score(
                text_of(about, f"{prefix}.name") or "evaluation",
                score_text(given),
                text_of(about, f"{prefix}.explanation")[:10_000],
            )
    for entry in _entries(flat, "annotations"):
        inner = {key.removeprefix("annotation."): value for key, value in entry.items()}
        given = inner.get("score", inner.get("label"))
        if given is not None:
            yield Score(
                text_of(inner, "name"),
                score_text(given),
                text_of(inner, "explanation")[:10_000],
                text_of(inner, "annotator_kind", "identifier"),
            )
