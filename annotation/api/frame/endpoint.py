"""What every endpoint of the API does with its headers: keys, versions, limits, scopes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseNotModified
from django.http.response import HttpResponseBase
from django.utils.http import parse_etags, quote_etag
from rest_framework.exceptions import APIException
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access import token_project_id
from annotation.records.actions import replies
from crowdqc.errors import DomainError

Handler = Callable[..., Any]
REFUSALS = (DomainError, APIException, Http404, PermissionDenied)
CHANGING = ("POST", "PUT", "PATCH", "DELETE")


class NoKey(DomainError):
    """A request that moves money comes with a key, so that sent again it moves none."""

    status = 400
    code = "idempotency-key-missing"


class Changed(DomainError):
    """The thing is no longer as the client saw it."""

    status = 412
    code = "changed-meanwhile"


class Endpoint(APIView):
    """One address of the API."""

    # The scope that a token needs to read here, and to change something; "": any token will do.
    reads: ClassVar[str] = "read"
    writes: ClassVar[str] = "write"
    needs_key: ClassVar[bool] = False
    # What people typed is never refused for half a character: the actions behind it mend that.
    mends_texts: ClassVar[bool] = False

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method in CHANGING:
            verb = request.method.lower()
            handler = getattr(self, verb, None)
            if handler is not None:
                setattr(self, verb, partial(self._change, handler))

    def _change(self, handler: Handler, request: Request, *args: Any, **kwargs: Any) -> Any:
        """Call the handler: once a key, and only on what the client has seen."""
        body = request._request.body  # all of it, within the limit on a request's size
        signed_in = request.user.is_authenticated
        key = request.headers.get("Idempotency-Key") if request.method == "POST" else None
        seen = request.headers.get("If-Match")
        if key is None and self.needs_key and request.method == "POST":
            raise NoKey("Send an Idempotency-Key with this: any text that you use once.")
        if not signed_in or (key is None and seen is None):
            return handler(request, *args, **kwargs)
        # A token of one project is given no reply that was another's.
        whole = (
            f"{request.method} {request.get_full_path()} {token_project_id(request)}\n".encode()
            + body
        )
        request_hash = hashlib.sha256(whole).hexdigest()
        refusal: Exception | None = None
        with transaction.atomic():
            if key is not None:
                kept = replies.find_reply(by=request.user, key=key, request_hash=request_hash)
                if kept is not None:
                    return self._repeat_reply(request, *kept)
            try:
                if seen is not None:
                    self._compare(request, seen, *args, **kwargs)
                response: Response = handler(request, *args, **kwargs)
            except REFUSALS as error:  # whatever it rolled back, what it kept is kept
                refusal = error
            else:
                if key is not None:
                    told = json.loads(JSONRenderer().render(self.stored_reply(response)) or b"null")
                    replies.store_reply(
                        by=request.user,
                        key=key,
                        request_hash=request_hash,
                        status=response.status_code,
                        body=told,
                    )
        if refusal is not None:
            raise refusal
        return response

    # -- keys ------------------------------------------------------------------------------------

    def stored_reply(self, response: Response) -> Any:
        """Return the part of a reply that is kept for repeats under the same Idempotency-Key."""
        return response.data

    def replayed(self, request: Request, kept: Any) -> Any:
        """Rebuild the body of a reply from what was kept of it."""
        return kept

    def _repeat_reply(self, request: Request, status: int, kept: Any) -> Response:
        body = self.replayed(request, kept)
        return Response(body, status=status, headers={"Idempotency-Replayed": "true"})

    # -- versions --------------------------------------------------------------------------------

    def current(self, request: Request, **kwargs: Any) -> Any:
        """Return the reply whose ETag If-Match is compared with, after locking its row."""
        return None

    def _compare(self, request: Request, seen: str, *args: Any, **kwargs: Any) -> None:
        response = self.current(request, **kwargs)
        if response is None:
            raise Changed("There is no version to compare here; leave out If-Match.")
        response = super().finalize_response(request, response, *args, **kwargs)
        if not _names(seen, _etag(response.render().content)):
            raise Changed("It was changed meanwhile. Read it again, then decide.")

    # -- what goes out ---------------------------------------------------------------------------

    def finalize_response(
        self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Add headers of the rate limit and the ETag to the response."""
        response = super().finalize_response(request, response, *args, **kwargs)
        rate = getattr(getattr(request, "_request", None), "rate", None)
        if rate is not None:
            response["X-RateLimit-Limit"] = str(rate.limit)
            response["X-RateLimit-Remaining"] = str(rate.left)
            response["X-RateLimit-Reset"] = str(rate.reset)
        if getattr(request, "auth", None):  # a program may keep it, and ask whether it still holds
            response.headers.setdefault("Cache-Control", "private, no-cache")
        if isinstance(response, Response) and response.status_code == 200:
            if request.method in ("GET", "HEAD"):
                response.add_post_render_callback(partial(_conditional, request))
            elif request.method in ("PATCH", "PUT"):
                response.add_post_render_callback(_stamp)
        return response


def _etag(content: bytes) -> str:
    return quote_etag(hashlib.sha256(content).hexdigest()[:32])


def _names(header: str, etag: str) -> bool:
    """Whether an If-Match or If-None-Match names this version; a proxy may have weakened it."""
    named = parse_etags(header)
    return "*" in named or etag in {one.removeprefix("W/") for one in named}


def _stamp(response: HttpResponse) -> None:
    response["ETag"] = _etag(response.content)


def _conditional(request: Request, response: HttpResponse) -> HttpResponse | None:
    """The version's name; 304 without a body for a client that has it."""
    _stamp(response)
    if not _names(request.headers.get("If-None-Match", ""), response["ETag"]):
        return None
    same = HttpResponseNotModified()
    for name, value in response.items():
        if name not in ("Content-Type", "Content-Length"):
            same[name] = value
    return same
