"""Pages of what people are told, and of other systems that are told of events."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_access
from annotation.accounts.projects.forms import add_errors
from annotation.models import Hook, Role
from annotation.notifications import selectors
from annotation.notifications.actions import notices as actions
from annotation.notifications.actions import webhooks as hooks
from annotation.notifications.actions.webhook_delivery import KEPT_DAYS
from annotation.notifications.actions.webhook_delivery import MAX_TRIES as HOOK_TRIES
from annotation.notifications.messages import MAX_TRIES
from annotation.notifications.selectors import kinds_for, notices_of, own_notice
from annotation.records.installation_state import retention_of
from crowdqc.errors import DomainError, Invalid
from crowdqc.numbers import parse_whole

PER_PAGE = 50
MAIL_TOLD = {
    "on": gettext_lazy("Notices are mailed at once."),
    "daily": gettext_lazy("Notices are mailed once a day."),
    "off": gettext_lazy("Notices are not mailed. You find them in the app."),
}


@login_required
@require_safe
@never_cache
def notice_list(request: HttpRequest) -> HttpResponse:
    """Page of the person's notices, newest first."""
    page = Paginator(notices_of(request.user), PER_PAGE).get_page(request.GET.get("page"))
    rows = list(page.object_list)
    context = {
        "page": page,
        "rows": rows,
        "upto": rows[0].pk if rows and page.number == 1 else 0,
        "given_up": MAX_TRIES,
    }
    return render(request, "annotation/notifications/notices/list.html", context)


@login_required
@require_safe
@never_cache
def notice(request: HttpRequest, notice_id: int) -> HttpResponse:
    """Mark a notice as read and redirect to its subject."""
    found = own_notice(request.user, notice_id)
    if request.method == "GET":
        actions.mark_read(by=request.user, notice=found)  # type: ignore[arg-type]
    ours = found.url.startswith("/") and url_has_allowed_host_and_scheme(found.url, None)
    return redirect(found.url if ours else "notice_list")


@login_required
@require_POST
def notice_read_all(request: HttpRequest) -> HttpResponse:
    """Mark all notices shown on the page as read; later ones stay unread."""
    upto = parse_whole(request.POST.get("upto", ""))
    if upto is None:
        raise Invalid(gettext("Say up to which notice."), fields={"upto": gettext("A number.")})
    actions.mark_all_read(by=request.user, upto=upto)  # type: ignore[arg-type]
    return redirect("notice_list")


@login_required
@require_POST
def notice_mail(request: HttpRequest) -> HttpResponse:
    """Have notices by mail at once, as one mail a day, or not at all."""
    how = request.POST.get("mail", "off")
    if how not in MAIL_TOLD:
        raise Invalid(
            gettext("Choose one of the three."),
            fields={"mail": gettext("Not %(how)s.") % {"how": how[:20]}},
        )
    actions.set_mail(by=request.user, wanted=how != "off", daily=how == "daily")  # type: ignore[arg-type]
    messages.success(request, str(MAIL_TOLD[how]))
    return redirect(reverse("account") + "#notices-settings")


@login_required
@require_POST
def notice_kinds(request: HttpRequest) -> HttpResponse:
    """Choose which kinds to get: those that were offered and are not ticked are off."""
    offered = {name for name, kind, _ in kinds_for(request.user) if not kind.always}
    off = offered - set(request.POST.getlist("kind"))
    kept = set(request.user.muted) - offered  # type: ignore[union-attr]
    actions.set_muted(by=request.user, kinds=off | kept)  # type: ignore[arg-type]
    messages.success(request, gettext("Your notification settings are saved."))
    return redirect(reverse("account") + "#notices-settings")


@csrf_exempt  # a mailbox posts here by itself (RFC 8058); the signed link says for whom
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def notice_stop(request: HttpRequest, token: str) -> HttpResponse:
    """Unsubscribe from mail: shows a button, or is posted by the mail program."""
    person = actions.person_of(token)
    if request.method == "POST":
        actions.set_mail(by=person, wanted=False)
        person.wants_mail = False
    return render(
        request, "annotation/notifications/notices/stop.html", {"wants_mail": person.wants_mail}
    )


class EventsForm(forms.Form):
    """Which events an address is told of."""

    events = forms.MultipleChoiceField(
        required=False,
        label=gettext_lazy("Events"),
        choices=list(hooks.EVENTS.items()),
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("None ticked: all of them, those too that come later."),
    )


class HookForm(EventsForm):
    """A new address."""

    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=300,
        widget=forms.URLInput(attrs={"placeholder": "", "autocomplete": "off"}),
        help_text=gettext_lazy("It gets a POST with JSON. Redirects are not followed."),
    )
    field_order = ("url", "events")


def _get_hook(
    request: HttpRequest, project_id: int, hook_id: int, *roles: str
) -> tuple[Access, Hook]:
    access = get_access(request, project_id, *roles)
    return access, selectors.hook_of(access.project, hook_id)


@login_required
@require_safe
def hook_list(request: HttpRequest, project_id: int) -> HttpResponse:
    """Page of the project's webhooks and their state."""
    access = get_access(request, project_id)
    context = {
        "access": access,
        "project": access.project,
        "rows": selectors.hooks_of(access.project),
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
            hook, secret = hooks.add_hook(
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
    """Page of one webhook: its events and its log; posting changes the events."""
    roles = (Role.REQUESTER,) if request.method == "POST" else ()
    access, found = _get_hook(request, project_id, hook_id, *roles)
    form = EventsForm(request.POST or None, initial={"events": found.events})
    if request.method == "POST":
        form.data = request.POST  # an empty one is a choice too
        form.is_bound = True
        if form.is_valid():
            hooks.change_events(by=access.user, hook=found, **form.cleaned_data)
            messages.success(request, gettext("The events are saved."))
            return redirect("hook", project_id, hook_id)
    page = Paginator(selectors.deliveries_of(found), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "access": access,
        "project": access.project,
        "hook": found,
        "form": form,
        "page": page,
        "tries": HOOK_TRIES,
        "days": retention_of("deliveries", KEPT_DAYS),
        "told": [hooks.EVENTS[name] for name in found.events if name in hooks.EVENTS],
    }
    return render(
        request,
        "annotation/notifications/webhooks/hook.html",
        context,
        status=422 if form.errors else 200,
    )


def _pause(access: Access, hook: Hook) -> str:
    hooks.pause(by=access.user, hook=hook)
    return gettext("Paused. What happens from now on is not told to it.")


def _resume(access: Access, hook: Hook) -> str:
    hooks.resume(by=access.user, hook=hook)
    return gettext("It is told of events again.")


def _ping(access: Access, hook: Hook) -> str:
    hooks.ping(by=access.user, hook=hook)
    return gettext("A test is on its way; load the page again to see what came of it.")


STEPS = {"pause": _pause, "resume": _resume, "ping": _ping}


@login_required
@require_POST
def hook_step(request: HttpRequest, project_id: int, hook_id: int) -> HttpResponse:
    """Pause, resume or test an address."""
    access, found = _get_hook(request, project_id, hook_id, Role.REQUESTER)
    step = STEPS.get(request.POST.get("step", ""))
    if step is None:
        raise Invalid(gettext("There is no such step."), fields={"step": ", ".join(STEPS)})
    messages.success(request, step(access, found))
    return redirect("hook", project_id, hook_id)


@login_required
@require_POST
def hook_remove(request: HttpRequest, project_id: int, hook_id: int) -> HttpResponse:
    """Take an address out with its log."""
    access, found = _get_hook(request, project_id, hook_id, Role.REQUESTER)
    hooks.remove(by=access.user, hook=found)
    messages.success(request, gettext("The address is removed."))
    return redirect("hook_list", project_id)


@login_required
@require_POST
def hook_redeliver(
    request: HttpRequest, project_id: int, hook_id: int, delivery_id: int
) -> HttpResponse:
    """Send one line of the log again, under the same id."""
    access, found = _get_hook(request, project_id, hook_id, Role.REQUESTER)
    try:
        hooks.redeliver(by=access.user, delivery=selectors.delivery_of(found, delivery_id))
    except DomainError as error:
        if error.status != 409:
            raise
        messages.error(request, error.message)
    else:
        messages.success(request, gettext("It is sent again, under the same id."))
    return redirect("hook", project_id, hook_id)
