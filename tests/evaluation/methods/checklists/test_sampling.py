"""Samples that represent scores and sources evenly."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.checklists.sampling import balanced_sample
from evaluation.methods.core.base import BadParameter


def test_points_and_sources_are_taken_evenly_as_far_as_there_are_texts() -> None:
    source = np.repeat(np.arange(50), 16)
    rng = np.random.default_rng(0)
    # Skewed as human scores are: few texts have a low point.
    score = rng.choice([1, 2, 3, 4.4, 5], size=len(source), p=[0.01, 0.04, 0.15, 0.3, 0.5])
    low = int((score == 1).sum())
    size = 100
    chosen = balanced_sample(score, source, size, rng=np.random.default_rng(1))
    assert len(set(chosen.tolist())) == size
    counts = np.unique(np.rint(score[chosen]), return_counts=True)[1]
    assert counts[0] == min(low, size // 5)
    assert np.ptp(counts[1:]) <= 1
    per_source = np.bincount(source[chosen], minlength=50)
    assert per_source.max() <= 4 and (per_source > 0).mean() > 0.9
    again = balanced_sample(score, source, size, rng=np.random.default_rng(1))
    assert np.array_equal(chosen, again)
    every = balanced_sample(score, source, len(score), rng=np.random.default_rng(2))
    assert sorted(every.tolist()) == list(range(len(score)))


def test_a_sample_larger_than_its_texts_is_refused() -> None:
    with pytest.raises(BadParameter):
        balanced_sample(np.ones(3), np.arange(3), 4, rng=np.random.default_rng(0))
