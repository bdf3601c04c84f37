"""Pages of sources of traces: connect, settings, masks to try, and the review queue. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import Access, get_access
from annotation.accounts.projects.forms import add_errors
from annotation.models import Role, TraceSource
from annotation.traces import forms
from annotation.traces.actions import queue, sources
from annotation.traces.actions.receive import masker_of
from annotation.traces.selectors import find_source_of, list_sources
from annotation.traces.settings import read_settings
from crowdqc.errors import Conflict, DomainError, Invalid


@login_required
@require_safe
def source_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """The project's sources."""
    access = get_access(request, project_id)
    rows = list_sources(access.project)
    return render(request, "annotation/traces/sources.html", {"rows": rows})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def source_new(request: HttpRequest, project_id: int) -> HttpResponse:
    """Connect a source; its token is shown once."""
    access = get_access(request, project_id, Role.REQUESTER)
    form = forms.SourceForm(request.POST or None)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                source, token = sources.create_source(
                    by=access.user, project=access.project, **form.cleaned_data
                )
            except (Invalid, Conflict, DomainError) as error:
                add_errors(form, error)
                status = error.status
            else:
                if not token:
                    messages.success(request, _("The source is connected and is read soon."))
                    return redirect("trace_source", access.project.pk, source.pk)
                return _token_page(request, source, token)
    return render(request, "annotation/traces/new.html", {"form": form}, status=status)


def _token_page(request: HttpRequest, source: TraceSource, token: str) -> HttpResponse:
    context = {
        "source": source,
        "token": token,
        "endpoint": request.build_absolute_uri("/otel"),
        "langfuse": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "annotation/traces/token.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def source_page(request: HttpRequest, project_id: int, source_id: int) -> HttpResponse:
    """A source's settings. POST saves them (``do=settings``), tries masks (``do=try``), makes the
    queue (``do=queue``), renews the token (``do=token``) or ends the source (``do=end``)."""
    roles = (Role.REQUESTER,) if request.method == "POST" else ()
    access = get_access(request, project_id, *roles)
    source = find_source_of(access, source_id)
    settings = read_settings(source.settings)
    context: dict[str, Any] = {
        "source": source,
        "settings": settings,
        "form": forms.SettingsForm(initial=forms.SettingsForm.initial_of(settings)),
        "queue_form": forms.QueueForm(),
        "try_form": forms.TryMasksForm(),
        "row": next(row for row in list_sources(access.project) if row.source.pk == source.pk),
    }
    status = 200
    if request.method == "POST":
        found = _post(request, access, source, context)
        if isinstance(found, HttpResponse):
            return found
        status = found
    return render(request, "annotation/traces/source.html", context, status=status)


def _post(
    request: HttpRequest, access: Access, source: TraceSource, context: dict[str, Any]
) -> HttpResponse | int:
    """Do what the button says; a response, or the status of the page with its errors."""
    steps = {
        "settings": _save_settings,
        "queue": _make_queue,
        "try": _try_masks,
        "token": _renew_token,
        "end": _end,
    }
    step = steps.get(request.POST.get("do", ""))
    if step is None:
        raise Invalid(_("There is no such action here."), fields={"do": ", ".join(steps)})
    return step(request, access, source, context)


Context = dict[str, Any]


def _try_masks(request: HttpRequest, access: Access, source: TraceSource, context: Context) -> int:
    context["try_form"] = form = forms.TryMasksForm(request.POST)
    if not form.is_valid():
        return 422
    masker = masker_of(context["settings"])
    context["tried"] = masker.mask_text(form.cleaned_data["text"])
    context["tried_counts"] = sorted(masker.counts.items())
    return 200


def _renew_token(
    request: HttpRequest, access: Access, source: TraceSource, context: Context
) -> HttpResponse:
    return _token_page(request, source, sources.renew_token(by=access.user, source=source))


def _end(
    request: HttpRequest, access: Access, source: TraceSource, context: Context
) -> HttpResponse:
    sources.end_source(by=access.user, source=source)
    messages.success(request, _("The source has ended. Its token opens nothing more."))
    return redirect("trace_sources", access.project.pk)


def _make_queue(
    request: HttpRequest, access: Access, source: TraceSource, context: Context
) -> HttpResponse | int:
    context["queue_form"] = form = forms.QueueForm(request.POST)
    if not form.is_valid():
        return 422
    try:
        task = queue.create_queue(by=access.user, source=source, **form.cleaned_data)
    except (Invalid, Conflict) as error:
        add_errors(form, error)
        return error.status
    messages.success(request, _("The review queue is a draft. Publish it to begin."))
    return redirect("task_build", access.project.pk, task.pk)


def _save_settings(
    request: HttpRequest, access: Access, source: TraceSource, context: Context
) -> HttpResponse | int:
    context["form"] = form = forms.SettingsForm(request.POST)
    if not form.is_valid():
        return 422
    try:
        sources.change_settings(by=access.user, source=source, settings=form.settings())
    except (Invalid, Conflict) as error:
        add_errors(form, error)
        return error.status
    messages.success(request, _("The settings are saved."))
    return redirect("trace_source", access.project.pk, source.pk)
