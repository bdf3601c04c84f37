"""What a public demo refuses, whose accounts everybody shares (``CROWDQC_DEMO=public``).

Loaded only there. Mail, other systems, uploads and quotas are limited where they are made.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from annotation.access import READING, is_installation_owner
from annotation.installation.middleware import SIGNING
from crowdqc import limits
from crowdqc.errors import LimitExceeded, NotAllowed
from crowdqc.web.middleware import refuse, written_texts

CHANGES = limits.Limit("demo-network", 120, limits.MINUTE)
# Of the accounts themselves: whoever changed them would lock the next visitor out.
ACCOUNT = ("account_", "mfa_", "socialaccount_", "own_data_erase", "own_logs_erase")
MEMBERS = frozenset({"password_change", "people_remove", "invitation_new", "account"})
THEIR_OWN = SIGNING | {"account_theme"}


class PublicDemo:
    """Middleware: limit changes by address, and refuse those of accounts and members."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: object
    ) -> HttpResponse | None:
        """Refuse before the view is called; owners of the installation may do all."""
        if request.method in READING or is_installation_owner(request.user):
            return None
        name = (request.resolver_match.url_name if request.resolver_match else "") or ""
        if name not in THEIR_OWN and (name.startswith(ACCOUNT) or name in MEMBERS):
            text = _("This is a public demo: accounts and members cannot be changed.")
            return refuse(request, NotAllowed(text, code="public-demo"), written_texts(request))
        try:
            limits.require_try(CHANGES, limits.client_network(request), _("Too many changes."))
        except LimitExceeded as error:
            return refuse(request, error, written_texts(request))
        return None
