"""Secrets at rest: a Fernet token under a key derived (HKDF, SHA-256) from SECRET_KEY.

What was sealed under one of SECRET_KEY_FALLBACKS is opened too, and ``manage.py reseal_secrets``
brings it under SECRET_KEY. Under any other key it cannot be opened, and the secret has to be
entered again. Each purpose has a key of its own, so that what was sealed for one is not opened for
another. Every field that holds sealed values is registered in its app's ``sealed_fields`` module.
"""

from __future__ import annotations

import base64
import hmac
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.apps import apps
from django.conf import settings
from django.utils.module_loading import autodiscover_modules

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


def _multi_fernet(purpose: str) -> MultiFernet:
    """Seals under the newest key, opens under each."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([_fernet(key, purpose) for key in keys])


def seal(secret: str, purpose: str) -> bytes:
    """Encrypt a secret for one purpose with this installation's key."""
    return _fernet(settings.SECRET_KEY, purpose).encrypt(secret.encode())


def unseal(sealed: bytes | memoryview, purpose: str, what: str, *, again: str = "it") -> str:
    """Decrypt a secret; Conflict, naming ``what`` it is, if no key opens it any more."""
    try:
        return _multi_fernet(purpose).decrypt(bytes(sealed)).decode()
    except InvalidToken:
        raise Conflict(
            f"{what} cannot be opened any more, since the server's secret has changed. "
            f"Enter {again} again."
        ) from None


def keyed_hash(text: str, purpose: str) -> bytes:
    """Hash a text (32 bytes) under a key of this installation, for comparison alone.

    Nobody without SECRET_KEY can compute or try it. Under another key equal texts differ, so
    what is compared is stored again after a rotation as it next comes in.
    """
    info = f"crowdqc {purpose}, hashed, version 1".encode()
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=info)
    key = derived.derive(settings.SECRET_KEY.encode())
    return hmac.digest(key, text.encode(), "sha256")


def reseal(sealed: bytes, purpose: str) -> bytes | None:
    """Encrypt a sealed value again with the newest key; return None if it already is.

    Raises InvalidToken where no known key opens it.
    """
    try:
        _fernet(settings.SECRET_KEY, purpose).decrypt(sealed)
    except InvalidToken:
        return _multi_fernet(purpose).rotate(sealed)
    return None


RESEALED, CURRENT, UNREADABLE = "resealed", "current", "unreadable"


def registered() -> list[SealedField]:
    """Return every sealed field that the apps registered."""
    autodiscover_modules("sealed_fields")
    return list(REGISTERED.values())


def reseal_all() -> Iterator[tuple[SealedField, Counter[str]]]:
    """Encrypt all sealed values with the newest key; yield each field with counts of outcomes.

    A row is replaced only as it was read: one that is entered anew meanwhile stays, and is sealed
    under the newest key anyway. Calling it again changes nothing.
    """
    for place in registered():
        counts: Counter[str] = Counter()
        rows = apps.get_model(place.model)._default_manager
        for pk, value in rows.order_by("pk").values_list("pk", place.field).iterator():
            fresh = _resealed(value, place, counts)
            if fresh is not None:
                rows.filter(pk=pk, **{place.field: value}).update(**{place.field: fresh})
        yield place, counts


def _resealed(value: Any, place: SealedField, counts: Counter[str]) -> Any:
    """The field's new value; None where nothing in it changes."""
    if not value:
        return None
    if not place.keys:
        return _reseal_value(bytes(value), place.purpose, counts)
    fresh = dict(value)
    for key in place.keys:
        held = value.get(key)
        if isinstance(held, str):
            fresh[key] = _text(held, place.purpose, counts)
        elif isinstance(held, list):
            fresh[key] = [_text(text, place.purpose, counts) for text in held]
    return fresh if fresh != value else None


def _text(sealed: str, purpose: str, counts: Counter[str]) -> str:
    fresh = _reseal_value(sealed.encode(), purpose, counts)
    return sealed if fresh is None else fresh.decode()


def _reseal_value(sealed: bytes, purpose: str, counts: Counter[str]) -> bytes | None:
    try:
        fresh = reseal(sealed, purpose)
    except InvalidToken:
        counts[UNREADABLE] += 1
        return None
    counts[CURRENT if fresh is None else RESEALED] += 1
    return fresh
