"""Written responses cut at their citation marks into statements (Gienapp et al. 2025, sec. 4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.writing.data import Responses

# What closes the statement before a mark though it stands behind it: "[1]." or "[1]),".
_CLOSING = re.compile(r"\s*[.,;:!?)\"”’]+(?=\s|$)")
_BULLET = re.compile(r"^\s*[-*•–—·]\s+")


@dataclass(frozen=True, eq=False)
class Statements:
    """s statements in the order of the texts, and which one each citation belongs to.

    A statement is the text up to a mark, with all marks that follow before the next word; text
    behind the last mark is one without citation. ``response``, ``length`` (s,) (code points, for
    its share of the text), ``texts`` without marks and bullet signs. ``of`` (c,) is the statement
    of every citation of the data (-1: a response without words); a mark before the first word
    belongs to the first statement.
    """

    response: IntArray
    length: IntArray
    texts: tuple[str, ...]
    of: IntArray
    data: Responses

    def __len__(self) -> int:
        return len(self.response)

    @cached_property
    def number(self) -> IntArray:
        """The place of each statement (s,) within its response, from 0."""
        opens = np.searchsorted(self.response, self.response)
        return np.arange(len(self)) - opens

    @cached_property
    def pairs(self) -> IntArray:
        """Different (statement, rank) cited (p, 2), sorted."""
        kept = (self.data.rank >= 0) & (self.of >= 0)
        found = np.stack([self.of[kept], self.data.rank[kept]], axis=1)
        return np.unique(found, axis=0)

    @cached_property
    def cited(self) -> NDArray[np.bool_]:
        """Statements (s,) with at least one citation of a passage."""
        found = np.zeros(len(self), dtype=bool)
        found[self.pairs[:, 0]] = True
        return found

    @cached_property
    def ends(self) -> FloatArray:
        """Where each statement (s,) ends, as a share of its response's text without marks."""
        reached = np.cumsum(self.length)
        opens = np.searchsorted(self.response, self.response)
        before = np.concatenate([[0], reached])[opens]
        total = np.bincount(self.response, weights=self.length, minlength=len(self.data))
        return (reached - before) / total[self.response]


def cut(data: Responses) -> Statements:
    """The statements of all responses."""
    response: list[int] = []
    length: list[int] = []
    texts: list[str] = []
    of = np.full(len(data.rank), -1, dtype=np.int64)
    bounds = np.searchsorted(data.response, np.arange(len(data) + 1))
    for k, text in enumerate(data.texts):
        rows = slice(bounds[k], bounds[k + 1])
        found, place = _cut(text, data.start[rows].tolist(), data.end[rows].tolist())
        if found:
            of[rows] = np.array(place, dtype=np.int64) + len(texts)
        for one in found:
            response.append(k)
            length.append(len(one))
            texts.append(_BULLET.sub("", one).strip())
    return Statements(
        np.array(response, dtype=np.int64), np.array(length, dtype=np.int64), tuple(texts), of, data
    )


def _cut(text: str, starts: list[int], ends: list[int]) -> tuple[list[str], list[int]]:
    """Statements of one text, and the statement of each citation (empty without statements)."""
    found: list[str] = []
    place: list[int] = []
    reached = 0
    for start, end in zip(starts, ends, strict=True):
        if start >= reached:
            _add(found, text[reached:start])
            reached = end
        place.append(max(0, len(found) - 1))
    _add(found, text[reached:])
    return found, place


def _add(found: list[str], stretch: str) -> None:
    closing = _CLOSING.match(stretch)
    if closing and found:
        found[-1] = found[-1].rstrip() + closing.group().strip()
        stretch = stretch[closing.end() :]
    if any(sign.isalnum() for sign in stretch):
        found.append(stretch)


def without_marks(data: Responses) -> list[str]:
    """The texts with a space for every citation mark."""
    bounds = np.searchsorted(data.response, np.arange(len(data) + 1))
    out = []
    for k, text in enumerate(data.texts):
        parts, reached = [], 0
        rows: Any = slice(bounds[k], bounds[k + 1])
        for start, end in zip(data.start[rows].tolist(), data.end[rows].tolist(), strict=True):
            if start >= reached:
                parts.append(text[reached:start])
                reached = end
        out.append(" ".join([*parts, text[reached:]]))
    return out
