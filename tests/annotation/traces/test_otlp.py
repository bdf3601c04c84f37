"""OTLP bodies: protobuf and JSON, both kinds of ids, limits, and replies."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from annotation.traces import otlp
from annotation.traces.masks import MAX_STRING, Masker
from annotation.traces.spans import MAX_SPAN, ReceivedSpan, clean_span
from crowdqc.errors import TooLarge

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def request_of(*spans: dict[str, Any]) -> dict[str, Any]:
    about = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    return {"resourceSpans": [{"resource": about, "scopeSpans": [{"spans": list(spans)}]}]}


def json_span(**more: Any) -> dict[str, Any]:
    return {
        "traceId": TRACE,
        "spanId": SPAN,
        "name": "chat",
        "kind": 3,
        "startTimeUnixNano": "1764410000000000000",
        "endTimeUnixNano": 1764410001000000000,
        "unknownField": {"x": 1},
        "attributes": [
            {"key": "n", "value": {"intValue": "12"}},
            {"key": "list", "value": {"arrayValue": {"values": [{"boolValue": True}]}}},
            {
                "key": "map",
                "value": {"kvlistValue": {"values": [{"key": "a", "value": {"doubleValue": 0.5}}]}},
            },
            {"key": "nothing", "value": {}},
        ],
        "status": {"code": 2, "message": "timed out"},
        "droppedAttributesCount": 74,
        **more,
    }


def read_json(*spans: dict[str, Any]) -> otlp.ReadBody:
    return otlp.read_body(json.dumps(request_of(*spans)).encode(), otlp.JSON)


def test_json_is_read_with_numbers_as_texts_and_unknown_fields_ignored() -> None:
    [span] = read_json(json_span()).spans
    assert (span.trace_id, span.span_id, span.is_error, span.dropped) == (TRACE, SPAN, True, 74)
    assert (span.start_ns, span.end_ns) == (1764410000000000000, 1764410001000000000)
    assert span.attributes == {"n": 12, "list": [True], "map": {"a": 0.5}, "nothing": None}
    assert span.resource == {"service.name": "shop"}


def test_hex_and_base64_ids_name_the_same_span() -> None:
    sent = json_span(
        traceId=base64.b64encode(bytes.fromhex(TRACE)).decode(),
        spanId=base64.b64encode(bytes.fromhex(SPAN)).decode().rstrip("="),
    )
    [span] = read_json(sent).spans
    assert (span.trace_id, span.span_id) == (TRACE, SPAN)


def test_spans_that_cannot_be_read_are_counted_and_others_kept() -> None:
    read = read_json(json_span(), json_span(spanId="zz"), json_span(startTimeUnixNano={}), "span")  # type: ignore[arg-type]
    assert (len(read.spans), read.rejected) == (1, 3)


def test_protobuf_and_json_give_the_same_spans() -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "shop"
    span = resource.scope_spans.add().spans.add(
        trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(SPAN), name="chat",
        start_time_unix_nano=1764410000000000000, end_time_unix_nano=1764410001000000000,
        dropped_attributes_count=74,
    )  # fmt: skip
    span.attributes.add(key="n").value.int_value = 12
    span.attributes.add(key="list").value.array_value.values.add().bool_value = True
    pairs = span.attributes.add(key="map").value.kvlist_value.values
    pairs.add(key="a").value.double_value = 0.5
    span.attributes.add(key="nothing")
    span.status.code, span.status.message = 2, "timed out"
    read = otlp.read_body(request.SerializeToString(), otlp.PROTOBUF)
    assert read == read_json(json_span())


@pytest.mark.parametrize(
    ("body", "media", "status"),
    [
        (b"\xff\xfe", otlp.PROTOBUF, 400),
        (b"{", otlp.JSON, 400),
        (b"[]", otlp.JSON, 400),
        (b"[" * 200_000, otlp.JSON, 400),
        (b"{}", "text/plain", 415),
    ],
)
def test_bodies_that_cannot_be_read_are_refused(body: bytes, media: str, status: int) -> None:
    with pytest.raises((otlp.BadBody, otlp.BadMediaType)) as error:
        otlp.read_body(body, media)
    assert error.value.status == status


def test_a_small_body_that_grows_is_refused_before_it_fills_the_memory() -> None:
    bomb = gzip.compress(bytes(200 * 2**20), 9)
    assert len(bomb) < 2**20
    with pytest.raises(TooLarge):
        otlp.decompress(bomb, "gzip")
    with pytest.raises(otlp.BadBody):
        otlp.decompress(gzip.compress(b"abc" * 1000)[:-20], "gzip")
    assert otlp.decompress(gzip.compress(b"abc"), "gzip") == b"abc"


def test_replies_name_rejected_spans_in_the_media_type_of_the_request() -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    reply = ExportTraceServiceResponse()
    reply.ParseFromString(otlp.write_reply(otlp.PROTOBUF, 3, "3 without ids"))
    assert reply.partial_success.rejected_spans == 3
    assert json.loads(otlp.write_reply(otlp.JSON, 3, "x"))["partialSuccess"]["rejectedSpans"] == "3"
    assert (
        otlp.write_reply(otlp.PROTOBUF, 0, "") == b""
        and otlp.write_reply(otlp.JSON, 0, "") == b"{}"
    )


def test_the_ids_of_a_span_must_name_something() -> None:
    for ids in (("", SPAN), (TRACE, "0" * 16), ("x" * 65, SPAN)):
        with pytest.raises(ValueError, match="ids"):
            clean_span(ReceivedSpan(*ids), Masker(()))


def test_characters_that_no_database_holds_are_replaced() -> None:
    sent = json_span(attributes=[{"key": "a\x00", "value": {"stringValue": "x\x00\ud800y"}}])
    [span] = read_json(sent).spans
    clean = clean_span(span, Masker(()))
    assert clean.attributes["a\ufffd"] == "x\ufffd\ufffdy"


def test_long_texts_are_cut_within_their_json_which_stays_readable() -> None:
    message = [{"role": "tool", "content": "x" * 5_000_000}]
    span = ReceivedSpan(TRACE, SPAN, attributes={"gen_ai.input.messages": json.dumps(message)})
    clean = clean_span(span, Masker(()))
    [kept] = clean.attributes["gen_ai.input.messages"]
    assert len(kept["content"]) < MAX_STRING + 60 and "left out" in kept["content"]
    assert clean.size < MAX_SPAN


def test_a_span_that_is_too_large_loses_its_largest_attributes_and_says_how_many() -> None:
    attributes = {f"a{n}": "x" * 190_000 for n in range(40)}
    clean = clean_span(ReceivedSpan(TRACE, SPAN, attributes=attributes, dropped=2), Masker(()))
    assert clean.dropped == 2 + 40 - len(clean.attributes) > 2
    assert clean.size <= MAX_SPAN


def test_times_that_no_clock_shows_are_unknown() -> None:
    clean = clean_span(ReceivedSpan(TRACE, SPAN, start_ns=0, end_ns=2**64), Masker(()))
    assert (clean.start_ns, clean.end_ns) == (None, None)


MANY = otlp.MAX_ENTRIES + 1


def block(tag: bytes, content: bytes) -> bytes:
    """A field of bytes in a protobuf message."""
    size, length = len(content), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return tag + length + bytes([size]) + content


@pytest.mark.parametrize(
    "body",
    [
        b"\x0a\x00" * MANY,  # resources
        block(b"\x0a", b"\x12\x00" * MANY),  # scopes
        block(b"\x0a", block(b"\x12", b"\x12\x00" * MANY)),  # spans
        block(b"\x0a", block(b"\x12", block(b"\x12", b"\x4a\x00" * MANY))),  # attributes
    ],
)
def test_many_empty_entries_are_refused_before_objects_are_made_of_them(
    body: bytes,
) -> None:
    with pytest.raises(TooLarge):
        otlp.read_body(body, otlp.PROTOBUF)


def test_empty_values_in_a_list_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "MAX_FIELDS", 100)
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add().resource
    values = resource.attributes.add(key="list").value.array_value.values
    for _ in range(101):
        values.add()
    with pytest.raises(TooLarge):
        otlp.read_body(request.SerializeToString(), otlp.PROTOBUF)


@pytest.mark.parametrize(
    "request_",
    [
        {"resourceSpans": [{}] * MANY},
        {"resourceSpans": [{"scopeSpans": [{}] * MANY}]},
        {"resource_spans": [{"scope_spans": [{"spans": [0] * MANY}]}]},
    ],
)
def test_json_of_many_empty_entries_is_refused(request_: dict[str, Any]) -> None:
    with pytest.raises(TooLarge):
        otlp.read_body(json.dumps(request_).encode(), otlp.JSON)


def test_json_of_many_brackets_is_refused_before_it_is_read() -> None:
    with pytest.raises(TooLarge):
        otlp.read_body(b"[" * (otlp.MAX_FIELDS + 1), otlp.JSON)
