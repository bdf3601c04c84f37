"""Secrets at rest: a Fernet token under a key derived (HKDF, SHA-256) from SECRET_KEY.

With another SECRET_KEY it cannot be opened, and the secret has to be entered again. Each purpose
has a key of its own, so that what was sealed for one is not opened for another.
"""

from __future__ import annotations

import base64
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from crowdqc.errors import Conflict


@lru_cache(maxsize=16)
def _fernet(secret: str, purpose: str) -> Fernet:
    info = f"crowdqc {purpose}, version 1".encode()
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=info)
    return Fernet(base64.urlsafe_b64encode(derived.derive(secret.encode())))


def seal(secret: str, purpose: str) -> bytes:
    """The secret, readable only with this SECRET_KEY and for this purpose."""
    return _fernet(settings.SECRET_KEY, purpose).encrypt(secret.encode())


def unseal(sealed: bytes | memoryview, purpose: str, what: str, *, again: str = "it") -> str:
    """The secret; Conflict in words, naming ``what`` it is, where it cannot be opened any more."""
    try:
        return _fernet(settings.SECRET_KEY, purpose).decrypt(bytes(sealed)).decode()
    except InvalidToken:
        raise Conflict(
            f"{what} cannot be opened any more, since the server's secret has changed. "
            f"Enter {again} again."
        ) from None
