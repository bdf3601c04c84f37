"""Who calls: a token's person, within its scopes, its project and its limit."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework import authentication, exceptions
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from annotation.accounts.security import stepup
from annotation.accounts.tokens import actions as tokens
from annotation.models import ApiToken, User
from crowdqc.database.compiled import CompiledQuery, Placeholder
from crowdqc.errors import NotAllowed

TOKEN = CompiledQuery(
    lambda: ApiToken.objects.filter(digest=Placeholder("digest")).select_related("user").order_by()
)


class TokenAuthentication(authentication.TokenAuthentication):
    """``Authorization: Token …``; every request counts against the token's limit."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        found: tuple[User, ApiToken] | None = super().authenticate(request)
        if found is not None:
            counted = tokens.count_request(found[1])
            request._request.rate = counted
            if not counted.allowed:
                raise exceptions.Throttled(wait=counted.reset)
        return found

    def authenticate_credentials(self, key: str) -> tuple[User, ApiToken]:
        token = TOKEN.first(digest=tokens.digest_token(key))
        if token is None or not token.user.is_active:
            raise exceptions.AuthenticationFailed("There is no such token.")
        if token.revoked_at is not None:
            raise exceptions.AuthenticationFailed("This token was ended.")
        if token.expires_at <= timezone.now():
            raise exceptions.AuthenticationFailed("This token has expired.")
        stepup.attach_proof(token.user, stepup.TokenProof(token))
        return token.user, token


class InScope(BasePermission):
    """A token opens what its scopes name; a browser's session all that its person may."""

    def has_permission(self, request: Request, view: Any) -> bool:
        require_scope(request, view.reads if request.method in SAFE_METHODS else view.writes)
        return True


def require_scope(request: Request, needed: str) -> None:
    """Raise NotAllowed for a token without this scope; "" is none."""
    token = request.auth
    if isinstance(token, ApiToken) and needed and needed not in token.scopes:
        raise NotAllowed(
            f"This token lacks the scope “{needed}”.",
            code="missing-scope",
            fields={"scope": needed},
        )


def require_unbound_token(request: Request) -> None:
    """Raise NotAllowed for a token of one project, where other projects are begun or joined."""
    if isinstance(request.auth, ApiToken) and request.auth.project_id is not None:
        raise NotAllowed("This token is good for one project only.", code="bound-token")
