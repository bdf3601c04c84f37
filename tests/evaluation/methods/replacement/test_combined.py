"""Prediction-powered estimates beside the authors' package, and what they promise."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from evaluation.methods.core.base import BadParameter, BadShape, EmptyData
from evaluation.methods.replacement import combined
from tests.support.processes import ROOT


@pytest.fixture(scope="module")
def ppi() -> Any:
    """The authors' package; numba would only compile its functions, so they run as they are."""
    folder = str(ROOT / ".venv" / "peers")
    with pytest.MonkeyPatch.context() as patch:
        compiler = ModuleType("numba")
        compiler.njit = lambda function: function  # type: ignore[attr-defined]
        patch.setitem(sys.modules, "numba", compiler)
        patch.syspath_prepend(folder)
        yield pytest.importorskip("ppi_py.ppi")


def labels(rng: np.random.Generator, n: int, size: int) -> tuple[np.ndarray, ...]:
    """Values of people and of a judge that follows them more or less."""
    truth = rng.normal(size=n + size)
    judge = rng.uniform(0, 1.5) * truth + rng.normal(rng.normal(), rng.uniform(0.1, 2), n + size)
    if rng.random() < 0.5:
        truth, judge = (truth > 0).astype(float), (judge > 0.3).astype(float)
    return truth[:n], judge[:n], judge[n:]


def test_200_means_are_those_of_the_authors_package(ppi: Any) -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n, size = int(rng.integers(20, 200)), int(rng.integers(50, 1000))
        human, judge, rest = labels(rng, n, size)
        weights = rng.uniform(0.5, 2, n) if seed % 2 else None
        found = combined.combine_means(human, judge, rest, weights=weights, exact=False)
        value = ppi.ppi_mean_pointestimate(human, judge, rest, w=weights)
        low, high = ppi.ppi_mean_ci(human, judge, rest, alpha=0.05, w=weights)
        told = (found.both.value, found.both.low, found.both.high)
        assert np.allclose(told, (value.item(), low.item(), high.item()), atol=1e-8, rtol=0), seed


def comparisons(rng: np.random.Generator, n: int, systems: int) -> tuple[np.ndarray, ...]:
    """A design of pairs, whether the left one wins, and what a judge says."""
    merit = np.append(rng.normal(size=systems - 1), 0.0)
    left = rng.integers(0, systems, n)
    right = (left + rng.integers(1, systems, n)) % systems
    design = np.zeros((n, systems))
    design[np.arange(n), left], design[np.arange(n), right] = 1, -1
    chance = 1 / (1 + np.exp(-(design @ merit)))
    human = (rng.random(n) < chance).astype(float)
    judge = np.where(rng.random(n) < 0.8, human, rng.random(n) < 0.5).astype(float)
    return design[:, :-1], human, judge


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of the package's own calls
def test_bradley_terry_fits_are_those_of_the_authors_package(ppi: Any) -> None:
    for seed in range(25):
        rng = np.random.default_rng(seed)
        systems, n = int(rng.integers(3, 5)), int(rng.integers(150, 300))
        design, human, judge = comparisons(rng, n + 600, systems)
        parts = (design[:n], human[:n], judge[:n], design[n:], judge[n:])
        found = combined.combine_logistic(*parts)
        # As exact as the package's optimizer is.
        assert np.allclose(found.both, ppi.ppi_logistic_pointestimate(*parts), atol=1e-5), seed
        # Its interval tunes a second time, at the tuned fit: the same to the fourth digit.
        low, high = ppi.ppi_logistic_ci(*parts, alpha=0.05, lam=found.tuning)
        assert np.allclose(found.both_error, (high - low) / 2 / 1.959963985, atol=1e-5), seed


def test_a_good_judge_saves_labels_and_a_bad_one_costs_none() -> None:
    rng = np.random.default_rng(3)
    truth = (rng.random(2000) < 0.4).astype(float)
    good = np.where(rng.random(2000) < 0.9, truth, 1 - truth)
    found = combined.combine_means(truth[:100], good[:100], good[100:])
    assert 0.3 < found.saved < 0.8 and found.both.error < found.people.error
    noise = (rng.random(2000) < 0.4).astype(float)
    useless = combined.combine_means(truth[:100], noise[:100], noise[100:])
    assert useless.tuning < 0.3 and useless.both.error < 1.02 * useless.people.error


def test_no_combined_number_where_it_would_not_hold() -> None:
    rng = np.random.default_rng(3)
    human, judge, rest = rng.random(40), rng.random(40), rng.random(200)
    combined.check_judge(human, judge, rest)
    with pytest.raises(combined.NoEstimate, match="needs 30 items that people labelled"):
        combined.check_judge(human[:20], judge[:20], rest)
    with pytest.raises(combined.NoEstimate, match="rarer of two values 3 times, and 8"):
        combined.check_judge((np.arange(40) < 3).astype(float), judge, rest)
    with pytest.raises(combined.NoEstimate, match="every item that they labelled the same"):
        combined.check_judge(np.ones(40), judge, rest)
    with pytest.raises(combined.NoEstimate, match="every item the same value"):
        combined.check_judge(human, np.ones(40), np.ones(200))
    with pytest.raises(combined.NoEstimate, match="same value to every item that people"):
        combined.check_judge(human, np.ones(40), rest)
    with pytest.raises(combined.NoEstimate, match="not like the others"):
        combined.check_judge(human, judge + 0.6, rest)


def test_what_does_not_fit_together_is_refused_by_name() -> None:
    with pytest.raises(BadShape, match="one length"):
        combined.combine_means(np.zeros(3), np.zeros(2), np.zeros(5))
    with pytest.raises(EmptyData, match="two items"):
        combined.combine_means(np.zeros(1), np.zeros(1), np.zeros(5))
    with pytest.raises(BadParameter, match="tuning is 2"):
        combined.combine_means(np.zeros(3), np.zeros(3), np.zeros(5), tuning=2.0)
    design = np.array([[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(EmptyData, match="do not connect"):
        combined.combine_logistic(design, np.ones(2), np.ones(2), design, np.ones(2))
