"""Ratings on ordinal scales: points between two others, and agreement on them."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.agreement.coefficients import krippendorff_alpha
from evaluation.methods.rescaling import ratings


def test_points_between_two_others_are_points_of_their_own() -> None:
    value = np.array([[3.9], [3.0], [3.9], [4.0], [3.0], [3.1]])
    data = ratings.Ratings.build(
        [0, 1, 0, 1, 0, 1],
        [0, 0, 1, 1, 2, 2],
        value,
        system=[0, 0, 0],
        topic=[0, 0, 0],
        workers="ab",
        texts="xyz",
        systems="s",
        scales=["clear"],
    )
    votes = ratings.labels(data, 0)
    assert votes.labels == ("3", "3.1", "3.9", "4")
    # A 3.9 beside a 3 is no agreement; cut to whole points it was a perfect one.
    assert krippendorff_alpha(votes, "ordinal") < 1
    table = ratings.fit(data, rng=np.random.default_rng(0)).estimates["agreement"]
    assert table["alpha"][0] == pytest.approx(krippendorff_alpha(votes, "ordinal"))
