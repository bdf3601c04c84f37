"""JSON logs, one object per line, with ids and without personal data.

Loaded only where LOG_FORMAT=json. Addresses of pages are left out, as some hold the secret of an
invitation, and of exceptions only the class and the lines of code, as messages quote what people
wrote.
"""

from __future__ import annotations

import logging
import re
import time
import traceback
import uuid
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

import structlog
from celery.signals import before_task_publish, task_postrun, task_prerun
from django.http import HttpRequest, HttpResponse
from structlog.contextvars import bind_contextvars as bind
from structlog.contextvars import bound_contextvars, clear_contextvars, get_contextvars

logger = logging.getLogger("crowdqc.request")
HEADER = "X-Request-ID"
GOOD_ID = re.compile(r"[A-Za-z0-9-]{8,64}")
KEPT = "crowdqc.request_id"  # where a request holds its id
SENT_BY = "crowdqc_request_id"  # the header of a message: the request that asked for the job
PROBES = {"healthz", "readyz", "metrics"}
OF_RUNS = {"run_job", "encode_shard"}  # their first argument is a run
LONGEST, MOST_FRAMES = 1000, 30
Event = MutableMapping[str, Any]


def view_name(request: HttpRequest) -> str:
    """Return the name of the view instead of the address."""
    match = request.resolver_match
    return (match.url_name or match.view_name or "unnamed") if match else "none"


def _loggable(arg: object, request: HttpRequest | None) -> object:
    """Return an argument of a message in a form that may be logged."""
    if isinstance(arg, BaseException):
        return type(arg).__name__
    if request is not None and isinstance(arg, str) and arg.startswith("/"):
        return view_name(request)
    return arg


def redact_record(_: Any, __: str, event: Event) -> Event:
    """Log a record of a library without what it may quote."""
    record: logging.LogRecord = event["_record"]
    request = getattr(record, "request", None)
    request = request if isinstance(request, HttpRequest) else None
    args = event.pop("positional_args", ())
    if isinstance(args, dict):  # Celery's: its ``exc`` and ``args`` quote the job's
        known = {key: args[key] for key in ("name", "id") if key in args}
        event.update(job=known.get("name"), job_id=known.get("id"))
        event["event"] = f"job {args.get('description', 'told')}"
    elif args:
        told = tuple(_loggable(arg, request) for arg in args)
        try:
            event["event"] = str(record.msg) % told
        except (TypeError, ValueError):
            event["event"] = str(record.msg)
    event["event"] = str(event["event"])[:LONGEST]
    if request is not None and KEPT in request.META:  # Django says some of it after all is done
        event.update(request_id=request.META[KEPT], view=view_name(request))
    found = event.pop("exc_info", None)
    error = found[1] if isinstance(found, tuple) else None
    if error is not None:
        frames = traceback.extract_tb(error.__traceback__)[-MOST_FRAMES:]
        event["exception"] = type(error).__name__
        event["stack"] = [f"{one.filename}:{one.lineno} {one.name}" for one in frames]
    event.pop("stack_info", None)
    return event


def json_formatter() -> logging.Formatter:
    """Return the formatter of all records as lines of JSON."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            redact_record,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(),
        ],
        pass_foreign_args=True,
        use_get_message=False,
    )


class RequestIds:
    """Give every request an id for its log lines, and log its outcome."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        sent = request.headers.get(HEADER, "")
        own = sent if GOOD_ID.fullmatch(sent) else uuid.uuid4().hex
        request.META[KEPT], began = own, time.perf_counter()
        with bound_contextvars(request_id=own):
            response = self.get_response(request)
            response.headers[HEADER] = own
            view = view_name(request)
            if view not in PROBES:
                took = round(1000 * (time.perf_counter() - began))
                with bound_contextvars(
                    view=view, method=request.method, status=response.status_code, ms=took
                ):
                    logger.info("answered")
        return response


@before_task_publish.connect
def _add_request_id(headers: dict[str, Any], **_: Any) -> None:
    """Add the id of the request to the jobs that it enqueues."""
    if own := get_contextvars().get("request_id"):
        headers[SENT_BY] = own


@task_prerun.connect
def _begins(task_id: str, task: Any, args: Sequence[Any] = (), **_: Any) -> None:
    clear_contextvars()
    bind(job=task.name, job_id=task_id)
    if sent_by := getattr(task.request, SENT_BY, None):
        bind(request_id=sent_by)
    if task.name.rpartition(".")[2] in OF_RUNS and args:
        bind(run_id=args[0])


@task_postrun.connect
def _ended(**_: Any) -> None:
    clear_contextvars()
