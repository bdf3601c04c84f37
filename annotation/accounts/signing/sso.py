"""Single sign-on: what is believed of the provider, and how long it may take."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlsplit

import requests
from allauth.account.internal.decorators import login_not_required
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.providers.openid_connect import views as oidc
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy

from annotation.accounts.signing import actions
from crowdqc import limits, outbound
from crowdqc.outbound.web_request import one_may_wait
from crowdqc.web.middleware import POLICY

MOST_BYTES = 2**20  # of a provider's answer
# Headers of ``requests`` that the client below writes itself.
OWN_HEADERS = {"accept-encoding", "connection", "content-length"}
STARTS = gettext_lazy("Too many sign-ins from this network.")
MAILS = gettext_lazy("Too many mails were sent to this address.")


def allow_provider_forms(response: HttpResponseBase) -> None:
    """Let a page's forms post to the provider under the security policy."""
    if settings.OIDC_SERVER_URL:
        parts = urlsplit(settings.OIDC_SERVER_URL)
        own = "form-action 'self'"
        allowed = POLICY.replace(own, f"{own} {parts.scheme}://{parts.netloc}")
        response.headers["Content-Security-Policy"] = allowed


@login_not_required
def redirect_to_provider(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Redirect to the provider; report it as down if it fails."""
    limits.require_try(limits.SSO_STARTS, limits.client_network(request), str(STARTS))
    try:
        response: HttpResponseBase = oidc.login(request, provider_id)
    except (requests.RequestException, ValueError, KeyError):
        response = render(request, "socialaccount/authentication_error.html", status=503)
    return response


class _ToProvider(requests.adapters.BaseAdapter):
    """What the library of ``requests`` sends goes by the one outbound client: one deadline for each
    call, a size limit, and one thread of a web process at a time."""

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        """The provider's answer; requests.ConnectionError where no whole one came in time."""
        body = request.body.encode() if isinstance(request.body, str) else request.body
        kept = {k: str(v) for k, v in request.headers.items() if k.lower() not in OWN_HEADERS}
        seconds = settings.SOCIALACCOUNT_REQUESTS_TIMEOUT
        try:
            with (
                one_may_wait(),
                outbound.Client(seconds=seconds, most_bytes=MOST_BYTES, inside=True) as client,
            ):
                answer = client.send(
                    str(request.method),
                    str(request.url),
                    content=cast(bytes | None, body),
                    headers=kept,
                )
        except (outbound.OutboundError, TimeoutError) as error:
            raise requests.ConnectionError(str(error)) from error
        response = requests.Response()
        response.status_code, response.url = answer.status, str(request.url)
        response.headers.update(answer.headers)
        response._content = answer.body
        response.request = request
        return response

    def close(self) -> None:
        """Do nothing: each call closes its own connection."""


class SsoAdapter(DefaultSocialAccountAdapter):
    """A provider signs in whom it knows. It never opens an account that was there before it was
    connected: somebody who has one signs in to it, then connects the provider on its page."""

    error_messages = {
        **DefaultSocialAccountAdapter.error_messages,
        "no_password": gettext_lazy("Set a password first, so that you can still sign in."),
        "connected_other": gettext_lazy("This sign-on is connected to another account."),
    }

    def get_requests_session(self) -> requests.Session:
        """Return an HTTP session for the sign-in provider that follows no redirects."""
        session = requests.Session()
        session.max_redirects = 0
        for scheme in ("http://", "https://"):
            session.mount(scheme, _ToProvider())
        return session

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Return whether single sign-on may create accounts: unless sign-up is closed."""
        return settings.CROWDQC_SIGNUP != "closed"

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: dict[str, Any]) -> Any:
        """Fill a new user from the provider: only the name; username and address are set here."""
        user = super().populate_user(request, sociallogin, data)
        name = str(data.get("name") or f"{user.first_name} {user.last_name}").strip()
        user.display_name = (name or user.email.partition("@")[0])[:80]
        user.username = user.first_name = user.last_name = ""
        return user

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Free addresses that the provider verified from accounts that never verified them."""
        if not sociallogin.is_existing:
            for address in sociallogin.email_addresses:
                if address.verified:
                    actions.release_address(by=sociallogin.user, address=address.email)

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> Any:
        """Save a user from the provider; an address that it did not verify stays unverified."""
        user = super().save_user(request, sociallogin, form)
        if not any(one.verified for one in sociallogin.email_addresses):
            actions.remove_unverified_address(user=user)
        if form is not None and not sociallogin.email_addresses:
            limits.require_try(limits.MAILS, f"sign-up {form.cleaned_data['email']}", str(MAILS))
            actions.claim_address(user=user, address=form.cleaned_data["email"])
        return user

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return reverse("account")
