"""Cells of CSV files that a spreadsheet must not take for a formula, and back again."""

from __future__ import annotations

import re
from typing import Any

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_PROTECTED = re.compile(r"'+[=+\-@\t\r]")


def protected(value: Any) -> Any:
    """A text that would begin a formula gets an apostrophe before it; None is an empty cell."""
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return "" if value is None else value


def unprotected(text: str) -> str:
    """The text as it was before ``protected``; spreadsheets show it so, too."""
    return text[1:] if _PROTECTED.match(text) else text
