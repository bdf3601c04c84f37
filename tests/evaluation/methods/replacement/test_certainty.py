"""What a test of models and its estimates claim: no more than the data allow, or nothing at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation.methods.core.base import DataError
from evaluation.methods.replacement import annotator, combined, judges, method
from evaluation.methods.replacement.behavior import Aside
from evaluation.methods.replacement.data import ACCURACY, RMSE, Beside

CLASSES = 3


def crowd(
    rng: np.random.Generator,
    *,
    right: float | list[float],
    items: int = 200,
    people: int = 3,
    seen: int | None = None,
    topics: int = 0,
    sd: float = 0.0,
) -> Beside:
    """People right four times in five, and models that look the truth up in ``right`` of the items,
    more or less by topic."""
    truth = rng.integers(0, CLASSES, items)
    topic = np.arange(items) % max(topics, 1)
    shift = rng.normal(0, sd, topics)[topic] if topics else np.zeros(items)

    def answers(share: np.ndarray | float, many: int) -> np.ndarray:
        guess = rng.integers(0, CLASSES, (many, items))
        return np.where(rng.random((many, items)) < share, truth, guess)

    shares = [right] if isinstance(right, float) else right
    model = np.vstack([answers(np.clip(one + shift, 0, 1), 1) for one in shares])
    given = answers(0.8, people)[:, : seen or items]
    person, item = (part.ravel() for part in np.indices(given.shape))
    return Beside(
        person=person,
        item=item,
        value=given.ravel().astype(float),
        model=model.astype(float),
        people=tuple(map(str, range(people))),
        models=tuple(f"model {at}" for at in range(len(shares))),
        score=ACCURACY,
        labels=("a", "b", "c"),
        **({"topic": topic} if topics else {}),
    )


def verdicts(data: Beside, epsilon: float = 0.15, *, draws: int = 100) -> list[str]:
    rows = method.fit(data, draws=draws).estimates["curve"].rows()
    return [row["verdict"] for row in rows if abs(row["epsilon"] - epsilon) < 1e-9]


# Right in so many items, a model is worse than half of the people by so much.
RIGHT = {0.094: 0.70, 0.15: 0.625, 0.35: 0.33}


@pytest.mark.long
def test_a_model_within_epsilon_is_hardly_ever_told_to_be_no_good() -> None:
    rng = np.random.default_rng(1)
    told = [verdicts(crowd(rng, right=RIGHT[0.094]))[0] for _ in range(20)]
    assert told.count("no") <= 2 and set(told) <= {"yes", "no", "undecided"}


def test_a_model_that_is_much_worse_is_told_to_be_no_good_with_any_number_of_draws() -> None:
    data = crowd(np.random.default_rng(2), right=RIGHT[0.35])
    assert verdicts(data) == verdicts(data, draws=400) == ["no"]


def test_of_eight_models_at_the_edge_hardly_any_is_wrongly_said_to_pass_or_not_to() -> None:
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(150):
        data = crowd(rng, right=[RIGHT[0.15]] * 8, people=5)
        for own in data.model:
            found = annotator.compare_labels(
                data.person, data.item, data.value, own, people=data.people
            )
            claim = annotator.claim_half(*annotator.moments(found), 0.15, family=8)
            if claim.is_sure:
                wrong += 1
                break
    assert wrong <= 13  # 5 % either way over all eight; simulation error .018


def test_a_verdict_is_where_half_of_the_people_are_by_their_own_bounds() -> None:
    worse, error = np.array([0.0, 0.1, 0.4, 0.5]), np.full(4, 0.03)
    claim = annotator.claim_half(np.full(4, 200), worse, error, np.full(4, 199.0), 0.3)
    assert claim.estimate == 0.1 and claim.low < 0.1 < claim.high < 0.3
    assert claim.is_sure and claim.direction == -1
    many = annotator.claim_half(np.full(4, 200), worse, error, np.full(4, 199.0), 0.3, family=20)
    assert many.high > claim.high and many.is_simultaneous
    unknown = annotator.claim_half(np.full(4, 200), worse, error, np.zeros(4), 0.3)
    assert not unknown.is_sure
    # 30 items without any difference do not rule out one of 5 %.
    same = annotator.claim_half(np.full(3, 30), np.zeros(3), np.zeros(3), np.full(3, 29.0), 0.05)
    assert not same.is_sure


def test_items_of_one_topic_are_not_independent_in_the_test() -> None:
    rng = np.random.default_rng(4)
    truth = crowd(np.random.default_rng(9), right=0.625, items=60_000, topics=6_000, sd=0.25)
    known = annotator.compare_labels(
        truth.person, truth.item, truth.value, truth.model[0], people=truth.people
    )
    epsilon, advantage = known.difference.mean(), known.advantage.mean()
    said, held = np.zeros(2), np.zeros(2)
    for _ in range(100):
        data = crowd(rng, right=0.625, items=300, topics=10, sd=0.25)
        assert data.topic is not None
        alone = annotator.compare_labels(
            data.person, data.item, data.value, data.model[0], people=data.people
        )
        for at, found in enumerate((alone, replace(alone, topic=data.topic[alone.item]))):
            claim = annotator.claim_half(*annotator.moments(found), epsilon)
            low, high = annotator.advantage_interval(found)
            said[at] += claim.is_sure
            held[at] += low <= advantage <= high
    assert said[0] > 10 and held[0] < 80  # as if items were independent
    assert said[1] <= 8 and held[1] >= 90


def test_a_test_on_few_topics_is_refused_with_their_number() -> None:
    data = crowd(np.random.default_rng(5), right=0.8, items=120, topics=3)
    (row,) = method.fit(data, draws=100).estimates["model"].rows()
    assert "3 topics; an interval needs 5" in row["reason"] and row["advantage"] is None


def test_labels_as_they_came_of_two_topics_are_no_random_part() -> None:
    data = crowd(np.random.default_rng(6), right=0.8, items=400, topics=20)
    assert data.topic is not None
    kept = data.topic[data.item] < 2
    few = replace(data, person=data.person[kept], item=data.item[kept], value=data.value[kept])
    rows = method.fit(few, draws=100).estimates["combined"].rows()
    assert all("2 topics; an interval needs 5" in row["reason"] for row in rows)
    assert all(row["both"] is None and row["labelled"] == 40 for row in rows)


def by_topic(
    rng: np.random.Generator, labelled: int, *, topics: int = 20, each: int = 100, sd: float = 0.15
) -> tuple[np.ndarray, ...]:
    """Shares that differ by topic, and people who labelled ``labelled`` whole topics."""
    topic = np.repeat(np.arange(topics), each)
    human = (
        rng.random(topics * each) < np.clip(0.4 + rng.normal(0, sd, topics), 0, 1)[topic]
    ) * 1.0
    err = np.clip(0.2 + rng.normal(0, 0.1, topics), 0, 0.6)[topic]
    judge = np.where(rng.random(topics * each) < err, 1 - human, human)
    return topic, human, judge, topic < labelled


@pytest.mark.parametrize("labelled", [5, 10])
def test_labels_of_whole_topics_give_an_interval_that_holds(labelled: int) -> None:
    rng = np.random.default_rng(6)
    held, alone = 0, 0
    for _ in range(200):
        topic, human, judge, own = by_topic(rng, labelled)
        parts = (human[own], judge[own], judge[~own])
        found = combined.combine_means(*parts, topics=(topic[own], topic[~own])).both
        held += found.low <= 0.4 <= found.high
        found = combined.combine_means(*parts).both
        alone += found.low <= 0.4 <= found.high
    assert held >= 183 and alone < 170


def test_labels_of_two_topics_give_no_interval() -> None:
    topic, human, judge, own = by_topic(np.random.default_rng(7), 2)
    with pytest.raises(combined.NoEstimate, match="2 topics; an interval needs 5"):
        combined.check_judge(human[own], judge[own], judge[~own], topics=(topic[own], topic[~own]))


def test_strata_of_which_unequal_parts_were_labelled_are_weighed_by_their_size() -> None:
    held = plain = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        kind = (rng.random(2000) < 0.5).astype(np.int64)
        human = (rng.random(2000) < np.where(kind, 0.6, 0.2)) * 1.0
        judge = np.where(rng.random(2000) < 0.2, 1 - human, human)
        own = rng.random(2000) < np.where(kind, 0.02, 0.18)
        kinds = (kind[own], kind[~own])
        assert not combined.are_alike(*kinds)
        found = combined.combine_strata(human[own], judge[own], judge[~own], kinds).both
        held += found.low <= 0.4 <= found.high
        found = combined.combine_means(human[own], judge[own], judge[~own]).both
        plain += found.low <= 0.4 <= found.high
    assert held >= 89 > plain
    with pytest.raises(combined.NoEstimate, match="3 items of a kind"):
        few = np.flatnonzero(kind == 1)[:3]
        own = (kind == 0) & (rng.random(2000) < 0.1)
        own[few] = True
        kinds = (kind[own], kind[~own])
        combined.combine_strata(human[own], judge[own], judge[~own], kinds)


def test_labelled_items_that_are_easier_for_the_judge_give_no_estimate() -> None:
    """Other models tell: they agree with it more often on what people labelled."""
    refused = given = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        hard = rng.random(2000) < 0.3
        human = (rng.random(2000) < 0.4).astype(float)
        wrong = rng.random((2, 2000)) < np.where(hard, 0.4, 0.03)
        models = np.where(wrong, 1 - human, human)
        for easy in (True, False):
            part = rng.permutation(np.flatnonzero(~hard) if easy else np.arange(2000))[:300]
            data = Beside(
                person=np.zeros(300, dtype=np.int64),
                item=part,
                value=human[part],
                model=models,
                people=("p",),
                models=("judge", "other"),
                score=ACCURACY,
                labels=("no", "yes"),
            )
            row = method.fit(data, draws=100).estimates["combined"].rows()[1]
            refused += easy and "easier than the others" in row["reason"]
            given += not easy and row["reason"] == ""
    assert refused >= 37 and given >= 37


def test_items_on_which_models_agree_are_estimated_apart_from_the_others() -> None:
    """What is a little easier among the labelled items is then weighed as it is among all."""
    held = plain = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        hard = rng.random(2000) < 0.3
        human = (rng.random(2000) < 0.4).astype(float)
        wrong = rng.random((4, 2000)) < np.where(hard, 0.4, 0.03)
        wrong &= (human == 0) | (rng.random((4, 2000)) < 0.5)
        models = np.where(wrong, 1 - human, human)
        weight = np.where(hard, 0.25, 1.0)
        part = rng.choice(2000, 300, replace=False, p=weight / weight.sum())
        own = np.isin(np.arange(2000), part)
        agree = ((models[1:] != models[0]).any(axis=0)).astype(np.int64)
        parts = (human[own], models[0][own], models[0][~own])
        two = combined.combine_strata(*parts, (agree[own], agree[~own])).both
        held += two.low <= 0.4 <= two.high
        one = combined.combine_means(*parts).both
        plain += one.low <= 0.4 <= one.high
    assert held >= 135 and plain <= 120
    assert combined.can_part(agree[own] * 1.0, agree[~own] * 1.0)
    assert not combined.can_part(np.full(300, np.nan), agree[~own] * 1.0)


def test_a_judge_that_stands_alone_is_held_against_what_it_said_when_asked_again() -> None:
    item = np.array([0, 0, 1, 1, 2])
    aside = Aside(
        turned=np.zeros(0, dtype=bool),
        model=np.zeros(5, dtype=np.int64),
        item=item,
        value=np.array([1.0, 0.0, 1.0, 1.0, 0.0]),
        seen=np.zeros(5, dtype=bool),
        at=np.zeros(5),
        words=np.full((3, 2), np.nan),
        own=np.zeros((1, 3, 2), dtype=bool),
    )
    none = np.zeros(0, dtype=np.int64)
    data = Beside(
        none, none, np.zeros(0), np.array([[1.0, 1.0, 0.0]]), (), ("m",), ACCURACY, ("a", "b"),
        aside=aside,
    )  # fmt: skip
    assert np.array_equal(data.doubt(0), [1.0, 0.0, np.nan], equal_nan=True)


def test_two_people_who_are_often_even_do_not_say_what_a_judge_gets_right() -> None:
    """Three in ten items are hard; the true share is .10, and was said to be .158."""
    rng = np.random.default_rng(8)
    hard, truth = rng.random(2300) < 0.3, rng.random(2300) < 0.1
    votes, judged = (
        np.where(rng.random((many, 2300)) < np.where(hard, 0.7, easy), truth, ~truth)
        for many, easy in ((2, 0.98), (1, 0.95))
    )
    person, item = (part.ravel() for part in np.indices((2, 300)))
    value = votes[:, :300].ravel().astype(float)
    data = Beside(
        person, item, value, judged.astype(float), ("p", "q"), ("m",), ACCURACY, ("no", "yes")
    )
    rows = method.fit(data, draws=100).estimates["rates"].rows()
    assert all("people are even" in row["corrected_reason"] for row in rows)
    assert all(row["corrected"] is None for row in rows)


def test_items_on_which_people_are_even_count_in_parts() -> None:
    rng = np.random.default_rng(9)
    human = rng.choice([0.0, 0.5, 1.0], 400, p=[0.6, 0.1, 0.3])
    judge = rng.random(400) < 0.15 + 0.7 * human
    found = judges.judge_rates(human, judge)
    assert found.sensitivity.value == pytest.approx((human * judge).sum() / human.sum())
    assert found.specificity.value == pytest.approx(
        ((1 - human) * ~judge).sum() / (1 - human).sum()
    )
    # Unbiased of the mean of people's parts, whatever the judge does on even items.
    share = judges.correct_share(int(judge.sum()), 400, found)
    assert share.value == pytest.approx(human.mean())


def test_a_share_corrected_over_topics_holds() -> None:
    held = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        topic = rng.integers(0, 20, 2300)
        truth = rng.random(2300) < np.clip(0.3 + rng.normal(0, 0.1, 20), 0, 1)[topic]
        right = np.clip(0.85 + rng.normal(0, 0.1, 20), 0, 1)[topic]
        judge = np.where(rng.random(2300) < right, truth, ~truth)
        found = judges.correct_share_by_topic(
            truth[:300] * 1.0, judge[:300], judge[300:], (topic[:300], topic[300:])
        )
        held += found.low <= 0.3 <= found.high
    assert held >= 183


def test_weighted_means_vary_about_the_weighted_mean() -> None:
    held = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        human = rng.normal(10, 1, 1000)
        judge = human + rng.normal(0, 0.5, 1000)
        chance = np.clip(rng.beta(2, 8, 1000), 0.03, 1)
        own = rng.random(1000) < chance
        found = combined.combine_means(human[own], judge[own], judge[~own], weights=1 / chance[own])
        held += found.people.low <= 10 <= found.people.high
        assert found.people.error < 0.3  # it was 1: the weights' own variance
    assert held >= 372


@pytest.mark.parametrize("name", ["human", "judge", "rest"])
def test_what_is_no_number_is_refused_by_name(name: str) -> None:
    rng = np.random.default_rng(0)
    parts = {"human": rng.random(40), "judge": rng.random(40), "rest": rng.random(80)}
    parts[name][3] = np.nan
    for refuse in (combined.combine_means, combined.check_judge):
        with pytest.raises(DataError, match=name):
            refuse(parts["human"], parts["judge"], parts["rest"])


def test_a_label_that_is_no_number_is_no_label() -> None:
    person, item = (part.ravel() for part in np.indices((3, 40)))
    value = np.ones(120)
    value[5] = np.nan
    with pytest.raises(DataError, match="value"):
        annotator.compare_labels(person, item, value, np.ones(40), people=("a", "b", "c"))


def test_heavy_tails_are_refused_as_far_as_their_intervals_would_miss() -> None:
    given = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        human = rng.lognormal(0, 1, 1000)
        judge = human * np.exp(rng.normal(0, 0.3, 1000))
        try:
            combined.check_judge(human[:60], judge[:60], judge[60:])
        except combined.NoEstimate as problem:
            assert "far from the others" in str(problem)
        else:
            given += 1
        even = rng.integers(1, 6, 1000) * 1.0
        combined.check_judge(even[:60], even[:60] + rng.normal(0, 1, 60), even[60:], alike=False)
    assert given <= 3


def test_ratings_with_few_other_values_than_the_usual_one_are_refused() -> None:
    human = np.where(np.arange(60) < 4, np.arange(60) + 1.0, 5.0)
    with pytest.raises(combined.NoEstimate, match="other values than the usual one 4 times"):
        combined.check_judge(human, human, np.arange(100.0) % 5)


def test_of_numbers_models_are_far_apart_from_half_a_standard_deviation_on() -> None:
    none = np.zeros(0, dtype=np.int64)
    model = np.array([[1.0, 2.0, 5.0, 4.0], [1.2, 5.0, 5.0, np.nan]])
    data = Beside(none, none, np.zeros(0), model, (), ("a", "b"), RMSE)
    assert np.array_equal(data.doubt(0), [0.0, 1.0, 0.0, np.nan], equal_nan=True)
