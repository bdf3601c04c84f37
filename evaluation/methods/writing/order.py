"""Does the order of citations follow the ranking, or another response's? (section 4.3)"""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluation.methods.agreement.rank_correlation import spearman
from evaluation.methods.core.base import FloatArray
from evaluation.methods.writing.data import Responses
from evaluation.methods.writing.documents import Pairs, pairings, spread
from evaluation.methods.writing.draws import Draws
from evaluation.methods.writing.statements import Statements


def places(data: Responses, statements: Statements) -> FloatArray:
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


def with_each_other(place: FloatArray, pairs: Pairs) -> FloatArray:
    """Spearman's rho (p,) between the places of the passages that both of a pair cite."""
    one, two = place[pairs.first], place[pairs.second]
    rows, ranks = np.nonzero(np.isfinite(one) & np.isfinite(two))
    return _rho(one[rows, ranks], two[rows, ranks], rows, len(one))


def _rho(x: FloatArray, y: FloatArray, group: Any, groups: int) -> FloatArray:
    if not len(x):
        return np.full(groups, np.nan)
    return spearman(x, y, group, groups=groups).value


def order(data: Responses, pairs: Pairs, place: FloatArray, draws: Draws) -> list[dict[str, Any]]:
    """Rows of ``figures["order"]``."""
    own, between = with_ranking(place), with_each_other(place, pairs)
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
