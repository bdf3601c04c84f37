"""A person's data: erasing it, and handing it out. HTTP only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_access, get_worker
from annotation.models import Membership, Role, User
from crowdqc.errors import Conflict, Missing
from evaluation.people import erasure, person_data


def _preview(
    request: HttpRequest, worker: Membership, *, own: bool, error: str = "", **more: Any
) -> HttpResponse:
    held, runs = erasure.plan(worker)
    context = {
        "project": worker.project,
        "worker": worker,
        "held": held,
        "runs": runs,
        "own": own,
        "error": error,
        "blocked": bool(held.on_the_way or (held.undecided and not own)),
        **more,
    }
    status = 409 if error else 200
    return render(request, "evaluation/people/data/erase.html", context, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def worker_data_erase(request: HttpRequest, project_id: int, membership_id: int) -> HttpResponse:
    """What erasing a worker takes away, and doing it."""
    access = get_access(request, project_id)
    worker = get_worker(access, membership_id)
    if request.method != "POST":
        return _preview(request, worker, own=False, access=access)
    try:
        erasure.request_erasure(by=access.user, worker=worker)
    except Conflict as error:
        return _preview(request, worker, own=False, access=access, error=error.message)
    messages.success(
        request,
        _("%(pseudonym)s is being erased. You can close this page.")
        % {"pseudonym": worker.pseudonym},
    )
    return redirect("worker_data_erase", project_id, membership_id)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def own_data_erase(request: HttpRequest, project_id: int) -> HttpResponse:
    """The same for oneself in one project."""
    # Who was removed may still have what they wrote erased.
    worker = (
        Membership.objects.filter(user=request.user.pk, project=project_id, role=Role.WORKER)
        .select_related("project")
        .first()
    )
    if worker is None:
        get_access(request, project_id, Role.WORKER)  # says which of the two
        raise Missing(_("There is no such project, or you do not belong to it."))
    if request.method != "POST":
        return _preview(request, worker, own=True)
    try:
        erasure.request_erasure(
            by=cast(User, request.user),
            worker=worker,
            although_undecided=bool(request.POST.get("although_undecided")),
        )
    except Conflict as error:
        return _preview(request, worker, own=True, error=error.message)
    messages.success(
        request,
        _("What you wrote in %(project_name)s is being erased.")
        % {"project_name": worker.project.name},
    )
    return redirect("work_record")


def _zip(pieces: Iterator[bytes], name: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(pieces, content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    return response


@never_cache
@login_required
@require_safe
def own_data(request: HttpRequest) -> StreamingHttpResponse:
    """All that is kept of oneself."""
    return _zip(person_data.own_data(cast(User, request.user)), "kept-of-me")


@never_cache
@login_required
@require_POST
def worker_data(request: HttpRequest, project_id: int, membership_id: int) -> StreamingHttpResponse:
    """What the project keeps of a worker, to be handed to them."""
    access = get_access(request, project_id)
    worker = get_worker(access, membership_id)
    pieces = person_data.of_worker(by=access.user, worker=worker)
    return _zip(pieces, f"kept-of-{worker.pseudonym}")
