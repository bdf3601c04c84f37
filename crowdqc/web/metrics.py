"""How long pages take and what they answer, counted over all web processes for Prometheus.

Loaded only where CROWDQC_METRICS_TOKEN or CROWDQC_METRICS_LISTEN is set. Every process of a server
writes to files of its own in one folder (``crowdqc.web.server`` makes it before anything here is
loaded), and a scrape adds them up. Views are told apart by their names: no address, no person.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import choose_encoder

from crowdqc.metrics.folder import FOLDER, LISTEN
from crowdqc.metrics.processes import Counted, counted

GetResponse = Callable[[HttpRequest], HttpResponse]
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
REQUESTS = Counter(
    "crowdqc_http_requests",
    "Requests answered, by name of the view, method and status.",
    ["view", "method", "status"],
    registry=counted,
)
TIMES = Histogram(
    "crowdqc_http_request_duration_seconds",
    "Time until a request was answered, by name of the view.",
    ["view"],
    buckets=SECONDS,
    registry=counted,
)


class RequestMetrics:
    """Counts every request; stands outside of all other middleware."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        view = (match.url_name or match.view_name or "unnamed") if match else "none"
        method = request.method if request.method in METHODS else "other"
        REQUESTS.labels(view, method, response.status_code).inc()
        TIMES.labels(view).observe(time.perf_counter() - began)
        return response


def exposition(accept: str, *collectors: Any) -> tuple[bytes, str]:
    """All metrics as text in the form that the client accepts, and its content type.

    Requests are left out where each server shows its own on a port: they would count twice.
    """
    registry = CollectorRegistry()
    if not os.environ.get(LISTEN):
        registry.register(Counted() if os.environ.get(FOLDER) else counted)
    for one in collectors:
        registry.register(one)
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type
