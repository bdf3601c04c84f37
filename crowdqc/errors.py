"""Domain errors: raised by actions, turned into 4xx responses by one middleware."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from django.db import DataError
from django.utils.translation import gettext as _

from crowdqc.web.terms import Words

logger = logging.getLogger(__name__)


class DomainError(Exception):
    """A request that domain rules refuse, with a sentence for the person.

    ``fields`` maps a field's name to what is wrong with it, ``rows`` lists the bad rows of a file,
    ``link`` is the label and the address of the page where the person can put it right.
    """

    status = 400
    code = "refused"

    def __init__(
        self,
        message: Words,
        *,
        fields: Mapping[str, Words] | None = None,
        rows: Sequence[object] = (),
        code: str | None = None,
        link: tuple[str, str] | None = None,
    ) -> None:
        self.message = str(message)  # in the language of whoever is refused
        super().__init__(self.message)
        self.fields = {name: str(wrong) for name, wrong in (fields or {}).items()}
        self.rows = list(rows)
        self.link = link
        if code:
            self.code = code


class Invalid(DomainError):
    """Invalid input; the message names the field or row."""

    status = 422
    code = "invalid"


class NotAllowed(DomainError):
    """The person is a member, but the role may not do this."""

    status = 403
    code = "not-allowed"


class Missing(DomainError):
    """The object does not exist, or the person is an outsider."""

    status = 404
    code = "missing"


class Conflict(DomainError):
    """The state has changed: the request would have been valid earlier."""

    status = 409
    code = "conflict"


# What PostgreSQL says of values that come from outside: out of range, no such text, no such time.
UNSTORABLE = {None, "22003", "22P02", "22P05", "22021", "22001", "22007", "22008"}


def storage_refusal(error: Exception) -> Invalid | None:
    """Return the refusal of a value that the database cannot hold, else None.

    A net below the checks of each field: what slips through them is written down and refused.
    """
    state = getattr(error.__cause__, "sqlstate", None)
    if not isinstance(error, UnicodeEncodeError) and not (
        isinstance(error, DataError) and state in UNSTORABLE
    ):
        return None
    logger.warning("a value from outside reached the database", exc_info=error)
    return Invalid(
        _("A number or a character in this request cannot be stored."), code="unstorable"
    )


class LimitExceeded(DomainError):
    """Over a limit of size or rate; try later or send less."""

    status = 429
    code = "too-much"


class TooLarge(DomainError):
    """A body over the limit of its address."""

    status = 413
    code = "too-large"


class Unavailable(DomainError):
    """A dependency does not answer; the same request may succeed later."""

    status = 503
    code = "unavailable"
