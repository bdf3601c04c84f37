"""The API's entry: a token for name and password, few times a minute."""

from __future__ import annotations

from typing import Any, NoReturn

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.accounts.security.log import Kind, account_of, log_event
from annotation.accounts.tokens import actions as tokens
from annotation.api.frame.base import read
from annotation.api.frame.bodies import SignIn
from annotation.api.frame.endpoint import Endpoint
from annotation.api.frame.serializers import TokenOut
from annotation.models import ApiToken
from crowdqc.errors import Conflict
from crowdqc.limits import PerAddress, PerName


class Token(Endpoint):
    reads = writes = ""

    def get_authenticators(self) -> list[Any]:
        # Whoever signs in is nobody yet: neither a stale token nor a session counts here.
        signs_in = self.request is not None and self.request.method == "POST"
        return [] if signs_in else super().get_authenticators()

    def get_permissions(self) -> list[Any]:
        return [AllowAny()] if self.request.method == "POST" else [IsAuthenticated()]

    def get_throttles(self) -> list[Any]:
        return [PerAddress(), PerName()] if self.request.method == "POST" else []

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        name = request.data.get("username") if isinstance(request.data, dict) else None
        log_event(Kind.LOCKED, user=account_of(name), request=request._request)
        super().throttled(request, wait)
        raise AssertionError("unreachable")

    @extend_schema(
        request=SignIn,
        responses=TokenOut,
        auth=[],
        summary="Get a token for name and password",
        description="It may read and work for 30 days, or what `scopes` asks for. Send it as "
        "`Authorization: Token …`. An account with a second factor needs its `code`, and the "
        "scope `pay` needs a second factor. Name and password are taken 10 times a minute for "
        "one name and 30 times from one address.",
    )
    def post(self, request: Request) -> Response:
        row, text = tokens.sign_in(**read(SignIn, request), request=request._request)
        return Response({"token": text, "scopes": row.scopes, "expires_at": row.expires_at})

    @extend_schema(responses={204: None}, summary="End the token that is sent")
    def delete(self, request: Request) -> Response:
        if not isinstance(request.auth, ApiToken):
            raise Conflict("A session sent this, no token. End tokens on your account page.")
        tokens.revoke(by=request.user, token_id=request.auth.pk)
        return Response(status=status.HTTP_204_NO_CONTENT)
