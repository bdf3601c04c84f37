"""Arena leaderboards: comparisons scored as the arena scores them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from evaluation.methods.bradley_terry import method as bradley_terry
from evaluation.methods.core.base import FloatArray
from evaluation.methods.core.inference import normal_quantile
from evaluation.methods.core.votes import Pairs

SCALE, BASE, CENTRE = 400.0, 10.0, 1000.0  # points that make the odds ten to one; the mean
RIDGE = 1e-5  # of each vote, on the diagonal of the information


def arena_ratings(data: Pairs) -> dict[str, list[Any]]:
    """Ratings as arena-rank has them, in the order of ``data.players``.

    Bradley-Terry by plain maximum likelihood, a tie as half a win and half a loss, no side term and
    nothing held back: 400 points are odds of ten to one, the mean of those who are connected is
    1000. Intervals (95 %) are from the sandwich by votes, as if all of them were independent, with
    arena-rank's ridge on the information.

    Keys ``ratings``, ``rating_lower``, ``rating_upper`` and ``variances``; None for a player who
    was never compared, and ``reasons``: why a player has no rating, empty where there is one.
    Ratings of players whom no chain of comparisons connects do not compare.

    References
    ----------
    arena-rank 0.1.1 (github.com/lmarena/arena-rank), BradleyTerry; Bradley and Terry (1952).
    """
    names = ("ratings", "rating_lower", "rating_upper", "variances")
    try:
        found = bradley_terry.fit(
            data,
            rng=np.random.default_rng(0),
            ties="none",
            regularisation=0.0,
            side=False,
            resamples=0,
        )
    except (bradley_terry.AllTied, bradley_terry.Unbounded) as problem:
        nothing: dict[str, list[Any]] = {name: [None] * len(data.players) for name in names}
        return {**nothing, "reasons": [str(problem)] * len(data.players)}
    table, points = found.estimates["player"], SCALE / np.log(BASE)
    rating = CENTRE + points * table["estimate"]
    variance = points**2 * _variances(data, np.nan_to_num(table["estimate"]))
    reach = normal_quantile(0.95) * np.sqrt(variance)
    rows = zip(rating, rating - reach, rating + reach, variance, strict=True)
    columns: dict[str, list[Any]] = {name: [] for name in (*names, "reasons")}
    for row, component in zip(rows, table["component"].tolist(), strict=True):
        for name, value in zip(names, row, strict=True):
            columns[name].append(float(value) if component else None)
        columns["reasons"].append("" if component else "never compared with another player")
    return columns


def _variances(data: Pairs, merit: FloatArray) -> FloatArray:
    """Variances (k,) of log-merits by votes: (H + r I)^-1 G (H + r I)^-1, a tie being one half."""
    won = np.array([1.0, 0.5, 0.0])[data.outcome]
    chance = scipy.special.expit(merit[data.first] - merit[data.second])
    k = len(data.players)
    information = _sum_by_pair(data, data.weight * chance * (1 - chance), k)
    score = _sum_by_pair(data, data.weight * (won - chance) ** 2, k)
    inverse = np.linalg.inv(information + RIDGE * data.weight.sum() * np.eye(k))
    return np.asarray(np.diag(inverse @ score @ inverse), dtype=np.float64)


def _sum_by_pair(data: Pairs, values: FloatArray, k: int) -> FloatArray:
    """The sum (k, k) over votes of a value times (e_first - e_second) (e_first - e_second)'."""
    found = np.zeros((k, k))
    for one, other, sign in (
        (data.first, data.first, 1),
        (data.second, data.second, 1),
        (data.first, data.second, -1),
        (data.second, data.first, -1),
    ):
        np.add.at(found, (one, other), sign * values)
    return found
