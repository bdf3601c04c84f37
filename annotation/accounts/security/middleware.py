"""Attach proofs to people who act, and redirect to confirmation."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import cast
from urllib.parse import urlencode, urlsplit

from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.middleware import get_user
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from annotation.accounts.security.stepup import (
    ConfirmationNeeded,
    SessionProof,
    attach_proof,
    confirmation_methods,
    has_second_factor,
    has_shown_second_factor,
    require_recent,
)
from annotation.models import User
from crowdqc.web.back import is_ours

STASH = "crowdqc_stepup"
ASKED = "crowdqc_asked"  # what the person is confirming for
MAX_STASH = 512 * 1024  # characters of a form that wait in the session
STASH_SECONDS = 900
# Pages that change how somebody signs in.
FACTOR_PAGES = {
    "mfa_activate_totp",
    "mfa_deactivate_totp",
    "mfa_view_recovery_codes",
    "mfa_generate_recovery_codes",
    "mfa_add_webauthn",
    "mfa_remove_webauthn",
}
RENAMED = {"mfa_edit_webauthn"}
SIGN_IN_PAGES = {
    "account_set_password",
    "account_change_password",
    "account_email",
    "socialaccount_connections",
    "openid_connect_login",
}
SECRETS = ("password", "token", "webhook", "key")  # fields that no session keeps as they are
FORM_KEYS = {"ledger_correct", "payout_new"}  # pages whose ``key`` makes one form of two sent


class StepUp:
    """Attach the session's proof to ``request.user``; redirect to confirmation."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Not read from the session anew: it may just have been ended for its age.
        before = request.user
        request.user = SimpleLazyObject(lambda: _proven(request, before))  # type: ignore[assignment]
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: object
    ) -> HttpResponse | None:
        """Require a proof on account pages where allauth does not."""
        match = request.resolver_match
        if match is None or match.url_name not in FACTOR_PAGES | SIGN_IN_PAGES | RENAMED:
            return None
        if match.url_name in FACTOR_PAGES | RENAMED and not request.user.is_authenticated:
            # allauth would keep the form of anybody in a new session, to send it again later.
            return redirect_to_login(request.get_full_path())
        try:
            _require_proof_on_account_pages(request, match.url_name)
        except ConfirmationNeeded as error:
            return redirect_to_confirmation(request, error)
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Redirect pages to confirmation; the API refuses instead."""
        if not isinstance(error, ConfirmationNeeded) or request.path.startswith("/api/"):
            return None
        if "application/json" in request.headers.get("Accept", ""):
            return None
        return redirect_to_confirmation(request, error)


def _require_proof_on_account_pages(request: HttpRequest, name: str) -> None:
    """Raise ConfirmationNeeded for changes of what one confirms with.

    Whoever has a second factor shows it before they change their factors: a password is not
    enough. Whoever has single sign-on alone has signed in lately.
    """
    user = request.user
    if not isinstance(user, User):
        return
    if name in FACTOR_PAGES and has_second_factor(user) and not has_shown_second_factor(user):
        raise ConfirmationNeeded(_("change your second factor"), second_factor=True)
    looks = request.method in ("GET", "HEAD") and name not in FACTOR_PAGES
    if not looks and not confirmation_methods(user):
        require_recent(user, _("change how you sign in"))


def _proven(request: HttpRequest, signed_in: User | AnonymousUser) -> object:
    user = get_user(request) if signed_in.is_authenticated else signed_in
    return attach_proof(user, SessionProof(request, user)) if isinstance(user, User) else user


def redirect_to_confirmation(request: HttpRequest, error: ConfirmationNeeded) -> HttpResponse:
    """Keep the typed form and redirect to the confirmation page."""
    user = cast(User, request.user)
    htmx = bool(getattr(request, "htmx", False))
    back = _remember_target(request, htmx)
    ways = confirmation_methods(user)
    if error.second_factor:
        ways = [way for way in ways if way["id"].startswith("mfa")] or ways
    if ways:
        url = f"{ways[0]['url']}?{urlencode({'next': back})}"
        left = _return_page(request, htmx)
        request.session[ASKED] = {"next": back, "message": error.message, "left": left}
    else:  # the account of a sign-on service: it confirms by signing in there again
        logout(request)
        url = f"{resolve_url('login')}?{urlencode({'next': _return_page(request, htmx)})}"
        messages.info(request, error.message)
    if htmx:
        return HttpResponse(headers={"HX-Redirect": url})
    return HttpResponseRedirect(url)


def asked_confirmation(request: HttpRequest) -> dict[str, str]:
    """What the confirmation that is shown is for: its sentence, and where one left off.

    Empty where nothing of ours asked for it.
    """
    asked: dict[str, str] = request.session.get(ASKED, {})
    here = request.POST.get("next") or request.GET.get("next")
    return asked if asked.get("next") == here else {}


def _return_page(request: HttpRequest, htmx: bool) -> str:
    """Return the page to come back to if a form cannot be sent again."""
    if request.method in ("GET", "HEAD") and not htmx:
        return request.get_full_path()
    named = request.headers.get("HX-Current-URL" if htmx else "Referer", "")
    parts = urlsplit(named)
    ours = is_ours(request, named) and parts.path
    return f"{parts.path}?{parts.query}".rstrip("?") if ours else "/"


def _remember_target(request: HttpRequest, htmx: bool) -> str:
    """Remember where to continue after the confirmation."""
    if htmx or request.method != "POST":
        return _return_page(request, htmx)
    form = request.POST.urlencode()
    match = request.resolver_match
    open_names = ("key",) if match and match.url_name in FORM_KEYS else ()
    secret = any(request.POST.get(name) for name in SECRETS if name not in open_names)
    if secret or request.FILES or len(form) > MAX_STASH:
        messages.warning(request, _("Your form could not be kept. Please fill it in again."))
        return _return_page(request, htmx)
    key = secrets.token_urlsafe(16)
    request.session[STASH] = {
        "key": key,
        "path": request.get_full_path(),
        "form": form,
        "at": time.time(),
        "back": _return_page(request, htmx),
    }
    return reverse("stepup_resume", args=[key])
