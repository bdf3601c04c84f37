"""Erasing interaction logs: of a project, of one worker, of oneself."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.access import get_access, get_worker, worker_memberships
from annotation.accounts.security.log import own_events
from annotation.models import Role, User
from annotation.privacy.actions import erasure, retention
from annotation.privacy.selectors.erasure import keeps_account, kept_work
from annotation.records.selectors import audit
from crowdqc.errors import Conflict, Invalid, Missing
from crowdqc.numbers import parse_whole, plural


def _show_count(request: HttpRequest, number: int) -> None:
    if number:
        erased = plural(number, "log is erased", "logs are erased")
        messages.success(request, _("%(erased)s. Answers and payments stay.") % {"erased": erased})
    else:
        messages.info(request, _("There was no log to erase."))


@login_required
@require_POST
def project_settings_kept(request: HttpRequest, project_id: int) -> HttpResponse:
    """Set for how many days the texts of answers are stored; empty: for ever."""
    access = get_access(request, project_id, Role.REQUESTER)
    raw = request.POST.get("days", "").strip()
    try:
        days = (parse_whole(raw, high=99_999) or 0) if raw else None
        retention.keep_texts(by=access.user, project=access.project, days=days)
    except Invalid as error:
        messages.error(request, f"{error.message} {error.fields['days']}")
    else:
        kept = _("for %(days)s") % {"days": plural(days, "day")} if days else _("until deleted")
        messages.success(request, _("Texts of answers are kept %(kept)s.") % {"kept": kept})
    return redirect("project_settings", project_id)


@login_required
@require_POST
def project_logs_erase(request: HttpRequest, project_id: int) -> HttpResponse:
    """Erase every log of the project's finished work."""
    access = get_access(request, project_id, Role.REQUESTER)
    number = retention.erase_logs_of_project(by=access.user, project=access.project)
    _show_count(request, number)
    return redirect("project_settings", project_id)


@login_required
@require_POST
def worker_logs_erase(request: HttpRequest, project_id: int, membership_id: int) -> HttpResponse:
    """One worker's logs, by a requester or a manager."""
    access = get_access(request, project_id)
    worker = get_worker(access, membership_id)
    _show_count(request, retention.erase_logs_of_worker(by=access.user, worker=worker))
    return redirect("worker_card", project_id, membership_id)


@login_required
@require_POST
def own_logs_erase(request: HttpRequest, project_id: int) -> HttpResponse:
    """A worker's own logs of work that is decided."""
    worker = worker_memberships(request.user).filter(project=project_id).first()
    if worker is None:
        get_access(request, project_id, Role.WORKER)  # says which of the two
        raise Missing(_("There is no such project, or you do not belong to it."))
    _show_count(request, retention.erase_own_logs(by=request.user, worker=worker))  # type: ignore[arg-type]
    return redirect("work_record")


@never_cache
@login_required
@require_safe
def account_log(request: HttpRequest) -> HttpResponse:
    """Page of the person's own account events, and what closing the account needs."""
    user = cast(User, request.user)
    context = {
        "lines": audit.own_account_entries(user),
        "events": own_events(user),
        "left": keeps_account(user),
        "kept": kept_work(user),
        "kept_days": settings.CROWDQC_SECURITY_LOG_DAYS,
    }
    return render(request, "annotation/accounts/projects/account_log.html", context)


@login_required
@require_POST
def account_close(request: HttpRequest) -> HttpResponse:
    """Take every name off the account and sign out for good."""
    try:
        erasure.forget_account(by=cast(User, request.user))
    except Conflict as error:
        messages.error(request, error.message)
        return redirect("account_log")
    logout(request)
    return redirect("login")
