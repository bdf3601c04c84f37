"""MoverScore against the earth mover's distance of scipy, and on worked weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import wasserstein_distance_nd

from evaluation.methods.text.mover import inverse_frequencies, mover_score, token_weights


def unit(rng: np.random.Generator, n: int, d: int = 4) -> np.ndarray:
    found = rng.normal(size=(n, d))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_a_score_is_one_less_the_earth_movers_distance() -> None:
    rng = np.random.default_rng(0)
    for a, b in ((1, 1), (3, 5), (6, 4), (7, 7)):
        first, second = unit(rng, a), unit(rng, b)
        own, other = rng.uniform(0.1, 1, a), rng.uniform(0.1, 1, b)
        expected = wasserstein_distance_nd(first, second, own / own.sum(), other / other.sum())
        found = mover_score(first, own, second, other)
        assert found == pytest.approx(1 - expected, abs=1e-8)
        # Tokens that weigh nothing change nothing.
        more = np.concatenate([first, unit(rng, 2)])
        assert mover_score(more, np.r_[own, 0, 0], second, other) == pytest.approx(found)
    # Of equal weights and numbers the best flow is an assignment.
    first, second = unit(rng, 8), unit(rng, 8)
    cost = np.linalg.norm(first[:, None] - second[None], axis=2)
    best = cost[linear_sum_assignment(cost)].mean()
    assert mover_score(first, np.ones(8), second, np.ones(8)) == pytest.approx(1 - best)
    assert mover_score(first, np.ones(8), first, np.ones(8)) == pytest.approx(1)
    assert math.isnan(mover_score(first, np.zeros(8), second, np.ones(8)))


def test_frequent_tokens_weigh_less_and_parts_of_words_and_signs_nothing() -> None:
    known = inverse_frequencies([["the", "cat", "the"], ["the", "dog"], ["a", "dog"]])
    found = token_weights(["the", "cat", "dog", "##s", ".", "bird"], known)
    expected = [math.log(4 / 3), math.log(4 / 2), math.log(4 / 3), 0, 0, math.log(4)]
    assert found == pytest.approx(expected)
