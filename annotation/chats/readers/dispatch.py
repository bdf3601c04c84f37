"""Which format a record is of, and its conversations.

A record is one value of a file: a line of JSON Lines, an element of a list, a row of a table, or a
whole document. ``read_record`` reads one that is a conversation or a pair of them. Some hold
several (a log with its samples), and some are steps of a trace that other records complete:
``RecordReader`` takes these as they come and gives all back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.chats.readers import evals, exports, pairs, sources
from annotation.chats.readers.base import (
    MAX_COLUMNS,
    Builder,
    ChatRecord,
    GroupChat,
    Score,
    UnreadableRecord,
    add_notes,
    dict_of,
    list_of,
    meta_of,
    parse_json,
    text_of,
    type_of,
)
from annotation.chats.readers.items import is_item
from annotation.chats.readers.messages import (
    add_items,
    add_messages,
    is_messages,
    oldest_first,
    usage_of,
)
from annotation.chats.readers.sharegpt import add_turns, is_turns
from annotation.chats.readers.spans import messages_of
from annotation.chats.readers.tree import TraceSpan, read_trace
from crowdqc.numbers import count
from crowdqc.web.terms import Words

MAX_PENDING = 200_000  # spans of unfinished traces that are held
KEYS = (
    *("id", "conversation_id", "chat_id", "uuid", "custom_id", "session_id", "question_id", "key"),
    "thread_id",
)
# The names of the formats, as pages and the documentation write them.
FORMATS: dict[str, Words] = {
    "messages": gettext_lazy("Chat messages (OpenAI, Hugging Face)"),
    "anthropic": gettext_lazy("Anthropic messages"),
    "responses": gettext_lazy("OpenAI responses"),
    "sharegpt": gettext_lazy("ShareGPT"),
    "wildchat": gettext_lazy("WildChat"),
    "chatgpt": gettext_lazy("ChatGPT export"),
    "claude": gettext_lazy("Claude export"),
    "gemini": gettext_lazy("Gemini contents"),
    "arena": gettext_lazy("Arena battles and MT-bench"),
    "preference": gettext_lazy("Preferences (chosen, rejected)"),
    "prompt": gettext_lazy("Prompt and completion"),
    "inspect": gettext_lazy("Inspect logs"),
    "promptfoo": gettext_lazy("promptfoo results"),
    "lm_eval": gettext_lazy("lm-eval samples"),
    "prm800k": gettext_lazy("PRM800K"),
    "otlp": gettext_lazy("OpenTelemetry traces (OTLP JSON)"),
    "spans": gettext_lazy("Spans of OpenTelemetry and Phoenix"),
    "langfuse": gettext_lazy("Langfuse traces"),
    "langsmith": gettext_lazy("LangSmith runs"),
    "braintrust": gettext_lazy("Braintrust rows"),
}
TURNS = ("conversations", "conversation", "messages", "chat", "dialog", "dialogue", "turns")
STATES = ("values", "channel_values")  # of a thread and of a checkpoint of LangGraph
LIST_FIELDS = {"object", "first_id", "last_id", "has_more"}  # of a page of OpenAI's API
# Fields by which chats between people are told.
GROUP_CHATS = {"Slack": {"type", "ts", "text"}, "Discord": {"guild", "channel", "messages"}}
# What WildChat tells of its users: left out.
PRIVATE = {"hashed_ip", "header", "country", "state", "ip", "user_agent", "city"}
# What a reader raises at a value that its format never has there.
ODD_VALUES = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
ANTHROPIC = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"}


@dataclass(frozen=True)
class Shape:
    """How a record is read, and the fields by which this is seen."""

    format: str
    seen: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why it is read so, for a page."""
        return reason_of(self.format, self.seen)


def reason_of(format: str, seen: Iterable[str]) -> str:
    """Say in a sentence by which fields a format was recognised."""
    return _("Read as %(format)s, by %(fields)s.") % {
        "format": FORMATS[format],
        "fields": ", ".join(seen),
    }


def recognise_record(raw: Any) -> Shape:
    """Tell the format of a record. Raises UnreadableRecord, which names the fields that it has."""
    if isinstance(raw, list):
        if is_turns(raw):
            return Shape("sharegpt", ("from", "value"))
        if is_messages(raw):
            return Shape("messages", ("role", "content"))
        raise UnreadableRecord(_("This list holds no messages with a role."))
    if not isinstance(raw, dict):
        raise UnreadableRecord(_("A conversation is an object or a list of messages."))
    _refuse_groups_of_people(raw)
    for shape in (_trace_shape, _evaluation_shape, _pair_shape, _export_shape, _chat_shape):
        if (found := shape(raw)) is not None:
            return found
    names = ", ".join(str(name)[:40] for name in list(raw)[:12])
    raise UnreadableRecord(
        _("No known format of conversations has these fields: %(names)s.") % {"names": names}
    )


def _fields(format: str, *names: str) -> Shape:
    return Shape(format, names)


def _trace_shape(raw: Mapping[str, Any]) -> Shape | None:
    resources = [one for one in ("resourceSpans", "resource_spans") if list_of(raw.get(one))]
    rules = (
        (bool(resources), "otlp", resources),
        (sources.is_langfuse(raw), "langfuse", ("traceId", "type")),
        (isinstance(raw.get("observations"), list) and "id" in raw, "langfuse", ("observations",)),
        (sources.is_langsmith(raw), "langsmith", ("run_type",)),
        (sources.is_braintrust(raw), "braintrust", ("root_span_id", "span_id")),
        (sources.is_span_row(raw), "spans", ("trace_id", "span_id")),
    )
    for fits, slug, fields in rules:
        if fits:
            return _fields(slug, *fields)
    known = ("gen_ai.", "llm.input_messages", "llm.output_messages", "openinference.")
    named = [name for name in raw if str(name).startswith(known)]
    return Shape("spans", tuple(map(str, named[:3]))) if named else None


def _evaluation_shape(raw: Mapping[str, Any]) -> Shape | None:
    names = raw.keys()
    is_log = isinstance(raw.get("samples"), list) and "eval" in raw
    is_sample = {"epoch", "messages"} <= names or {"epoch", "scores", "input"} <= names
    steps = {"steps"} & dict_of(raw.get("label")).keys()
    problem = {"problem"} & dict_of(raw.get("question")).keys()
    rules = (
        (is_log, "inspect", ("eval", "samples")),
        (is_sample, "inspect", ("epoch", "messages")),
        (bool(evals.promptfoo_rows(raw)), "promptfoo", ("results",)),
        ("prompt" in raw and bool({"promptIdx", "testIdx"} & names), "promptfoo", ("promptIdx",)),
        ({"doc_id", "resps"} <= names, "lm_eval", ("doc_id", "resps")),
        (bool(steps and problem), "prm800k", ("question.problem", "label.steps")),
    )
    return next((_fields(slug, *fields) for fits, slug, fields in rules if fits), None)


def _pair_shape(raw: Mapping[str, Any]) -> Shape | None:
    for names in (("conversation_a", "conversation_b"), ("response_a", "response_b")):
        if all(raw.get(name) is not None for name in names):
            return _fields("arena", *names)
    if list_of(raw.get("full_conversation")):
        return _fields("arena", "full_conversation")
    for names in (("chosen", "rejected"), ("preferred_output", "non_preferred_output")):
        if all(raw.get(name) is not None for name in names):
            prompt = [name for name in pairs.PROMPTS if raw.get(name)][:1]
            return _fields("preference", *names, *(prompt if names[0] == "chosen" else ()))
    return None


def _refuse_groups_of_people(raw: Mapping[str, Any]) -> None:
    """Refuse exports of chats between people by name: who of them would be the assistant?"""
    for app, fields in GROUP_CHATS.items():
        if fields <= raw.keys():
            raise GroupChat(
                _("Exports of %(app)s do not say who is the user and who the assistant.")
                % {"app": app}
            )


def _export_shape(raw: Mapping[str, Any]) -> Shape | None:
    if dict_of(raw.get("mapping")) and ("current_node" in raw or "conversation_id" in raw):
        return _fields("chatgpt", "mapping", "current_node")
    sent = list_of(raw.get("chat_messages"))
    if sent and all("sender" in dict_of(one) for one in sent):
        return _fields("claude", "chat_messages", "sender")
    asked = dict_of(raw.get("request")) or raw
    contents = list_of(asked.get("contents"))
    if contents and all("parts" in dict_of(one) for one in contents):
        return _fields("gemini", "contents", "parts")
    return None


def _chat_shape(raw: Mapping[str, Any]) -> Shape | None:
    return _turns_shape(raw) or _items_shape(raw) or _prompt_shape(raw)


def _turns_shape(raw: Mapping[str, Any]) -> Shape | None:
    own = list_of(raw.get("conversation"))
    if own and is_messages(own):
        private = {"conversation_hash", "hashed_ip"} & {*raw, *own[0]}
        if private:
            return _fields("wildchat", "conversation", *sorted(private))
    for name in TURNS:
        value = list_of(raw.get(name))
        if is_turns(value):
            return _fields("sharegpt", name)
        if is_messages(value):
            return _fields("anthropic" if _is_anthropic(raw, value) else "messages", name)
    return None


def _items_shape(raw: Mapping[str, Any]) -> Shape | None:
    output = list_of(raw.get("output"))
    if output and all(isinstance(one, dict) and "type" in one for one in output):
        return _fields("responses", "output")
    for name in ("items", "input", "data"):
        items = list_of(raw.get(name))
        if any(map(is_item, items)) or is_messages(items):
            is_thread = any(dict_of(one).get("object") == "thread.message" for one in items)
            return _fields("messages" if is_thread else "responses", name)
        if items:
            break
    for name in STATES:
        if inner := _turns_shape(dict_of(raw.get(name))):
            return Shape(inner.format, (f"{name}.{inner.seen[0]}",))
    if isinstance(raw.get("content"), list) and "stop_reason" in raw:
        return _fields("anthropic", "content", "stop_reason")
    if isinstance(raw.get("choices"), list):
        return _fields("messages", "choices")
    return None


def _prompt_shape(raw: Mapping[str, Any]) -> Shape | None:
    for first in ("prompt", "instruction", "question"):
        for second in ("completion", "response", "output", "answer"):
            if raw.get(first) and raw.get(second) is not None:
                return _fields("prompt", first, second)
    return None


def _is_anthropic(raw: Mapping[str, Any], messages: list[Any]) -> bool:
    kinds = {
        type_of(block)
        for one in messages
        if isinstance(one, dict) and isinstance(one.get("content"), list)
        for block in one["content"]
    }
    return bool(kinds & ANTHROPIC) or isinstance(raw.get("system"), list)


# Reading -----------------------------------------------------------------------------------------


def read_record(raw: Any) -> ChatRecord:
    """Read one record that holds one conversation or one pair.

    Raises UnreadableRecord where no format fits, or where it is none or several conversations.
    """
    reader = RecordReader()
    records = [*reader.read(raw), *reader.finish()]
    if len(records) != 1:
        raise UnreadableRecord(
            _("It holds %(count)s conversations, not one.") % {"count": len(records)}
        )
    (record,) = records
    if isinstance(record, UnreadableRecord):
        raise record
    return record


class RecordReader:
    """Reads the records of one file; steps of traces are held until ``finish``.

    ``bad_spans`` says what is wrong with steps that could not be read, ``shapes`` how often each
    format came, by the fields that told it.
    """

    def __init__(self) -> None:
        self.bad_spans: list[str] = []
        self.group_chats = 0
        self.shapes: dict[Shape, int] = {}
        self._traces: dict[str, list[TraceSpan]] = {}
        self._shape_of: dict[str, Shape] = {}
        self._held = 0

    def read(self, raw: Any) -> Iterator[ChatRecord | UnreadableRecord]:
        """Yield the conversations that a record holds whole, and what is wrong with the others.

        Raises UnreadableRecord where no format fits.
        """
        try:
            shape = recognise_record(raw)
        except GroupChat:
            self.group_chats += 1
            raise
        self.shapes[shape] = self.shapes.get(shape, 0) + 1
        if shape.format in _STEPS:
            self._hold(shape, raw)
            return
        for row in _rows_within(shape, raw):
            try:
                yield _read_row(shape, row)
            except UnreadableRecord as error:
                yield error

    def _hold(self, shape: Shape, raw: Mapping[str, Any]) -> None:
        try:
            spans = list(_STEPS[shape.format](raw))
        except ODD_VALUES as error:
            raise _odd_value(error) from error
        for span in spans:
            if isinstance(span, sources.BadSpan):
                self.bad_spans.append(str(span))
                continue
            self._held += 1
            if self._held > MAX_PENDING:
                raise UnreadableRecord(
                    _("The file has more than %(most)s steps of traces.")
                    % {"most": count(MAX_PENDING)}
                )
            self._traces.setdefault(span.trace_id, []).append(span)
            self._shape_of.setdefault(span.trace_id, shape)

    def finish(self) -> Iterator[ChatRecord | UnreadableRecord]:
        """Yield a conversation for each trace whose steps came, or what is wrong with it."""
        traces, self._traces = self._traces, {}
        for trace_id, spans in traces.items():
            shape = self._shape_of[trace_id]
            try:
                trace = read_trace(spans)
            except ODD_VALUES as error:
                yield _odd_value(error)
                continue
            yield ChatRecord(
                shape.format, shape.seen, trace.chat, trace_id, trace.system, scores=trace.scores
            )


def _read_row(shape: Shape, row: Any) -> ChatRecord:
    if not isinstance(row, dict) and not (isinstance(row, list) and shape.format in _LISTS):
        raise UnreadableRecord(_("A conversation is an object or a list of messages."))
    try:
        shape, row, more = _unwrapped(shape, row)
        record = _finished(_READERS[shape.format](row, shape.seen), row)
        return replace(record, chat=add_notes(record.chat, more)) if more else record
    except UnreadableRecord as error:
        raise UnreadableRecord(
            _("Its conversation cannot be read: %(wrong)s.") % {"wrong": error}
        ) from error
    except ODD_VALUES as error:
        raise _odd_value(error) from error


def _unwrapped(shape: Shape, row: Any) -> tuple[Shape, Any, dict[str, int]]:
    """Take the messages out of a state of LangGraph, or of a list as OpenAI's API gives it.

    Returns what is noted as well: whether the list goes on in a page that is not in the file.
    """
    holder, _dot, name = shape.seen[0].partition(".")
    if name and holder in STATES:
        inner = {**row, **dict_of(row[holder])}
        return replace(shape, seen=(name,)), {**inner, holder: None}, {}
    if shape.seen == ("data",):
        about = {key: one for key, one in row.items() if key not in LIST_FIELDS}
        about["data"] = oldest_first(list_of(row["data"]))
        return shape, about, {"pages_missing": 1} if row.get("has_more") is True else {}
    return shape, row, {}


def _odd_value(error: Exception) -> UnreadableRecord:
    return UnreadableRecord(
        _("A value is not of the kind that the format has there: %(error)s.")
        % {"error": f"{type(error).__name__} {str(error)[:100]}"}
    )


def _rows_within(shape: Shape, raw: Any) -> Iterable[Any]:
    if "samples" in shape.seen:
        return evals.inspect_samples(raw)
    if shape.format == "promptfoo":
        return evals.promptfoo_rows(raw) or [raw]
    return [raw]


def _finished(record: ChatRecord, raw: Any) -> ChatRecord:
    """A record without its key among its further columns, and with a note of columns left out."""
    if record.key:
        own = {name for name in KEYS if record.meta.get(name) == record.key}
        record = replace(
            record, meta={name: one for name, one in record.meta.items() if name not in own}
        )
    more = len(raw) - MAX_COLUMNS if isinstance(raw, dict) else 0
    if more > 0 and len(record.meta) == MAX_COLUMNS:
        return replace(record, chat=add_notes(record.chat, {"columns_cut": more}))
    return record


def _read_messages(raw: Any, seen: tuple[str, ...]) -> ChatRecord:
    """Read messages in any field, with the system prompt and tools beside them."""
    if isinstance(raw, list):
        raw = {"messages": raw}
    builder, used = Builder(), {"messages", "tools", "functions", "system", "system_prompt"}
    name = next((one for one in seen if one in raw and one not in used), "messages")
    used |= {name, "choices", "response", "usage"}
    messages = list_of(raw.get(name)) if name != "choices" else list_of(raw.get("messages"))
    _add_system(builder, raw, messages)
    add_messages(builder, messages)
    reply = {
        **dict_of(raw.get("response")),
        **{k: raw[k] for k in ("choices", "usage") if k in raw},
    }
    reply = dict_of(reply.get("body")) or reply
    if isinstance(reply.get("choices"), list) or "stop_reason" in reply:
        add_messages(builder, messages_of(reply, "assistant"))
    if "content" in seen and "stop_reason" in raw:
        add_messages(builder, [{"role": "assistant", "content": raw["content"]}])
        used |= {"content", "stop_reason", "stop_sequence", "role", "type"}
    builder.set_last(**usage_of(dict_of(reply.get("usage"))), model=text_of(raw, "model"))
    tools = parse_json(raw.get("tools") or raw.get("functions"))
    scores, scored = _own_scores(raw)
    return ChatRecord(
        "anthropic" if seen and seen[-1] == "stop_reason" else "messages",
        seen,
        builder.chat(tools),
        text_of(raw, *KEYS),
        text_of(raw, "model", "system_name"),
        scores=scores,
        target=text_of(raw, "target", "gold", "expected", "reference"),
        meta=meta_of(raw, {*used, *scored, "model"}),
    )


def _add_system(builder: Builder, raw: Mapping[str, Any], messages: list[Any]) -> None:
    """Add the system prompt that stands beside the messages, unless it is among them."""
    first = messages[0] if messages and isinstance(messages[0], dict) else {}
    if str(first.get("role", first.get("from", ""))) in ("system", "developer"):
        return
    for name in ("system", "system_prompt", "instructions"):
        value = raw.get(name)
        if isinstance(value, str | list) and value:
            add_messages(builder, [{"role": "system", "content": value}])
            return


def _read_anthropic(raw: Any, seen: tuple[str, ...]) -> ChatRecord:
    return replace(_read_messages(raw, seen), format="anthropic")


def _read_responses(raw: Mapping[str, Any], seen: tuple[str, ...]) -> ChatRecord:
    """Read what was put in and came out of OpenAI's Responses API."""
    builder = Builder()
    _add_system(builder, raw, [])
    given = parse_json(raw.get("input"))
    if isinstance(given, str) and given:
        add_messages(builder, [{"role": "user", "content": given}])
    elif isinstance(given, list):
        add_items(builder, given)
    add_items(builder, list_of(raw.get("items")))
    add_items(builder, list_of(raw.get("data")))
    add_items(builder, list_of(raw.get("output")))
    builder.set_last(**usage_of(dict_of(raw.get("usage"))), model=text_of(raw, "model"))
    used = {"input", "items", "output", "instructions", "system", "tools", "usage", "model", "data"}
    return ChatRecord(
        "responses",
        seen,
        builder.chat(parse_json(raw.get("tools"))),
        text_of(raw, *KEYS),
        text_of(raw, "model"),
        meta=meta_of(raw, used),
    )


def _read_sharegpt(raw: Any, seen: tuple[str, ...]) -> ChatRecord:
    if isinstance(raw, list):
        raw = {"conversations": raw}
    name = next((one for one in seen if one in raw), "conversations")
    builder, turns = Builder(), list_of(raw.get(name))
    _add_system(builder, raw, turns)
    add_turns(builder, turns)
    scores, scored = _own_scores(raw)
    return ChatRecord(
        "sharegpt",
        seen,
        builder.chat(parse_json(raw.get("tools"))),
        text_of(raw, *KEYS),
        text_of(raw, "model"),
        scores=scores,
        meta=meta_of(raw, {name, "system", "tools", "model", *scored}),
    )


def _read_wildchat(raw: Mapping[str, Any], seen: tuple[str, ...]) -> ChatRecord:
    """Read a conversation of WildChat, without what it tells of the person and their place."""
    builder, private = Builder(), 0
    rows = []
    for one in list_of(raw.get("conversation")):
        private += len(PRIVATE & one.keys())
        rows.append({key: value for key, value in one.items() if key not in PRIVATE})
    own = {*PRIVATE, "conversation", "model", "openai_moderation", "detoxify_moderation"}
    labels = tuple(
        Score(name, str(bool(raw[name])).lower(), by="moderation")
        for name in ("toxic", "redacted")
        if raw.get(name) is not None
    )
    for row in rows:
        for name in ("toxic", "redacted", "conversation_hash"):
            row.pop(name, None)
    add_messages(builder, rows)
    builder.notes["private_fields_left_out"] += private + len(PRIVATE & raw.keys())
    return ChatRecord(
        "wildchat",
        seen,
        builder.chat(),
        text_of(raw, "conversation_hash", *KEYS),
        text_of(raw, "model"),
        scores=labels,
        meta=meta_of(raw, {*own, "toxic", "redacted"}),
    )


def _read_prompt(raw: Mapping[str, Any], seen: tuple[str, ...]) -> ChatRecord:
    """Read a prompt and what followed, each as a text or as messages."""
    builder = Builder()
    _add_system(builder, raw, [])
    for name, role in zip(seen, ("user", "assistant"), strict=True):
        add_messages(builder, messages_of(raw.get(name), role))
    scores, scored = _own_scores(raw)
    used = {*seen, "system", "system_prompt", "instructions", "model", *scored}
    return ChatRecord(
        "prompt",
        seen,
        builder.chat(parse_json(raw.get("tools"))),
        text_of(raw, *KEYS),
        text_of(raw, "model", "system_name"),
        scores=scores,
        target=text_of(raw, "target", "gold", "expected", "reference"),
        meta=meta_of(raw, {*used, "tools"}),
    )


def _own_scores(raw: Mapping[str, Any]) -> tuple[tuple[Score, ...], set[str]]:
    """Read ``scores`` of a record, and name the field where it was read."""
    value = parse_json(raw.get("scores"))
    if isinstance(value, dict) and value:
        return evals.scores_of(value), {"scores"}
    return (), set()


def _one_span(raw: Mapping[str, Any]) -> Iterator[TraceSpan | sources.BadSpan]:
    """Yield a span of a row, or of attributes alone, which are a trace of their own."""
    if sources.is_span_row(raw):
        try:
            yield sources.row_span(raw)
        except sources.BadSpan as error:
            yield error
        return
    own = text_of(raw, "trace_id", "id") or f"attributes-{id(raw)}"
    yield TraceSpan(own, "1", "", text_of(raw, "name") or "span", attributes=dict(raw))


def _langfuse(raw: Mapping[str, Any]) -> Iterable[TraceSpan]:
    return (
        sources.langfuse_trace(raw)
        if isinstance(raw.get("observations"), list)
        else [sources.langfuse_span(raw)]
    )


_STEPS: dict[str, Callable[[Any], Iterable[TraceSpan | sources.BadSpan]]] = {
    "otlp": sources.otlp_spans,
    "spans": _one_span,
    "langfuse": _langfuse,
    "langsmith": sources.langsmith_spans,
    "braintrust": lambda raw: [sources.braintrust_span(raw)],
}
_LISTS = ("messages", "sharegpt")  # whose records can be a list of messages
_READERS: dict[str, Callable[[Any, tuple[str, ...]], ChatRecord]] = {
    "messages": _read_messages,
    "anthropic": _read_anthropic,
    "responses": _read_responses,
    "sharegpt": _read_sharegpt,
    "wildchat": _read_wildchat,
    "chatgpt": exports.read_chatgpt,
    "claude": exports.read_claude,
    "gemini": exports.read_gemini,
    "arena": pairs.read_arena,
    "preference": pairs.read_preference,
    "prompt": _read_prompt,
    "inspect": evals.read_inspect,
    "promptfoo": evals.read_promptfoo,
    "lm_eval": evals.read_lm_eval,
    "prm800k": evals.read_prm800k,
}
