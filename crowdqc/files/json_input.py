"""JSON from outside, bounded in depth, numbers and characters.

Python's own reader takes what nothing behind it can hold: ``1e999`` (infinite), ``NaN``, numbers
of thousands of digits, half a character, and a nesting that later code cannot walk.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from crowdqc.errors import DomainError

DEEPEST = 40
MOST_DIGITS = 40
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# A text can only come to hold one of these by an escape, so that most bodies are not searched.
_SUSPECT = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")


class Unreadable(DomainError):
    """JSON that is not accepted; the message says where and why."""

    status = 400
    code = "parse-error"

    def __init__(self, says: str, mend: str, field: str = "") -> None:
        super().__init__(f"The JSON cannot be read. {says}", fields={field or "body": mend})
        self.says = says


class WrittenFloat(float):
    """A decimal number whose ``str`` is what the JSON wrote: 3.50, not 3.5."""

    __slots__ = ("written",)
    written: str

    def __str__(self) -> str:
        return self.written


def read_json(
    raw: str | bytes,
    *,
    any_text: bool = False,
    replace: bool = False,
    empty_nan: bool = False,
    as_written: bool = False,
) -> Any:
    """Parse JSON; raise Unreadable, with the field where there is one.

    ``any_text``: for callers that mend what people typed instead of refusing it. ``replace`` puts
    U+FFFD for each half of a character and each NUL, so that offsets into texts stay right.
    ``empty_nan`` takes NaN, by which some programs write a missing value, as null. ``as_written``
    gives decimal numbers as ``WrittenFloat``.
    """
    constant = _missing_or_refused if empty_nan else _constant
    try:
        text = raw if isinstance(raw, str) else raw.decode()
        decimal = _written_float if as_written else _float
        value = json.loads(text, parse_constant=constant, parse_int=_integer, parse_float=decimal)
    except RecursionError:
        raise Unreadable("It is nested too deeply.", f"{DEEPEST} levels at most.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, character {error.colno}"
        raise Unreadable(f"It is not JSON at {where}.", "Send JSON.") from None
    except UnicodeDecodeError as error:
        raise Unreadable(f"Byte {error.start:,} is not UTF-8.", "Send UTF-8.") from None
    suspect = _SUSPECT.search(text) or (isinstance(raw, str) and _SURROGATE.search(text))
    _walk(value, texts=bool(suspect) and not (any_text or replace))
    return _storable(value) if suspect and replace else value


def _storable(value: Any) -> Any:
    """The value with U+FFFD for what no database can hold; ``_walk`` has bounded its depth."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_storable(one) for one in value]
    if isinstance(value, dict):
        return {_storable(name): _storable(inner) for name, inner in value.items()}
    return value


def _constant(name: str) -> NoReturn:
    raise Unreadable(f"{name} is no number.", "Leave the field out, or write null.")


def _missing_or_refused(name: str) -> None:
    if name != "NaN":
        _constant(name)


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise Unreadable(f"A number has {len(text):,} digits.", f"{MOST_DIGITS} digits at most.")
    return int(text)


def _float(text: str) -> float:
    value = float(text) if len(text) <= 400 else math.inf
    if not math.isfinite(value):
        raise Unreadable(f"{text[:20]} is too large a number.", "A smaller number.")
    return value


def _written_float(text: str) -> WrittenFloat:
    number = WrittenFloat(_float(text))
    number.written = text if len(text) <= MOST_DIGITS else float.__repr__(number)
    return number


def _walk(value: Any, *, texts: bool) -> None:
    """Refuse deep nesting and, with ``texts``, characters that cannot be stored."""
    waiting: list[tuple[Any, str, int]] = [(value, "", 0)]
    while waiting:
        one, path, depth = waiting.pop()
        if depth > DEEPEST:
            raise Unreadable("It is nested too deeply.", f"{DEEPEST} levels at most.", path[:200])
        if isinstance(one, dict):
            for name, inner in one.items():
                if texts:
                    _check_storable(name, path)
                if texts or isinstance(inner, dict | list):
                    waiting.append((inner, f"{path}.{name}" if path else name, depth + 1))
        elif isinstance(one, list):
            for at, inner in enumerate(one):
                if texts or isinstance(inner, dict | list):
                    waiting.append((inner, f"{path}.{at}" if path else str(at), depth + 1))
        elif texts and isinstance(one, str):
            _check_storable(one, path)


def _check_storable(text: str, path: str) -> None:
    where = f"“{_SURROGATE.sub('?', path)[:100]}” " if path else "A text "
    if _SURROGATE.search(text):
        raise Unreadable(
            f"{where}holds half a character.",
            "Send whole characters.",
            _SURROGATE.sub("?", path)[:200],
        )
    if "\0" in text:
        raise Unreadable(
            f"{where}holds a NUL character.",
            "Leave it out.",
            _SURROGATE.sub("?", path)[:200],
        )
