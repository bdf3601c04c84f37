"""Simulated crowds have the shares, ties and sides that they were asked for."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.votes import FIRST, SECOND, TIE
from evaluation.methods.simulation.simulation import (
    LabelCrowd,
    PairCrowd,
    choose_workers,
    outcome_chances,
    simulate_labels,
    simulate_pairs,
)


def test_each_item_gets_distinct_workers_and_every_set_is_equally_likely() -> None:
    chosen = np.sort(choose_workers(np.random.default_rng(0), (60_000,), 5, 3), axis=1)
    assert (np.diff(chosen, axis=1) > 0).all()
    sets, counts = np.unique(chosen, axis=0, return_counts=True)
    assert sets.tolist() == [list(c) for c in combinations(range(5), 3)]
    assert abs(counts / 6000 - 1).max() < 0.06


def test_workers_are_right_as_often_as_their_guessing_allows() -> None:
    crowd = LabelCrowd(workers=10, items=4000, votes=5, labels=4, spammers=0.3)
    votes = simulate_labels(np.random.default_rng(1), crowd)
    right = votes.label[0] == votes.truth[0][:, None]
    who = votes.worker[0]
    measured = np.array([right[who == j].mean() for j in range(10)])
    np.testing.assert_allclose(measured, votes.accuracy[0], atol=0.04)
    assert (votes.guess[0] == 1).sum() == 3
    assert measured[:3].max() < 0.32
    assert measured[3:].min() > 0.6


def test_a_guesser_follows_a_strategy_whatever_the_truth() -> None:
    crowd = LabelCrowd(workers=4, items=6000, votes=2, labels=3, spammers=1.0, strategy=0.5)
    votes = simulate_labels(np.random.default_rng(2), crowd)
    label, who = votes.label[0], votes.worker[0]
    for j in range(4):
        share = np.bincount(label[who == j], minlength=3) / (who == j).sum()
        np.testing.assert_allclose(share, votes.strategy[0, j], atol=0.03)


@pytest.mark.parametrize("model", ["davidson", "rao_kupper"])
def test_chances_of_outcomes_follow_the_tie_models(model: str) -> None:
    d = np.linspace(-5, 5, 21)
    win, tie = outcome_chances(d, ties=0.3, tie_model=model)
    lose = 1 - win - tie
    assert tie[10] == pytest.approx(0.3)
    np.testing.assert_allclose(lose[::-1], win)
    if model == "davidson":  # ties are nu times the geometric mean of the two others
        np.testing.assert_allclose(tie, 2 * 0.3 / 0.7 * np.sqrt(win * lose))
        np.testing.assert_allclose(np.log(win / lose), d, atol=1e-12)
    else:  # 1 / (1 + theta e^-d), theta = (1 + ties) / (1 - ties)
        np.testing.assert_allclose(win, 1 / (1 + 1.3 / 0.7 * np.exp(-d)))
    extreme = outcome_chances([1e4, -1e4], ties=0.3, tie_model=model)
    np.testing.assert_allclose(extreme, [[1, 0], [0, 0]], atol=1e-12)


def test_a_crowd_that_prefers_the_left_shows_it_and_equal_candidates_stay_equal() -> None:
    crowd = PairCrowd(items=20_000, votes=2, ties=0.2, side=0.4, guessers=0.0, item_sd=0.0)
    votes = simulate_pairs(np.random.default_rng(3), crowd)
    outcome, left = votes.outcome[0], votes.left[0]
    decided = outcome != TIE
    on_left = (outcome == FIRST) == (left == 1)
    assert on_left[decided].mean() == pytest.approx(1 / (1 + np.exp(-0.4)), abs=0.01)
    assert (outcome == FIRST).mean() == pytest.approx((outcome == SECOND).mean(), abs=0.01)


def test_replicates_become_data_of_the_methods() -> None:
    rng = np.random.default_rng(4)
    labels = simulate_labels(rng, LabelCrowd(workers=6, items=9, votes=4), replicates=3).data(2)
    assert (len(labels), len(labels.workers), len(labels.items)) == (36, 6, 9)
    crowd = PairCrowd(workers=6, items=50, votes=3, merits=(1.0, 0.0, -1.0))
    votes = simulate_pairs(rng, crowd, replicates=2)
    pairs = votes.data(1)
    assert pairs.weight.sum() == 150
    assert (pairs.first < pairs.second).all()
    wins = pairs.weight[(pairs.first == 0) & (pairs.second == 2) & (pairs.outcome == FIRST)]
    losses = pairs.weight[(pairs.first == 0) & (pairs.second == 2) & (pairs.outcome == SECOND)]
    assert wins.sum() > losses.sum()


def test_impossible_crowds_are_named() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(BadParameter, match="votes is 5, but there are only 4 workers"):
        simulate_labels(rng, LabelCrowd(workers=4))
    with pytest.raises(BadParameter, match=r"spammers is 1\.2"):
        simulate_labels(rng, LabelCrowd(spammers=1.2))
    with pytest.raises(BadParameter, match="tie_model is 'elo'"):
        simulate_pairs(rng, PairCrowd(tie_model="elo"))
    with pytest.raises(BadParameter, match="ties is 1"):
        simulate_pairs(rng, PairCrowd(ties=1.0))
    with pytest.raises(BadParameter, match="item_sd is nan"):
        simulate_pairs(rng, PairCrowd(item_sd=float("nan")))
