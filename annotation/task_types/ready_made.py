"""Texts of ready-made dimensions, scales, styles and questions, in the reader's language.

A version stores them in English, as it stores what its authors write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.utils.translation import gettext

TEXTS = ("label", "question", "description", "instructions")
_offered: set[str] = set()


def register_ready_made(*templates: Iterable[Mapping[str, Any]]) -> None:
    """Note the texts of rows that a builder offers, so that readers get them translated."""
    for rows in templates:
        _offered.update(_texts_in(rows))


def translate_ready_made(text: str) -> str:
    """Translate a text that a builder offered; what authors wrote stays as it is."""
    return gettext(text) if text in _offered else text


def _texts_in(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield from (row[name] for name in TEXTS if row.get(name))
        yield from _texts_in(row.get("points", ()))
