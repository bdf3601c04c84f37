"""Written responses and their citations as index arrays, cut at the marks into statements.

Gienapp et al. 2025, section 4.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import (
    BadShape,
    FloatArray,
    IntArray,
    index_array,
    indices,
    refuse_unequal,
)


@dataclass(frozen=True, eq=False)
class Responses:
    """n responses and their c citations.

    ``group``, ``style``, ``topic`` (n,) index names; ``texts`` hold the citation marks. A citation
    is one number in one mark: ``response`` (c,), ``start`` and ``end`` (c,) of the mark in code
    points, ``rank`` (c,) the cited passage's place in its topic's list, from 0, or -1 for a number
    that no passage has. Citations are sorted by response and place. ``passages`` are the ranked
    passages of every topic; a list may be empty.
    """

    group: IntArray
    style: IntArray
    topic: IntArray
    texts: tuple[str, ...]
    response: IntArray
    start: IntArray
    end: IntArray
    rank: IntArray
    passages: tuple[tuple[str, ...], ...]
    groups: tuple[str, ...]
    styles: tuple[str, ...]
    topics: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.group)

    @property
    def lists(self) -> IntArray:
        """Passages that each response could cite (n,)."""
        return np.array([len(some) for some in self.passages], dtype=np.int64)[self.topic]

    @property
    def unknown(self) -> IntArray:
        """Number of citations (n,) that name no passage."""
        return np.bincount(self.response[self.rank < 0], minlength=len(self))

    @property
    def citations(self) -> IntArray:
        """Citations of passages (n,); a passage cited twice counts twice."""
        return np.bincount(self.response[self.rank >= 0], minlength=len(self))

    @cached_property
    def first(self) -> FloatArray:
        """First citation of each passage (n, R): its number among the response's; NaN: none."""
        found = np.full((len(self), max(1, int(self.lists.max()))), np.nan)
        rows = np.flatnonzero(self.rank >= 0)[::-1]
        opens = np.searchsorted(self.response, self.response[rows])
        found[self.response[rows], self.rank[rows]] = rows - opens
        return found

    @property
    def cites(self) -> NDArray[np.bool_]:
        """Return which passages each response cites (n, R)."""
        return np.isfinite(self.first)

    def select_rows(self, kept: NDArray[np.bool_]) -> Responses:
        """The responses that ``kept`` (n,) marks, with all names, topics and passages."""
        number = np.cumsum(kept) - 1
        own = kept[self.response]
        return replace(
            self,
            group=self.group[kept],
            style=self.style[kept],
            topic=self.topic[kept],
            texts=tuple(text for text, keep in zip(self.texts, kept, strict=True) if keep),
            response=number[self.response[own]],
            start=self.start[own],
            end=self.end[own],
            rank=self.rank[own],
        )

    @classmethod
    def build(
        cls,
        group: Sequence[int] | IntArray,
        style: Sequence[int] | IntArray,
        topic: Sequence[int] | IntArray,
        texts: Sequence[str],
        *,
        response: Sequence[int] | IntArray,
        start: Sequence[int] | IntArray,
        end: Sequence[int] | IntArray,
        rank: Sequence[int] | IntArray,
        passages: Sequence[Sequence[str]],
        groups: Sequence[str],
        styles: Sequence[str],
        topics: Sequence[str],
    ) -> Responses:
        """Check the arrays and sort the citations; a number twice in one mark counts once.

        A ``rank`` outside its topic's list becomes -1. Raises EmptyData (no response),
        UnknownIndex, BadShape.
        """
        g, s, t = indices(group=(group, groups), style=(style, styles), topic=(topic, topics))
        refuse_unequal(group=g, style=s, topic=t, texts=texts)
        if len(passages) != len(topics):
            raise BadShape(f"{len(passages)} lists of passages for {len(topics)} topics")
        where = _citations(response, start, end, rank, texts)
        sizes = np.array([len(some) for some in passages], dtype=np.int64)[t]
        outside = (where[:, 3] < 0) | (where[:, 3] >= sizes[where[:, 0]])
        where[outside, 3] = -1
        return cls(
            g,
            s,
            t,
            tuple(texts),
            where[:, 0],
            where[:, 1],
            where[:, 2],
            where[:, 3],
            tuple(tuple(some) for some in passages),
            tuple(groups),
            tuple(styles),
            tuple(topics),
        )


def _citations(response: Any, start: Any, end: Any, rank: Any, texts: Sequence[str]) -> IntArray:
    """Checked columns (c, 4) response, start, end, rank in the order of the texts."""
    columns = [np.asarray(values) for values in (response, start, end, rank)]
    if any(column.ndim != 1 or len(column) != len(columns[0]) for column in columns):
        raise BadShape("response, start, end and rank must have one entry a citation")
    if not len(columns[0]):
        return np.zeros((0, 4), dtype=np.int64)
    index_array("response", columns[0], len(texts))
    where = np.stack(columns, axis=1).astype(np.int64)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)[where[:, 0]]
    wrong = (where[:, 1] < 0) | (where[:, 1] >= where[:, 2]) | (where[:, 2] > lengths)
    if wrong.any():
        row = where[np.flatnonzero(wrong)[0]].tolist()
        raise BadShape(f"a mark from {row[1]} to {row[2]} is not in the text of response {row[0]}")
    order = np.lexsort((where[:, 1], where[:, 0]))  # numbers of a mark stay as they came
    where = where[order]
    first = np.unique(where, axis=0, return_index=True)[1]
    return where[np.sort(first)]


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

    def select_rows(self, kept: NDArray[np.bool_]) -> Statements:
        """Return the statements of the responses that ``kept`` (n,) marks."""
        own = kept[self.response]
        of = self.of[kept[self.data.response]]
        placed = of >= 0
        of[placed] = (np.cumsum(own) - 1)[of[placed]]
        return Statements(
            (np.cumsum(kept) - 1)[self.response[own]],
            self.length[own],
            tuple(text for text, keep in zip(self.texts, own, strict=True) if keep),
            of,
            self.data.select_rows(kept),
        )

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
        """End of each statement (s,) as a share of its response's length, without marks."""
        reached = np.cumsum(self.length)
        opens = np.searchsorted(self.response, self.response)
        before = np.concatenate([[0], reached])[opens]
        total = np.bincount(self.response, weights=self.length, minlength=len(self.data))
        return (reached - before) / total[self.response]


def cut(data: Responses) -> Statements:
    """Split all responses into statements."""
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
