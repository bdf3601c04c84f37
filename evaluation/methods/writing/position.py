"""Where in a text the citations stand (Gienapp et al. 2025, section 4.5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluation.methods.core.base import FloatArray
from evaluation.methods.writing.documents import cells
from evaluation.methods.writing.draws import Draws, binned, by_topic, listed
from evaluation.methods.writing.statements import Statements


def position(statements: Statements, edges: FloatArray, draws: Draws) -> list[dict[str, Any]]:
    """Rows of ``figures["position"]``; a mark stands at the end of its statement."""
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
                "per_response": listed(each),
                "first": draws.mean(first[mine], data.topic[mine]),
                "last": draws.mean(last[mine], data.topic[mine]),
            }
        )
    return rows
