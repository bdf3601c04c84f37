"""Which passages responses cite: Jaccard between responses, and citation by rank (section 4.2)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.text.metrics import pairs as sharing
from evaluation.methods.writing.data import Responses
from evaluation.methods.writing.draws import Draws

STYLE, TOPIC = "style", "topic"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs (p,) of responses to one topic; ``first`` has the lower group."""

    first: IntArray
    second: IntArray

    @classmethod
    def of(cls, data: Responses) -> Pairs:
        """All of them, each once."""
        blocks = list(sharing(data.topic, np.ones(len(data), dtype=bool)))
        empty = np.zeros(0, dtype=np.int64)
        one = np.concatenate([empty, *(a for a, _ in blocks)])
        two = np.concatenate([empty, *(b for _, b in blocks)])
        turned = data.group[one] > data.group[two]
        return cls(np.where(turned, two, one), np.where(turned, one, two))


@dataclass(frozen=True)
class Pairing:
    """Rows of pairs (or of responses, where ``second`` is "", the ranking) of two groups."""

    first: str
    second: str
    style: str
    scope: str
    rows: IntArray

    def row(self) -> dict[str, Any]:
        """The columns that say what is compared."""
        return {
            "first": self.first,
            "second": self.second,
            "style": self.style,
            "scope": self.scope,
        }


def named(data: Responses) -> list[tuple[int, str]]:
    """The styles with a name; responses without one stand only in the rows of all styles."""
    return [(s, style) for s, style in enumerate(data.styles) if style]


def cells(data: Responses) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """Every group with each style, then with all of them (""), and its responses (n,)."""
    for g, group in enumerate(data.groups):
        for s, style in named(data):
            yield group, style, (data.group == g) & (data.style == s)
        yield group, "", data.group == g


def pairings(data: Responses, pairs: Pairs) -> Iterator[Pairing]:
    """Each group with the ranking, and with every group (itself where it wrote twice)."""
    for group, style, mine in cells(data):
        yield Pairing(group, "", style, STYLE, np.flatnonzero(mine))
    size = len(data.groups)
    code = data.group[pairs.first] * size + data.group[pairs.second]
    same = data.style[pairs.first] == data.style[pairs.second]
    style_of = np.where(same, data.style[pairs.first], -1)
    for g, h in itertools.combinations_with_replacement(range(size), 2):
        both = code == g * size + h
        names = (data.groups[g], data.groups[h])
        if g != h or (both & same).any():
            for s, style in named(data):
                yield Pairing(*names, style, STYLE, np.flatnonzero(both & (style_of == s)))
            yield Pairing(*names, "", STYLE, np.flatnonzero(both & same))
        if (both & ~same).any():
            yield Pairing(*names, "", TOPIC, np.flatnonzero(both & ~same))


def overlap(data: Responses, pairs: Pairs, draws: Draws) -> list[dict[str, Any]]:
    """Rows of ``figures["overlap"]``; pairs in which nobody cites anything are left out."""
    cites = data.cites
    size = cites.sum(axis=1).astype(np.float64)
    lists = data.lists.astype(np.float64)
    share = np.divide(size, lists, out=np.full(len(size), np.nan), where=lists > 0)
    a, b = pairs.first, pairs.second
    common = (cites[a] & cites[b]).sum(axis=1)
    union = size[a] + size[b] - common
    between = np.divide(common, union, out=np.full(len(a), np.nan), where=union > 0)
    blind = expected(size[a], size[b], lists[a])
    rows = []
    for one in pairings(data, pairs):
        value = between[one.rows] if one.second else share[one.rows]
        topic = data.topic[a[one.rows] if one.second else one.rows]
        known = value[np.isfinite(value)]
        chance = blind[one.rows][np.isfinite(value)] if one.second else np.zeros(0)
        rows.append(
            {
                **one.row(),
                "sd": spread(known),
                "pairs": len(known),
                "chance": float(chance.mean()) if len(chance) else None,
                **draws.mean(value, topic),
            }
        )
    return rows


def expected(one: FloatArray, two: FloatArray, size: FloatArray) -> FloatArray:
    """Jaccard (p,) to expect of two sets of these sizes drawn blindly from lists of ``size``."""
    kinds, at = np.unique(np.stack([one, two, size], axis=1), axis=0, return_inverse=True)
    found = np.full(len(kinds), np.nan)
    for k, (a, b, n) in enumerate(kinds.astype(np.int64).tolist()):
        if a + b:
            common = np.arange(min(a, b) + 1)
            found[k] = hypergeom.pmf(common, n, a, b) @ (common / (a + b - common))
    return found[at.ravel()]


def spread(values: FloatArray) -> float | None:
    """Standard deviation; None below two values."""
    return float(values.std(ddof=1)) if len(values) > 1 else None


def ranks(data: Responses, draws: Draws) -> list[dict[str, Any]]:
    """Rows of ``figures["ranks"]``."""
    cites = data.cites
    listed = np.arange(cites.shape[1]) < data.lists[:, None]
    place = np.where(listed, np.arange(1, cites.shape[1] + 1.0), np.nan)
    cited = _middle(np.where(cites, place, np.nan))
    uncited = _middle(np.where(cites, np.nan, place))
    rows = []
    for group, style, mine in cells(data):
        counts, below = np.zeros((2, draws.topics, cites.shape[1]))
        np.add.at(counts, data.topic[mine], cites[mine])
        np.add.at(below, data.topic[mine], listed[mine])
        value, low, high = draws.shares(counts, below)
        rows.append(
            {
                "group": group,
                "style": style,
                "responses": int(mine.sum()),
                "probability": value,
                "low": low,
                "high": high,
                "lists": below.sum(axis=0).astype(int).tolist(),
                "cited": draws.mean(cited[mine], data.topic[mine]),
                "uncited": draws.mean(uncited[mine], data.topic[mine]),
            }
        )
    return rows


def _middle(place: FloatArray) -> FloatArray:
    """Median (n,) of each row's numbers; NaN for none."""
    found = np.full(len(place), np.nan)
    some = np.isfinite(place).any(axis=1)
    found[some] = np.nanmedian(place[some], axis=1)
    return found
