"""Labels averaged over the draws: rare classes, adversaries, seeds, and what models are worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaluation.methods.competence.mace import draws as mace_draws
from evaluation.methods.core.base import BadShape, Result, Table
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels import items, method
from tests.evaluation.methods.labels.test_labels import crowd
from tests.studies.label_rules import Crowd
from tests.studies.rare_labels import DESIGNS, crowds

RNG = np.random.default_rng
FAST: dict[str, Any] = {"restarts": 1, "resamples": 200}


def shown(result: Result, truth: np.ndarray) -> dict[str, tuple[float, float]]:
    """Share right and Brier score of the majority and of the label shown."""
    table: Table = result.estimates["compare"]
    found = {}
    for name in ("majority", "dawid_skene"):
        at = method.METHODS.index(name)
        found[name] = float(table["right"][at] / len(truth)), float(table["brier"][at])
    return found


@pytest.mark.parametrize(
    ("design", "least"),
    [
        ("95/5", 0.96),
        pytest.param("97/3", 0.955, marks=pytest.mark.long),
        pytest.param(".7/.2/.1", 0.895, marks=pytest.mark.long),
    ],
)
def test_the_label_shown_on_rare_classes_is_no_worse_than_counting_votes(
    design: str, least: float
) -> None:
    chosen = next(one for name, one in DESIGNS.items() if name.startswith(design))
    data, truth = crowds(chosen, 10, RNG(4))
    found = method.fit(data, rng=RNG(0), gold=truth, **FAST)
    right, brier = shown(found, truth)["dawid_skene"]
    majority, _ = shown(found, truth)["majority"]
    assert right >= least
    assert right > majority - 0.01
    assert brier < 0.15


def test_label_probability_entropy_and_mistakes_are_of_one_posterior() -> None:
    data, truth = crowds(Crowd((0.9, 0.1), items=60), 2, RNG(1))
    found = method.fit(data, rng=RNG(0), gold=truth, **FAST).estimates
    own = found["posterior"]["method"] == method.METHODS.index("dawid_skene")
    soft = found["posterior"]["probability"][own].reshape(-1, 2)
    item = found["item"]
    assert (soft.argmax(axis=1) == item["dawid_skene"]).all()
    assert soft.max(axis=1) == pytest.approx(item["posterior"])
    entropy = -(soft * np.log(np.maximum(soft, 1e-300))).sum(axis=1)
    assert entropy == pytest.approx(item["entropy"], abs=1e-9)
    at = method.METHODS.index("dawid_skene")
    assert items.brier(soft, truth) == pytest.approx(found["compare"]["brier"][at])
    assert items.log_score(soft, truth) == pytest.approx(found["compare"]["log_score"][at])
    # The classes' prevalence and the labels are means of the same draws.
    assert soft.mean(axis=0) == pytest.approx(found["class"]["prevalence"], abs=0.02)


def test_the_plug_in_labels_can_still_be_had() -> None:
    data, _ = crowds(Crowd((0.95, 0.05), items=60), 3, RNG(1))
    published = method.fit(data, rng=RNG(0), restarts=1, resamples=0).estimates["item"]
    asked = method.fit(data, rng=RNG(0), posterior="plug-in", **FAST).estimates["item"]
    usual = method.fit(data, rng=RNG(0), **FAST).estimates["item"]
    assert published["posterior"] == pytest.approx(asked["posterior"])
    assert np.abs(published["posterior"] - usual["posterior"]).max() > 0.05


def adversaries(seed: int, *, studies: int = 12) -> tuple[Labels, np.ndarray]:
    """Three of 20 workers are wrong nine times in ten, the others right .6 to .95."""
    rng, workers, size = RNG(seed), 20, 100
    right = np.concatenate([np.full(3, 0.1), np.linspace(0.6, 0.95, workers - 3)])
    truth = rng.integers(0, 2, studies * size)
    who = rng.random((studies * size, workers)).argsort(axis=1)[:, :5].ravel()
    item = np.repeat(np.arange(studies * size), 5)
    label = np.where(rng.random(len(item)) < right[who], truth[item], 1 - truth[item])
    study = item // size
    data = Labels.build(
        who + study * workers,
        item,
        label,
        workers=[str(j) for j in range(studies * workers)],
        items=[str(i) for i in range(studies * size)],
        labels="01",
    )
    return data, np.tile(right, studies)


def test_intervals_of_adversaries_reach_below_chance() -> None:
    data, right = adversaries(2)
    worker = method.fit(data, rng=RNG(0), **FAST).estimates["worker"]
    held = (worker["low"] <= right) & (right <= worker["high"])
    bad = right < 0.5
    assert held[bad].mean() > 0.8  # 36 workers
    assert held.mean() > 0.91
    assert np.abs(worker["competence"][bad].mean() - 0.1) < 0.08


@pytest.mark.long
def test_another_seed_moves_no_bound_far() -> None:
    data, _ = crowds(Crowd((0.6, 0.3, 0.1), honest=10, items=40, votes=4), 3, RNG(5))
    one, two = (method.fit(data, rng=RNG(seed), restarts=1).estimates["worker"] for seed in (0, 1))
    for bound in ("low", "high"):
        assert np.nanmax(np.abs(one[bound] - two[bound])) < 0.1


def test_chains_run_on_until_they_agree_and_say_so_where_they_cannot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, _ = crowd(items=40)
    monkeypatch.setattr(mace_draws, "ERROR", 1e-4)
    monkeypatch.setattr(mace_draws, "ENOUGH", 10**9)
    found = method.fit(data, rng=RNG(0), **FAST)
    said = [text for text in found.diagnostics["warnings"] if "not settled" in text]
    assert [text.partition(":")[0] for text in said] == ["MACE", "Dawid-Skene"]
    assert all("800 draws" in text for text in said)  # the last of three runs: 200, 400, 800


def test_every_method_that_leaves_the_majority_is_found() -> None:
    """Four of five workers copy one who guesses: models that weigh workers disagree."""
    data, _ = crowds(Crowd((0.5, 0.5), honest=3, guessers=9, one_label=0, items=80), 1, RNG(3))
    found = method.fit(data, rng=RNG(0), **FAST)
    item = found.estimates["item"]
    both = item["majority"] >= 0
    rows = {row["method"]: row for row in found.diagnostics["findings"]}
    for name in method.METHODS[1:]:
        share = (item[name] != item["majority"])[both].mean()
        assert (name in rows) == (share > 0.1)
        if name in rows:
            assert rows[name]["code"] == method.LEAVES_MAJORITY
            assert rows[name]["share"] == pytest.approx(share)
    assert rows
    said = found.diagnostics["warnings"]
    assert sum("leave the majority" in text for text in said) == len(rows)


def test_a_model_that_fits_gives_votes_left_out_the_highest_chance() -> None:
    data, _ = crowd(items=200)
    found = method.fit(data, rng=RNG(0), **FAST)
    held = found.diagnostics["held_out"]
    assert held["dawid_skene"] > held["one_coin"] > held["majority"]
    compare = found.estimates["compare"]
    assert (compare["held_out_n"] == compare["held_out_n"][0]).all()
    assert compare["held_out_n"][0] == 5 * 200  # five folds: one vote of every item each time
    assert compare["held_out"][1] == pytest.approx(held["dawid_skene"])
    assert not method.fit(data, rng=RNG(0), held_out=False, **FAST).diagnostics["held_out"]


def test_items_of_two_votes_leave_none_out() -> None:
    data, _ = crowds(Crowd((0.5, 0.5), items=40, votes=2), 1, RNG(3))
    compare = method.fit(data, rng=RNG(0), **FAST).estimates["compare"]
    assert (compare["held_out_n"] == 0).all() and np.isnan(compare["held_out"]).all()


@pytest.mark.parametrize("second", [0, 1])
def test_a_worker_who_labels_an_item_twice_is_refused_by_name(second: int) -> None:
    data = Labels.build(
        [0, 1, 2, 2], [0, 0, 0, 0], [0, 0, 0, second], workers="abc", items="x", labels="01"
    )
    with pytest.raises(BadShape, match="'c' labelled item 'x' 2 times"):
        method.fit(data, rng=RNG(0), **FAST)


def test_methods_are_compared_on_items_that_three_labelled() -> None:
    data, _ = crowds(Crowd((0.5, 0.5), items=40, votes=3), 1, RNG(3))
    two = data.take(~((data.item < 30) & (np.arange(len(data)) % 3 == 0)))
    summary = method.fit(two, rng=RNG(0), **FAST).estimates["summary"].rows()[0]
    assert (summary["items"], summary["compared"]) == (40, 10)
    assert summary["compared_differ"] <= summary["any_differ"]
