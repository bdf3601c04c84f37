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
from functools import cache
from typing import Any

from annotation.traces.spans import ReceivedSpan
from crowdqc.errors import DomainError, TooLarge

PROTOBUF, JSON = "application/x-protobuf", "application/json"
MAX_BODY = 20 * 2**20  # bytes, also after decompression
MAX_SPANS_A_REQUEST = 20_000
MAX_ENTRIES = 100_000  # resources, scopes, spans, events and attributes of a body together
MAX_FIELDS = 2_000_000  # of a protobuf body with the values in lists and maps; brackets of JSON
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

    _check_wire(body, ExportTraceServiceRequest.DESCRIPTOR)
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


Fields = dict[int, tuple[Any, bool]]  # the message of a field by its number; whether it counts


@cache
def _message_fields(message: Any) -> Fields:
    """The fields of a message that hold messages; those of lists and maps of values count not."""
    counts = message.name not in ("ArrayValue", "KeyValueList")
    return {
        field.number: (field.message_type, counts and field.is_repeated)
        for field in message.fields
        if field.message_type is not None
    }


def _check_wire(body: bytes, top: Any) -> None:
    """Count what a body holds before objects are made of it, since an empty span is two bytes.

    Raises TooLarge beyond the limits, BadBody for what is no protobuf.
    """
    entries = fields = 0
    waiting: list[tuple[Any, int, int]] = [(top, 0, len(body))]
    try:
        while waiting:
            message, position, end = waiting.pop()
            inner = _message_fields(message)
            while position < end:
                tag, position = _varint(body, position)
                fields += 1
                kind = tag & 7
                if kind == 0:
                    _, position = _varint(body, position)
                elif kind == 2:
                    size, position = _varint(body, position)
                    entry = inner.get(tag >> 3)
                    if entry is not None:
                        entries += entry[1]
                        if size:
                            waiting.append((entry[0], position, position + size))
                    position += size
                elif kind in (1, 5):
                    position += 8 if kind == 1 else 4
                else:
                    raise IndexError
                if entries > MAX_ENTRIES or fields > MAX_FIELDS:
                    raise TooLarge("The body has too many spans and attributes: send fewer.")
            if position > end:
                raise IndexError
    except IndexError:
        raise BadBody("The body is not an OTLP request.") from None


def _varint(body: bytes, position: int) -> tuple[int, int]:
    """A number of 7 bits a byte, and where it ends; IndexError where the body does before."""
    value = body[position]
    position += 1
    if value < 128:
        return value, position
    value &= 127
    for shift in range(7, 70, 7):
        byte = body[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise IndexError


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
    if body.count(b"{") + body.count(b"[") > MAX_FIELDS:  # also those in texts, which are few
        raise TooLarge("The body has too many spans and attributes: send fewer.")
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        raise BadBody("The body is not JSON.") from None
    if not isinstance(request, dict):
        raise BadBody("The body is not an OTLP request.")
    if _entries_of(request) > MAX_ENTRIES:
        raise TooLarge("The body has too many spans: send fewer.")
    return read_request(request)


def _entries_of(request: Mapping[str, Any]) -> int:
    """How many resources, scopes and spans a request has, without reading them."""
    resources = _listed(_get(request, "resourceSpans"))
    number = len(resources)
    if number <= MAX_ENTRIES:
        for resource in resources:
            scopes = _scopes_of(resource)
            number += len(scopes)
            if number > MAX_ENTRIES:
                break
            number += sum(len(_listed(_get(scope, "spans"))) for scope in scopes)
    return number


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
        for scope in _scopes_of(resource):
            for span in _listed(_get(scope, "spans")) if isinstance(scope, dict) else ():
                yield about, span


def _scopes_of(resource: Any) -> list[Any]:
    return _listed(_get(resource, "scopeSpans") or _get(resource, "instrumentationLibrarySpans"))


def _get(holder: Any, name: str) -> Any:
    """A field by its JSON name, or by its name in protobuf, as some programs write it."""
    if not isinstance(holder, Mapping):
        return None
    if name in holder:
        return holder[name]
    return holder.get(_snake(name))


@cache
def _snake(name: str) -> str:
    return re.sub(r"(?=[A-Z])", "_", name).lower()


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
