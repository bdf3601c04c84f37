"""Responses and the passages that they cite (Gienapp et al. 2025, section 4).

How long responses are, how many statements and citations they have (4.1); which passages they cite,
by Jaccard between responses and by rank (4.2); whether the order of citations follows the ranking,
or another response's (4.3); and where in a text they stand (4.5).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from crowdqc.web.words import count_words
from evaluation.methods.agreement.rank_correlation import spearman
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.text.metrics import pairs as sharing
from evaluation.methods.writing.draws import Draws, binned, by_topic, nice_edges, to_json_list
from evaluation.methods.writing.statements import Responses, Statements, without_marks

STYLE, TOPIC = "style", "topic"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs (p,) of responses to one topic; ``first`` has the lower group."""

    first: IntArray
    second: IntArray

    @classmethod
    def of(cls, data: Responses) -> Pairs:
        """Return all pairs of responses to the same topic, each once."""
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
        """Columns that name the groups and the style compared."""
        return {
            "first": self.first,
            "second": self.second,
            "style": self.style,
            "scope": self.scope,
        }


def named_styles(data: Responses) -> list[tuple[int, str]]:
    """List the named styles as (index, name); unnamed ones count only among all styles."""
    return [(s, style) for s, style in enumerate(data.styles) if style]


def cells(data: Responses) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """Yield every group with each style and with all of them (""), and its responses (n,)."""
    for g, group in enumerate(data.groups):
        for s, style in named_styles(data):
            yield group, style, (data.group == g) & (data.style == s)
        yield group, "", data.group == g


def pairings(data: Responses, pairs: Pairs) -> Iterator[Pairing]:
    """Yield the comparisons of each group with the ranking and with every group."""
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
            for s, style in named_styles(data):
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
            found[k] = scipy.stats.hypergeom.pmf(common, n, a, b) @ (common / (a + b - common))
    return found[at.ravel()]


def spread(values: FloatArray) -> float | None:
    """Standard deviation; None below two values."""
    return float(values.std(ddof=1)) if len(values) > 1 else None


def ranks(data: Responses, draws: Draws) -> list[dict[str, Any]]:
    """Compute the ranks of cited passages by group and style, as rows of ``figures["ranks"]``."""
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


def first_citations(data: Responses, statements: Statements) -> FloatArray:
    """The number of the statement (n, R) that first cites a passage; NaN: not cited.

    Passages that one statement cites tie: the order of numbers in its mark says nothing.
    """
    first = data.first
    rows, ranks = np.nonzero(np.isfinite(first))
    opens = np.searchsorted(data.response, rows)
    of = statements.of[opens + first[rows, ranks].astype(np.int64)]
    found = np.full(first.shape, np.nan)
    worded = of >= 0
    found[rows[worded], ranks[worded]] = statements.number[of[worded]]
    return found


def with_ranking(place: FloatArray) -> FloatArray:
    """Spearman's rho (n,) between rank and place in the text; NaN below two places."""
    rows, ranks = np.nonzero(np.isfinite(place))
    return _rho(ranks.astype(np.float64), place[rows, ranks], rows, len(place))


def place_correlation(place: FloatArray, pairs: Pairs) -> FloatArray:
    """Spearman's rho (p,) between the places of the passages that both of a pair cite."""
    one, two = place[pairs.first], place[pairs.second]
    rows, ranks = np.nonzero(np.isfinite(one) & np.isfinite(two))
    return _rho(one[rows, ranks], two[rows, ranks], rows, len(one))


def _rho(x: FloatArray, y: FloatArray, group: Any, groups: int) -> FloatArray:
    if not len(x):
        return np.full(groups, np.nan)
    return spearman(x, y, group, groups=groups).value


def order(data: Responses, pairs: Pairs, place: FloatArray, draws: Draws) -> list[dict[str, Any]]:
    """Correlate the order of citations with the ranking, as rows of ``figures["order"]``."""
    own, between = with_ranking(place), place_correlation(place, pairs)
    rows = []
    for one in pairings(data, pairs):
        if one.scope != "style":
            continue
        value = between[one.rows] if one.second else own[one.rows]
        topic = data.topic[pairs.first[one.rows] if one.second else one.rows]
        known = value[np.isfinite(value)]
        rows.append(
            {
                **one.row(),
                "sd": spread(known),
                "pairs": len(known),
                "undefined": len(value) - len(known),
                **draws.mean(value, topic),
            }
        )
    return rows


def position(statements: Statements, edges: FloatArray, draws: Draws) -> list[dict[str, Any]]:
    """Count where in the text citations are, as rows of ``figures["position"]``."""
    data, bins = statements.data, len(edges) - 1
    kept = np.flatnonzero(statements.cited)
    response, place = statements.response[kept], statements.ends[kept]
    first, last = np.full((2, len(data)), np.nan)
    last[response] = place
    first[response[::-1]] = place[::-1]
    rows = []
    for group, style, mine in cells(data):
        own = mine[response]
        counts = by_topic(binned(place[own], edges), data.topic[response[own]], draws.topics, bins)
        value, low, high = draws.shares(counts * bins, counts.sum(axis=1))
        size = int(mine.sum())
        each = counts.sum(axis=0) / size if size else np.full(bins, np.nan)
        rows.append(
            {
                "group": group,
                "style": style,
                "marks": int(own.sum()),
                "density": value,
                "low": low,
                "high": high,
                "per_response": to_json_list(each),
                "first": draws.mean(first[mine], data.topic[mine]),
                "last": draws.mean(last[mine], data.topic[mine]),
            }
        )
    return rows


MEASURES = ("words", "statements", "citations", "documents")


def word_counts(data: Responses) -> IntArray:
    """Words (n,) as the editor counts them: no citation marks, no signs standing alone."""
    return np.array([count_words(text) for text in without_marks(data)], dtype=np.int64)


def measures(data: Responses, statements: Statements) -> dict[str, FloatArray]:
    """The measures (n,) of every response by name."""
    found = {
        "words": word_counts(data),
        "statements": np.bincount(statements.response, minlength=len(data)),
        "citations": data.citations,
        "documents": data.cites.sum(axis=1),
    }
    return {name: values.astype(np.float64) for name, values in found.items()}


def general_figures(
    statements: Statements,
    measured: dict[str, FloatArray],
    edges: dict[str, FloatArray],
    draws: Draws,
) -> list[dict[str, Any]]:
    """Rows of ``figures["general"]``; averages per document and per statement are over all of
    them, not first within a response."""
    data = statements.data
    pairs = np.bincount(statements.response[statements.pairs[:, 0]], minlength=len(data)).astype(
        np.float64
    )
    rows = []
    for group, style, mine in cells(data):
        topic, own = data.topic[mine], {name: of[mine] for name, of in measured.items()}
        rows.append(
            {
                "group": group,
                "style": style,
                "responses": int(mine.sum()),
                "uncited": int((own["documents"] == 0).sum()),
                "unknown": int(data.unknown[mine].sum()),
                **{name: draws.distribution(own[name], topic, edges[name]) for name in MEASURES},
                "citations_per_document": draws.ratio(own["citations"], own["documents"], topic),
                "documents_per_statement": draws.ratio(pairs[mine], own["statements"], topic),
                "words_per_statement": draws.ratio(own["words"], own["statements"], topic),
            }
        )
    return rows


def edges_of(measured: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Edges of bins for each measure, shared by all cells."""
    return {name: nice_edges(measured[name]) for name in MEASURES}
