"""Pages by which an owner runs the installation. HTTP only."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_installation_owner
from annotation.accounts import quotas
from annotation.accounts.roles.actions import confirm_role
from annotation.installation import actions
from annotation.installation.selectors import audit_rows
from annotation.lists.pages import list_page
from annotation.models import Project, RoleGrant, User
from annotation.records.installation_state import FEATURES, read_state
from crowdqc.errors import DomainError, Missing
from crowdqc.numbers import parse_whole, plural
from evaluation.installation import selectors
from evaluation.installation.demo import demo_accounts, remove_demo
from evaluation.installation.inputs import (
    BannerForm,
    BroadcastForm,
    LimitsForm,
    ReadOnlyForm,
    RetentionForm,
)
from evaluation.installation.listing import OwnerReader, account_listing, project_listing
from evaluation.retention.actions import set_retention
from evaluation.retention.growth import growth_page
from evaluation.retention.kinds import SETTABLE


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def projects(request: HttpRequest) -> HttpResponse:
    """List all projects with their use, and act on them."""
    owner = get_installation_owner(request)
    is_search = request.method == "POST" or request.htmx  # type: ignore[attr-defined]
    context = {} if is_search else selectors.projects_page(owner)
    template = "evaluation/installation/projects.html"
    return list_page(request, OwnerReader(owner), project_listing(owner), template, context)


@login_required
@require_POST
def role_confirm(request: HttpRequest, grant_id: int) -> HttpResponse:
    """Confirm that a manager or requester is another person than whoever invited them."""
    owner = get_installation_owner(request)
    grant = RoleGrant.objects.filter(pk=grant_id).select_related("project", "user").first()
    if grant is None:
        raise Missing(_("There is no such role."))
    confirm_role(by=owner, grant=grant)
    messages.success(request, _("Role confirmed."))
    return redirect("installation")


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest) -> HttpResponse:
    """List all accounts with their use, and act on them."""
    owner = get_installation_owner(request)
    template = "evaluation/installation/people.html"
    return list_page(request, OwnerReader(owner), account_listing(owner), template, {})


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def limits(request: HttpRequest, project_id: int) -> HttpResponse:
    """Change the limits of one project."""
    get_installation_owner(request)
    project = Project.objects.filter(pk=project_id).first()
    if project is None:
        raise Missing(_("There is no such project."))
    return _limits_page(request, project, project.name, "installation")


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def person_limits(request: HttpRequest, user_id: int) -> HttpResponse:
    """Change the limits of one person."""
    get_installation_owner(request)
    person = User.objects.filter(pk=user_id).first()
    if person is None:
        raise Missing(_("There is no such account."))
    return _limits_page(request, person, str(person), "installation_people")


def _limits_page(
    request: HttpRequest, whose: Project | User, name: str, listing: str
) -> HttpResponse:
    owner, rows = get_installation_owner(request), selectors.limit_rows(whose)
    form = LimitsForm(request.POST or None, rows=rows)
    if request.method == "POST" and form.is_valid():
        _set_limits(owner, whose, rows, form.cleaned_data)
        messages.success(request, _("Saved the limits."))
        return redirect(listing)
    context = {"name": name, "listing": listing, "form": form, "used": quotas.used_rows(whose)}
    status = 422 if form.errors else 200
    return render(request, "evaluation/installation/limits.html", context, status=status)


def _set_limits(
    by: User,
    whose: Project | User | None,
    rows: list[selectors.LimitRow],
    values: dict[str, Any],
) -> None:
    """Change those that were changed."""
    for name, _label, _usual, own in rows:
        if values[name] != own:
            actions.set_limit(by=by, name=name, owner=whose, limit=values[name])


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest) -> HttpResponse:
    """Show and change what holds for the whole installation."""
    owner = get_installation_owner(request)
    state, what = read_state(), request.POST.get("do", "")
    rows = selectors.limit_rows(None)
    forms_by_action = {
        "read_only": ReadOnlyForm(initial={"why": state.read_only_reason}, prefix="read_only"),
        "banner": BannerForm(initial={"text": state.banner}, prefix="banner"),
        "broadcast": BroadcastForm(prefix="broadcast"),
        "limits": LimitsForm(rows=rows, prefix="limits"),
        "retention": RetentionForm(prefix="retention"),
    }
    status = 200
    if request.method == "POST":
        if what in forms_by_action:
            forms_by_action[what] = _filled(what, request, rows)
        form = forms_by_action.get(what, forms.Form({}))
        status = 422
        if form.is_valid():
            try:
                message = _change(owner, what, request, form.cleaned_data, rows)
            except DomainError as error:
                if error.status in (403, 404):
                    raise
                form.add_error(None, error.message)
                messages.error(request, error.message)
            else:
                messages.success(request, message)
                return redirect("installation_settings")
    context = {
        "forms": forms_by_action,
        "site_state": state,
        "features": [(name, label, name in state.switched_off) for name, label in FEATURES.items()],
        "demo": len(demo_accounts()),
        "send_hidden": [("do", "broadcast")],
        "demo_hidden": [("do", "remove_demo")],
    }
    return render(request, "evaluation/installation/settings.html", context, status=status)


def _filled(what: str, request: HttpRequest, rows: list[selectors.LimitRow]) -> forms.Form:
    if what == "limits":
        return LimitsForm(request.POST, rows=rows, prefix=what)
    kinds: dict[str, type[forms.Form]] = {
        "read_only": ReadOnlyForm,
        "banner": BannerForm,
        "broadcast": BroadcastForm,
        "retention": RetentionForm,
    }
    return kinds[what](request.POST, prefix=what)


def _change(
    by: User,
    what: str,
    request: HttpRequest,
    values: dict[str, Any],
    rows: list[selectors.LimitRow],
) -> str:
    """Do what was asked for; return the message about it. Raises Missing for anything else."""
    changes: dict[str, Callable[[], str]] = {
        "read_only": lambda: _read_only(by, values["why"]),
        "writable": lambda: _writable(by),
        "banner": lambda: _banner(by, values["text"]),
        "broadcast": lambda: _broadcast(by, values["text"]),
        "limits": lambda: _usual_limits(by, rows, values),
        "retention": lambda: _retention(by, values),
        "features": lambda: _features(by, request.POST.getlist("on")),
        "remove_demo": lambda: _remove_demo(by),
    }
    if what not in changes:
        raise Missing(_("There is no such action here."))
    return changes[what]()


def _read_only(by: User, why: str) -> str:
    actions.set_read_only(by=by, why=why)
    return _("The installation is read-only within five seconds.")


def _writable(by: User) -> str:
    count = actions.end_read_only(by=by)
    return _("Changes are taken again. Assignments that got their time back: %(count)s") % {
        "count": count
    }


def _banner(by: User, text: str) -> str:
    row = actions.set_banner(by=by, text=text)
    return _("The banner is shown.") if row.banner else _("The banner is removed.")


def _broadcast(by: User, text: str) -> str:
    people = plural(actions.broadcast(by=by, text=text), "person", "people")
    return _("Notified: %(people)s") % {"people": people}


def _usual_limits(by: User, rows: list[selectors.LimitRow], values: dict[str, Any]) -> str:
    _set_limits(by, None, rows, values)
    return _("Saved the limits.")


def _retention(by: User, values: dict[str, Any]) -> str:
    for kind in SETTABLE:
        if values[kind.name] != kind.keeps:
            set_retention(by=by, name=kind.name, keeps=values[kind.name])
    return _("Saved the retention.")


def _features(by: User, on: list[str]) -> str:
    actions.switch_features(by=by, switched_off=set(FEATURES) - set(on))
    return _("Saved the features.")


def _remove_demo(by: User) -> str:
    accounts = plural(remove_demo(by=by), "account")
    return _("The demo is removed: %(accounts)s closed.") % {"accounts": accounts}


@never_cache
@login_required
@require_safe
def growth(request: HttpRequest) -> HttpResponse:
    """Show what each kind of rows takes, and what a year adds."""
    get_installation_owner(request)
    return render(request, "evaluation/installation/growth.html", growth_page())


@never_cache
@login_required
@require_safe
def audit(request: HttpRequest) -> StreamingHttpResponse:
    """Stream the audit log as JSON Lines: all of it, or that of the last ``days``."""
    get_installation_owner(request)
    days = parse_whole(request.GET.get("days", ""), low=1, high=36_500)
    since = timezone.now() - dt.timedelta(days=days) if days else None
    response = StreamingHttpResponse(_lines(since), content_type="application/x-ndjson")
    response["Content-Disposition"] = 'attachment; filename="audit-log.jsonl"'
    return response


def _lines(since: dt.datetime | None) -> Iterator[str]:
    for row in audit_rows(since, None):
        yield json.dumps(row, ensure_ascii=False) + "\n"
