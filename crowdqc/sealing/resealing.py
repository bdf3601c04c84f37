"""Bring every sealed value under the newest SECRET_KEY, so that an old key can be dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from cryptography.fernet import InvalidToken
from django.apps import apps
from django.utils.module_loading import autodiscover_modules

from crowdqc.sealing.sealed import REGISTERED, SealedField, reseal

RESEALED, CURRENT, UNREADABLE = "resealed", "current", "unreadable"


def registered() -> list[SealedField]:
    """Every field that the apps registered."""
    autodiscover_modules("sealed_fields")
    return list(REGISTERED.values())


def reseal_all() -> Iterator[tuple[SealedField, Counter[str]]]:
    """Each field with how many of its values were resealed, were current, or cannot be opened.

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
        return _one(bytes(value), place.purpose, counts)
    fresh = dict(value)
    for key in place.keys:
        held = value.get(key)
        if isinstance(held, str):
            fresh[key] = _text(held, place.purpose, counts)
        elif isinstance(held, list):
            fresh[key] = [_text(text, place.purpose, counts) for text in held]
    return fresh if fresh != value else None


def _text(sealed: str, purpose: str, counts: Counter[str]) -> str:
    fresh = _one(sealed.encode(), purpose, counts)
    return sealed if fresh is None else fresh.decode()


def _one(sealed: bytes, purpose: str, counts: Counter[str]) -> bytes | None:
    try:
        fresh = reseal(sealed, purpose)
    except InvalidToken:
        counts[UNREADABLE] += 1
        return None
    counts[CURRENT if fresh is None else RESEALED] += 1
    return fresh
