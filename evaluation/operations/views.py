"""The operations page for the owner of the installation, and metrics for Prometheus. HTTP only."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.access import get_installation_owner
from crowdqc.errors import DomainError, Missing
from crowdqc.numbers import plural
from evaluation.operations import actions
from evaluation.operations.selectors import page
from evaluation.operations.selectors.failures import failures


@never_cache
@login_required
@require_safe
def operations(request: HttpRequest) -> HttpResponse:
    """The installation at a glance; the page asks for itself every ten seconds."""
    get_installation_owner(request)
    return render(request, "evaluation/operations/page.html", page.page())


@never_cache
@login_required
@require_safe
def report(request: HttpRequest) -> HttpResponse:
    """The figures of this moment as a file, to send along with a question."""
    get_installation_owner(request)
    found = page.page()
    failed = found["failed"].value or ()
    body: dict[str, Any] = {
        "at": timezone.now(),
        "version": found["version"],
        "django": found["framework"],
        "schema": found["schema"],
        "figures": {
            one["label"]: f"{one['value']} {one['of']}".strip() for one in found["figures"]
        },
        "needs_attention": [f"{one['head']} {one['text']}".strip() for one in found["warnings"]],
        "queues": {
            row.name: {
                "waiting": row.state.waiting if row.state else None,
                "oldest": row.oldest,
                "running": row.state.running if row.state else None,
                "finished_hour": row.finished,
                "failed_day": row.failed,
            }
            for row in found["queues"]
        },
        # No name of a project and no reason: these may quote what people wrote.
        "failed_jobs": [{"job": one.title, "at": one.at, "tries": one.tries} for one in failed],
        "stored": dict(found["stored"] or ()),
        "checks": [one["id"] for one in found["checks"]],
    }
    answer = JsonResponse(body, json_dumps_params={"indent": 1})
    answer.headers["Content-Disposition"] = 'attachment; filename="crowdqc-operations.json"'
    return answer


@login_required
@require_POST
def failure(request: HttpRequest, kind: str, row: int) -> HttpResponse:
    """Do a failed job again, or take it off the list (``do=discard``)."""
    owner = get_installation_owner(request)
    try:
        if request.POST.get("do") == "discard":
            actions.discard_failure(by=owner, kind=kind, row=row)
            messages.success(request, _("The failure is off the list."))
        else:
            actions.retry_failure(by=owner, kind=kind, row=row)
            messages.success(request, _("The job is queued again."))
    except DomainError as error:
        messages.error(request, error.message)
    return redirect("operations")


@login_required
@require_POST
def start_backup(request: HttpRequest) -> HttpResponse:
    """Have a backup made now."""
    owner = get_installation_owner(request)
    try:
        actions.request_backup(by=owner)
        messages.success(request, _("The backup is queued. It is listed here when it is made."))
    except DomainError as error:
        messages.error(request, error.message)
    return redirect("operations")


@login_required
@require_POST
def retry_all(request: HttpRequest) -> HttpResponse:
    """Do every listed job again; one that cannot be is said and left."""
    owner, done, left = get_installation_owner(request), 0, []
    for one in failures():
        try:
            actions.retry_failure(by=owner, kind=one.kind, row=one.row)
            done += 1
        except DomainError as error:
            left.append(f"{one.title}: {error.message}")
    if done:
        messages.success(request, _("%(jobs)s queued again.") % {"jobs": plural(done, "job")})
    if left:
        messages.error(
            request,
            _("%(jobs)s not queued. %(left)s")
            % {"jobs": plural(len(left), "job"), "left": left[0]},
        )
    return redirect("operations")


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
