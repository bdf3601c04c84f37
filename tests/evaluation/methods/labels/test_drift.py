"""Change over time in simulated crowds: hardly ever told where there is none, told where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaluation.methods.competence import dawid_skene
from evaluation.methods.competence.mace.data import label_parts
from evaluation.methods.core.base import FloatArray, Hooks
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels import drift

WORKERS, ITEMS, VOTES, K = 12, 200, 5, 3


def crowd(rng: np.random.Generator, late: dict[int, float]) -> tuple[Labels, FloatArray]:
    """Labels right .8 of the time, by the workers ``late`` in their last half as often as said."""
    truth = rng.integers(0, K, ITEMS)
    worker = rng.random((ITEMS, WORKERS)).argsort(axis=1)[:, :VOTES].ravel()
    item = np.repeat(np.arange(ITEMS), VOTES)
    time = rng.permutation(ITEMS)[item].astype(np.float64)  # each meets the items in one order
    accuracy = np.full(len(item), 0.8)
    for who, share in late.items():
        own = np.flatnonzero(worker == who)
        accuracy[own[time[own] > np.median(time[own])]] = share
    right = rng.random(len(item)) < accuracy
    label = np.where(right, truth[item], (truth[item] + rng.integers(1, K, len(item))) % K)
    names: Any = [[str(k) for k in range(n)] for n in (WORKERS, ITEMS, K)]
    data = Labels.build(worker, item, label, workers=names[0], items=names[1], labels=names[2])
    kept = np.empty(len(data))
    kept[data.source] = time
    return data, kept


def measured(data: Labels, time: FloatArray) -> tuple[Any, dict[str, Any]]:
    counts = dawid_skene.prepare(data, *label_parts(data))
    fitted = dawid_skene.em(counts, smoothing=0.01, iterations=200, tolerance=1e-6, hooks=Hooks())
    agrees = drift.agrees_with_others(data, counts, fitted)
    return drift.over_time(agrees, data.worker, time, workers=len(data.workers), level=0.95)


def test_a_crowd_that_does_not_change_is_hardly_ever_said_to() -> None:
    """The level is that of all workers together: at most 1 crowd in 20 has anybody named."""
    named = [
        int((measured(*crowd(np.random.default_rng(seed), {}))[1]["change"] > drift.SAME).sum())
        for seed in range(60)
    ]
    assert np.mean(np.array(named) > 0) <= 0.10  # .05 and what 60 crowds leave to chance
    assert sum(named) / (60 * WORKERS) <= 0.01


def test_who_stops_looking_is_told_and_those_beside_them_are_not() -> None:
    """From .8 to chance in the last half of about 83 labels."""
    fell = others = 0
    for seed in range(30):
        _, found = measured(*crowd(np.random.default_rng(seed), {0: 1 / K}))
        fell += found["change"][0] == drift.FELL
        others += int((found["change"][1:] > drift.SAME).sum())
    assert fell >= 24
    assert others <= 0.02 * 30 * (WORKERS - 1)


def test_who_learns_is_said_to_agree_more() -> None:
    data, time = crowd(np.random.default_rng(2), {3: 1 / K})
    _, found = measured(data, -time)
    assert found["change"][3] == drift.ROSE


def test_labels_of_one_moment_have_no_order_and_few_are_not_compared() -> None:
    data, time = crowd(np.random.default_rng(1), {})
    blocks, found = measured(data, np.zeros(len(data)))
    assert (found["change"] == drift.NOT_TESTED).all()
    assert len(blocks) == 0
    few = data.take(data.item < 20)
    assert (measured(few, time[data.item < 20])[1]["change"] == drift.NOT_TESTED).all()


def test_blocks_hold_every_label_used_in_order() -> None:
    data, time = crowd(np.random.default_rng(4), {0: 0.0})
    blocks, found = measured(data, time)
    own = blocks["worker"] == 0
    assert blocks["n"][own].sum() == found["early_n"][0] + found["late_n"][0]
    assert blocks["agree"][own].sum() == found["early_agree"][0] + found["late_agree"][0]
    share = blocks["agree"][own] / blocks["n"][own]
    assert share[0] > 0.5 > share[-1]
    assert (blocks["low"] <= blocks["agree"] / blocks["n"]).all()
    assert (blocks["n"] >= drift.A_BLOCK).all()


def test_the_own_label_does_not_vote_for_itself() -> None:
    """Two workers who always differ agree with each other in nothing."""
    items = np.arange(40)
    data = Labels.build(
        np.repeat([0, 1], 40),
        np.tile(items, 2),
        np.r_[items % 2, (items + 1) % 2],
        workers="ab",
        items=[str(k) for k in items],
        labels="01",
    )
    counts = dawid_skene.prepare(data, *label_parts(data))
    even = np.full((2, 2, 2), 0.2)
    even[:, [0, 1], [0, 1]] = 0.8
    fitted = dawid_skene.Fitted(
        even, np.full((1, 2), 0.5), counts.start, np.zeros(1), np.zeros(1), converged=True
    )
    assert drift.agrees_with_others(data, counts, fitted) == pytest.approx(0.0)
