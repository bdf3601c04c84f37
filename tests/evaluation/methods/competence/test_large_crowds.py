"""Draws of a large crowd: made otherwise than a small one's, and of the same distributions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.methods.competence import dawid_skene
from evaluation.methods.competence.mace import draws
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.core.base import FloatArray
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels import method as labels_study
from tests.evaluation.methods.competence.crowds import RNG, crowd

KNOWING = [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.95]


def two_crowds() -> Labels:
    """Two components, as each has a prevalence of its own, with votes that count twice."""
    first, _ = crowd(KNOWING, items=90, seed=1)
    second, _ = crowd(KNOWING, items=70, seed=2)
    worker = np.concatenate([first.worker, second.worker + len(KNOWING)])
    return Labels.build(
        worker,
        np.concatenate([first.item, second.item + 90]),
        np.concatenate([first.label, second.label]),
        shown=np.concatenate([first.shown, second.shown]),
        workers=[f"w{k}" for k in range(2 * len(KNOWING))],
        items=[f"i{k}" for k in range(161)],  # the last has no votes
        labels=first.labels,
        weight=np.where(np.arange(len(worker)) % 7 == 0, 2.0, 1.0),
    )


def workers(fit: Any, data: Labels, **params: Any) -> FloatArray:
    """Bounds (workers, 2) of 6,000 draws."""
    table = fit(data, rng=RNG(3), resamples=6000, **params).estimates["worker"]
    return np.stack([table["low"], table["high"]], axis=1)


@pytest.mark.parametrize(
    ("fit", "params"),
    [
        pytest.param(mace.fit, {"prevalence": "estimated"}, marks=pytest.mark.long),
        pytest.param(mace.fit, {"prevalence": "uniform"}, marks=pytest.mark.long),
        (dawid_skene.fit, {}),
        pytest.param(labels_study.fit, {"restarts": 1}, marks=pytest.mark.long),
    ],
)
def test_a_large_crowd_gets_the_intervals_of_a_small_one(
    fit: Any, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = two_crowds()
    usual = workers(fit, data, **params)
    monkeypatch.setattr(draws, "LARGE", 0)
    large = workers(fit, data, **params)
    width = usual[:, 1] - usual[:, 0]
    apart = np.abs(large - usual) / width[:, None]
    assert apart.max() < 0.25
    assert apart.mean() < 0.03


@pytest.mark.long
@pytest.mark.parametrize("fit", [mace.fit, dawid_skene.fit])
def test_parts_of_votes_are_drawn_in_a_large_crowd_too(
    fit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, _ = crowd(KNOWING, seed=4)
    data = replace(data, weight=np.full(len(data), 0.75))
    usual = workers(fit, data)
    monkeypatch.setattr(draws, "LARGE", 0)
    apart = np.abs(workers(fit, data) - usual) / (usual[:, 1] - usual[:, 0])[:, None]
    assert apart.mean() < 0.04


@pytest.mark.parametrize("tries", [1, 7, 30, 400])
@pytest.mark.parametrize("chance", [0.02, 0.5, 0.93])
def test_binomial_numbers_have_their_distribution(tries: int, chance: float) -> None:
    n, p = np.full((200, 300), tries, np.float32), np.full((200, 300), chance, np.float32)
    found = draws.draw_binomial(n, p, RNG(0))
    assert found.shape == n.shape
    assert np.array_equal(found, np.rint(found))
    assert found.min() >= 0
    assert found.max() <= tries
    spread = np.sqrt(tries * chance * (1 - chance))
    assert found.mean() == pytest.approx(tries * chance, abs=4 * spread / np.sqrt(n.size))
    assert found.std() == pytest.approx(spread, rel=0.05)


def test_no_tries_and_certain_ones_have_no_chance_in_them() -> None:
    n = np.array([0, 5, 5, 40, 40], np.float32)
    p = np.array([0.4, 0, 1, 0, 1], np.float32)
    assert draws.draw_binomial(n, p, RNG(0)).tolist() == [0, 0, 5, 0, 40]


def test_draws_that_resemble_each_other_count_for_fewer_and_bounds_lie_further_out() -> None:
    rng = RNG(0)
    alone = rng.standard_normal((4, 300, 200)).astype(np.float32)
    alike = np.repeat(alone[:, :30], 10, axis=1)  # each draw ten times
    assert np.median(draws.effective_size(alone)) == pytest.approx(1200, rel=0.1)
    assert np.median(draws.effective_size(alike)) == pytest.approx(120, rel=0.4)
    covered = []
    for chains in (alone, alike):
        low, high = draws.quantiles(chains.reshape(-1, 200), 0.95, draws.effective_size(chains))
        value = rng.standard_normal((4000, 200))
        covered.append(((low < value) & (value < high)).mean())
    assert covered == pytest.approx([0.95, 0.95], abs=0.01)
