"""Refuse changes of everybody but the owners while the installation is read-only."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.access import READING, is_installation_owner
from annotation.accounts.tokens.actions import digest_token
from annotation.models import ApiToken
from annotation.records.installation_state import State, current_state
from crowdqc.errors import Unavailable
from crowdqc.numbers import moment
from crowdqc.web.middleware import refuse, written_texts

RETRY_AFTER = "60"  # seconds
SAFE = (*READING, "OPTIONS", "TRACE")
# Signing in, proving it, and signing out.
SIGNING = frozenset(
    {
        "account_login",
        "account_logout",
        "account_reauthenticate",
        "api_token",
        "login",
        "logout",
        "mfa_authenticate",
        "mfa_login_webauthn",
        "mfa_reauthenticate",
        "mfa_reauthenticate_webauthn",
        "openid_connect_login",
    }
)
# What makes an account though it is only opened: people who come from a platform.
WRITES_ON_READING = frozenset({"entry"})


class ReadOnly:
    """Middleware: answer 503 with the reason to whatever would change something."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: object
    ) -> HttpResponse | None:
        """Refuse before the view is called."""
        name = request.resolver_match.url_name if request.resolver_match else ""
        changes = request.method not in SAFE or name in WRITES_ON_READING
        if not changes or name in SIGNING:
            return None
        state = current_state()
        if not state.is_read_only or _is_of_owner(request):
            return None
        response = refuse(request, read_only_error(state), written_texts(request))
        response.headers["Retry-After"] = RETRY_AFTER
        response._has_been_logged = True  # type: ignore[attr-defined]  # no error of the server
        return response


def read_only_error(state: State) -> Unavailable:
    """Return the refusal, which says since when and why."""
    message = _("This site has been read-only since %(since)s: %(reason)s") % {
        "since": moment(state.read_only_since),
        "reason": state.read_only_reason,
    }
    return Unavailable(message, code="read-only")


def _is_of_owner(request: HttpRequest) -> bool:
    """Whether an owner sent this, in a browser or by a program."""
    header = request.META.get("HTTP_AUTHORIZATION", "")
    if request.path_info.startswith("/api/") and header[:6].lower() == "token ":
        tokens = ApiToken.objects.filter(digest=digest_token(header[6:].strip()), revoked_at=None)
        live = tokens.filter(expires_at__gt=timezone.now(), user__is_active=True)
        return live.filter(user__is_superuser=True).exists()
    return is_installation_owner(request.user)
