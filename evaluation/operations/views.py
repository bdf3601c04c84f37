"""The operations page for the owner of the installation, and metrics for Prometheus. HTTP only."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from crowdqc.errors import Missing


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics, for whoever shows CROWDQC_METRICS_TOKEN; without one there is no such page."""
    token = settings.CROWDQC_METRICS_TOKEN
    if not token:
        raise Missing("There is no such address.")
    shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not constant_time_compare(shown, token):
        refused = HttpResponse("This needs the token of the metrics.\n", status=401)
        refused.headers["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return refused
    # Loaded here: where nobody asks for metrics, no process pays for them.
    from crowdqc.web.metrics import exposition
    from evaluation.operations.metrics import Installation

    body, content_type = exposition(request.headers.get("Accept", ""), Installation())
    return HttpResponse(body, content_type=content_type)
