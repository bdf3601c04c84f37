"""Workers who copy each other are found, and who merely agree is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaluation.methods.core.base import IntArray
from evaluation.methods.labels import method as labels
from evaluation.methods.workers.copies import FAMILY_ERROR, LookAlikes, look_alikes
from tests.studies.coverage.crowds import LabelCrowd, draw_labels

Votes = tuple[IntArray, IntArray, IntArray]


def crowd(
    rng: np.random.Generator,
    workers: int,
    items: int,
    votes: int,
    *,
    bots: int = 0,
    guessers: int = 0,
    constant: int = 0,
    prior: tuple[float, ...] = (0.5, 0.5),
) -> Votes:
    """Honest workers of .65 to .95, items of unlike ease; the first ``bots`` give one answer."""
    k = len(prior)
    truth = rng.choice(k, items, p=prior)
    right = rng.uniform(0.65, 0.95, workers)
    chosen = np.argsort(rng.random((items, workers)), axis=1)[:, :votes]
    worker, item = chosen.ravel(), np.repeat(np.arange(items), votes)
    ease = rng.beta(3, 1, items)
    chance = 1 / k + (right[worker] - 1 / k) * ease[item]
    wrong = (truth[item] + rng.integers(1, k, len(worker))) % k
    label = np.where(rng.random(len(worker)) < chance, truth[item], wrong)
    shared = rng.choice(k, items, p=prior)
    guess = rng.choice(k, len(worker), p=prior)
    label = np.where(worker >= workers - guessers, guess, label)
    label = np.where((worker >= bots) & (worker < bots + constant), 0, label)
    return worker, item, np.where(worker < bots, shared[item], label)


def pairs_of(found: LookAlikes) -> set[tuple[int, int]]:
    return set(zip(found.pair["worker_a"].tolist(), found.pair["worker_b"].tolist(), strict=True))


CLEAN: tuple[dict[str, Any], ...] = (
    {"workers": 15, "items": 60, "votes": 15},
    {"workers": 30, "items": 300, "votes": 8, "guessers": 8, "constant": 5},
    {"workers": 30, "items": 300, "votes": 8, "prior": (0.95, 0.05), "guessers": 5, "constant": 4},
    {"workers": 12, "items": 200, "votes": 8, "prior": (0.6, 0.2, 0.1, 0.1)},
    {"workers": 6, "items": 300, "votes": 6},
)


@pytest.mark.parametrize(
    "design", [CLEAN[0], *(pytest.param(one, marks=pytest.mark.long) for one in CLEAN[1:])]
)
def test_crowds_without_copies_have_no_look_alikes(design: dict[str, Any]) -> None:
    for seed in range(20):
        worker, item, label = crowd(np.random.default_rng(seed), **design)
        found = look_alikes(worker, item, label, workers=design["workers"])
        assert found.tested and not len(found.pair), seed


@pytest.mark.parametrize(("items", "votes"), [(60, 15), (150, 8)])
def test_six_bots_of_fifteen_that_copy_each_other_are_found(items: int, votes: int) -> None:
    hit, wrong, studies = 0, 0, 40
    copies = {(a, b) for a in range(6) for b in range(a + 1, 6)}
    for seed in range(studies):
        rng = np.random.default_rng(seed)
        found = pairs_of(look_alikes(*crowd(rng, 15, items, votes, bots=6), workers=15))
        hit += len(found & copies)
        wrong += bool(found - copies)
    assert hit >= 0.9 * studies * len(copies)
    assert wrong <= 0.05 * studies


def test_a_pair_says_how_much_it_agrees_and_what_was_expected() -> None:
    votes = crowd(np.random.default_rng(1), 12, 80, 10, bots=2)
    row = look_alikes(*votes, workers=12).pair.rows()
    assert [(one["worker_a"], one["worker_b"]) for one in row] == [(0, 1)]
    assert row[0]["agreement"] == 1 and row[0]["expected"] < 0.75
    assert row[0]["p"] <= FAMILY_ERROR and row[0]["shared"] >= 40


def test_answers_that_hang_together_count_once() -> None:
    """Five dimensions of one pair of texts, answered alike, are one agreement."""
    worker, item, label = crowd(np.random.default_rng(2), 10, 30, 10)
    copied = np.where(worker == 1, label[(worker == 0)][item], label)
    five = np.concatenate([item * 5 + d for d in range(5)])
    again = np.tile(worker, 5), five, np.tile(copied, 5)
    alone = look_alikes(worker, item, copied, workers=10).pair.rows()
    shared = look_alikes(*again, workers=10, per=5).pair.rows()
    assert len(alone) == len(shared) == 1
    assert shared[0]["shared"] == 5 * alone[0]["shared"]
    assert shared[0]["p"] == pytest.approx(alone[0]["p"], rel=1e-6)


def test_few_workers_or_shared_items_are_not_tested() -> None:
    rng = np.random.default_rng(3)
    assert look_alikes(*crowd(rng, 4, 50, 4, bots=2), workers=4).tested == 0
    none = np.zeros(0, dtype=np.int64)
    assert look_alikes(none, none, none, workers=3).reason
    assert look_alikes(*crowd(rng, 300, 300, 2), workers=300).tested == 0


def test_a_large_crowd_takes_bounded_time_and_memory() -> None:
    found = look_alikes(*crowd(np.random.default_rng(4), 1000, 1000, 50, bots=3), workers=1000)
    assert found.tested > 0


def test_nobody_is_told_from_guessing_beside_workers_who_copy() -> None:
    """Their copies pull the labels along: honest workers looked like guessers."""
    copying = LabelCrowd("copies", workers=15, copiers=0.4, items=60, votes=15)
    drawn = draw_labels(copying, np.random.default_rng(4))
    found = labels.fit(drawn.data, rng=np.random.default_rng(0))
    assert len(found.estimates["look_alikes"]) >= 10
    worker = found.estimates["worker"]
    assert np.isnan(worker["low"]).all() and not worker["against_chance"].any()
    assert (worker["group"] != labels.BETTER).all()
    assert found.diagnostics["findings"][-1]["code"] == labels.LOOK_ALIKES
