"""Judges corrected: published figures, planted judges, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.core.base import BadParameter, BadShape
from evaluation.methods.replacement.combined import Estimate, NoEstimate, combine_means
from evaluation.methods.replacement.judges import (
    Rates,
    combine_panel,
    correct_share,
    judge_rates,
    leaning,
)

RNG = np.random.default_rng


def rates(sensitivity: float, specificity: float, n: int = 100_000) -> Rates:
    def one(value: float) -> Estimate:
        return Estimate(value, 0.0, value, value, n)

    return Rates(one(sensitivity), one(specificity))


def test_a_judge_whose_errors_are_known_gives_rogan_and_gladens_share() -> None:
    found = correct_share(270, 1000, rates(0.9, 0.8))
    assert found.value == pytest.approx((0.27 + 0.8 - 1) / (0.9 + 0.8 - 1))
    assert found.low < found.value < found.high


def test_shares_stay_within_zero_and_one() -> None:
    assert correct_share(10, 1000, rates(0.9, 0.8)).value == 0
    assert correct_share(995, 1000, rates(0.9, 0.8)).value == 1


def test_the_corrected_interval_holds_as_often_as_it_says() -> None:
    rng, truth, held, spans = RNG(2), 0.3, 0, []
    for _ in range(600):
        there = rng.random(2_120) < truth
        judge = np.where(there, rng.random(2_120) < 0.85, rng.random(2_120) < 0.1)
        own = judge_rates(there[:120], judge[:120])
        found = correct_share(int(judge[120:].sum()), 2_000, own)
        held += found.low <= truth <= found.high
        spans.append(found.high - found.low)
    assert 0.93 <= held / 600 <= 0.99
    assert np.mean(spans) < 0.45


def test_a_judge_like_a_coin_corrects_nothing_and_few_labels_neither() -> None:
    rng = RNG(0)
    there = rng.random(200) < 0.4
    with pytest.raises(NoEstimate, match="better than a coin"):
        correct_share(100, 200, judge_rates(there, rng.random(200) < 0.5))
    with pytest.raises(NoEstimate, match="people labelled 5 items in the class, and 10"):
        judge_rates(np.arange(100) < 5, np.arange(100) < 6)
    with pytest.raises(BadShape):
        judge_rates(there, there[1:])
    with pytest.raises(BadParameter, match="positive is 5 of 4"):
        correct_share(5, 4, rates(0.9, 0.9))


def test_a_judge_who_likes_its_own_texts_is_told_apart_from_one_that_follows_people() -> None:
    rng = RNG(3)
    people = (rng.random((300, 3)) < 0.55).mean(axis=1)
    fair = (rng.random(300) < 0.55).astype(float)
    vain = (rng.random(300) < 0.8).astype(float)
    assert leaning(fair, people)[2].low < 0 < leaning(fair, people)[2].high
    own, theirs, more = leaning(vain, people)
    assert more.low > 0.1
    assert more.value == pytest.approx(own.value - theirs.value)
    with pytest.raises(NoEstimate, match="there are 12"):
        leaning(vain[:12], people[:12])


def test_a_panel_is_surer_than_its_best_judge_and_leaves_a_bad_one_out() -> None:
    rng, labelled = RNG(4), 200
    truth = rng.normal(size=4_000)
    judges = np.column_stack(
        [truth + rng.normal(size=4_000), truth + rng.normal(size=4_000), rng.normal(size=4_000)]
    )
    human = truth[:labelled] + rng.normal(scale=0.3, size=labelled)
    panel = combine_panel(human, judges[:labelled], judges[labelled:])
    alone = combine_means(human, judges[:labelled, 0], judges[labelled:, 0])
    assert panel.combined.both.error < alone.both.error < alone.people.error
    assert abs(panel.weights[2]) < 0.15 < min(panel.weights[:2])
    assert panel.combined.both.low < truth.mean() < panel.combined.both.high


def test_a_panels_interval_holds_as_often_as_it_says() -> None:
    held = 0
    for seed in range(300):
        rng = RNG(seed)
        truth = (rng.random(600) < 0.4).astype(float)
        wrong = rng.random((600, 4)) < [0.1, 0.2, 0.3, 0.5]
        judges = np.where(wrong, 1 - truth[:, None], truth[:, None])
        found = combine_panel(truth[:60], judges[:60], judges[60:]).combined.both
        held += found.low <= 0.4 <= found.high
    assert 0.92 <= held / 300 <= 0.99


def test_judges_who_all_say_the_same_are_weighted_without_an_error() -> None:
    rng = RNG(5)
    same = np.repeat(rng.normal(size=(400, 1)), 3, axis=1)
    panel = combine_panel(same[:50, 0] + rng.normal(size=50), same[:50], same[50:])
    assert np.isfinite(panel.weights).all()
