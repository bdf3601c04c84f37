"""The endpoint for traces: who may send what, how often, and what is stored of it."""

from __future__ import annotations

import base64
import gzip
import json
import logging

import pytest
from django.db import OperationalError, connection
from django.test import Client

from annotation.models import Trace, TraceSource, TraceSpan
from annotation.traces.actions import receive as receiving
from annotation.traces.actions import scores as scoring
from annotation.traces.actions.sources import (
    change_settings,
    create_source,
    end_source,
    renew_token,
)
from annotation.traces.tokens import find_source
from crowdqc.errors import LimitExceeded
from crowdqc.web import bodies
from tests.annotation.traces.conftest import Send, chat_span, otlp_span
from tests.annotation.traces.test_masks import SECRETS
from tests.support import factories

pytestmark = pytest.mark.django_db
Pair = tuple[TraceSource, str]


def test_an_application_sends_spans_with_its_token_and_nothing_else(send: Send) -> None:
    response = send(otlp_span(1), otlp_span(2, parent=1))
    assert (response.status_code, response.content) == (200, b"{}")
    assert response["Content-Type"] == "application/json" and not response.cookies
    assert TraceSpan.objects.filter(trace__trace_id=f"{1:032x}").count() == 2
    for token in ("wrong", "cqt_wrong"):
        assert send(otlp_span(3), token=token).status_code == 401
    assert Client().get("/otel/v1/traces").status_code == 405
    assert TraceSpan.objects.count() == 2


def test_langfuse_clients_send_with_the_token_as_password(source_token: Pair) -> None:
    basic = base64.b64encode(f"pk-lf-any:{source_token[1]}".encode()).decode()
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [chat_span()]}]}]})
    response = Client().post(
        "/api/public/otel/v1/traces", gzip.compress(body.encode()), "application/json",
        headers={"Authorization": f"Basic {basic}", "Content-Encoding": "gzip"},
    )  # fmt: skip
    assert response.status_code == 200 and TraceSpan.objects.count() == 1


def test_a_token_reaches_its_own_source_only(send: Send, source_token: Pair) -> None:
    other, token = create_source(
        by=source_token[0].created_by, project=factories.make_project(), name="other"
    )
    send(otlp_span(1))
    send(otlp_span(1), token=token)
    assert Trace.objects.filter(source=other).count() == 1
    assert Trace.objects.filter(source=source_token[0]).count() == 1
    renewed = renew_token(by=other.created_by, source=other)
    assert send(otlp_span(2), token=token).status_code == 401
    assert send(otlp_span(2), token=renewed).status_code == 200
    end_source(by=other.created_by, source=other)
    assert send(otlp_span(3), token=renewed).status_code == 401
    assert find_source("Bearer ") is None and find_source("Basic !") is None


def test_what_came_first_stays_and_copies_are_counted(send: Send) -> None:
    send(chat_span(1, text="first"))
    send(chat_span(1, text="second"), chat_span(1, text="third"), otlp_span(2))
    trace = Trace.objects.get()
    assert (trace.received, trace.spans.count()) == (4, 2)
    assert "first" in json.dumps(trace.spans.get(span_id=f"{1:016x}").attributes)
    send(chat_span(1, trace=2, text="another trace"))  # the same id in another trace is its own
    assert TraceSpan.objects.count() == 3


def test_rejected_spans_are_counted_and_named(send: Send, source_token: Pair) -> None:
    nameless = {**otlp_span(1), "traceId": "0" * 32}
    response = send(otlp_span(2), nameless, {**otlp_span(3), "spanId": "?"})
    partial = json.loads(response.content)["partialSuccess"]
    assert partial["rejectedSpans"] == "2" and "without valid ids" in partial["errorMessage"]
    source_token[0].refresh_from_db()
    assert source_token[0].rejected == 2


def test_a_trace_has_a_limit_of_spans(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "MAX_TRACE_SPANS", 3)
    send(otlp_span(1), otlp_span(2))
    partial = json.loads(send(otlp_span(3), otlp_span(4)).content)["partialSuccess"]
    assert partial["rejectedSpans"] == "1" and TraceSpan.objects.count() == 3


def test_bodies_are_bounded_and_refused_by_status(source_token: Pair) -> None:
    headers = {"Authorization": f"Bearer {source_token[1]}"}
    bomb = gzip.compress(bytes(30 * 2**20))
    for body, media, more, status in (
        (bomb, "application/json", {"Content-Encoding": "gzip"}, 413),
        (b"not gzip", "application/json", {"Content-Encoding": "gzip"}, 400),
        (b"{", "application/json", {}, 400),
        (b"\xff", "application/x-protobuf", {}, 400),
        (b"{}", "text/html", {}, 415),
        (b"{}", "application/json", {"Content-Encoding": "br"}, 415),
    ):
        response = Client().post("/otel/v1/traces", body, media, headers={**headers, **more})
        assert response.status_code == status
        wanted = media if media == "application/x-protobuf" else "application/json"
        assert response["Content-Type"] == wanted
    assert bodies.limit_of("/otel/v1/traces") == bodies.FORM == 20 * 2**20
    large = Client().post(
        "/otel/v1/traces", b"x", "application/json", headers=headers, CONTENT_LENGTH="30000000"
    )
    assert large.status_code == 413


def test_a_source_that_sends_too_much_is_told_to_wait(send: Send, source_token: Pair) -> None:
    change_settings(
        by=source_token[0].created_by, source=source_token[0], settings={"spans_per_minute": 200}
    )
    assert [send(otlp_span(n)).status_code for n in (1, 2)] == [200, 200]
    refused = send(otlp_span(3))
    assert refused.status_code == 429 and refused["Retry-After"]


def test_bodies_without_a_span_and_scores_are_counted_too(source_token: Pair) -> None:
    source, token = source_token
    change_settings(by=source.created_by, source=source, settings={"spans_per_minute": 300})
    headers = {"Authorization": f"Bearer {token}"}

    def post(path: str, body: bytes) -> int:
        return Client().post(path, body, "application/json", headers=headers).status_code

    padded = b'{"x": "' + b"x" * 100_000 + b'"}'
    assert [post("/otel/v1/traces", padded) for _ in range(2)] == [200, 429]
    rows = [{"traceId": f"{1:032x}", "name": "q", "value": 1}] * 150
    source.refresh_from_db()
    assert scoring.receive_scores(source=source, rows=rows) == 150
    with pytest.raises(LimitExceeded):
        scoring.receive_scores(source=source, rows=rows)


def test_while_the_database_is_away_senders_are_told_to_try_later(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise OperationalError

    monkeypatch.setattr("annotation.traces.views.receiving.receive", fail)
    response = send(otlp_span(1))
    assert response.status_code == 503 and response["Retry-After"]


def test_secrets_are_in_no_table_reply_or_log(
    send: Send, source_token: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = ("ana.b+x@example.org", "4111 1111 1111 1111", "sk-proj-abcdefghij0123456789ab")
    text = "\n".join(SECRETS)
    broken = f'{{"resourceSpans": [{{"scopeSpans": "{secrets[0]}'.encode()
    replies = [
        send(
            {**chat_span(1, text=text), "name": secrets[0], "status": {"code": 2, "message": text}},
            {**otlp_span(2, tool__parameters={"password": "hunter22", "q": text}), "spanId": text},
            otlp_span(3, **{secrets[0]: text}),
            {**otlp_span(4), "events": [{"name": secrets[2], "attributes": [
                {"key": "exception.message", "value": {"stringValue": text}}]}]},
        ).content,
        Client().post("/otel/v1/traces", broken, "application/json",
                      headers={"Authorization": f"Bearer {source_token[1]}"}).content,
    ]  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(t::text, '') FROM annotation_tracespan t")
        [stored] = cursor.fetchone()
        cursor.execute("SELECT string_agg(t::text, '') FROM annotation_trace t")
        stored += cursor.fetchone()[0]
    assert TraceSpan.objects.count() == 3 and "[EMAIL]" in stored
    for secret in (*secrets, "hunter22", source_token[1]):
        assert secret not in stored
        assert secret not in caplog.text
        assert not any(secret.encode() in reply for reply in replies)


def test_scores_of_langfuse_clients_are_kept_by_name(send: Send, source_token: Pair) -> None:
    send(chat_span())
    rows = [
        {"id": "a", "traceId": f"{1:032x}", "name": "quality", "value": 0.2, "dataType": "NUMERIC"},
        {"id": "b", "traceId": f"{1:032x}", "name": "user-feedback", "value": 0},
        {"id": "c", "traceId": f"{1:032x}", "name": "passed", "stringValue": "pass"},
        {"id": "d", "traceId": f"{1:032x}", "name": "why", "value": "some text"},
    ]
    basic = base64.b64encode(f"x:{source_token[1]}".encode()).decode()
    response = Client().post("/api/public/scores", json.dumps(rows), "application/json",
                             headers={"Authorization": f"Basic {basic}"})  # fmt: skip
    assert response.status_code == 200 and response.json() == {"id": "a", "kept": 3}
    trace = Trace.objects.get()
    assert (trace.scores, trace.feedback) == ({"passed": 1.0, "quality": 0.2}, -1.0)
