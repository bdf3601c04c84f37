"""The share of neutral answers at each place of a worker's sequence, for the plot of the drift."""

from __future__ import annotations

import numpy as np

from evaluation.methods.core.base import Table
from evaluation.methods.core.order_clustered import share
from evaluation.methods.core.pairwise_tables import of_rows
from evaluation.methods.pairwise.order.data import ShownVotes

POSITION = ("position", "neutral", "low", "high", "n", "workers", "reason")
MOST = 60  # places; what comes later is rare, and no plot is wide enough for it


def by_position(votes: ShownVotes, level: float) -> Table:
    """A row a position (from 1, ``MOST`` at most) that anybody reached.

    ``neutral`` is the share of neutral answers on the dimensions that anybody was neutral on, all
    together, with an interval clustered by worker at ``level``; ``n`` answers, ``workers``;
    ``reason`` where there is no interval. No rows where nobody was ever neutral.
    """
    side = votes.side()
    offered = (side == 0).any(axis=0)
    neutral = (side[:, offered] == 0).sum(axis=1).astype(np.float64)
    given = (~np.isnan(side[:, offered])).sum(axis=1).astype(np.float64)
    rows = []
    for place in range(1, min(int(votes.position.max(initial=0)), MOST) + 1):
        here = (votes.position == place) & (given > 0)
        if not here.any():
            continue
        found = share(neutral[here], given[here], votes.worker[here], level)
        rows.append(
            {
                "position": place,
                "neutral": found.estimate,
                "low": found.low,
                "high": found.high,
                "n": int(given[here].sum()),
                "workers": found.clusters,
                "reason": found.reason,
            }
        )
    return of_rows(rows, POSITION)
