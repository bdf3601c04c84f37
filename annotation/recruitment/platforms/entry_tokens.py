"""Entries that the platform signed: a JWT under a key of its published set (JWKS).

Only asymmetric algorithms are taken, and only the one that the key itself is for, so that neither
"none" nor a public key used as a shared secret passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import jwt

from annotation.models import Recruitment
from annotation.recruitment.platforms.entry_params import AGAIN, Coming, Refused

ALGORITHMS = {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"}
LEEWAY = 10  # seconds
WORDS = ("participant", "study", "session")


def kid_of(token: str) -> str:
    """The id of the key that a token says it is signed by; Refused where it says none."""
    if not token:
        raise Refused("The platform’s signature is missing from the address.", AGAIN, code="jwt")
    try:
        kid = jwt.get_unverified_header(token).get("kid")
    except (jwt.PyJWTError, ValueError, TypeError):
        raise unsigned() from None
    if not isinstance(kid, str) or not kid:
        raise unsigned()
    return kid


def unsigned() -> Refused:
    """That no key of the platform fits."""
    return Refused("The platform’s signature does not fit.", AGAIN, code="jwt")


def find_key(keys: Sequence[dict[str, Any]], kid: str) -> jwt.PyJWK | None:
    """The key of this id among those published, if its algorithm is one that we take."""
    for entry in keys:
        if entry.get("kid") != kid:
            continue
        try:
            key = jwt.PyJWK.from_dict(entry)
        except (jwt.PyJWTError, ValueError, TypeError):
            continue
        if key.algorithm_name in ALGORITHMS:
            return key
    return None


def check(recruitment: Recruitment, coming: Coming, key: jwt.PyJWK) -> None:
    """Raise Refused unless the platform signed exactly this entry, for us, and just now."""
    try:
        claims = jwt.decode(
            coming.token,
            key.key,
            algorithms=[key.algorithm_name],
            leeway=LEEWAY,
            issuer=recruitment.issuer or None,
            options={"require": ["exp", "aud"], "verify_aud": False},
        )
    except jwt.ExpiredSignatureError:
        raise Refused("This entry has expired.", AGAIN, code="jwt-expired") from None
    except (jwt.PyJWTError, ValueError, TypeError):
        raise unsigned() from None
    if not _for_us(claims["aud"], recruitment.audience):
        raise Refused("This entry was signed for another site.", AGAIN, code="jwt-audience")
    told = claims.get("prolific")
    for word in WORDS:
        name = recruitment.parameters.get(word)
        if name and (not isinstance(told, dict) or told.get(name) != getattr(coming, word)):
            raise Refused(
                "The signature is for somebody else than the address says.",
                AGAIN,
                code="jwt-participant",
            )


def _for_us(said: Any, ours: str) -> bool:
    """Whether an audience is ours: the same text, or an address on our origin or domain."""
    for one in said if isinstance(said, list) else [said]:
        if not isinstance(one, str):
            continue
        parts = urlsplit(one)
        if ours in (one, f"{parts.scheme}://{parts.netloc}", parts.netloc):
            return True
    return False
