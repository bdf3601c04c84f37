"""Comparison intervals: lines that touch exactly where two estimates cannot be separated."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.bradley_terry import method as bradley_terry
from evaluation.methods.core.comparison import comparison_reach
from evaluation.methods.core.votes import Pairs


def _overlap(point: NDArray[np.float64], reach: NDArray[np.float64]) -> NDArray[np.bool_]:
    touching = reach[:, None] + reach[None, :] >= np.abs(point[:, None] - point[None, :]) - 1e-9
    np.fill_diagonal(touching, True)
    return touching


def _uneven_board(
    rng: np.random.Generator, k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points, and how far apart each two must be: unequal errors, and few degrees of freedom."""
    point, error = rng.normal(0, rng.gamma(2, 0.5), k), rng.gamma(3, 0.1, k)
    freedom = rng.uniform(4, 30, k)
    factor = scipy.stats.t.ppf(
        1 - 0.025 / (k * (k - 1) / 2), np.minimum(freedom[:, None], freedom[None, :])
    )
    return point, factor * np.sqrt(error[:, None] ** 2 + error[None, :] ** 2)


def test_lines_touch_exactly_where_two_rows_cannot_be_separated() -> None:
    rng = np.random.default_rng(5)
    drawn = 0
    for k in (2, 3, 5, 8, 12):
        for _ in range(40):
            point, needed = _uneven_board(rng, k)
            apart = np.abs(point[:, None] - point[None, :]) > needed
            np.fill_diagonal(apart, False)
            reach = comparison_reach(point, needed, apart)
            if reach is not None:
                assert (reach > 0).all()
                assert np.array_equal(_overlap(point, reach), ~apart)
                drawn += 1
    assert drawn >= 195


def test_equal_errors_give_half_of_what_each_pair_needs() -> None:
    point = np.array([0.0, 1.0, 5.0])
    needed = np.full((3, 3), 2.0)
    reach = comparison_reach(point, needed, np.abs(point[:, None] - point[None, :]) > needed)
    assert reach is not None
    assert np.allclose(reach, 1.0, atol=1e-4)


def test_no_lines_are_drawn_where_none_would_be_true() -> None:
    point = np.array([0.0, 1.0, 2.0])
    apart = np.zeros((3, 3), dtype=bool)
    apart[0, 1] = apart[1, 0] = apart[1, 2] = apart[2, 1] = True
    # The outer two cannot be separated, though each lies apart from the one between them.
    assert comparison_reach(point, np.where(apart, 0.5, 3.0), apart) is None
    assert comparison_reach(point[:1], np.zeros((1, 1)), np.zeros((1, 1), dtype=bool)) is None


def test_lines_of_a_ranking_agree_with_its_groups() -> None:
    rng = np.random.default_rng(2)
    merit = np.array([1.2, 1.0, 0.1, 0.0, -1.1, -1.2])
    first, second = np.triu_indices(6, 1)
    a, b = np.repeat(first, 60), np.repeat(second, 60)
    won = rng.random(len(a)) < scipy.special.expit(merit[a] - merit[b])
    judge = rng.choice(20, len(a), p=np.arange(20, 0, -1) / 210)
    data = Pairs.build(
        a,
        b,
        np.where(won, 0, 2),
        players=tuple("abcdef"),
        judge=judge,
        judges=tuple(map(str, range(20))),
    )
    board = bradley_terry.fit(data, rng=rng, cluster="judge").estimates["player"]
    low, high = board["compare_low"], board["compare_high"]
    same = board["group"][:, None] == board["group"][None, :]
    touching = (low[:, None] <= high[None, :]) & (low[None, :] <= high[:, None])
    assert 1 < len(np.unique(board["group"])) < 6
    assert touching[same].all()
    best = np.argmax(board["estimate"])
    assert np.array_equal(touching[best], board["rank_low"] == 1)
