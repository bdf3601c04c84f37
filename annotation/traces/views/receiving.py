"""Where applications send traces: OTLP, and scores of Langfuse's clients. HTTP only.

No session and no cookie: a token opens its own source. What was sent is in no reply and no log.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

import psycopg
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from annotation.models import TraceSource
from annotation.traces import otlp
from annotation.traces.actions import scores
from annotation.traces.actions.receive import count_bytes, receive
from annotation.traces.tokens import find_source
from crowdqc.errors import DomainError, Invalid, LimitExceeded
from crowdqc.files.json_input import read_json

logger = logging.getLogger(__name__)
RETRY_SECONDS = "10"
Answer = Callable[[HttpRequest, TraceSource], HttpResponse]


def _media_type(request: HttpRequest) -> str:
    return (request.content_type or "").lower()


def _refuse(request: HttpRequest, status: int, message: str) -> HttpResponse:
    """A refusal in the media type of the request, as the specification has it."""
    media = otlp.PROTOBUF if _media_type(request) == otlp.PROTOBUF else otlp.JSON
    response = HttpResponse(otlp.write_error(media, message), content_type=media, status=status)
    if status in (429, 503):
        response["Retry-After"] = RETRY_SECONDS
    if status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="traces"'
    return response


def _by_source(answer: Answer) -> Callable[..., HttpResponse]:
    """Let requests through that hold the token of a source, and refuse as OTLP wants it."""

    @csrf_exempt
    @wraps(answer)
    def view(request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            response = _refuse(request, 405, "Send a POST.")
            response["Allow"] = "POST"
            return response
        try:
            source = find_source(request.META.get("HTTP_AUTHORIZATION", ""))
            if source is None:
                return _refuse(request, 401, "The token of a source is needed.")
            request.rate = None  # type: ignore[attr-defined]  # its token was right
            return answer(request, source)
        except (OperationalError, psycopg.OperationalError):
            logger.warning("spans were refused, as the database does not answer")
            return _refuse(request, 503, "Try again later.")
        except LimitExceeded as error:
            return _refuse(request, 429, error.message)
        except DomainError as error:
            return _refuse(request, error.status if error.status != 422 else 400, error.message)

    return view


@_by_source
def receive_traces(request: HttpRequest, source: TraceSource) -> HttpResponse:
    """Take an OTLP export; 200 with what was rejected, or 400, 413, 415, 429, 503."""
    media = _media_type(request)
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    body = otlp.decompress(request.body, encoding)
    count_bytes(source, len(body))
    read = otlp.read_body(body, media)
    received = receive(source=source, spans=read.spans, rejected=read.rejected)
    reply = otlp.write_reply(media, received.rejected, received.message)
    return HttpResponse(reply, content_type=media)


@_by_source
def receive_scores(request: HttpRequest, source: TraceSource) -> HttpResponse:
    """Take scores and feedback as Langfuse's clients send them: an object, or a list of them."""
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    body = otlp.decompress(request.body, encoding)
    count_bytes(source, len(body))
    sent: Any = read_json(body, replace=True)
    rows = sent if isinstance(sent, list) else [sent]
    if not all(isinstance(row, dict) for row in rows) or len(rows) > scores.MOST_AT_ONCE:
        raise Invalid("Send a score, or a list of 1,000 at most.")
    kept = scores.receive_scores(source=source, rows=rows)
    first = str(rows[0].get("id") or "") if rows else ""
    reply = json.dumps({"id": first[:80], "kept": kept})
    return HttpResponse(reply, content_type=otlp.JSON)
