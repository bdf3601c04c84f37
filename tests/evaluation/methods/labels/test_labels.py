"""A label study: real crowds, planted crowds, known answers, and bad input."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from evaluation.methods.competence import dawid_skene, glad
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.competence.mace.data import label_parts
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    Cancelled,
    Hooks,
    Result,
    UnknownIndex,
)
from evaluation.methods.core.units import wilson
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels import items, method, workers
from evaluation.methods.labels.method import BETTER, ONE_LABEL, UNKNOWN
from tests.evaluation.methods.competence.crowds import frame, peer, real_labels

RNG = np.random.default_rng
# crowd-kit takes a fifth of a second for each; 200 were compared when the methods were built.
CROWDS = int(os.environ.get("CROWDQC_PROBLEMS", "8"))
FAST: dict[str, Any] = {"resamples": 200, "restarts": 4}
# Accuracy in thousandths with level majorities as chance: majority, Dawid-Skene, MACE, GLAD.
ACCURACY = {
    "rte": (897, 928, 928, 925),
    "temp": (936, 942, 942, 935),
    "wsd": (994, 994, 994, 994),
    "product": (897, 940, 932, 928),
}


def crowd(*, items: int = 300, classes: int = 3, seed: int = 0) -> tuple[Labels, Any]:
    """Ten careful workers, one who takes label 2 for 1, two who guess, one who always says 0."""
    rng = RNG(seed)
    truth = rng.integers(0, classes, items)
    worker = rng.random((items, 14)).argsort(axis=1)[:, :7].ravel()
    item = np.repeat(np.arange(items), 7)
    label = np.where(rng.random(len(item)) < 0.9, truth[item], rng.integers(0, classes, len(item)))
    mixed = (worker == 10) & (truth[item] == 2) & (rng.random(len(item)) < 0.6)
    label = np.where(mixed, 1, label)
    label = np.where(np.isin(worker, (11, 12)), rng.integers(0, classes, len(item)), label)
    label = np.where(worker == 13, 0, label)
    data = Labels.build(
        worker,
        item,
        label,
        workers=[f"w{k}" for k in range(14)],
        items=[f"i{k}" for k in range(items)],
        labels=[str(k) for k in range(classes)],
    )
    return data, truth


@functools.cache
def fitted() -> tuple[Labels, Any, Result]:
    data, truth = crowd()
    known = np.where(np.arange(len(truth)) < 100, truth, -1)
    found = method.fit(
        data, rng=RNG(0), gold=known, ordered=True, reliable=0.8, resamples=400, restarts=5
    )
    return data, truth, found


@pytest.mark.data
@pytest.mark.parametrize("name", ["temp", "wsd", "rte", "product"])
def test_labels_of_real_crowds_are_as_often_right_as_was_measured(name: str) -> None:
    data, gold = real_labels(name)
    found = method.fit(data, rng=RNG(0), gold=gold, resamples=0, restarts=8)
    compare = found.estimates["compare"]
    assert (compare["n"] == (gold >= 0).sum()).all()
    right = 1000 * compare["right"] / compare["n"]
    assert right == pytest.approx(ACCURACY[name], abs=2.5)


def test_every_table_has_the_columns_and_rows_that_pages_are_built_on() -> None:
    data, _, found = fitted()
    tables = found.estimates
    assert set(tables) == {
        "worker", "confusion", "item", "posterior", "class", "agreement", "compare", "reliability",
        "summary", "look_alikes",
    }  # fmt: skip
    columns = {
        "worker": "worker n competence low high chance mace mace_low mace_high glad known_n "
        "known_right known_low known_high mistake_from mistake_to mistake_share same_label group "
        "against_chance median_gap median_gap_low median_gap_high reliable component",
        "confusion": "worker true given probability low high",
        "item": "item n majority dawid_skene mace glad posterior mace_posterior glad_posterior "
        "entropy difficulty gold differ component",
        "posterior": "method item label probability",
        "class": "label prevalence low high majority_share",
        "agreement": "coefficient scope label value low high units reason",
        "compare": "method right n low high differ brier calibration log_score held_out held_out_n",
        "reliability": "method confidence right low high n",
    }
    for name, wanted in columns.items():
        assert list(tables[name].columns) == wanted.split()
        assert len({len(column) for column in tables[name].columns.values()}) == 1
    assert len(tables["worker"]) == 14 and len(tables["confusion"]) == 14 * 9
    assert len(tables["item"]) == 300 and len(tables["posterior"]) == 4 * 300 * 3
    assert len(tables["summary"]) == 1
    shares = np.bincount(
        tables["posterior"]["method"] * 300 + tables["posterior"]["item"],
        weights=tables["posterior"]["probability"],
    )
    assert shares == pytest.approx(1.0)
    assert data.labels == ("0", "1", "2")


def test_a_very_wide_crowd_has_matrices_of_the_workers_with_most_labels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, _ = crowd(items=60)
    monkeypatch.setattr(workers, "MOST_CELLS", 9 * 4)
    rng = np.random.default_rng(0)
    tables = method.fit(data, rng=rng, resamples=0, restarts=2).estimates
    n, kept = tables["worker"]["n"], np.unique(tables["confusion"]["worker"])
    assert len(tables["confusion"]) == 9 * 4 and len(kept) == 4
    assert n[kept].min() >= np.delete(n, kept).max()


def test_careful_workers_guessers_and_those_of_one_label_are_told_apart() -> None:
    _, _, found = fitted()
    worker = found.estimates["worker"]
    assert (worker["group"] == [BETTER] * 11 + [UNKNOWN] * 2 + [ONE_LABEL]).all()
    assert (worker["same_label"] == [-1] * 13 + [0]).all()
    assert worker["chance"] == pytest.approx(1 / 3)
    assert ((worker["low"] < worker["competence"]) & (worker["competence"] < worker["high"])).all()
    assert worker["reliable"][:10].sum() >= 7  # bounds of all workers at once are further out
    assert (worker["reliable"][10:] == 0).all()
    assert worker["glad"][11:13].max() < worker["glad"][:10].min()
    assert worker["mace_high"][11:].max() < worker["mace_low"][:10].min()
    summary = found.estimates["summary"].rows()[0]
    assert (summary["better"], summary["unknown"], summary["one_label"]) == (11, 2, 1)
    assert summary["alpha_better"] > summary["alpha"] + 0.2


def test_a_mistake_that_a_worker_keeps_making_is_named_and_chance_errors_are_not() -> None:
    _, _, found = fitted()
    worker = found.estimates["worker"]
    assert (worker["mistake_from"][10], worker["mistake_to"][10]) == (2, 1)
    assert worker["mistake_share"][10] == pytest.approx(0.6, abs=0.12)
    assert (worker["mistake_from"][:10] == -1).all()
    assert worker["mistake_from"][13] == -1  # always one label: nothing is confused


def test_plug_in_labels_are_those_of_each_method_by_itself() -> None:
    data, _ = crowd()
    found = method.fit(data, rng=RNG(0), posterior="plug-in", held_out=False, **FAST)
    item, posterior = found.estimates["item"], found.estimates["posterior"]
    alone = {
        "dawid_skene": dawid_skene.fit(data, rng=RNG(0), resamples=0),
        "glad": glad.fit(data, rng=RNG(0), resamples=0),
        "mace": mace.fit(data, rng=RNG(5), resamples=0, beside=False),
    }
    for name, other in alone.items():
        assert (item[name] == other.estimates["item"]["label"]).all()
        own = posterior["probability"][posterior["method"] == method.METHODS.index(name)]
        assert own == pytest.approx(other.estimates["posterior"]["probability"], abs=1e-4)
    assert (item["majority"] == mace.majority(data)).all()


def test_items_on_which_methods_differ_are_marked() -> None:
    _, _, found = fitted()
    item = found.estimates["item"]
    labels = np.stack([item[name] for name in method.METHODS])
    apart = [len({*column} - {-1}) > 1 for column in labels.T]
    assert (item["differ"] == apart).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # crowd-kit's use of pandas
def test_crowds_have_crowd_kits_majorities_and_dawid_skene_posteriors() -> None:
    aggregation, pandas = peer()
    for seed in range(CROWDS):
        data, _ = crowd(items=30, seed=seed)
        table = frame(data, pandas)
        shares = aggregation.MajorityVote().fit_predict_proba(table)
        order = list(data.items), list(data.labels)
        share = items.of_majority(data).probability
        assert share == pytest.approx(shares.loc[order].fillna(0).to_numpy(), abs=1e-6)
        theirs = aggregation.DawidSkene(n_iter=4, tol=-1.0).fit(table)
        counts = dawid_skene.prepare(data, *label_parts(data))
        ours = dawid_skene.em(counts, smoothing=1e-10, iterations=4, tolerance=0.0, hooks=Hooks())
        assert ours.posterior == pytest.approx(theirs.probas_.loc[order].to_numpy(), abs=1e-6)


def test_known_answers_score_workers_and_methods_and_change_no_label() -> None:
    data, truth, found = fitted()
    without = method.fit(data, rng=RNG(0), ordered=True, resamples=400, restarts=5)
    for table, column in (("worker", "competence"), ("item", "posterior"), ("item", "mace")):
        assert (without.estimates[table][column] == found.estimates[table][column]).all()
    assert (without.estimates["compare"]["n"] == 0).all()
    assert np.isnan(without.estimates["compare"]["brier"]).all()
    row = found.estimates["worker"].rows()[3]
    own = (data.worker == 3) & (data.item < 100)
    right = int((data.label == truth[data.item])[own].sum())
    assert (row["known_n"], row["known_right"]) == (own.sum(), right)
    assert (row["known_low"], row["known_high"]) == wilson(right / own.sum(), int(own.sum()), 0.95)


def test_level_majorities_are_no_label_and_right_by_their_share() -> None:
    data = Labels.build(
        [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2], [0, 1, 0, 0, 1, 1],
        workers="ab", items="xyz", labels="01",
    )  # fmt: skip
    majority = items.of_majority(data)
    assert majority.label.tolist() == [-1, 0, 1]
    table = items.compare_table([majority], np.array([0, 0, 1]), 0.95)
    assert table["right"][0] == 2.5 and table["n"][0] == 3
    assert np.isnan(table["low"][0]) and np.isnan(table["brier"][0])  # three known answers


def test_calibration_follows_its_definitions() -> None:
    rng = RNG(1)
    share, truth = rng.dirichlet([1.0, 1.0], 60), rng.integers(0, 2, 60)
    assert items.brier(share, truth) == pytest.approx(2 * brier_score_loss(truth, share[:, 1]))
    # Eight of ten items said with .9 are right, and half of ten said with .6.
    share = np.repeat([[0.9, 0.1], [0.6, 0.4]], 10, axis=0)
    truth = np.r_[np.repeat([0, 1], [8, 2]), np.repeat([0, 1], [5, 5])]
    assert items.calibration_error(share, truth) == pytest.approx(0.1)
    rows = items.reliability_table([items.labelled(share)], truth, 0.95).rows()
    assert [(row["confidence"], row["right"], row["n"]) for row in rows] == [
        (pytest.approx(0.6), 0.5, 10),
        (pytest.approx(0.9), 0.8, 10),
    ]
    assert (rows[1]["low"], rows[1]["high"]) == pytest.approx(wilson(0.8, 10, 0.95))
    assert not len(items.reliability_table([items.labelled(share[:19])], truth[:19], 0.95))


def test_few_items_have_agreement_without_an_interval_and_the_reason() -> None:
    data, _ = crowd(items=12)
    found = method.fit(data, rng=RNG(0), **FAST).estimates["agreement"]
    rows = [row for row in found.rows() if row["coefficient"] != "cohen_mean"]
    assert all(row["low"] is None and "15" in row["reason"] for row in rows if row["units"])


def test_own_distances_of_labels_give_an_own_alpha() -> None:
    data, _ = crowd(items=40)
    nominal = 1.0 - np.eye(3)
    found = method.fit(data, rng=RNG(0), distance=nominal.tolist(), **FAST).estimates["agreement"]
    value = {
        name: found["value"][(found["coefficient"] == name) & (found["scope"] == "all")][0]
        for name in ("krippendorff_nominal", "krippendorff_own")
    }
    assert value["krippendorff_own"] == pytest.approx(value["krippendorff_nominal"])
    with pytest.raises(BadParameter, match="distance"):
        method.fit(data, rng=RNG(0), distance=[[0, 1], [1, 0]])


def test_a_worker_who_meets_nobody_is_not_scored_and_the_rest_is() -> None:
    data, _ = crowd(items=40)
    more = Labels.build(
        np.append(data.worker, 14),
        np.append(data.item, 40),
        np.append(data.label, 1),
        workers=[*data.workers, "lone"],
        items=[*data.items, "far"],
        labels=data.labels,
    )
    found = method.fit(more, rng=RNG(0), **FAST)
    worker, item = found.estimates["worker"].rows()[14], found.estimates["item"].rows()[40]
    assert (worker["component"], worker["competence"], worker["group"]) == (0, None, UNKNOWN)
    assert (item["dawid_skene"], item["majority"], item["posterior"]) == (-1, 1, None)
    summary = found.estimates["summary"].rows()[0]
    assert summary["workers"] == 15
    assert summary["better"] + summary["unknown"] + summary["one_label"] == 14


def test_without_draws_there_are_no_intervals_and_nobody_is_judged() -> None:
    data, _ = crowd(items=40)
    found = method.fit(data, rng=RNG(0), resamples=0, restarts=2)
    worker = found.estimates["worker"]
    assert np.isnan(worker["low"]).all() and (worker["group"] == UNKNOWN).all()
    assert np.isnan(found.estimates["agreement"]["low"]).all()


def test_who_shows_maces_intervals_is_told_that_they_do_not_make_the_groups() -> None:
    data, _ = crowd(items=60)
    found = method.fit(data, rng=RNG(0), competence_from="mace", resamples=100, restarts=2)
    worker = found.estimates["worker"]
    assert (worker["low"] > worker["chance"]).all() and (worker["group"] != BETTER).any()
    assert method.MACE_SHOWN in found.diagnostics["warnings"]


def test_bad_known_answers_and_options_are_named_and_a_run_can_be_cancelled() -> None:
    data, _ = crowd(items=20)
    with pytest.raises(BadShape, match="20 whole numbers"):
        method.fit(data, rng=RNG(0), gold=np.zeros(3, dtype=np.int64))
    with pytest.raises(UnknownIndex, match=r"gold\[4\] is 3"):
        method.fit(data, rng=RNG(0), gold=np.where(np.arange(20) == 4, 3, -1))
    with pytest.raises(BadParameter, match="reliable"):
        method.fit(data, rng=RNG(0), reliable=1.5)
    with pytest.raises(Cancelled):
        method.fit(data, rng=RNG(0), hooks=Hooks(cancelled=lambda: True))
