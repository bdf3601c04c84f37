"""Errors of the client: refusals by the server, one class a kind, and failed connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class CrowdqcError(Exception):
    """Anything that the client raises by itself."""


class ConnectionFailed(CrowdqcError):
    """The server did not answer, also after retries."""


class UnexpectedResponse(CrowdqcError):
    """The server answered with something that this version of the client cannot read."""


class MissingPackage(CrowdqcError, ImportError):
    """An optional package is not installed; the message names the extra that installs it."""


class ApiError(CrowdqcError):
    """The server refused: ``status``, ``code``, ``detail``, and wrong ``fields`` or ``rows``."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code", ""))
        self.detail = str(problem.get("detail", ""))
        self.fields: Mapping[str, str] = dict(problem.get("fields") or {})
        self.rows: Sequence[Mapping[str, Any]] = list(problem.get("rows") or [])
        super().__init__(f"{status} {self.code}: {self.detail}")


class NotAuthenticated(ApiError):
    """The token is missing, wrong, expired or revoked (401)."""


class PermissionDenied(ApiError):
    """The role of the token's owner, or the token's scope, does not allow it (403)."""


class NotFound(ApiError):
    """There is no such thing, or it is in a project of others (404)."""


class Conflict(ApiError):
    """The state does not allow it (409)."""


class PreconditionFailed(ApiError):
    """It was changed since it was read (412)."""


class Invalid(ApiError):
    """A value is wrong; ``fields`` or ``rows`` name it, and nothing was written (400, 422)."""


class RateLimited(ApiError):
    """Too many requests, also after waiting (429)."""


class ServerError(ApiError):
    """The server failed (5xx)."""


KINDS: Mapping[int, type[ApiError]] = {
    400: Invalid,
    401: NotAuthenticated,
    403: PermissionDenied,
    404: NotFound,
    409: Conflict,
    412: PreconditionFailed,
    422: Invalid,
    429: RateLimited,
}


def error_of(status: int, problem: Mapping[str, Any]) -> ApiError:
    """Return the error of a refusal."""
    kind = KINDS.get(status, ServerError if status >= 500 else ApiError)
    return kind(status, problem)
