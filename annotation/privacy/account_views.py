"""What one's account did outside any project, and closing it. HTTP only."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.accounts.security.log import own_events
from annotation.models import User
from annotation.privacy.actions import erasure
from annotation.privacy.selectors.erasure import keeps_account, kept_work
from annotation.records.selectors import audit
from crowdqc.errors import Conflict


@never_cache
@login_required
@require_safe
def account_log(request: HttpRequest) -> HttpResponse:
    """Tokens, passwords and mail, for the person themself; and what closing the account needs."""
    user = cast(User, request.user)
    context = {
        "lines": audit.own(user),
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
