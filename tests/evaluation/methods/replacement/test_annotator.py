"""The alternative annotator test beside its text, written out person by person."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import false_discovery_control, ttest_1samp

from evaluation.methods.core.base import BadParameter, BadShape, EmptyData
from evaluation.methods.replacement import annotator


def crowd(rng: np.random.Generator, *, people: int = 5, items: int = 60) -> tuple[np.ndarray, ...]:
    """Labels 0..3 of people who saw about two thirds of the items, and a model's."""
    truth = rng.integers(0, 4, items)
    rows = [
        (who, at, truth[at] if rng.random() < 0.7 else rng.integers(0, 4))
        for who in range(people)
        for at in range(items)
        if rng.random() < 0.66
    ]
    model = np.where(rng.random(items) < 0.8, truth, rng.integers(0, 4, items)).astype(float)
    model[rng.random(items) < 0.05] = np.nan
    person, item, value = np.array(rows).T
    return person, item, value.astype(float), model


def by_the_text(
    person: np.ndarray, item: np.ndarray, value: np.ndarray, model: np.ndarray, score: str
) -> dict[int, tuple[list[float], list[float]]]:
    """Person -> the differences of indicators and the model's, as section 3 says."""
    found: dict[int, tuple[list[float], list[float]]] = {}
    for who in np.unique(person):
        for at in item[person == who]:
            rest = value[(item == at) & (person != who)]
            own = value[(item == at) & (person == who)][0]
            if not len(rest) or np.isnan(model[at]):
                continue
            if score == "accuracy":
                h, f = (rest == own).mean(), (rest == model[at]).mean()
            else:
                h = -np.sqrt(((rest - own) ** 2).mean())
                f = -np.sqrt(((rest - model[at]) ** 2).mean())
            differences, advantages = found.setdefault(int(who), ([], []))
            differences.append(float(h >= f) - float(f >= h))
            advantages.append(float(f >= h))
    return found


@pytest.mark.parametrize("score", annotator.SCORES)
@pytest.mark.parametrize("seed", range(10))
def test_every_p_value_is_that_of_the_test_written_out_person_by_person(
    seed: int, score: str
) -> None:
    person, item, value, model = crowd(np.random.default_rng(seed))
    data = annotator.compare_labels(
        person, item, value, model, people=tuple("abcde"), score=score, items_per_person=10
    )
    found = annotator.judge(data, 0.15)
    known = by_the_text(person, item, value, model, score)
    p = [ttest_1samp(one, 0.15, alternative="less").pvalue for one, _ in known.values()]
    assert np.allclose(found.p, p, atol=1e-12)
    corrected = false_discovery_control(p, method="by")
    assert np.allclose(found.corrected, corrected, atol=1e-12)
    assert found.winning_rate == (corrected <= 0.05).mean()
    assert np.isclose(
        found.advantage_probability, np.mean([np.mean(one) for _, one in known.values()])
    )
    at = int(np.flatnonzero(annotator.EPSILONS == 0.15)[0])
    assert annotator.winning_rates(data)[at] == found.winning_rate


def test_similarities_of_texts_are_compared_as_labels_are() -> None:
    person, item, value, model = crowd(np.random.default_rng(4))
    model = np.nan_to_num(model, nan=7.0)
    similarity = []
    for at in range(len(model)):
        own = value[item == at]
        similarity.append((np.append(own, model[at])[:, None] == own[None, :]).astype(float))
    told = annotator.compare_labels(
        person, item, value, model, people=tuple("abcde"), items_per_person=10
    )
    found = annotator.compare_similarities(
        person, item, similarity, people=tuple("abcde"), items_per_person=10
    )
    for name in ("person", "item", "human", "model"):
        assert np.allclose(getattr(found, name), getattr(told, name)), name


def test_a_model_that_copies_a_good_person_passes_and_one_that_guesses_does_not() -> None:
    rng = np.random.default_rng(1)
    person, item, value, model = crowd(rng, people=5, items=300)
    people = tuple("abcde")
    good = annotator.judge(annotator.compare_labels(person, item, value, model, people=people), 0.1)
    assert good.passes and good.advantage_probability > 0.75
    guesses = rng.integers(0, 4, len(model)).astype(float)
    bad = annotator.compare_labels(person, item, value, guesses, people=people)
    assert not annotator.judge(bad, 0.1).passes
    low, high = annotator.advantage_interval(bad)
    assert low < annotator.judge(bad, 0.1).advantage_probability < high


def same(people: int = 3, items: int = 40, *, topics: int = 0) -> annotator.Comparisons:
    """People and a model who give every item the same label."""
    person, item = np.repeat(np.arange(people), items), np.tile(np.arange(items), people)
    label = np.arange(items) % 3.0
    names = tuple("abcdefgh"[:people])
    data = annotator.compare_labels(person, item, np.tile(label, people), label, people=names)
    return replace(data, topic=data.item % topics) if topics else data


def test_where_all_agree_the_p_value_is_exact_as_no_t_test_can_be_made() -> None:
    data = same()
    found = annotator.judge(data, 0.1)
    assert np.allclose(found.p, 0.9**40)  # nobody of 40 differs though one in ten should
    assert found.winning_rate == 1
    assert annotator.judge(data, 0.0).winning_rate == 0  # as good is not less than 0 worse
    assert annotator.judge(same(items=30), 0.01).p.min() > 0.05
    by_topic = annotator.judge(same(topics=8), 0.1)
    assert np.allclose(by_topic.p, 0.9**8, atol=0.01)  # topics are the units


@pytest.mark.parametrize("topics", [0, 8])
def test_no_interval_collapses_where_all_agree(topics: int) -> None:
    data = same(topics=topics)
    low, high = annotator.advantage_interval(data)
    assert high == 1 and 0.5 < low < 0.95
    items, worse, error, freedom = annotator.moments(data)
    reach = annotator.reach_of(0.025, items, error, freedom)
    assert np.allclose(reach, 1 - 0.025 ** (1 / (topics or 40)), atol=0.01)
    claim = annotator.claim_half(items, worse, error, freedom, 0.05)
    assert claim.high > 0.05 and not claim.is_sure


def test_what_cannot_be_tested_is_refused_by_name() -> None:
    person, item, value = np.array([0, 1]), np.array([0, 0]), np.array([1.0, 2.0])
    with pytest.raises(EmptyData, match="nobody has 30 items"):
        annotator.compare_labels(person, item, value, np.array([1.0]), people=("a", "b"))
    with pytest.raises(BadParameter, match="score is 'kappa'"):
        annotator.compare_labels(
            person, item, value, np.array([1.0]), people=("a", "b"), score="kappa"
        )
    with pytest.raises(BadShape, match="one length"):
        annotator.compare_labels(person, item, value[:1], np.array([1.0]), people=("a", "b"))
