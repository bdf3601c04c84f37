"""Grouped correlations against scipy, one group at a time, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluation.methods.agreement.rank_correlation import (
    EMPTY,
    FLAT_X,
    FLAT_Y,
    KINDS,
    SINGLE,
    correlate,
    kendall,
    kendall_left_out,
)
from evaluation.methods.core.base import BadParameter, BadShape, BadVector, EmptyData, UnknownIndex

SCIPY = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**31), levels=st.integers(2, 40), offset=st.sampled_from([0.0, 1e8]))
def test_each_group_gets_what_scipy_gives_it(
    kind: str, seed: int, levels: int, offset: float
) -> None:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 6, 150)
    x = rng.integers(0, levels, 150) + offset
    y = np.round(x - offset + rng.normal(0, levels, 150))
    found = correlate(kind, x, y, group, groups=6)
    for j in range(6):
        expected = SCIPY[kind](x[group == j], y[group == j]).statistic
        assert found.value[j] == pytest.approx(expected, abs=1e-7 if offset else 1e-12)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_a_weight_counts_as_so_many_equal_rows_and_order_does_not_matter(
    kind: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 5, (2, 60))
    group, weight = rng.integers(0, 3, 60), rng.integers(1, 4, 60)
    weighted = correlate(kind, x, y, group, groups=3, weight=weight)
    shuffled = rng.permutation(int(weight.sum()))
    rows = np.repeat(np.arange(60), weight)[shuffled]
    written = correlate(kind, x[rows], y[rows], group[rows], groups=3)
    np.testing.assert_allclose(weighted.value, written.value, atol=1e-12)
    np.testing.assert_allclose(weighted.n, written.n)
    renamed = correlate(kind, x, y, 2 - group, groups=3, weight=weight)
    np.testing.assert_allclose(renamed.value[::-1], weighted.value)


def test_leaving_a_cluster_out_equals_fitting_the_rest() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 6, (2, 60))
    group, cluster = rng.integers(0, 2, 60), rng.integers(0, 20, 60)
    point, left = kendall_left_out(x, y, group, cluster)
    np.testing.assert_allclose(point.value, kendall(x, y, group).value)
    assert len(left.value) == len(set(zip(group, cluster, strict=True)))
    for g, c, value in zip(left.group, left.cluster, left.value, strict=True):
        rest = (group == g) & (cluster != c)
        assert value == pytest.approx(stats.kendalltau(x[rest], y[rest]).statistic)


def test_a_group_without_a_correlation_says_why() -> None:
    found = kendall(
        [1, 2, 5, 5, 5, 1, 2, 3], [1, 2, 1, 2, 3, 4, 4, 1], [0, 0, 1, 1, 1, 2, 2, 3], groups=5
    )
    assert found.reason.tolist() == [0, FLAT_X, FLAT_Y, SINGLE, EMPTY]
    assert np.isnan(found.value[1:]).all()
    assert found.defined.tolist() == [True, False, False, False, False]
    assert found.undefined() == {
        "no rows": 1,
        "one row": 1,
        "the first side is constant": 1,
        "the second side is constant": 1,
    }


def test_bad_input_is_named() -> None:
    with pytest.raises(EmptyData, match="no rows"):
        kendall([], [])
    with pytest.raises(BadShape, match=r"shapes \(2,\), \(3,\)"):
        kendall([1, 2], [1, 2, 3])
    with pytest.raises(BadVector, match="row 1 of the second side is nan"):
        kendall([1, 2], [1, np.nan])
    with pytest.raises(BadVector, match="row 0 has a weight"):
        kendall([1, 2], [1, 2], weight=[0, 1])
    with pytest.raises(UnknownIndex, match="integers 0 to 1"):
        kendall([1, 2], [1, 2], [0, 2], groups=2)
    with pytest.raises(BadParameter, match=r"'gamma'.*spearman, kendall, pearson"):
        correlate("gamma", [1, 2], [1, 2])
