"""The paper's worker models: what is planted is what is found in the answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evaluation.methods.core.base import BadParameter, FloatArray
from evaluation.methods.simulation import simulated_texts as simulated

RNG = np.random.default_rng


def noise_of(data: simulated.Simulated) -> FloatArray:
    return data.answers - data.truth[:, None]


def test_a_workers_true_score_is_the_cosine_that_their_noise_leaves() -> None:
    data = simulated.simulate(RNG(0), np.array([0.0, 0.5, 3.0]), width=4000)
    np.testing.assert_allclose(data.quality, 1 / np.sqrt(1 + np.array([0, 0.25, 9])), atol=0.01)


@pytest.mark.parametrize(("mixed", "expected"), [(False, 0.6), (True, 0.36 / (0.36 + 0.16))])
def test_bad_workers_noise_correlates_as_asked_and_good_workers_does_not(
    mixed: bool, expected: float
) -> None:
    noise = noise_of(simulated.correlated(RNG(1), 0.6, mixed=mixed))
    matrix = np.corrcoef(noise.transpose(1, 0, 2).reshape(30, -1))
    bad = matrix[15:, 15:][~np.eye(15, dtype=bool)]
    assert bad.mean() == pytest.approx(expected, abs=0.03)
    good = matrix[:15] - np.eye(15, 30)
    assert np.abs(good).max() < 0.06


def test_biased_workers_are_as_many_as_asked_and_come_from_both_halves() -> None:
    for share in (0.0, 0.3, 0.5, 1.0):
        means = noise_of(simulated.biased(RNG(2), share)).mean(axis=(0, 2))
        assert (means > 0.25).sum() == round(30 * share)
        assert abs((means[:15] > 0.25).sum() - (means[15:] > 0.25).sum()) <= 1


def test_wrong_answers_are_wrong_and_only_so_many() -> None:
    data = simulated.wrong_answers(RNG(3), 4)
    first = data.answers[:, 0]
    cosine = (first * data.truth).sum(axis=1) / (
        np.linalg.norm(first, axis=1) * np.linalg.norm(data.truth, axis=1)
    )
    assert np.all(np.abs(cosine[:4]) < 0.3)
    assert np.all(cosine[4:] > 0.8)


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: simulated.correlated(rng, 1.2),
        lambda rng: simulated.simulate_few_workers(rng, 2),
        lambda rng: simulated.noisy(rng, -2.0),
        lambda rng: simulated.biased(rng, -0.1),
        lambda rng: simulated.wrong_answers(rng, 21),
        lambda rng: simulated.simulate(rng, np.array([1.0]), questions=0),
    ],
)
def test_a_crowd_that_cannot_be_is_refused(make: Callable[[np.random.Generator], Any]) -> None:
    with pytest.raises(BadParameter):
        make(RNG(0))
