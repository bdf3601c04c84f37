"""GLAD against crowd-kit, its own gradient, planted crowds, real labels, and bad input."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit

from evaluation.methods.competence import glad
from evaluation.methods.competence.mace.data import TooFewLabels, label_parts
from evaluation.methods.core.base import BadParameter, Cancelled, Hooks, IntArray, TooFewWorkers
from evaluation.methods.core.votes import Labels
from tests.evaluation.methods.competence.crowds import frame, peer, real_labels

RNG = np.random.default_rng
QUIET: dict[str, Any] = {"resamples": 0}


def crowd(
    ability: Any, ease: Any, *, labels: int = 3, votes: int = 5, seed: int = 0
) -> tuple[Labels, IntArray]:
    """Votes drawn from the model: ``ability`` (workers,), ``ease`` (items,) log beta; the truth."""
    rng = RNG(seed)
    truth = rng.integers(0, labels, len(ease))
    worker = rng.random((len(ease), len(ability))).argsort(axis=1)[:, :votes].ravel()
    item = np.repeat(np.arange(len(ease)), min(votes, len(ability)))
    right = rng.random(len(item)) < expit(np.array(ability)[worker] * np.exp(np.array(ease)[item]))
    label = (truth[item] + np.where(right, 0, rng.integers(1, labels, len(item)))) % labels
    data = Labels.build(
        worker,
        item,
        label,
        workers=[f"w{k:03}" for k in range(len(ability))],
        items=[f"i{k:03}" for k in range(len(ease))],
        labels=[f"l{k}" for k in range(labels)],
    )
    return data, truth


def planted(seed: int, workers: int = 12, items: int = 80) -> Any:
    rng = RNG(seed)
    ability, ease = rng.normal(1, 1, workers), rng.normal(1, 1, items)
    return *crowd(ability, ease, seed=seed), ability, ease


# Where it does not stop after two rounds.
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(more, marks=pytest.mark.long) for more in (2, 3))]
)
def test_crowd_kit_finds_the_same_abilities_difficulties_and_labels(seed: int) -> None:
    aggregation, pandas = peer()
    data, *_ = planted(seed, workers=6, items=8)
    theirs = aggregation.GLAD(n_iter=3000, tol=1e-14, m_step_max_iter=500, m_step_tol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # crowd-kit's use of pandas
        theirs.fit(frame(data, pandas))
    found = glad.fit(data, rng=RNG(0), tolerance=1e-15, **QUIET)
    worker, item = found.estimates["worker"], found.estimates["item"]
    assert worker["ability"] == pytest.approx(
        theirs.alphas_[list(data.workers)].to_numpy(), abs=1e-4
    )
    assert -np.log(item["difficulty"]) == pytest.approx(
        theirs.betas_[list(data.items)].to_numpy(), abs=1e-4
    )
    ours = found.estimates["posterior"]["probability"].reshape(-1, len(data.labels))
    table = theirs.probas_.loc[list(data.items), list(data.labels)].to_numpy()
    assert ours == pytest.approx(table, abs=1e-4)


def test_the_slope_of_the_objective_is_that_of_its_values() -> None:
    data, *_ = planted(3, workers=5, items=9)
    votes = glad.Votes.prepare(data, label_parts(data)[0])
    at = RNG(1).normal(1, 1, votes.workers + votes.items)
    apart = check_grad(
        lambda point: glad.objective(votes, point)[0],
        lambda point: glad.objective(votes, point)[1],
        at,
    )
    assert apart < 1e-4


def test_who_guesses_who_lies_and_what_is_hard_is_told() -> None:
    ability = [2.0] * 8 + [0.0, -2.0]
    ease = np.where(np.arange(200) < 40, -2.5, 1.0)  # the first 40 items are next to guessing
    data, truth = crowd(ability, ease, votes=8)
    found = glad.fit(data, rng=RNG(0), resamples=400)
    worker, item = found.estimates["worker"], found.estimates["item"]
    assert worker["ability"][:8].min() > 1.0
    # A coin has accuracy .5 whatever the number of labels; the fit is sure of who is no coin.
    assert worker["low"][:8].min() > worker["high"][8]
    assert worker["low"][8] - 0.03 < 0.5 < worker["high"][8]
    assert worker["high"][9] < 0.4
    hard = item["difficulty"]
    assert np.median(hard[:40]) > 3 * np.median(hard[40:])
    assert (item["label"] == truth)[40:].mean() > 0.97


@pytest.mark.long
def test_intervals_of_accuracy_and_difficulty_hold_as_often_as_they_say() -> None:
    """The study of coverage has more crowds; ten hold 120 workers and 800 items."""
    workers, items = [], []
    for seed in range(10):
        data, _, ability, ease = planted(seed)
        found = glad.fit(data, rng=RNG(seed), resamples=400)
        worker, item = found.estimates["worker"], found.estimates["item"]
        true = expit(ability * np.exp(ease.mean()))
        workers += list((worker["low"] <= true) & (true <= worker["high"]))
        items += list(
            (item["difficulty_low"] <= np.exp(-ease)) & (np.exp(-ease) <= item["difficulty_high"])
        )
    assert 0.90 <= np.mean(workers) <= 0.995
    assert 0.92 <= np.mean(items) <= 0.99


@pytest.mark.data
@pytest.mark.parametrize(("name", "least"), [("rte", 0.92), ("temp", 0.93), ("wsd", 0.99)])
def test_labels_of_snow_et_al_come_out_as_well_as_published(name: str, least: float) -> None:
    data, known = real_labels(name)
    label = glad.fit(data, rng=RNG(0), **QUIET).estimates["item"]["label"]
    assert (label == known)[known >= 0].mean() >= least


def test_the_order_of_votes_changes_nothing() -> None:
    data, *_ = planted(5)
    turned = data.take(np.arange(len(data))[::-1])
    one, two = (glad.fit(votes, rng=RNG(0), resamples=100) for votes in (data, turned))
    assert one.estimates["worker"]["low"] == pytest.approx(two.estimates["worker"]["low"])
    assert one.estimates["item"]["difficulty"] == pytest.approx(two.estimates["item"]["difficulty"])


def test_too_little_is_refused_and_a_run_can_be_cancelled() -> None:
    data, *_ = planted(0, workers=4, items=6)
    alone = data.take(data.worker == 0)
    with pytest.raises(TooFewWorkers):
        glad.fit(alone, rng=RNG(0))
    one = Labels.build([0, 1], [0, 0], [0, 0], workers="ab", items="x", labels=["yes"])
    with pytest.raises(TooFewLabels):
        glad.fit(one, rng=RNG(0))
    with pytest.raises(BadParameter, match="iterations"):
        glad.fit(data, rng=RNG(0), iterations=0)
    with pytest.raises(Cancelled):
        glad.fit(data, rng=RNG(0), hooks=Hooks(cancelled=lambda: True))
