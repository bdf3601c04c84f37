"""Entries that the platform signed: a JWT under a key of its published set (JWKS).

Only asymmetric algorithms are taken, and only the one that the key itself is for, so that neither
"none" nor a public key used as a shared secret passes.
"""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jwt
from django.core.cache import caches

from annotation.models import Recruitment
from crowdqc import addresses
from crowdqc.errors import DomainError

from .coming import AGAIN, Coming, Refused, digest

ALGORITHMS = {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"}
KEPT, PAUSE, LEEWAY = 86_400, 60, 10  # seconds
MOST_BYTES = 200_000
WORDS = ("participant", "study", "session")


def check(recruitment: Recruitment, coming: Coming) -> None:
    """Raise Refused unless the platform signed exactly this entry, for us, and just now."""
    if not coming.token:
        raise Refused("The platform’s signature is missing from the address.", AGAIN, code="jwt")
    try:
        kid = jwt.get_unverified_header(coming.token).get("kid", "")
        key = _key(recruitment.jwks_url, str(kid))
        claims = jwt.decode(
            coming.token, key.key, algorithms=[key.algorithm_name], leeway=LEEWAY,
            issuer=recruitment.issuer or None, options={"require": ["exp", "aud"],
                                                        "verify_aud": False},
        )  # fmt: skip
    except jwt.ExpiredSignatureError:
        raise Refused("This entry has expired.", AGAIN, code="jwt-expired") from None
    except (jwt.PyJWTError, ValueError, TypeError):
        raise Refused("The platform’s signature does not fit.", AGAIN, code="jwt") from None
    if not _for_us(claims["aud"], recruitment.audience):
        raise Refused("This entry was signed for another site.", AGAIN, code="jwt-audience")
    told = claims.get("prolific")
    for word in WORDS:
        name = recruitment.parameters.get(word)
        if name and (not isinstance(told, dict) or told.get(name) != getattr(coming, word)):
            raise Refused(
                "The signature is for somebody else than the address says.", AGAIN,
                code="jwt-participant",
            )  # fmt: skip


def _for_us(said: Any, ours: str) -> bool:
    """Whether an audience is ours: the same text, or an address on our origin or domain."""
    for one in said if isinstance(said, list) else [said]:
        if not isinstance(one, str):
            continue
        parts = urlsplit(one)
        if ours in (one, f"{parts.scheme}://{parts.netloc}", parts.netloc):
            return True
    return False


def _key(url: str, kid: str) -> jwt.PyJWK:
    """The key of this id; an unknown id has the set fetched anew, at most once a minute."""
    for fresh in (False, True):
        for entry in _keys(url, fresh=fresh):
            if entry.get("kid") != kid or not kid:
                continue
            key = jwt.PyJWK.from_dict(entry)
            if key.algorithm_name in ALGORITHMS:
                return key
    raise jwt.InvalidKeyError("no such key")


def _keys(url: str, *, fresh: bool) -> list[dict[str, Any]]:
    cache, name = caches["shared"], f"jwks:{digest(url)}"
    known: list[dict[str, Any]] | None = cache.get(name)
    # Whoever wins the pause fetches; an unknown key cannot make us ask on and on.
    if (known is None or fresh) and cache.add(f"{name}:asked", time.time(), PAUSE):
        fetched = _fetch(url)
        if fetched is not None:
            known = fetched
            cache.set(name, known, KEPT)
    if known is None:
        raise Refused(
            "The platform’s keys cannot be read at the moment.",
            "Wait a minute, then open the link again.", code="jwks", status=503,
        )  # fmt: skip
    return known


def _fetch(url: str) -> list[dict[str, Any]] | None:
    try:
        addresses.check(url)
        with httpx2.Client(timeout=5.0, follow_redirects=False, trust_env=False) as http:
            answer = http.get(url)
        if answer.status_code != 200 or len(answer.content) > MOST_BYTES:
            return None
        keys = json.loads(answer.content)["keys"]
    except (httpx2.HTTPError, DomainError, ValueError, KeyError, TypeError):
        return None
    return [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else None
