"""The rules about workers on simulated crowds; ``tests.studies.label_rules`` draws more of them."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.core.votes import Labels
from evaluation.methods.labels.same_label import same_label
from tests.studies.label_rules import Crowd, measure


@pytest.mark.parametrize(
    "crowd", [Crowd((0.5, 0.5)), Crowd((0.9, 0.1)), Crowd((0.4, 0.3, 0.3))], ids=str
)
def test_intervals_hold_and_who_does_not_look_is_hardly_called_better(crowd: Crowd) -> None:
    found = measure(crowd, 20, np.random.default_rng(3))
    assert found["covered"] > 0.89
    assert found["taken for better"] < 0.06
    assert found["honest named"] <= 0.004


def test_one_label_is_named_where_it_is_no_wonder_that_is_not() -> None:
    """Three workers on 40 items of which .95 are label 0; who meets label 1 often is named."""
    posterior = np.repeat([[0.95, 0.05], [0.4, 0.6]], 40, axis=0)
    data = Labels.build(
        np.repeat([0, 1, 2], [40, 40, 9]),
        np.r_[np.arange(40), np.arange(40, 80), np.arange(40, 49)],
        np.zeros(89, dtype=np.int64),
        workers="abc",
        items=[str(k) for k in range(80)],
        labels="01",
    )
    mistakes = np.tile(np.array([[90.0, 10.0], [10.0, 90.0]]), (3, 1, 1))
    named = same_label(data, posterior, mistakes, low=np.full(3, 0.4), chance=np.full(3, 0.5))
    assert named.tolist() == [-1, 0, -1]  # no wonder, named, too few labels
    better = same_label(data, posterior, mistakes, low=np.full(3, 0.6), chance=np.full(3, 0.5))
    assert (better == -1).all()
