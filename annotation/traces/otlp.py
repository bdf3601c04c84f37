"""OTLP/HTTP: bodies of ``/v1/traces`` as protobuf or JSON become spans, and the reply. Pure.

JSON is read by hand: protobuf's own reader takes hex ids for base64 and refuses unknown fields.
Some exporters do send base64 ids, so both are read.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.traces.spans import ReceivedSpan
from crowdqc.errors import DomainError, TooLarge

PROTOBUF, JSON = "application/x-protobuf", "application/json"
MAX_BODY = 20 * 2**20  # bytes, also after decompression
MAX_SPANS_A_REQUEST = 20_000
DEEPEST = 64
ERROR = 2  # status code of a span


class BadBody(DomainError):
    """A body that cannot be read; sending it again does not help."""

    status = 400
    code = "bad-body"


class BadMediaType(DomainError):
    """Neither protobuf nor JSON."""

    status = 415
    code = "bad-media-type"


@dataclass(frozen=True)
class ReadBody:
    """The spans of a body, and how many could not be read."""

    spans: list[ReceivedSpan]
    rejected: int


def decompress(body: bytes, encoding: str) -> bytes:
    """Undo gzip within the limit; TooLarge beyond it, BadBody where it cannot be read."""
    if encoding in ("", "identity"):
        plain = body
    elif encoding in ("gzip", "deflate"):
        reader = zlib.decompressobj(zlib.MAX_WBITS | 32)
        try:
            plain = reader.decompress(body, MAX_BODY + 1)
        except zlib.error:
            raise BadBody("The body is not gzip.") from None
        if len(plain) <= MAX_BODY and not reader.eof:
            raise BadBody("The compressed body is cut.")
    else:
        raise BadMediaType("Send the body plain or as gzip.")
    if len(plain) > MAX_BODY:
        raise TooLarge("The body is larger than 20 MiB.")
    return plain


def read_body(body: bytes, media_type: str) -> ReadBody:
    """Read the spans of a body of this media type; BadBody, BadMediaType where it cannot be."""
    if media_type == PROTOBUF:
        return _read_protobuf(body)
    if media_type == JSON:
        return _read_json(body)
    raise BadMediaType(f"Send {PROTOBUF} or {JSON}.")


def write_reply(media_type: str, rejected: int, message: str) -> bytes:
    """Write the reply to a body that was taken, in its own media type."""
    if media_type == JSON:
        partial = {"rejectedSpans": str(rejected), "errorMessage": message} if rejected else {}
        return json.dumps({"partialSuccess": partial} if partial else {}).encode()
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceResponse,
    )

    reply = ExportTraceServiceResponse()
    if rejected:
        reply.partial_success.rejected_spans = rejected
        reply.partial_success.error_message = message
    return bytes(reply.SerializeToString())


def write_error(media_type: str, message: str) -> bytes:
    """Write a refusal as ``google.rpc.Status``, in the media type of the request."""
    if media_type != PROTOBUF:
        return json.dumps({"message": message}).encode()
    text = message.encode()
    size, header = len(text), bytearray(b"\x12")  # field 2, a text: its length, then its bytes
    while size > 127:
        header.append(size & 127 | 128)
        size >>= 7
    header.append(size)
    return bytes(header) + text


# -- protobuf ------------------------------------------------------------------------------------


def _read_protobuf(body: bytes) -> ReadBody:
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(body)
    except DecodeError:
        raise BadBody("The body is not an OTLP request.") from None
    spans: list[ReceivedSpan] = []
    rejected = 0
    for resource in request.resource_spans:
        about = _pairs(resource.resource.attributes)
        for scope in resource.scope_spans:
            for span in scope.spans:
                if len(spans) >= MAX_SPANS_A_REQUEST:
                    rejected += 1
                    continue
                spans.append(
                    ReceivedSpan(
                        trace_id=span.trace_id.hex(),
                        span_id=span.span_id.hex(),
                        parent_id=span.parent_span_id.hex(),
                        name=span.name,
                        start_ns=span.start_time_unix_nano,
                        end_ns=span.end_time_unix_nano,
                        is_error=span.status.code == ERROR,
                        message=span.status.message,
                        attributes=_pairs(span.attributes),
                        events=tuple(
                            {"name": one.name, "attributes": _pairs(one.attributes)}
                            for one in span.events
                        ),
                        resource=about,
                        dropped=span.dropped_attributes_count,
                    )
                )
    return ReadBody(spans, rejected)


def _pairs(attributes: Any) -> dict[str, Any]:
    return {one.key: _value(one.value, 0) for one in attributes}


def _value(value: Any, depth: int) -> Any:
    kind = value.WhichOneof("value")
    if kind is None or depth > DEEPEST:
        return None
    if kind == "array_value":
        return [_value(one, depth + 1) for one in value.array_value.values]
    if kind == "kvlist_value":
        return {one.key: _value(one.value, depth + 1) for one in value.kvlist_value.values}
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    return getattr(value, kind)


# -- JSON ----------------------------------------------------------------------------------------


def _read_json(body: bytes) -> ReadBody:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        raise BadBody("The body is not JSON.") from None
    if not isinstance(request, dict):
        raise BadBody("The body is not an OTLP request.")
    return read_request(request)


def read_request(request: Mapping[str, Any]) -> ReadBody:
    """Read an OTLP request that was JSON, as of a body or a file; unknown fields are ignored."""
    spans: list[ReceivedSpan] = []
    rejected = 0
    for about, span in _spans_of(request):
        try:
            if len(spans) >= MAX_SPANS_A_REQUEST:
                raise ValueError
            spans.append(_json_span(span, about))
        except (ValueError, TypeError, AttributeError, OverflowError):
            rejected += 1
    return ReadBody(spans, rejected)


def _spans_of(request: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    for resource in _listed(_get(request, "resourceSpans")):
        if not isinstance(resource, dict):
            continue
        about = _json_pairs(_get(_get(resource, "resource") or {}, "attributes"))
        scopes = _get(resource, "scopeSpans") or _get(resource, "instrumentationLibrarySpans")
        for scope in _listed(scopes):
            for span in _listed(_get(scope, "spans")) if isinstance(scope, dict) else ():
                yield about, span


def _get(holder: Any, name: str) -> Any:
    """A field by its JSON name, or by its name in protobuf, as some programs write it."""
    if not isinstance(holder, Mapping):
        return None
    if name in holder:
        return holder[name]
    return holder.get(re.sub(r"(?=[A-Z])", "_", name).lower())


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _json_span(span: Any, about: dict[str, Any]) -> ReceivedSpan:
    if not isinstance(span, dict):
        raise TypeError
    status = _get(span, "status") or {}
    code = _get(status, "code")
    return ReceivedSpan(
        trace_id=_id(_get(span, "traceId"), 16),
        span_id=_id(_get(span, "spanId"), 8),
        parent_id=_id(_get(span, "parentSpanId") or "", 8),
        name=str(_get(span, "name") or ""),
        start_ns=_whole(_get(span, "startTimeUnixNano")),
        end_ns=_whole(_get(span, "endTimeUnixNano")),
        is_error=code in (ERROR, "STATUS_CODE_ERROR", "ERROR"),
        message=str(_get(status, "message") or ""),
        attributes=_json_pairs(_get(span, "attributes")),
        events=tuple(
            {
                "name": str(_get(one, "name") or ""),
                "attributes": _json_pairs(_get(one, "attributes")),
            }
            for one in _listed(_get(span, "events"))
        ),
        resource=about,
        dropped=_whole(_get(span, "droppedAttributesCount")) or 0,
    )


def _whole(value: Any) -> int | None:
    """A whole number as JSON has it: a number, or 64 bits as a text; None for nothing."""
    if value in (None, ""):
        return None
    if isinstance(value, str):
        if len(value) > 20:
            raise ValueError
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return int(value)


def _id(value: Any, size: int) -> str:
    """An id of ``size`` bytes in hex, whether sent as hex or as base64; "" for none."""
    if value in (None, ""):
        return ""
    if not isinstance(value, str):
        raise TypeError
    if re.fullmatch(rf"[0-9a-fA-F]{{{2 * size}}}", value):
        return value.lower()
    try:
        raw = base64.b64decode(value + "=" * (-len(value) % 4), altchars=None, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != size:
        raise ValueError
    return raw.hex()


def _json_pairs(attributes: Any) -> dict[str, Any]:
    """Attributes as a list of keys and values, or as an object, as some programs write them."""
    if isinstance(attributes, dict):
        return {str(key): value for key, value in attributes.items() if value is not None}
    return {
        str(_get(one, "key")): _json_value(_get(one, "value"), 0)
        for one in _listed(attributes)
        if isinstance(one, dict) and _get(one, "key") is not None
    }


def _json_value(value: Any, depth: int) -> Any:
    if not isinstance(value, dict) or depth > DEEPEST:
        return None
    for name in ("stringValue", "boolValue", "doubleValue"):
        given = _get(value, name)
        if given is not None:
            return given
    number = _get(value, "intValue")
    if number is not None:
        return _whole(number)
    entries = _get(value, "arrayValue")
    if entries is not None:
        return [_json_value(one, depth + 1) for one in _listed(_get(entries, "values"))]
    pairs = _get(value, "kvlistValue")
    if pairs is not None:
        return {
            str(_get(one, "key")): _json_value(_get(one, "value"), depth + 1)
            for one in _listed(_get(pairs, "values"))
        }
    return _get(value, "bytesValue")
