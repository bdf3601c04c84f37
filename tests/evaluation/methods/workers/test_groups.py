"""A crowd whose workers are not independent gets no certainty, though no pair can be named."""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pytest
import scipy

from evaluation.methods.core.base import IntArray, Result
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels import method as labels
from evaluation.methods.workers.copies import look_alikes
from evaluation.methods.workers.groups import dependent_group, log_tail
from tests.studies.coverage.cases import LABEL_CROWDS
from tests.studies.coverage.crowds import LabelCrowd, draw_labels

CROWDS = int(os.environ.get("CROWDQC_PROBLEMS", "400"))  # of the test at full size
CLEAN = [one for one in LABEL_CROWDS if not one.copiers and 5 < one.workers < 100]
COPYING = [one for one in LABEL_CROWDS if one.copiers]


def group_of(crowd: LabelCrowd, seed: int) -> IntArray:
    data = draw_labels(crowd, np.random.default_rng(seed)).data
    return dependent_group(data.worker, data.item, data.label, workers=crowd.workers)


def share_found(crowd: LabelCrowd, seeds: range) -> float:
    return float(np.mean([len(group_of(crowd, seed)) > 0 for seed in seeds]))


@pytest.mark.parametrize("crowd", COPYING, ids=lambda one: one.name)
def test_copies_are_noticed_however_few_items_each_two_share(crowd: LabelCrowd) -> None:
    assert share_found(crowd, range(12)) >= 0.8


@pytest.mark.parametrize("crowd", CLEAN, ids=lambda one: one.name)
def test_crowds_without_copies_stay_independent(crowd: LabelCrowd) -> None:
    assert share_found(crowd, range(3)) == 0


@pytest.mark.long
@pytest.mark.parametrize("crowd", CLEAN, ids=lambda one: one.name)
def test_at_most_one_crowd_in_a_hundred_is_called_dependent_by_chance(crowd: LabelCrowd) -> None:
    error = (0.01 * 0.99 / CROWDS) ** 0.5
    assert share_found(crowd, range(1000, 1000 + CROWDS)) <= 0.01 + 2 * error


def test_small_crowds_and_workers_who_share_nothing_are_not_tested() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert not len(dependent_group(none, none, none, workers=5))
    alone = np.arange(40)
    assert not len(dependent_group(alone, alone, alone % 2, workers=40))


@pytest.mark.parametrize(("hits", "n"), [(30, 30), (28, 30), (3, 9)])
def test_the_tail_is_a_beta_binomials(hits: int, n: int) -> None:
    mean, variance = 0.6, 0.01
    precision = mean * (1 - mean) / variance - 1
    true = scipy.stats.betabinom.logsf(hits - 1, n, mean * precision, (1 - mean) * precision)
    assert log_tail(hits / n, n, mean, variance) == pytest.approx(true, rel=1e-9)


@cache
def beside_copies() -> tuple[Result, Labels]:
    """Fifteen workers of whom six copy (0 to 14), and fifteen who do not and share no item."""
    parts = [
        draw_labels(one, np.random.default_rng(5)).data
        for one in (COPYING[0], LabelCrowd("even", workers=15))
    ]
    shift = (0, 1)
    both = Labels.build(
        np.concatenate([one.worker + 15 * at for at, one in zip(shift, parts, strict=True)]),
        np.concatenate([one.item + 100 * at for at, one in zip(shift, parts, strict=True)]),
        np.concatenate([one.label for one in parts]),
        workers=[f"w{at}" for at in range(30)],
        items=[f"i{at}" for at in range(200)],
        labels=["c0", "c1"],
    )
    rng = np.random.default_rng(0)
    return labels.fit(both, rng=rng, resamples=100, restarts=4, held_out=False), both


def test_no_pair_is_named_and_nobody_beside_copies_gets_an_interval() -> None:
    found, data = beside_copies()
    assert not len(look_alikes(data.worker, data.item, data.label, workers=30).pair)
    assert labels.DEPENDENT in [one["code"] for one in found.diagnostics["findings"]]
    assert not len(found.estimates["look_alikes"])
    worker = found.estimates["worker"]
    assert np.isfinite(worker["competence"]).all()
    assert np.isnan(worker["low"][:15]).all() and np.isfinite(worker["low"][15:]).all()
    assert not worker["against_chance"][:15].any() and worker["against_chance"][15:].any()


def test_labels_beside_copies_stand_without_a_posterior() -> None:
    found, _ = beside_copies()
    item, soft = found.estimates["item"], found.estimates["posterior"]
    assert (item["dawid_skene"] >= 0).all()
    for name in labels.POSTERIORS:
        assert np.isnan(item[name][:100]).all() and np.isfinite(item[name][100:]).all()
    of_models = soft["method"] > 0
    assert (soft["item"][of_models] >= 100).all()
    assert len(np.unique(soft["item"][~of_models])) == 200


def test_two_workers_have_agreement_and_labels_but_no_competence() -> None:
    data = draw_labels(LabelCrowd("2", workers=2, votes=2), np.random.default_rng(1)).data
    found = labels.fit(data, rng=np.random.default_rng(0), resamples=100, held_out=False)
    worker = found.estimates["worker"]
    assert np.isnan(worker["competence"]).all() and not worker["component"].any()
    assert not len(found.estimates["confusion"])
    assert found.estimates["summary"]["better"][0] == 0
    assert (found.estimates["item"]["dawid_skene"] >= 0).all()
    assert np.isfinite(found.estimates["agreement"]["value"][0])
