"""MACE's labels: rare ones, those of real crowds, what stands beside, and chains that differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.methods.competence import dawid_skene
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.competence.mace.batch import Plan, fit_each
from evaluation.methods.competence.mace.method import majority
from evaluation.methods.core.base import Hooks
from evaluation.methods.core.votes import Labels
from tests.evaluation.methods.competence.crowds import (
    beside,
    built,
    crowd,
    real_labels,
    votes_of_few,
)

RNG = np.random.default_rng
QUIET: dict[str, Any] = {"resamples": 0}
EVEN: dict[str, Any] = {"noise": 0.0, "restarts": 1, "polish": 0, "iterations": 30, **QUIET}


def skewed(share: float, *, items: int = 1200, votes: int = 3, seed: int = 0) -> tuple[Any, Any]:
    """Workers of middling skill vote on items of which a small share is positive."""
    rng = RNG(seed)
    truth = (rng.random(items) < share).astype(int)
    worker = rng.random((items, 40)).argsort(axis=1)[:, :votes].ravel()
    item = np.repeat(np.arange(items), votes)
    knows = rng.random(len(item)) < np.linspace(0.3, 0.8, 40)[worker]
    label = np.where(knows, truth[item], rng.random(len(item)) < 0.35)
    data = Labels.build(
        worker,
        item,
        label,
        workers=[str(k) for k in range(40)],
        items=[str(k) for k in range(items)],
        labels="ny",
    )
    return data, truth


def test_a_rare_label_is_found_as_often_as_it_is_and_not_more() -> None:
    data, truth = skewed(0.08)
    right = {}
    for prevalence in ("estimated", "uniform"):
        found = mace.fit(data, rng=RNG(0), prevalence=prevalence, **QUIET)
        right[prevalence] = (found.estimates["item"]["label"] == truth).mean()
        prior = found.estimates["prior"]["probability"]
        assert prior.sum() == pytest.approx(1)
        if prevalence == "estimated":
            assert prior[1] == pytest.approx(truth.mean(), abs=0.05)
        else:
            assert prior.tolist() == [0.5, 0.5]
    assert right["estimated"] > right["uniform"] + 0.03


def test_each_component_has_a_prevalence_of_its_own() -> None:
    (rare, _), (common, _) = skewed(0.1, seed=1), skewed(0.9, seed=2)
    found = mace.fit(beside(rare, common), rng=RNG(0), restarts=4, **QUIET).estimates["prior"]
    alone = [mace.fit(data, rng=RNG(0), restarts=4, **QUIET) for data in (rare, common)]
    wanted = [one.estimates["prior"]["probability"] for one in alone]
    assert found["probability"].reshape(2, 2) == pytest.approx(np.array(wanted), abs=5e-3)


@settings(max_examples=8, deadline=None)
@given(votes_of_few, st.integers(0, 2**5 - 1))
def test_which_text_of_a_pair_is_stored_first_changes_nothing(rows: list[Any], turn: int) -> None:
    def turned(item: int, label: int) -> int:
        return 2 - label if turn >> item & 1 else label

    data = built(rows)
    other = Labels.build(
        data.worker,
        data.item,
        [turned(*pair) for pair in zip(data.item.tolist(), data.label.tolist(), strict=True)],
        shown=data.shown,
        weight=data.weight,
        workers=data.workers,
        items=data.items,
        labels=data.labels,
    )
    one, two = (
        mace.fit(each, rng=RNG(0), prevalence="mirrored", **EVEN).estimates
        for each in (data, other)
    )
    assert np.allclose(
        one["worker"]["competence"], two["worker"]["competence"], atol=1e-9, equal_nan=True
    )
    ours, theirs = (table["posterior"]["probability"].reshape(-1, 3) for table in (one, two))
    items = np.unique(one["posterior"]["item"])
    back = np.array(
        [row[::-1] if turn >> k & 1 else row for k, row in zip(items, theirs, strict=True)]
    )
    assert np.allclose(ours, back, atol=1e-9)


def test_labels_that_leave_the_majority_often_are_said_to_and_others_stand_beside() -> None:
    data, _ = skewed(0.08)
    found = mace.fit(data, rng=RNG(0), prevalence="uniform", **QUIET)
    item, most = found.estimates["item"], majority(data)
    other = dawid_skene.fit(data, rng=RNG(0), **QUIET).estimates["item"]
    assert item["majority"].tolist() == most.tolist()
    assert item["dawid_skene"].tolist() == other["label"].tolist()
    assert item["dawid_skene_posterior"] == pytest.approx(other["posterior"])
    leaves = int((item["label"] != most).sum())
    assert leaves > 120
    assert found.diagnostics["against_majority"]["differ"] == leaves
    assert any(
        f"labels leave the majority on {leaves} of 1200 items" in said
        for said in found.diagnostics["warnings"]
    )
    calm, _ = crowd([0.9, 0.8, 0.9, 0.8], items=60)
    assert mace.fit(calm, rng=RNG(0), **QUIET).diagnostics["warnings"] == []


def test_a_majority_of_two_level_labels_is_none() -> None:
    data = Labels.build(
        [0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1], workers="ab", items="xyz", labels="lr"
    )
    assert majority(data).tolist() == [-1, 1, -1]


def test_chains_that_end_in_different_places_are_noticed() -> None:
    """Two camps contradict each other: either may be the one that knows."""
    item, worker = (part.ravel() for part in np.meshgrid(np.arange(60), np.arange(8)))
    camp = RNG(0).integers(0, 2, (2, 60))
    data = Labels.build(
        worker,
        item,
        camp[worker // 4, item],
        workers=[str(k) for k in range(8)],
        items=[str(k) for k in range(60)],
        labels="lr",
    )
    found = mace.fit(data, rng=RNG(0), resamples=400)
    assert found.diagnostics["r_hat"] > 1.1
    assert any("chains differ" in said for said in found.diagnostics["warnings"])
    plain, _ = crowd([0.9, 0.3, 0.7, 0.8, 0.5], items=200)
    assert mace.fit(plain, rng=RNG(0), resamples=1000).diagnostics["r_hat"] < 1.1


@pytest.mark.parametrize("prevalence", ["uniform", "estimated", "mirrored"])
def test_fits_side_by_side_are_what_each_is_alone(prevalence: str) -> None:
    rng = RNG(3)
    crowds = [
        crowd(list(rng.random(size)), items=int(rng.integers(3, 40)), votes=2, seed=size)[0]
        for size in (2, 3, 5, 8, 4, 6)
    ]
    lone = Labels.build([0, 0], [0, 1], [0, 1], workers="ab", items="xy", labels=["l0", "l1", "l2"])
    two = Labels.build([0, 1, 0], [0, 0, 1], [0, 1, 1], workers="ab", items="xy", labels="lr")
    problems = [*crowds[:3], lone, *crowds[3:], two]
    own = {**mace.DEFAULTS, "prevalence": prevalence}
    plan = Plan(lambda k: mace.priors(own, k), 4, 100, own["noise"], own["tolerance"])
    found = list(fit_each(((one, RNG(k)) for k, one in enumerate(problems)), plan, hooks=Hooks()))
    assert np.isnan(found[3].spam).all() and np.isnan(found[3].probability).all()
    for k, (one, ours) in enumerate(zip(problems, found, strict=True)):
        if one is lone:
            continue
        alone = mace.fit(
            one, rng=RNG(k), restarts=4, polish=0, prevalence=prevalence, beside=False, **QUIET
        ).estimates
        scored = alone["worker"]["component"] > 0
        assert ours.spam[scored] == pytest.approx(alone["worker"]["spam"][scored], rel=1e-9)
        known = ~np.isnan(ours.probability[:, 0])
        assert ours.probability[known].ravel() == pytest.approx(
            alone["posterior"]["probability"], rel=1e-7
        )


# Accuracy of labels: majority (ties as chance), Dawid-Skene, MACE uniform and estimated.
REAL = {
    "rte": (0.8969, 0.9275, 0.9263, 0.9275),
    "temp": (0.9361, 0.9416, 0.9416, 0.9416),
    "wsd": (0.9944, 0.9944, 0.9944, 0.9944),
    "product": (0.8966, 0.9396, 0.8477, 0.9321),
}


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(REAL))
def test_labels_of_real_crowds_are_as_right_as_measured(name: str) -> None:
    data, gold = real_labels(name)
    known = gold >= 0
    other = dawid_skene.fit(data, rng=RNG(0), **QUIET).estimates["item"]["label"]
    found = [
        mace.fit(data, rng=RNG(0), prevalence=kind, **QUIET).estimates["item"]["label"]
        for kind in ("uniform", "estimated")
    ]
    right = [float((label == gold)[known].mean()) for label in (other, *found)]
    assert right == pytest.approx(REAL[name][1:], abs=0.003)
    assert right[2] >= {"rte": 0.926, "temp": 0.9416, "wsd": 0.994, "product": 0.93}[name] - 5e-5
