"""Tokens of sources: shown once, kept as a digest; one opens its own source only."""

from __future__ import annotations

import base64
import binascii
import secrets

from annotation.accounts.tokens.actions import digest_token
from annotation.models import TraceSource

PREFIX = "cqt_"


def new_token() -> str:
    """Make a token at random."""
    return f"{PREFIX}{secrets.token_urlsafe(32)}"


def token_of_header(header: str) -> str:
    """The token in an Authorization header: Bearer, or the password of Basic; "" for none."""
    scheme, _, value = header.strip().partition(" ")
    value = value.strip()
    if scheme.lower() == "bearer":
        return value
    if scheme.lower() != "basic" or len(value) > 1000:
        return ""
    try:
        pair = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""
    return pair.partition(":")[2]


def find_source(header: str) -> TraceSource | None:
    """The source whose token a header holds; None where it is unknown or its source has ended."""
    token = token_of_header(header)
    if not token.startswith(PREFIX):
        return None
    rows = TraceSource.objects.filter(digest=digest_token(token), ended_at=None)
    return rows.select_related("project").first()
