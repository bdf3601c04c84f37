"""The rules about workers on simulated crowds; ``tests.studies.label_rules`` draws more of them."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.core.votes import Labels
from evaluation.methods.labels.same_label import same_label
from tests.studies.label_rules import Crowd, measure


@pytest.mark.parametrize(
    "crowd",
    [
        Crowd((0.4, 0.3, 0.3)),
        pytest.param(Crowd((0.95, 0.05), items=120), marks=pytest.mark.long),
        pytest.param(Crowd((0.5, 0.5)), marks=pytest.mark.long),
        pytest.param(Crowd((0.9, 0.1)), marks=pytest.mark.long),
    ],
    ids=str,
)
def test_intervals_hold_and_who_does_not_look_is_hardly_called_better(crowd: Crowd) -> None:
    found = measure(crowd, 20, np.random.default_rng(3))
    assert found["covered"] > 0.89
    assert found["taken for better"] < 0.06
    assert found["honest named"] <= 0.004


def test_who_gives_labels_as_often_as_they_are_true_is_not_taken_for_skilled() -> None:
    """Eight classes, half of them rare: a sampler that mixes badly called .2 of them better."""
    share = (0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05)
    found = measure(Crowd(share, items=160, matching=True), 4, np.random.default_rng(5))
    assert found["taken for better"] < 0.07
    assert found["better"] > 0.95


def test_nobody_is_named_who_labels_as_the_majority_does() -> None:
    """The model takes label 1 for frequent; the majority of four others says 0 all along."""
    posterior = np.repeat([[0.4, 0.6]], 40, axis=0)
    data = Labels.build(
        np.repeat(np.arange(5), 40),
        np.tile(np.arange(40), 5),
        np.repeat([0, 0, 0, 0, 1], 40),
        workers="abcde",
        items=[str(k) for k in range(40)],
        labels="01",
    )
    mistakes = np.tile(np.array([[20.0, 20.0], [20.0, 20.0]]), (5, 1, 1))
    named = same_label(data, posterior, mistakes, low=np.full(5, 0.4), chance=np.full(5, 0.5))
    assert named.tolist() == [-1, -1, -1, -1, 1]


def test_one_label_is_named_where_it_is_no_wonder_that_is_not() -> None:
    """Three workers say 0 on items of which .95 or .4 are 0; two others say how it is."""
    posterior = np.repeat([[0.95, 0.05], [0.4, 0.6]], 40, axis=0)
    how_it_is = np.r_[np.repeat([0, 1], [38, 2]), np.repeat([0, 1], [16, 24])]
    data = Labels.build(
        np.repeat([0, 1, 2, 3, 4], [40, 40, 9, 80, 80]),
        np.r_[np.arange(40), np.arange(40, 80), np.arange(40, 49), np.arange(80), np.arange(80)],
        np.r_[np.zeros(89, dtype=np.int64), how_it_is, how_it_is],
        workers="abcde",
        items=[str(k) for k in range(80)],
        labels="01",
    )
    mistakes = np.tile(np.array([[90.0, 10.0], [10.0, 90.0]]), (5, 1, 1))
    named = same_label(data, posterior, mistakes, low=np.full(5, 0.4), chance=np.full(5, 0.5))
    assert named[:3].tolist() == [-1, 0, -1]  # no wonder, named, too few labels
    assert (named[3:] == -1).all()
    better = same_label(data, posterior, mistakes, low=np.full(5, 0.6), chance=np.full(5, 0.5))
    assert (better == -1).all()
