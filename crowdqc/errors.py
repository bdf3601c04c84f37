"""Errors of the domain: raised by actions, turned into clear 4xx answers by one middleware."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class DomainError(Exception):
    """A request that the rules of the domain refuse; carries a sentence for the person.

    ``fields`` maps a field's name to what is wrong with it, ``rows`` lists the bad rows of a file.
    """

    status = 400
    code = "refused"

    def __init__(
        self,
        message: str,
        *,
        fields: Mapping[str, str] | None = None,
        rows: Sequence[object] = (),
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.fields = dict(fields or {})
        self.rows = list(rows)
        if code:
            self.code = code


class Invalid(DomainError):
    """Input that cannot be taken: the message names the field or the row."""

    status = 422
    code = "invalid"


class NotAllowed(DomainError):
    """The person is known here but their role may not do this."""

    status = 403
    code = "not-allowed"


class Missing(DomainError):
    """There is no such thing, or the person is an outsider to it."""

    status = 404
    code = "missing"


class Conflict(DomainError):
    """The state has moved on: the same request would have been right earlier."""

    status = 409
    code = "conflict"


class TooMuch(DomainError):
    """Over a limit of size or rate; try later or send less."""

    status = 429
    code = "too-much"
