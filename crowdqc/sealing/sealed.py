"""Secrets at rest: a Fernet token under a key derived (HKDF, SHA-256) from SECRET_KEY.

What was sealed under one of SECRET_KEY_FALLBACKS is opened too, and ``manage.py reseal_secrets``
brings it under SECRET_KEY. Under any other key it cannot be opened, and the secret has to be
entered again. Each purpose has a key of its own, so that what was sealed for one is not opened for
another. Every field that holds sealed values is registered in its app's ``sealed_fields`` module.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from crowdqc.errors import Conflict


@dataclass(frozen=True)
class SealedField:
    """A field that holds sealed values: one as bytes, or some inside a JSON object.

    Parameters
    ----------
    model, field
        Where: ``app.Model`` and the field's name.
    purpose
        What the values were sealed for.
    keys
        Of a JSON field: the keys whose values are sealed, as a text or a list of texts.
    """

    model: str
    field: str
    purpose: str
    keys: tuple[str, ...] = ()


REGISTERED: dict[tuple[str, str], SealedField] = {}


def register(model: str, field: str, purpose: str, *keys: str) -> None:
    """Make a field known to ``reseal_secrets``."""
    REGISTERED[(model, field)] = SealedField(model, field, purpose, keys)


@lru_cache(maxsize=64)
def _fernet(secret: str, purpose: str) -> Fernet:
    info = f"crowdqc {purpose}, version 1".encode()
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=info)
    return Fernet(base64.urlsafe_b64encode(derived.derive(secret.encode())))


def _all(purpose: str) -> MultiFernet:
    """Seals under the newest key, opens under each."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([_fernet(key, purpose) for key in keys])


def seal(secret: str, purpose: str) -> bytes:
    """The secret, readable only with this SECRET_KEY and for this purpose."""
    return _fernet(settings.SECRET_KEY, purpose).encrypt(secret.encode())


def unseal(sealed: bytes | memoryview, purpose: str, what: str, *, again: str = "it") -> str:
    """The secret; Conflict in words, naming ``what`` it is, where it cannot be opened any more."""
    try:
        return _all(purpose).decrypt(bytes(sealed)).decode()
    except InvalidToken:
        raise Conflict(
            f"{what} cannot be opened any more, since the server's secret has changed. "
            f"Enter {again} again."
        ) from None


def reseal(sealed: bytes, purpose: str) -> bytes | None:
    """The same under the newest key; None where it is already. InvalidToken: no key opens it."""
    try:
        _fernet(settings.SECRET_KEY, purpose).decrypt(sealed)
    except InvalidToken:
        return _all(purpose).rotate(sealed)
    return None
