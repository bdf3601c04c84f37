"""Tests of differences against scipy's own, published examples, and their symmetries."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluation.methods.agreement import significance
from evaluation.methods.agreement.significance import Constant, TooFewRows, correlations
from evaluation.methods.core.base import BadParameter, BadShape, BadVector

PEERS: dict[str, Any] = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall": stats.kendalltau,
}


def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def scores(n: int, noise: float = 1.5) -> tuple[Any, Any, Any]:
    """A good and a noisy predictor of a truth; one decimal, so that there are ties."""
    draw = np.random.default_rng(n)
    truth = draw.normal(size=n)
    return tuple(
        np.round(x, 1)
        for x in (truth + 0.7 * draw.normal(size=n), truth + noise * draw.normal(size=n), truth)
    )


@pytest.mark.parametrize("method", list(PEERS))
def test_a_weighted_correlation_is_that_of_the_repeated_rows(method: str) -> None:
    x, _, y = scores(40)
    counts = rng().multinomial(40, np.full(40, 1 / 40), size=6)
    found = correlations(x, y, counts.astype(np.float64), method)
    for row, value in zip(counts, found, strict=True):
        again = np.repeat(np.arange(40), row)
        assert value == pytest.approx(PEERS[method](x[again], y[again]).statistic, abs=1e-12)


def test_bca_interval_of_a_correlation_difference_equals_scipys() -> None:
    a, b, t = scores(60)

    def statistic(a: Any, b: Any, t: Any, axis: int = -1) -> Any:
        def r(x: Any, y: Any) -> Any:
            x, y = (v - v.mean(axis=axis, keepdims=True) for v in (x, y))
            return (x * y).sum(axis) / np.sqrt((x * x).sum(axis) * (y * y).sum(axis))

        return r(a, t) - r(b, t)

    peer = stats.bootstrap(
        (a, b, t),
        statistic,
        paired=True,
        vectorized=True,
        method="BCa",
        n_resamples=20_000,
        rng=rng(),
    ).confidence_interval
    ours = significance.bca_correlation_difference(
        a, b, t, rng=rng(), resamples=20_000, expand=False
    )
    assert (ours.low, ours.high) == pytest.approx((peer.low, peer.high), abs=0.01)
    assert ours.first == pytest.approx(stats.pearsonr(a, t).statistic)


@pytest.mark.parametrize("method", list(PEERS))
def test_the_better_predictor_is_found_and_its_p_value_fits_its_interval(method: str) -> None:
    a, b, t = scores(120)
    better = significance.bca_correlation_difference(a, b, t, rng=rng(), method=method)
    assert better.low > 0 and better.p < 0.05
    # An interval at level 1 - p just reaches 0.
    close = scores(25, noise=1.0)
    mild = significance.bca_correlation_difference(*close, rng=rng(), method=method)
    edge = significance.bca_correlation_difference(
        *close, rng=rng(), method=method, confidence=1 - mild.p
    )
    assert min(abs(edge.low), abs(edge.high)) < 0.02 < mild.p


@settings(deadline=None, max_examples=20)
@given(st.integers(8, 40), st.sampled_from(list(PEERS)))
def test_exchanging_the_two_changes_the_sign_and_nothing_else(n: int, method: str) -> None:
    a, b, t = scores(n)
    one, two = (
        significance.bca_correlation_difference(*pair, t, rng=rng(), method=method, resamples=400)
        for pair in ((a, b), (b, a))
    )
    assert two.estimate == pytest.approx(-one.estimate, abs=1e-12)
    assert (two.low, two.high, two.p) == pytest.approx((-one.high, -one.low, one.p), abs=1e-9)


def test_equal_predictors_do_not_differ() -> None:
    a, _, t = scores(30)
    same = significance.bca_correlation_difference(a, 3 * a + 1, t, rng=rng())
    assert (same.estimate, same.p) == (pytest.approx(0, abs=1e-12), 1.0)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_a_bootstrap_of_few_units_is_never_surer_than_the_exact_sign_flip_test(n: int) -> None:
    for apart in (np.full(n, 2.0), np.linspace(1.0, 1.5, n)):
        ours = significance.bca_mean_difference(apart, np.zeros(n), rng=rng())
        assert ours.p >= 2.0 ** (1 - n)  # of 2^n patterns of signs, two are as extreme
    same = significance.bca_mean_difference(np.full(n, 2.0), np.zeros(n), rng=rng())
    assert same.p == 2.0 ** (1 - n)
    truth = np.arange(5.0)
    turned = significance.bca_correlation_difference(truth, -truth, truth, rng=rng())
    assert turned.p == 2.0**-4
    assert significance.bca_mean_difference(truth, truth, rng=rng()).p == 1.0


def test_mean_difference_interval_equals_scipys() -> None:
    a, b, _ = scores(50)
    ours = significance.bca_mean_difference(a, b, rng=rng(), resamples=20_000, expand=False)
    peer = stats.bootstrap((a - b,), np.mean, n_resamples=20_000, rng=rng()).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((peer.low, peer.high), abs=0.02)


def test_benjamini_hochberg_gives_the_published_example() -> None:
    """Benjamini and Hochberg 1995, section 4: fifteen tests, four of them significant at .05."""
    p = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.324,
        0.4262,
        0.5719,
        0.6528,
        0.759,
        1.0,
    ]
    adjusted = significance.benjamini_hochberg(p)
    assert (adjusted <= 0.05).sum() == 4
    assert adjusted[3] == pytest.approx(0.0095 * 15 / 4)
    with_gap = significance.benjamini_hochberg([p[0], np.nan, *p[1:]])
    assert np.isnan(with_gap[1])
    assert np.delete(with_gap, 1) == pytest.approx(adjusted)


def test_wilcoxon_corrects_for_how_many_pairs_were_tested() -> None:
    a, b, t = scores(40)
    table = significance.wilcoxon_bh({"shift": (t + 0.4, b), "none": (a, b), "equal": (a, a)})
    shift, none, equal = table.rows()
    assert none["p"] == pytest.approx(stats.wilcoxon(a, b).pvalue, abs=0.01)  # the normal one
    assert shift["adjusted"] == pytest.approx(2 * shift["p"])
    assert (equal["p"], equal["adjusted"], equal["differs"]) == (None, None, False)
    assert (equal["zero"], equal["reason"]) == (40, "all pairs are equal")
    above = significance.wilcoxon_bh({"x": (t + 10, t)}).rows()[0]
    assert (above["effect"], above["differs"]) == (1.0, True)


@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_the_signed_rank_test_is_exact_though_ranks_are_tied(n: int) -> None:
    apart = np.random.default_rng(n).integers(1, 5, size=n) * np.where(np.arange(n) % 3, 1.0, -1.0)
    [row] = significance.wilcoxon_bh({"x": (apart, np.zeros(n))}).rows()
    ranks = stats.rankdata(np.abs(apart))
    sums = np.array([0.0])
    for rank in ranks:  # every choice of signs
        sums = np.concatenate([sums, sums + rank])
    seen = ranks[apart > 0].sum()
    expected = min(1.0, 2 * min((sums <= seen).mean(), (sums >= seen).mean()))
    assert row["p"] == pytest.approx(expected)


def test_the_signed_rank_test_is_that_of_scipy_where_no_ranks_are_tied() -> None:
    apart = np.random.default_rng(5).normal(0.3, size=40)
    [row] = significance.wilcoxon_bh({"x": (apart, np.zeros(40))}).rows()
    assert row["p"] == pytest.approx(stats.wilcoxon(apart, method="exact").pvalue)


def test_a_page_full_of_signed_rank_tests_is_there_at_once() -> None:
    draw = np.random.default_rng(6)
    pairs = {str(k): (draw.integers(1, 7, 13) - 3.5, np.zeros(13)) for k in range(21)}
    began = time.process_time()
    significance.wilcoxon_bh(pairs)
    assert time.process_time() - began < 0.3


def test_fisher_z_knows_independent_from_shared_samples() -> None:
    found = significance.fisher_z_difference(0.5, 103, 0.3, 103)
    assert found.estimate == pytest.approx(np.arctanh(0.5) - np.arctanh(0.3))
    assert found.p == pytest.approx(2 * stats.norm.sf(found.estimate / np.sqrt(2 / 100)))
    # Of one sample: under equal correlations the test rejects as often as it says.
    draw, n, rejected = rng(), 60, 0
    for _ in range(800):
        t, shared = draw.normal(size=(2, n))
        a, b = (t + shared + draw.normal(size=n) for _ in range(2))
        r = np.corrcoef([a, b, t])
        p = significance.fisher_z_difference(r[0, 2], n, r[1, 2], n, between=r[0, 1]).p
        rejected += p < 0.05
    assert 0.03 < rejected / 800 < 0.075


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda f: f([1, 2, 3, 4, 5], [1, 2], [1, 2, 3, 4, 5]), BadShape, "one length"),
        (lambda f: f([1, 2, 3, 4, np.nan], range(5), range(5)), BadVector, "first"),
        (lambda f: f([1, 2], [1, 2], [1, 2]), TooFewRows, "2 rows"),
        (lambda f: f([], [], []), TooFewRows, "empty"),
        (lambda f: f([1] * 6, range(6), range(6)), Constant, "first"),
        (lambda f: f(range(6), range(6), [2] * 6), Constant, "truth"),
        (lambda f: f(range(6), range(6), range(6), method="tau"), BadParameter, "method"),
        (lambda f: f(range(6), range(6), range(6), resamples=9), BadParameter, "resamples"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(
    call: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        call(
            lambda a, b, t, **kw: significance.bca_correlation_difference(a, b, t, rng=rng(), **kw)
        )


def test_other_bad_input_is_refused_by_name() -> None:
    with pytest.raises(BadVector, match="outside"):
        significance.benjamini_hochberg([0.1, 1.2])
    with pytest.raises(BadParameter, match="between"):
        significance.fisher_z_difference(0.5, 20, 1.0, 20)
    with pytest.raises(TooFewRows, match="4 rows"):
        significance.fisher_z_difference(0.5, 3, 0.1, 20)
    with pytest.raises(TooFewRows, match="one pair"):
        significance.bca_mean_difference([1], [2], rng=rng())
    with pytest.raises(TooFewRows, match="no pair"):
        significance.wilcoxon_bh({})
