"""Rows of tracing tools as steps of traces: OTLP JSON, Langfuse, LangSmith, Phoenix, Braintrust."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Any

from annotation.chats.readers.base import (
    Score,
    as_text,
    dict_of,
    list_of,
    score_text,
    text_of,
    type_of,
)
from annotation.chats.readers.evals import scores_of
from annotation.chats.readers.spans import KINDS, Kind
from annotation.chats.readers.tree import TraceSpan

ERROR_CODES = (2, "2", "STATUS_CODE_ERROR", "ERROR")
DEEPEST = 40
ID_SIZES = {"trace": 16, "span": 8}  # bytes
LANGFUSE_TYPES = {
    *("SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR"),
    *("EMBEDDING", "GUARDRAIL"),
}


class BadSpan(ValueError):
    """A span that cannot be read."""


# OTLP --------------------------------------------------------------------------------------------


def otlp_spans(request: Mapping[str, Any]) -> Iterator[TraceSpan | BadSpan]:
    """Yield the spans of an OTLP request in JSON; unknown fields are ignored."""
    for resource in _listed(_field(request, "resourceSpans")):
        scopes = _field(resource, "scopeSpans") or _field(resource, "instrumentationLibrarySpans")
        for scope in _listed(scopes):
            spans = _field(scope, "spans")
            for span in spans if isinstance(spans, list) else ():
                try:
                    yield otlp_span(span)
                except BadSpan as error:
                    yield error


def otlp_span(span: Mapping[str, Any]) -> TraceSpan:
    """Read one span in camelCase or snake_case; raises BadSpan."""
    if not isinstance(span, dict):
        raise BadSpan("a span is no object")
    status = _field(span, "status") or {}
    status = status if isinstance(status, dict) else {}
    return TraceSpan(
        trace_id=span_id(_field(span, "traceId"), "trace"),
        span_id=span_id(_field(span, "spanId"), "span"),
        parent_id=span_id(_field(span, "parentSpanId"), "span"),
        name=as_text(_field(span, "name")),
        start_ns=nanoseconds(_field(span, "startTimeUnixNano")),
        end_ns=nanoseconds(_field(span, "endTimeUnixNano")),
        is_error=_field(status, "code") in ERROR_CODES,
        message=as_text(_field(status, "message")),
        attributes=pairs_of(_field(span, "attributes")),
        events=[
            {
                "name": as_text(_field(one, "name")),
                "attributes": pairs_of(_field(one, "attributes")),
            }
            for one in _listed(_field(span, "events"))
        ],
        dropped=nanoseconds(_field(span, "droppedAttributesCount")) or 0,
    )


def _field(holder: Any, name: str) -> Any:
    """A field by its name in JSON, or in protobuf, as some programs write it."""
    if not isinstance(holder, dict):
        return None
    if name in holder:
        return holder[name]
    return holder.get(re.sub("([A-Z])", r"_\1", name).lower())


def _listed(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def span_id(value: Any, kind: str) -> str:
    """Return an id in hex, whether it came as hex or base64; "" for none. Raises BadSpan."""
    if value in (None, ""):
        return ""
    size = ID_SIZES[kind]
    if not isinstance(value, str) or len(value) > 100:
        raise BadSpan(f"an id is no text of {2 * size} hexadecimal digits")
    if re.fullmatch(rf"[0-9a-fA-F]{{{2 * size}}}", value):
        return value.lower()
    try:
        raw = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) == size:
        return raw.hex()
    raise BadSpan(f"the id {value[:40]!r} has not {2 * size} hexadecimal digits")


def nanoseconds(value: Any) -> int | None:
    """Return a whole number that came as one or as a text; None for nothing. Raises BadSpan."""
    if value in (None, ""):
        return None
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,20}", value):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 2**63:
        raise BadSpan("a time or count is no whole number")
    return int(value)


def pairs_of(attributes: Any) -> dict[str, Any]:
    """Read attributes as OTLP lists them, or as an object."""
    if isinstance(attributes, dict):
        return {str(key): value for key, value in attributes.items() if value is not None}
    return {
        as_text(_field(one, "key")): _any_value(_field(one, "value"), 0)
        for one in _listed(attributes)
        if _field(one, "key") is not None
    }


def _any_value(value: Any, depth: int) -> Any:
    if not isinstance(value, dict) or depth > DEEPEST:
        return None if isinstance(value, dict) else value
    for name in ("stringValue", "boolValue", "doubleValue", "intValue", "bytesValue"):
        given = _field(value, name)
        if given is not None:
            whole = name == "intValue" and isinstance(given, str)
            return int(given) if whole and re.fullmatch(r"-?\d{1,20}", given) else given
    entries = _field(value, "arrayValue")
    if entries is not None:
        return [_any_value(one, depth + 1) for one in list_of(_field(entries, "values"))]
    pairs = _field(value, "kvlistValue")
    if pairs is not None:
        return {
            as_text(_field(one, "key")): _any_value(_field(one, "value"), depth + 1)
            for one in _listed(_field(pairs, "values"))
        }
    return None


# Times -------------------------------------------------------------------------------------------


def time_ns(value: Any) -> int | None:
    """Return nanoseconds since 1970 of a time as ISO 8601, seconds, milli- or nanoseconds."""
    if isinstance(value, bool) or value in (None, ""):
        return None
    if isinstance(value, str):
        if re.fullmatch(r"\d{9,20}(?:\.\d+)?", value):
            return time_ns(float(value))
        try:
            moment = dt.datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=dt.UTC)
        whole = int(moment.replace(microsecond=0).timestamp())
        return whole * 10**9 + moment.microsecond * 1000
    if isinstance(value, int | float) and 0 < value < 2**63:
        scale = 10**9 if value < 1e11 else 10**6 if value < 1e14 else 10**3 if value < 1e17 else 1
        return int(value * scale)
    return None


# Langfuse ----------------------------------------------------------------------------------------


def is_langfuse(raw: Mapping[str, Any]) -> bool:
    """Whether a row is an observation of Langfuse."""
    return "traceId" in raw and ("parentObservationId" in raw or type_of(raw) in LANGFUSE_TYPES)


def langfuse_span(raw: Mapping[str, Any]) -> TraceSpan:
    """Read an observation; one that is called the logical root has no parent."""
    kind = KINDS.get(text_of(raw, "type").casefold(), "other")
    attributes: dict[str, Any] = {
        "langfuse.observation.input": raw.get("input"),
        "langfuse.observation.output": raw.get("output"),
        "langfuse.observation.model.name": raw.get("model") or raw.get("providedModelName"),
        **{f"metadata.{key}": one for key, one in dict_of(raw.get("metadata")).items()},
    }
    usage = dict_of(raw.get("usageDetails") or raw.get("usage"))
    attributes["gen_ai.usage.input_tokens"] = usage.get("input")
    attributes["gen_ai.usage.output_tokens"] = usage.get("output")
    is_root = raw.get("isRootObservation") is True
    failed = raw.get("level") == "ERROR"
    return TraceSpan(
        text_of(raw, "traceId"),
        text_of(raw, "id"),
        "" if is_root else text_of(raw, "parentObservationId"),
        text_of(raw, "name"),
        time_ns(raw.get("startTime")),
        time_ns(raw.get("endTime")),
        failed,
        text_of(raw, "statusMessage") if failed else "",
        {key: value for key, value in attributes.items() if value is not None},
        kind=kind,
        scores=langfuse_scores(raw.get("scores")),
    )


def langfuse_scores(value: Any) -> tuple[Score, ...]:
    """Read scores of a trace or an observation."""
    return tuple(
        Score(
            text_of(one, "name"),
            score_text(one.get("stringValue") or one.get("value")),
            text_of(one, "comment")[:10_000],
            text_of(one, "source"),
        )
        for one in list_of(value)
        if isinstance(one, dict)
    )


def langfuse_trace(raw: Mapping[str, Any]) -> list[TraceSpan]:
    """Read a trace with its observations; without any, its input and output are one step."""
    rows = [one for one in list_of(raw.get("observations")) if isinstance(one, dict)]
    own = text_of(raw, "id")
    spans = [langfuse_span({"traceId": own, **one}) for one in rows]
    if not any(one.kind in ("model", "agent") for one in spans) or not spans:
        spans.append(
            TraceSpan(
                own,
                "trace",
                "",
                text_of(raw, "name") or "trace",
                time_ns(raw.get("timestamp")),
                None,
                attributes={
                    "langfuse.observation.input": raw.get("input"),
                    "langfuse.observation.output": raw.get("output"),
                },
            )
        )
    return spans


# LangSmith ---------------------------------------------------------------------------------------


def is_langsmith(raw: Mapping[str, Any]) -> bool:
    """Whether a row is a run of LangSmith."""
    return "run_type" in raw and bool({"trace_id", "dotted_order", "inputs"} & raw.keys())


def langsmith_spans(raw: Mapping[str, Any]) -> Iterator[TraceSpan]:
    """Read a run and the child runs that it may hold."""
    waiting: list[tuple[Mapping[str, Any], str, str]] = [(raw, "", "")]
    while waiting:
        run, trace, parent = waiting.pop()
        span = _langsmith_span(run, trace, parent)
        yield span
        waiting += [
            (one, span.trace_id, span.span_id)
            for one in list_of(run.get("child_runs"))
            if isinstance(one, dict)
        ]


def _langsmith_span(raw: Mapping[str, Any], trace: str, parent: str) -> TraceSpan:
    kind: Kind = KINDS.get(text_of(raw, "run_type").casefold(), "other")
    extra = dict_of(raw.get("extra"))
    invocation = dict_of(extra.get("invocation_params"))
    metadata = dict_of(extra.get("metadata"))
    attributes: dict[str, Any] = {
        "input.value": raw.get("inputs"),
        "output.value": raw.get("outputs"),
        "llm.model_name": invocation.get("model")
        or invocation.get("model_name")
        or metadata.get("ls_model_name"),
        "gen_ai.usage.input_tokens": raw.get("prompt_tokens"),
        "gen_ai.usage.output_tokens": raw.get("completion_tokens"),
        "gen_ai.tool.definitions": invocation.get("tools"),
        **{f"metadata.{key}": one for key, one in metadata.items()},
    }
    if kind in ("tool", "retriever"):
        attributes["input.value"] = _only_value(raw.get("inputs"))
        attributes["output.value"] = _only_value(raw.get("outputs"))
    error = as_text(raw.get("error"))
    own = text_of(raw, "id", "run_id")
    feedback = tuple(
        Score(str(name), score_text(inner.get("avg", inner.get("values"))), by="feedback")
        for name, inner in dict_of(raw.get("feedback_stats")).items()
        if isinstance(inner, dict)
    )
    return TraceSpan(
        text_of(raw, "trace_id") or trace or own,
        own,
        text_of(raw, "parent_run_id") or parent,
        text_of(raw, "name"),
        time_ns(raw.get("start_time")),
        time_ns(raw.get("end_time")),
        bool(error),
        error,
        {key: value for key, value in attributes.items() if value is not None},
        kind=kind,
        scores=feedback,
    )


def _only_value(value: Any) -> Any:
    """The value of an object such as {"input": ...} or {"output": ...}; else the object."""
    inner = dict_of(value)
    if len(inner) == 1 and inner.keys() & {"input", "output", "query", "documents"}:
        return next(iter(inner.values()))
    return value


# Phoenix and others that write spans of OpenTelemetry as rows ------------------------------------


def is_span_row(raw: Mapping[str, Any]) -> bool:
    """Whether a row is a span with its ids beside it or in ``context``."""
    context = raw.get("context")
    if isinstance(context, dict) and {"trace_id", "span_id"} <= context.keys():
        return True
    if {"context.trace_id", "context.span_id"} <= raw.keys():
        return True
    ids = {"trace_id", "span_id"} <= raw.keys() or {"traceId", "spanId"} <= raw.keys()
    return ids and bool({"attributes", "start_time_unix_nano", "startTimeUnixNano"} & raw.keys())


def row_span(raw: Mapping[str, Any]) -> TraceSpan:
    """Read a span of Phoenix (REST, snake_case OTLP, data frame) or of an SDK's console.

    Raises BadSpan.
    """
    if {"start_time_unix_nano", "startTimeUnixNano"} & raw.keys():
        return otlp_span(raw)
    context = dict_of(raw.get("context")) or {
        key.removeprefix("context."): value
        for key, value in raw.items()
        if key.startswith("context.")
    }
    ids = {**raw, **context}
    status = raw.get("status")
    code = status.get("status_code") if isinstance(status, dict) else raw.get("status_code")
    attributes = pairs_of(raw.get("attributes"))
    prefix = "attributes."
    attributes |= {
        key.removeprefix(prefix): value for key, value in raw.items() if key.startswith(prefix)
    }
    if raw.get("span_kind"):
        attributes.setdefault("openinference.span.kind", raw["span_kind"])
    message = text_of(status, "description") if isinstance(status, dict) else ""
    return TraceSpan(
        _without_0x(text_of(ids, "trace_id", "traceId")),
        _without_0x(text_of(ids, "span_id", "spanId")),
        _without_0x(text_of(raw, "parent_id", "parent_span_id", "parentSpanId")),
        text_of(raw, "name"),
        time_ns(raw.get("start_time")),
        time_ns(raw.get("end_time")),
        code in ERROR_CODES,
        message or text_of(raw, "status_message"),
        attributes,
        [
            {"name": text_of(one, "name"), "attributes": pairs_of(one.get("attributes"))}
            for one in _listed(raw.get("events"))
        ],
        scores=_phoenix_scores(raw),
    )


def _without_0x(text: str) -> str:
    return text.removeprefix("0x")


def _phoenix_scores(raw: Mapping[str, Any]) -> tuple[Score, ...]:
    rows = list_of(raw.get("annotations") or raw.get("span_annotations"))
    found = []
    for one in rows:
        if isinstance(one, dict):
            result = dict_of(one.get("result")) or one
            given = result.get("score") if result.get("score") is not None else result.get("label")
            by = text_of(one, "annotator_kind", "identifier")
            explanation = text_of(result, "explanation")[:10_000]
            found.append(Score(text_of(one, "name"), score_text(given), explanation, by))
    return tuple(found)


# Braintrust --------------------------------------------------------------------------------------


def is_braintrust(raw: Mapping[str, Any]) -> bool:
    """Whether a row is a span of Braintrust."""
    return "root_span_id" in raw and "span_id" in raw


def braintrust_span(raw: Mapping[str, Any]) -> TraceSpan:
    """Read one row; the first of its parents counts."""
    about, metrics = dict_of(raw.get("span_attributes")), dict_of(raw.get("metrics"))
    metadata = dict_of(raw.get("metadata"))
    parents = raw.get("span_parents")
    kind: Kind = KINDS.get(text_of(about, "type").casefold(), "other")
    attributes: dict[str, Any] = {
        "input.value": raw.get("input"),
        "output.value": raw.get("output"),
        "llm.model_name": metadata.get("model"),
        "gen_ai.usage.input_tokens": metrics.get("prompt_tokens"),
        "gen_ai.usage.output_tokens": metrics.get("completion_tokens"),
        "gen_ai.tool.definitions": metadata.get("tools"),
        **{f"metadata.{key}": one for key, one in metadata.items() if key != "tools"},
    }
    if raw.get("expected") is not None:
        attributes["expected"] = raw["expected"]
    error = as_text(raw.get("error"))
    return TraceSpan(
        text_of(raw, "root_span_id"),
        text_of(raw, "span_id"),
        as_text(parents[0]) if isinstance(parents, list) and parents else "",
        text_of(about, "name") or text_of(raw, "name"),
        time_ns(metrics.get("start") or raw.get("created")),
        time_ns(metrics.get("end")),
        bool(error),
        error,
        {key: value for key, value in attributes.items() if value is not None},
        kind=kind,
        scores=scores_of(raw.get("scores") or {}),
    )
