"""OpenTelemetry traces of requests, jobs and queries, without personal data.

Loaded only where OTEL_EXPORTER_OTLP_ENDPOINT is set. The libraries note addresses, clients and
texts of errors; ``Private`` keeps of each span only what is listed here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from crowdqc.deployment.installation import read_version

INSTALL = (
    "OTEL_EXPORTER_OTLP_ENDPOINT is set and OpenTelemetry is not installed: "
    'pip install "crowdqc[tracing]"'
)
KEPT = {
    "http.method",
    "http.request.method",
    "http.route",
    "http.status_code",
    "http.response.status_code",
    "celery.action",
    "celery.task_name",
    "celery.state",
    "messaging.message.id",
    "db.system",
    "db.statement",
    "exception.type",
}
PROBES = "healthz,readyz,metrics"
LITERAL = re.compile(r"'(?:[^']|'')*'")  # of a statement; values travel beside it


def start_traces(exporter: Any = None) -> Any:
    """Start tracing this process and its forks; return the tracer provider.

    Parameters
    ----------
    exporter
        Where spans go; by itself to OTEL_EXPORTER_OTLP_ENDPOINT over HTTP.

    Raises
    ------
    ImproperlyConfigured
        The packages of the extra ``tracing`` are missing.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation.celery import CeleryInstrumentor
        from opentelemetry.instrumentation.django import DjangoInstrumentor
        from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
    except ImportError as error:
        raise ImproperlyConfigured(INSTALL) from error

    class Private(SpanExporter):
        """Hands on spans of which only listed attributes are left."""

        def __init__(self, to: SpanExporter) -> None:
            self._to = to

        def export(self, spans: Sequence[Any]) -> Any:
            return self._to.export([redact_span(span) for span in spans])

        def shutdown(self) -> None:
            self._to.shutdown()

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return self._to.force_flush(timeout_millis)

    told = {"service.name": "crowdqc", "service.version": read_version()}
    provider = TracerProvider(resource=Resource.create(told))
    provider.add_span_processor(BatchSpanProcessor(Private(exporter or OTLPSpanExporter())))
    trace.set_tracer_provider(provider)
    DjangoInstrumentor().instrument(tracer_provider=provider, excluded_urls=PROBES)
    CeleryInstrumentor().instrument(tracer_provider=provider)
    PsycopgInstrumentor().instrument(tracer_provider=provider)
    return provider


def redact_span(span: Any) -> Any:
    """Remove addresses, clients, values and messages from a span."""
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import Status

    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=_select_attributes(span.attributes),
        events=[
            Event(one.name, _select_attributes(one.attributes), one.timestamp)
            for one in span.events
        ],
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _select_attributes(attributes: Any) -> dict[str, Any]:
    kept = {name: value for name, value in (attributes or {}).items() if name in KEPT}
    if "db.statement" in kept:
        kept["db.statement"] = LITERAL.sub("'?'", str(kept["db.statement"]))[:2000]
    return kept
