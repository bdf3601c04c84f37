"""Addresses of other systems that are told of events: staff read, requesters change."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_access
from annotation.accounts.projects.forms import add_errors
from annotation.models import Hook, Role
from annotation.notifications.actions import webhooks as actions
from annotation.notifications.actions.webhook_delivery import KEPT_DAYS, MAX_TRIES
from annotation.notifications.selectors import webhooks as reads
from crowdqc.errors import DomainError, Invalid

PER_PAGE = 50


class EventsForm(forms.Form):
    """Which events an address is told of."""

    events = forms.MultipleChoiceField(
        required=False,
        label="Tell it of",
        choices=list(actions.EVENTS.items()),
        widget=forms.CheckboxSelectMultiple,
        help_text="None ticked: all of them, those too that come later.",
    )


class HookForm(EventsForm):
    """A new address."""

    url = forms.CharField(
        label="Address",
        max_length=300,
        widget=forms.URLInput(attrs={"placeholder": "", "autocomplete": "off"}),
        help_text="It gets a POST with JSON. Redirects are not followed.",
    )
    field_order = ("url", "events")


def _one(request: HttpRequest, project_id: int, hook_id: int, *roles: str) -> tuple[Access, Hook]:
    access = get_access(request, project_id, *roles)
    return access, reads.hook_of(access.project, hook_id)


@login_required
@require_safe
def hook_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """The addresses with how they fare."""
    access = get_access(request, project_id)
    context = {
        "access": access,
        "project": access.project,
        "rows": reads.hooks_of(access.project),
    }
    return render(request, "annotation/notifications/webhooks/list.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def hook_new(request: HttpRequest, project_id: int) -> HttpResponse:
    """A new address; the page that follows shows its secret, this once."""
    access = get_access(request, project_id, Role.REQUESTER)
    form = HookForm(request.POST or None)
    context: dict[str, Any] = {"access": access, "project": access.project, "form": form}
    if request.method == "POST" and form.is_valid():
        try:
            hook, secret = actions.add_hook(
                by=access.user, project=access.project, **form.cleaned_data
            )
        except Invalid as error:
            add_errors(form, error)
        else:
            context |= {"hook": hook, "secret": secret}
            return render(request, "annotation/notifications/webhooks/secret.html", context)
    status = 422 if request.method == "POST" else 200
    return render(request, "annotation/notifications/webhooks/new.html", context, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def hook(request: HttpRequest, project_id: int, hook_id: int) -> HttpResponse:
    """One address: its events, what can be done, and its log; posting changes the events."""
    roles = (Role.REQUESTER,) if request.method == "POST" else ()
    access, found = _one(request, project_id, hook_id, *roles)
    form = EventsForm(request.POST or None, initial={"events": found.events})
    if request.method == "POST":
        form.data = request.POST  # an empty one is a choice too
        form.is_bound = True
        if form.is_valid():
            actions.change_events(by=access.user, hook=found, **form.cleaned_data)
            messages.success(request, "The events are saved.")
            return redirect("hook", project_id, hook_id)
    page = Paginator(reads.deliveries_of(found), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "access": access,
        "project": access.project,
        "hook": found,
        "form": form,
        "page": page,
        "tries": MAX_TRIES,
        "days": KEPT_DAYS,
        "told": [actions.EVENTS[name] for name in found.events if name in actions.EVENTS],
    }
    return render(
        request,
        "annotation/notifications/webhooks/hook.html",
        context,
        status=422 if form.errors else 200,
    )


def _pause(access: Access, hook: Hook) -> str:
    actions.pause(by=access.user, hook=hook)
    return "Paused. What happens from now on is not told to it."


def _resume(access: Access, hook: Hook) -> str:
    actions.resume(by=access.user, hook=hook)
    return "It is told of events again."


def _ping(access: Access, hook: Hook) -> str:
    actions.ping(by=access.user, hook=hook)
    return "A test is on its way; load the page again to see what came of it."


STEPS = {"pause": _pause, "resume": _resume, "ping": _ping}


@login_required
@require_POST
def hook_step(request: HttpRequest, project_id: int, hook_id: int) -> HttpResponse:
    """Pause, resume or test an address."""
    access, found = _one(request, project_id, hook_id, Role.REQUESTER)
    step = STEPS.get(request.POST.get("step", ""))
    if step is None:
        raise Invalid("There is no such step.", fields={"step": ", ".join(STEPS)})
    messages.success(request, step(access, found))
    return redirect("hook", project_id, hook_id)


@login_required
@require_POST
def hook_remove(request: HttpRequest, project_id: int, hook_id: int) -> HttpResponse:
    """Take an address out with its log."""
    access, found = _one(request, project_id, hook_id, Role.REQUESTER)
    actions.remove(by=access.user, hook=found)
    messages.success(request, "The address is removed.")
    return redirect("hook_list", project_id)


@login_required
@require_POST
def hook_redeliver(
    request: HttpRequest, project_id: int, hook_id: int, delivery_id: int
) -> HttpResponse:
    """Send one line of the log again, under the same id."""
    access, found = _one(request, project_id, hook_id, Role.REQUESTER)
    try:
        actions.redeliver(by=access.user, delivery=reads.delivery_of(found, delivery_id))
    except DomainError as error:
        if error.status != 409:
            raise
        messages.error(request, error.message)
    else:
        messages.success(request, "It is sent again, under the same id.")
    return redirect("hook", project_id, hook_id)
