"""Items drawn for people where a judge is unsure, and the estimate that undoes the choice."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.core.base import BadParameter
from evaluation.methods.replacement import active
from evaluation.methods.replacement.combined import NoEstimate


def items(rng: np.random.Generator, n: int = 600) -> tuple[np.ndarray, ...]:
    """What people say of easy and hard items, a judge that errs on the hard ones, and another."""
    hard = rng.random(n) < 0.3
    human = (rng.random(n) < 0.4).astype(float)
    wrong = [rng.random(n) < np.where(hard, 0.45, 0.03) for _ in range(2)]
    return human, *(np.where(one, 1 - human, human) for one in wrong), hard


def test_every_item_is_drawn_as_often_as_its_chance_says_and_always_as_many_as_wanted() -> None:
    rng = np.random.default_rng(1)
    chance = active.chances(rng.uniform(0.01, 1, 40), 12)
    assert chance.sum() == pytest.approx(12) and chance.min() > 0 and chance.max() <= 1
    drawn = np.array([active.draw(chance, rng) for _ in range(6000)])
    assert set(drawn.sum(axis=1)) == {12}
    error = np.sqrt(chance * (1 - chance) / len(drawn))
    assert np.abs(drawn.mean(axis=0) - chance).max() < 4.5 * error.max()


def test_no_weight_is_above_twice_that_of_a_random_draw_and_sure_items_are_all_drawn() -> None:
    errors = np.concatenate([np.full(5, 1e6), np.full(95, 1.0)])
    chance = active.chances(errors, 40)
    assert chance[:5].tolist() == [1.0] * 5 and chance.sum() == pytest.approx(40)
    assert (1 / active.chances(np.array([1e-9] * 50 + [1.0] * 50), 10)).max() <= 2 * 100 / 10
    even = active.chances(errors, 40, mix=1.0)
    assert even == pytest.approx(0.4)
    with pytest.raises(BadParameter):
        active.chances(errors, 101)


def test_where_models_disagree_or_the_judge_was_wrong_items_are_more_likely() -> None:
    rng = np.random.default_rng(2)
    human, judge, other, hard = items(rng)
    group, doubt = active.group_items(judge, other[None, :])
    known = rng.random(600) < 0.2
    for seen in (np.zeros(600, dtype=bool), known):
        errors = active.expected_errors(group, seen, (human - judge) ** 2, doubt)
        assert errors[hard].mean() > 1.3 * errors[~hard].mean()


def test_a_chosen_sample_gives_the_mean_of_all_though_it_is_made_of_hard_items() -> None:
    """Over many draws from the same items the estimate is right on average, the plain mean not."""
    rng = np.random.default_rng(3)
    human, judge, other, hard = items(rng)
    human = np.where(hard, 1.0, human)  # hard items are of one class
    group, doubt = active.group_items(judge, other[None, :])
    known = np.zeros(600, dtype=bool)
    known[np.flatnonzero(~hard)[:60]] = True  # and what was known before is easy
    chance = np.ones(600)
    errors = active.expected_errors(group, known, (human - judge) ** 2, doubt)
    chance[~known] = active.chances(errors[~known], 120)
    found, plain, spread = [], [], []
    for _ in range(400):
        chosen = known.copy()
        chosen[~known] = active.draw(chance[~known], rng)
        one, _ = active.combine_chosen(human, judge, chance, chosen, known)
        found.append(one.both.value)
        spread.append(one.both.error)
        plain.append(human[chosen & ~known].mean())
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - human.mean()) < 4 * error
    assert np.mean(plain) > human.mean() + 0.05
    assert np.mean(spread) == pytest.approx(np.std(found), rel=0.35)


def test_with_equal_chances_the_estimate_is_the_one_of_a_random_sample() -> None:
    from evaluation.methods.replacement.combined import combine_means

    rng = np.random.default_rng(4)
    human, judge, _, _ = items(rng, 2000)
    chosen = np.zeros(2000, dtype=bool)
    chosen[:200] = True
    none = np.zeros(2000, dtype=bool)
    one, _ = active.combine_chosen(human, judge, np.full(2000, 0.1), chosen, none)
    same = combine_means(human[:200], judge[:200], judge[200:])
    assert one.both.value == pytest.approx(same.both.value, abs=0.01)
    assert one.both.error == pytest.approx(same.both.error, rel=0.1)
    assert one.worth == pytest.approx(same.worth, rel=0.2)


def test_too_few_drawn_items_or_too_few_of_a_value_give_no_interval() -> None:
    rng = np.random.default_rng(5)
    human, judge, _, _ = items(rng)
    none, few = np.zeros(600, dtype=bool), np.arange(600) < 20
    with pytest.raises(NoEstimate, match="30 items drawn for people, and there are 20"):
        active.check_chosen(human, judge, few, none)
    rare = (np.arange(600) % 20 == 0).astype(float)
    with pytest.raises(NoEstimate, match="rarer of two values to 5 of the items"):
        active.check_chosen(rare, judge, np.arange(600) < 100, none)
    # What was known before is no reason to trust the others.
    with pytest.raises(NoEstimate, match="there are 0"):
        active.check_chosen(human, judge, few, np.arange(600) < 200)


def test_earlier_labels_help_where_they_are_a_random_part_and_not_where_the_draw_contradicts() -> (
    None
):
    rng = np.random.default_rng(8)
    human, judge, _, hard = items(rng, 1500)
    chance = np.full(1500, 0.15)

    def both(known: np.ndarray, *, trusted: bool) -> tuple[float, bool]:
        chosen = known.copy()
        chosen[~known] = active.draw(chance[~known], np.random.default_rng(7))
        parts = (human, judge, chance, chosen, known)
        told, used = active.combine_chosen(*parts, trusted=trusted)
        return told.both.error, used

    some = np.arange(1500) < 200
    assert both(some, trusted=True)[0] < 0.85 * both(some, trusted=False)[0]
    # Earlier labels where people and model agree, though they do not elsewhere.
    easy = np.cumsum((human == judge) & ~hard) * ((human == judge) & ~hard)
    alike = (easy > 0) & (easy <= 200)
    human[hard] = 1.0
    assert both(alike, trusted=True)[1] is False


def test_the_forecast_is_near_what_the_interval_turns_out_to_be() -> None:
    rng = np.random.default_rng(8)
    human, judge, other, _ = items(rng, 1500)
    group, doubt = active.group_items(judge, other[None, :])
    known = np.arange(1500) < 150
    errors = active.expected_errors(group, known, (human - judge) ** 2, doubt)
    chance, chosen = np.ones(1500), known.copy()
    chance[~known] = active.chances(errors[~known], 200)
    chosen[~known] = active.draw(chance[~known], rng)
    for trusted in (False, True):
        told = active.expected_half(
            human,
            judge,
            known,
            lambda squares: active.expected_errors(group, known, squares, doubt),
            chance,
            trusted=trusted,
        )
        one, used = active.combine_chosen(human, judge, chance, chosen, known, trusted=trusted)
        assert used is trusted
        assert told == pytest.approx((one.both.high - one.both.low) / 2, rel=0.25)
