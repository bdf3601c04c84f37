"""The corrected alpha is flattering; what stands beside it says by how much."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.methods.agreement.coefficients import krippendorff_alpha
from evaluation.methods.agreement.corrected_alpha import corrected_alpha, shuffled
from evaluation.methods.agreement.counts import NoVariation
from evaluation.methods.core.base import BadParameter, BadShape, BadVector, EmptyData, FloatArray
from evaluation.methods.core.votes import Labels
from tests.evaluation.methods.agreement.data import real_votes

WORKERS, ITEMS, EACH = 80, 400, 5


def peer_agreement(votes: Labels) -> FloatArray:
    """A stand-in for MACE: how often a worker says what another on the item said, less chance."""
    counts = np.zeros((len(votes.items), len(votes.labels)))
    np.add.at(counts, (votes.item, votes.label), votes.weight)
    others = counts.sum(axis=1)[votes.item] - 1
    same = (counts[votes.item, votes.label] - 1) / np.maximum(others, 1)
    n = np.bincount(votes.worker, minlength=len(votes.workers))
    share = np.bincount(votes.worker, weights=same, minlength=len(votes.workers)) / np.maximum(n, 1)
    return np.asarray((share - 1 / 3) * 3)


def crowd(seed: int, guessing: float, shares: float = 0.6) -> Labels:
    """Workers of whom a share guesses; the others say the truth with probability ``shares``."""
    rng = np.random.default_rng(seed)
    guesses = rng.random(WORKERS) < guessing
    truth = rng.integers(0, 3, ITEMS)
    worker = np.concatenate([rng.choice(WORKERS, EACH, replace=False) for _ in range(ITEMS)])
    item = np.repeat(np.arange(ITEMS), EACH)
    knows = ~guesses[worker] & (rng.random(len(item)) < shares)
    label = np.where(knows, truth[item], rng.integers(0, 3, len(item)))
    return Labels.build(
        worker,
        item,
        label,
        workers=[str(k) for k in range(WORKERS)],
        items=[str(k) for k in range(ITEMS)],
        labels=["A", "N", "B"],
    )


def corrected(data: Any, competence: Any = peer_agreement, **options: Any) -> Any:
    data = data if isinstance(data, dict) else {"d": data}
    settings = {
        "rng": np.random.default_rng(5),
        "threshold": 0.0,
        "level": "nominal",
        "resamples": 100,
    }
    return corrected_alpha(data, competence, **{**settings, **options})


def test_pure_noise_looks_like_agreement_and_cross_fitting_unmasks_it() -> None:
    found = corrected(crowd(1, guessing=1.0), shuffles=4)
    assert abs(found.uncorrected) < 0.03
    assert found.corrected > 0.05
    assert found.shuffled_null == pytest.approx(found.corrected, abs=0.03)
    assert abs(found.cross_fitted) < 0.03
    assert found.removed_share > 0.3


def test_removing_workers_who_really_guess_raises_agreement_on_new_items_too() -> None:
    found = corrected(crowd(2, guessing=0.4), threshold=0.06)
    row = found.dimension.rows()[0]
    assert row["low"] < found.uncorrected < row["high"]
    assert row["cross_low"] > found.uncorrected
    assert found.cross_fitted < found.corrected
    assert found.shuffled_null < found.cross_fitted


def test_shares_count_what_was_removed_and_what_is_left() -> None:
    data = crowd(3, guessing=0.0)
    fixed = np.where(np.arange(WORKERS) < 40, 1.0, 0.0)
    scored = np.arange(ITEMS) < 100
    found = corrected(data, lambda votes: fixed, threshold=0.5, scored=scored)
    ours = scored[data.item]
    kept = fixed[data.worker] == 1
    left = np.bincount(data.item[kept & ours], minlength=ITEMS)[:100]
    assert found.removed_share == pytest.approx(1 - kept[ours].mean())
    assert found.thin_share == pytest.approx((left < 3).mean())
    assert found.corrected == krippendorff_alpha(data.take(kept & ours))
    # A competence that does not look at the votes has nothing circular about it.
    assert found.cross_fitted == found.corrected
    assert found.unknown_share == 0.0


def test_a_group_of_items_never_lies_on_both_sides_of_the_cross_fit() -> None:
    data, group = crowd(4, guessing=0.2), np.arange(ITEMS) // 2
    seen: list[set[int]] = []

    def competence(votes: Labels) -> FloatArray:
        seen.append(set(votes.item.tolist()))
        return peer_agreement(votes)

    found = corrected({"d": data, "e": data}, competence, group=group, folds=4)
    parts = [items for items in seen if len(items) < ITEMS]
    assert len(parts) == 2 * 4
    assert all({k ^ 1 for k in items} == items for items in parts)
    assert found.dimension["dimension"].tolist() == ["d", "e"]


def test_a_worker_nobody_can_judge_elsewhere_stays_and_is_counted() -> None:
    data = crowd(6, guessing=0.0)
    once = data.take((data.worker != 0) | (np.arange(len(data)) == np.argmax(data.worker == 0)))
    found = corrected(once, lambda votes: np.where(np.arange(WORKERS) == 1, np.nan, 1.0))
    whose = np.isin(once.worker, (0, 1))
    assert found.removed_share == 0.0
    assert found.unknown_share == pytest.approx(whose.mean())


def test_shuffling_keeps_every_vote_and_where_it_stood() -> None:
    data = crowd(7, guessing=0.0)
    data = replace(data, weight=np.where(data.worker % 2, 2.0, 1.0), shown=2 - data.label)
    mixed = shuffled(data, np.random.default_rng(0))
    for votes in (data, mixed):
        assert (votes.shown == 2 - votes.label).all()
    for column, names in (("worker", WORKERS), ("item", ITEMS), ("label", 3)):
        before, after = (
            np.bincount(getattr(v, column), weights=v.weight, minlength=names)
            for v in (data, mixed)
        )
        assert before.tolist() == after.tolist()
    assert abs(krippendorff_alpha(mixed)) < 0.1 < krippendorff_alpha(data)


def test_a_filter_that_removes_everybody_leaves_a_reason() -> None:
    found = corrected(crowd(8, guessing=0.0), lambda votes: np.zeros(WORKERS), threshold=1.0)
    row = found.dimension.rows()[0]
    assert (row["corrected"], row["cross_fitted"], row["removed_share"]) == (None, None, 1.0)
    assert row["reason"] and found.uncorrected > 0.2


@pytest.mark.parametrize(
    ("data", "options", "error", "said"),
    [
        ({}, {}, EmptyData, "dimension"),
        ({"a": crowd(0, 0.0), "b": replace(crowd(0, 0.0), items=("x",))}, {}, BadShape, "'b'"),
        (crowd(0, 0.0), {"folds": 1}, BadParameter, "folds"),
        (crowd(0, 0.0), {"shuffles": 0}, BadParameter, "shuffles"),
        (crowd(0, 0.0), {"resamples": 1}, BadParameter, "resamples"),
        (crowd(0, 0.0), {"threshold": np.nan}, BadParameter, "threshold"),
        (crowd(0, 0.0), {"scored": np.ones(3, dtype=bool)}, BadShape, "scored"),
        (crowd(0, 0.0), {"scored": np.zeros(ITEMS, dtype=bool)}, EmptyData, "scored"),
        (crowd(0, 0.0), {"group": np.zeros(3, dtype=int)}, BadShape, "group"),
        (crowd(0, 0.0), {"competence": lambda votes: np.ones(3)}, BadShape, "competence gave"),
        (replace(crowd(0, 0.0), weight=np.full(2000, 0.5)), {}, BadVector, "whole number"),
        (replace(crowd(0, 0.0), label=np.zeros(2000, dtype=int)), {}, NoVariation, "the same"),
    ],
)
def test_what_cannot_be_corrected_is_refused_by_name(
    data: Any, options: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        corrected(data, **options)


@pytest.mark.data
def test_the_published_correction_is_mostly_its_own_making() -> None:
    """Topical correctness: .43 published; much of it comes out of shuffled votes too."""
    from evaluation.methods.competence.mace import method as mace

    shown = real_votes()
    votes = shown.directed(0)
    pair = np.unique([name.removesuffix(" turned") for name in votes.items], return_inverse=True)[1]
    first = np.zeros(len(pair), dtype=bool)
    first[np.unique(pair, return_index=True)[1]] = True
    rng = np.random.default_rng(0)

    def competence(data: Labels) -> FloatArray:
        found = mace.fit(data, rng=rng, restarts=3, resamples=0)
        return np.asarray(1 - found.estimates["worker"]["spam"])

    found = corrected(votes, competence, threshold=0.3, level="ordinal", scored=first, group=pair)
    assert found.corrected == pytest.approx(0.43, abs=0.03)
    assert found.shuffled_null > 0.2
    assert found.cross_fitted == pytest.approx(0.23, abs=0.04)
    assert found.uncorrected == pytest.approx(0.196, abs=1e-3)
