"""Texts as changes: what turns one into the next, and a row of snapshots as a log of deltas.

A delta is ``[ms, position, deleted, inserted]`` with positions and counts in UTF-16 code units, as
browsers count them. Replaying ``of_snapshots`` from an empty text gives every snapshot exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

Delta = list[Any]  # [ms, position, deleted, inserted]
_SURROGATE = re.compile("[\ud800-\udfff]")


def diff_texts(old: str, new: str) -> tuple[int, int, str] | None:
    """Return the smallest edit (position, deleted, inserted) from ``old`` to ``new``.

    None if equal.

    The least change by common beginning and end: what lies between the two is replaced. Characters
    of two UTF-16 units are never cut apart.
    """
    if old == new:
        return None
    old, new = _join_surrogates(old), _join_surrogates(new)
    most = min(len(old), len(new))
    head = _common_head(old, new, most)
    tail = _common_tail(old, new, most - head)
    inserted = new[head : len(new) - tail]
    return _units(old[:head]), _units(old[head : len(old) - tail]), inserted


def of_snapshots(times_ms: Sequence[float], texts: Iterable[str]) -> list[Delta]:
    """Convert snapshots of a text to deltas; equal texts in a row give none.

    The first is [0, 0, 0, first text], even where that is empty. Times are whole milliseconds since
    the first snapshot and never go back. Raises ValueError where times and texts differ in number.
    """
    deltas: list[Delta] = []
    before, last = "", 0
    for time, text in zip(times_ms, texts, strict=True):
        if not deltas:
            deltas.append([0, 0, 0, text])
            before = text
            continue
        last = max(last, round(time - times_ms[0]))
        change = diff_texts(before, text)
        if change is not None:
            deltas.append([last, *change])
            before = text
    return deltas


def apply(text: str, delta: Sequence[Any]) -> str:
    """Apply a delta to a text; ValueError if it reaches beyond the text."""
    _, position, deleted, inserted = delta
    if text.isascii():
        if position + deleted > len(text):
            raise ValueError(_beyond(position, deleted, len(text)))
        return f"{text[:position]}{inserted}{text[position + deleted :]}"
    units = text.encode("utf-16-le", "surrogatepass")
    start, end = 2 * position, 2 * (position + deleted)
    if end > len(units):
        raise ValueError(_beyond(position, deleted, len(units) // 2))
    middle = str(inserted).encode("utf-16-le", "surrogatepass")
    return (units[:start] + middle + units[end:]).decode("utf-16-le", "surrogatepass")


def _beyond(position: int, deleted: int, length: int) -> str:
    return f"A delta at {position} deletes {deleted} of a text of {length} units."


def _join_surrogates(text: str) -> str:
    """The text with each pair of surrogates as the one character that it stands for."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _units(text: str) -> int:
    """Length in UTF-16 code units."""
    if text.isascii() or max(text) < "\U00010000":
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _common_head(old: str, new: str, most: int) -> int:
    """Count the characters that both texts begin with, ``most`` at most."""
    if old[:most] == new[:most]:
        return most
    same, differ = 0, most
    while differ - same > 1:
        middle = (same + differ) // 2
        if old[same:middle] == new[same:middle]:
            same = middle
        else:
            differ = middle
    return same


def _common_tail(old: str, new: str, most: int) -> int:
    """Count the characters that both texts end with, ``most`` at most."""
    a, b = len(old), len(new)
    if old[a - most :] == new[b - most :]:
        return most
    same, differ = 0, most
    while differ - same > 1:
        middle = (same + differ) // 2
        if old[a - middle : a - same] == new[b - middle : b - same]:
            same = middle
        else:
            differ = middle
    return same
