"""What every reader of tables shares: values as text, and what cannot be stored."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from django.utils.translation import gettext_lazy

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# Lazy: the process that reads Parquet imports this before it has settings.
WRONG = gettext_lazy("Holds a character that no text can hold.")
MEND = gettext_lazy("Save the file as UTF-8 text and import it again.")


def as_text(value: Any) -> str:
    """Convert a value of JSON or Parquet to the text that a CSV cell would hold."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:\.\d+)?")


def plain_number(text: str) -> str:
    """Strip zeros after the decimal point: ``1`` for ``1.0``; other text is returned as it is."""
    if NUMBER.fullmatch(text) and "." in text:
        return text.rstrip("0").rstrip(".")
    return text


SPACES = re.compile("[\u00a0\u2007\u202f]")  # that look like one, as web pages write them
# Joiners, which some scripts need, are kept. Of an emoji, fe0e and fe0f ask for black or colour.
UNSEEN = re.compile("[\u00ad\u200b\u2060\ufe0e\ufe0f\ufeff]")


def composed(text: str) -> str:
    """Write a name in the one form that looks like it: NFC, plain spaces, nothing unseen."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", UNSEEN.sub("", SPACES.sub(" ", text))).strip()


def plain_value(text: str) -> str:
    """Normalise a value for comparing: ``composed``, no outer space, no case, 1 for 1.0."""
    return plain_number(composed(text).strip().casefold())


# What spreadsheets write for TRUE and FALSE, by language.
TRUTHS = {
    **dict.fromkeys(("true", "wahr", "vrai", "verdadero", "vero", "verdadeiro", "waar"), "true"),
    **dict.fromkeys(("false", "falsch", "faux", "falso", "onwaar"), "false"),
}
# 1.29403E+18: what a spreadsheet leaves of a long number that it shows.
ROUNDED = re.compile(r"[+-]?\d(?:[.,]\d+)?[eE]\+\d{2,}")


def displayable_value(text: str) -> str:
    """Replace the characters that the database cannot store by a visible sign."""
    return UNSTORABLE.sub("\ufffd", text)


def storable(text: str) -> bool:
    """Whether the database can hold it: no NUL, no half of a surrogate pair."""
    return not UNSTORABLE.search(text)


def displayable(text: str, most: int) -> str:
    """The beginning of a text as a page and the database can show it."""
    return UNSTORABLE.sub("\ufffd", text[:most])
