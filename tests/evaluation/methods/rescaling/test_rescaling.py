"""Rescaled ratings: g, the ensemble, agreement of pairs, and what is not scored."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluation.methods.core.base import BadParameter, BadShape, BadVector, Cancelled, Hooks
from evaluation.methods.rescaling.data import Annotations, NothingShared, incomplete, shared_pairs
from evaluation.methods.rescaling.method import (
    LABEL,
    SCALE,
    agreement,
    fit,
    label_means,
    rescale,
    without_ties,
)

LABELS = ("none", "some", "all")


def crowd(seed: int, workers: int = 4, items: int = 60, **more: Any) -> Annotations:
    """Rough ratings, and scores nearer to the quality behind them; some rate an item twice."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), 3)
    worker = np.concatenate([rng.choice(workers, 3) for _ in range(items)])
    quality = rng.normal(size=items)[item]
    felt = quality + rng.normal(size=len(item)) + rng.normal(size=workers)[worker]
    label = np.digitize(felt, [-1.0, 0.3])
    score = np.clip(np.round(50 + 20 * (quality + 0.5 * rng.normal(size=len(item)))), 0, 100)
    score[rng.random(len(item)) < 0.1] = np.nan
    return Annotations.build(
        worker,
        item,
        label,
        score,
        workers=[f"w{k}" for k in range(workers)],
        items=[f"i{k}" for k in range(items)],
        labels=LABELS,
        **more,
    )


def test_a_missing_score_takes_the_annotators_mean_for_the_label() -> None:
    data = Annotations.build(
        [0, 0, 0, 1, 1, 1],
        [0, 1, 2, 0, 1, 2],
        [1, 1, 1, 1, 2, 0],
        [40.0, 60.0, np.nan, 10.0, np.nan, np.nan],
        workers=["a", "b"],
        items=["x", "y", "z"],
        labels=LABELS,
        values=[0, 30, 100],
    )
    means = label_means(data)
    assert means.mean[0, 1] == 50
    # Nobody has a score for "all" and "none": their places on the scale stand in.
    assert rescale(data).tolist() == [40, 60, 50, 10, 100, 0]
    assert means.source[1, 2] == SCALE
    assert rescale(data, ensemble=1).tolist() == [50, 50, 50, 10, 100, 0]
    assert rescale(data, ensemble=0.25)[0] == 0.25 * 50 + 0.75 * 40


def test_a_score_without_an_explanation_is_not_used() -> None:
    data = Annotations.build(
        [0, 0, 1],
        [0, 1, 0],
        [2, 2, 2],
        [80.0, 0.0, 60.0],
        explained=[True, False, True],
        workers=["a", "b", "c"],
        items=["x", "y"],
        labels=LABELS,
    )
    means = label_means(data)
    assert means.mean[:, 2].tolist() == [80, 60, 70]  # c has none: the mean over annotators
    assert means.source[2, 2] == LABEL
    assert rescale(data).tolist() == [80, 80, 60]


def by_hand(data: Annotations, scores: np.ndarray, keep_best: bool) -> dict[tuple, float]:
    """Tau-b of each pair by a loop over an inner join, as the published analysis does it."""
    out = {}
    for a, b in combinations(range(len(data.workers)), 2):
        rows = [
            (i, j)
            for i in np.flatnonzero(data.worker == a)
            for j in np.flatnonzero(data.worker == b)
            if data.item[i] == data.item[j]
            and (keep_best or not data.label[i] == data.label[j] == len(data.labels) - 1)
        ]
        left, right = np.array(rows).T
        out[a, b] = stats.kendalltau(scores[left], scores[right]).statistic
    return out


@pytest.mark.parametrize("keep_best", [True, False])
def test_pairs_and_aggregate_equal_a_plain_inner_join(keep_best: bool) -> None:
    data = crowd(1)
    scores = rescale(data)
    joined = shared_pairs(data) if keep_best else incomplete(data, shared_pairs(data))
    found = agreement(data, joined, data.rating, scores)
    before, after = (by_hand(data, values, keep_best) for values in (data.rating, scores))
    pairs = list(zip(joined.first.tolist(), joined.second.tolist(), strict=True))
    assert pairs == list(before)
    np.testing.assert_allclose(found.before.value, list(before.values()))
    np.testing.assert_allclose(found.after.value, list(after.values()))
    assert found.mean.after == pytest.approx(np.mean(list(after.values())))


def test_scores_nearer_to_the_truth_raise_agreement_and_the_interval_says_so() -> None:
    found = fit(crowd(2, items=300), rng=np.random.default_rng(0)).estimates["aggregate"]
    every = found.rows()[0]
    assert every["setting"] == "all"
    assert every["low"] > 0
    assert every["low"] < every["difference"] < every["high"]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_renaming_and_reordering_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = crowd(5)
    worker, item, rows = rng.permutation(4), rng.permutation(60), rng.permutation(len(data))
    other = Annotations.build(
        worker[data.worker][rows],
        item[data.item][rows],
        data.label[rows],
        data.score[rows],
        workers=[f"w{k}" for k in range(4)],
        items=[f"i{k}" for k in range(60)],
        labels=LABELS,
    )
    means = [agreement(d, shared_pairs(d), d.rating, rescale(d)).mean for d in (data, other)]
    for name in ("before", "after", "low", "high"):
        assert getattr(means[0], name) == pytest.approx(getattr(means[1], name), abs=1e-12)


def test_noise_breaks_ties_without_favouring_anybody() -> None:
    data = crowd(3, items=200)
    joined = shared_pairs(data)
    flat, exact = np.zeros(len(data)), rescale(data) + np.linspace(0, 1e-3, len(data))
    rng = np.random.default_rng(0)
    none, kept = without_ties(joined, flat, exact, rng=rng, noise=1e-9, draws=30)
    assert abs(none) < 0.05
    assert kept == pytest.approx(agreement(data, joined, exact, exact).mean.after, abs=1e-6)


def test_two_who_share_one_item_alone_have_no_agreement_and_no_warning() -> None:
    data = Annotations.build(
        [0, 1],
        [0, 0],
        [1, 2],
        [40.0, 60.0],
        workers=["a", "b"],
        items=["x"],
        labels=LABELS,
        values=[0, 30, 100],
    )
    rng = np.random.default_rng(0)
    assert np.isnan(without_ties(shared_pairs(data), data.rating, data.rating, rng=rng)).all()
    assert len(fit(data, rng=rng).estimates["annotation"]) == 2


def test_a_pair_without_tau_is_counted_and_not_scored() -> None:
    data = Annotations.build(
        [0, 1, 0, 1, 0, 1, 2],
        [0, 0, 1, 1, 2, 2, 3],
        [2, 2, 2, 1, 2, 0, 0],
        [90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 0.0],
        workers=["a", "b", "alone"],
        items=list("wxyz"),
        labels=LABELS,
    )
    found = fit(data, rng=np.random.default_rng(0))
    pair = found.estimates["pair"].rows()[0]
    assert pair["before"] is None
    assert pair["after"] == 1
    assert pair["component"] == 0
    assert found.diagnostics["undefined"]["all"]["before"] == {"the first side is constant": 1}
    assert found.diagnostics["pairs_sharing_nothing"] == 2
    every = found.estimates["aggregate"].rows()[0]
    assert (every["pairs"], every["undefined"], every["after"]) == (0, 1, None)


def test_bad_input_is_named() -> None:
    names = {"workers": ["a", "b"], "items": ["x", "y"], "labels": LABELS}
    with pytest.raises(BadVector, match=r"score\[1\] is 101.0"):
        Annotations.build([0, 1], [0, 0], [0, 1], [5, 101.0], **names)
    with pytest.raises(BadShape, match="all must agree"):
        Annotations.build([0, 1], [0, 0], [0, 1], [5.0], **names)
    with pytest.raises(BadVector, match="must increase"):
        Annotations.build([0, 1], [0, 0], [0, 1], [5.0, 6.0], values=[0, 5, 5], **names)
    apart = Annotations.build([0, 1], [0, 1], [0, 1], [5.0, 6.0], **names)
    with pytest.raises(NothingShared, match="no two annotators"):
        fit(apart, rng=np.random.default_rng(0))
    with pytest.raises(BadParameter, match=r"ensemble is 1\.5"):
        fit(crowd(0), rng=np.random.default_rng(0), ensemble=1.5)
    with pytest.raises(BadParameter, match="lamda is no parameter"):
        fit(crowd(0), rng=np.random.default_rng(0), lamda=0.5)
    with pytest.raises(Cancelled):
        fit(crowd(0), rng=np.random.default_rng(0), hooks=Hooks(cancelled=lambda: True))
