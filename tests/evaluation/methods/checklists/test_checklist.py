"""Checklist scores, correlations by article, and the diversity of attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluation.methods.checklists.correlation import pooled, sample_level
from evaluation.methods.checklists.diversity import (
    TooFewAttributes,
    fit_topics,
    self_cosine,
    self_jaccard,
    self_rouge_l,
    topic_spread,
)
from evaluation.methods.checklists.study import Study, checklist_score, fit
from evaluation.methods.core.base import BadParameter, BadVector, DuplicateAnswer, EmptyData
from evaluation.methods.text.corpus import token_ids, words


def test_all_no_is_one_and_all_yes_is_five() -> None:
    assert checklist_score([0, 3, 12], [12, 12, 12]).tolist() == [1, 2, 5]
    with pytest.raises(BadVector, match="no answered question"):
        checklist_score(0, 0)
    with pytest.raises(BadVector, match="between 0 and the number"):
        checklist_score(3, 2)


def judged(seed: int, articles: int = 12, systems: int = 8) -> tuple[np.ndarray, ...]:
    """Metric, human and article of texts; article 0 has one human score throughout."""
    rng = np.random.default_rng(seed)
    article = np.repeat(np.arange(articles), systems)
    quality = rng.normal(size=len(article))
    human = np.round(quality + rng.normal(size=articles)[article])
    human[article == 0] = 3
    return np.round(quality + rng.normal(size=len(article)), 1), human, article


@pytest.mark.parametrize(
    ("kind", "function"),
    [("spearman", stats.spearmanr), ("kendall", stats.kendalltau), ("pearson", stats.pearsonr)],
)
def test_undefined_articles_are_left_out_and_counted(kind: str, function: Any) -> None:
    metric, human, article = judged(0)
    found = sample_level(metric, human, article, kind=kind)
    values = [function(metric[article == k], human[article == k]).statistic for k in range(1, 12)]
    assert (found.articles, found.undefined) == (12, 1)
    assert found.estimate == pytest.approx(np.mean(values))
    assert found.as_zero == pytest.approx(np.sum(values) / 12)
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.low, found.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    whole = pooled(metric, human, article, kind=kind)
    assert whole.estimate == pytest.approx(function(metric, human).statistic)
    assert whole.low < whole.estimate < whole.high


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_article_numbers_and_row_order_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    metric, human, article = judged(1)
    rows, names = rng.permutation(len(metric)), rng.permutation(40)
    one = sample_level(metric, human, article)
    other = sample_level(metric[rows], human[rows], names[article][rows])
    assert other.estimate == pytest.approx(one.estimate)
    assert (other.articles, other.undefined) == (one.articles, one.undefined)


def checks(human: list[float] | None = None) -> Study:
    """Three texts and four questions, answered by one model; the last text has no answer at all."""
    return Study.build(
        [0] * 6,
        [0, 0, 0, 0, 1, 1],
        [0, 1, 2, 3, 0, 1],
        [1, 1, 1, 0, 0, 1],
        person=[False],
        authors=["m"],
        texts=["a", "b", "c"],
        questions=["q1", "q2", "q3", "q4"],
        article=[0, 0, 0],
        articles=["x"],
        human=human,
    )


def test_missing_answers_count_in_neither_number() -> None:
    found = fit(checks(), rng=np.random.default_rng(0))
    rows = found.estimates["text"].rows()
    assert [(row["text"], row["total"], row["estimate"]) for row in rows] == [
        (0, 4, 4.0),
        (1, 2, 3.0),
    ]
    assert len(found.estimates["correlation"]) == 0


def test_scores_are_compared_with_human_ones_where_there_are_some() -> None:
    found = fit(checks(human=[5.0, 2.0, 4.0]), rng=np.random.default_rng(0))
    rows = {(row["kind"], row["setting"]): row for row in found.estimates["correlation"].rows()}
    assert rows["kendall", "pooled"]["estimate"] == 1
    assert rows["kendall", "sample-level"]["low"] is None  # one article has no spread
    assert rows["kendall", "pooled"]["n"] == 2


def test_bad_answers_are_named() -> None:
    names: dict[str, Any] = {
        "person": [True],
        "authors": ["p"],
        "texts": ["a"],
        "questions": ["q"],
        "article": [0],
        "articles": ["x"],
    }
    with pytest.raises(BadVector, match="neither 1 nor 0"):
        Study.build([0], [0], [0], [2.0], **names)
    with pytest.raises(DuplicateAnswer, match="twice"):
        Study.build([0, 0], [0, 0], [0, 0], [1, 1], **names)
    with pytest.raises(EmptyData, match="empty"):
        Study.build([], [], [], [], **names)
    with pytest.raises(BadParameter, match="level is 1"):
        fit(checks(), rng=np.random.default_rng(0), level=1)


ATTRIBUTES = ["clear order of ideas", "clear order of facts", "no spelling mistakes"]


def test_similarity_of_attributes_is_the_mean_over_their_pairs() -> None:
    tokens = token_ids([words(text) for text in ATTRIBUTES])
    # By hand: "clear order of" is 3 of 4 and 4 tokens; nothing else is shared.
    assert self_rouge_l(tokens).estimate == pytest.approx((6 / 8 + 0 + 0) / 3)
    assert self_jaccard(tokens).estimate == pytest.approx((3 / 5 + 0 + 0) / 3)
    vectors = np.array([[1.0, 0], [3.0, 4.0], [0, 2.0]])
    assert self_cosine(vectors).estimate == pytest.approx((0.6 + 0 + 0.8) / 3)
    alike = self_cosine(np.ones((6, 2)))
    assert alike.estimate == pytest.approx(1) and np.isnan(alike.high)  # no pair differs
    with pytest.raises(TooFewAttributes, match="1 attributes"):
        self_cosine(np.ones((1, 2)))
    with pytest.raises(BadVector, match="attribute 1 is zero"):
        self_cosine(np.array([[1.0], [0.0]]))


def test_attributes_on_one_topic_are_told_from_attributes_on_all() -> None:
    narrow, wide = topic_spread([2] * 10, 5), topic_spread([0, 1, 2, 3, 4] * 2, 5)
    assert (narrow.empty, narrow.evenness, narrow.sd) == (4, 0, pytest.approx(0.4))
    assert (wide.empty, wide.evenness, wide.sd) == (0, pytest.approx(1), 0)
    rng = np.random.default_rng(0)
    by_chance = [topic_spread(rng.integers(0, 5, 30), 5).sd ** 2 for _ in range(2000)]
    assert wide.chance_sd == pytest.approx(np.sqrt(0.8 / 50))
    assert topic_spread([0] * 30, 5).chance_sd ** 2 == pytest.approx(np.mean(by_chance), rel=0.1)
    with pytest.raises(BadVector, match="0 to 4"):
        topic_spread([5], 5)


def planted(rng: np.random.Generator, n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    """Word counts of short attributes that mostly use the words of one of three topics."""
    topic = rng.integers(0, 3, n)
    chances = np.full((3, 24), 0.1 / 24) + np.kron(np.eye(3), np.full((1, 8), 0.9 / 8))
    return np.stack([rng.multinomial(9, chances[k]) for k in topic]).astype(float), topic


def test_planted_topics_are_found_from_the_best_of_several_starts() -> None:
    counts, topic = planted(np.random.default_rng(4))
    found = fit_topics(counts, 3, rng=np.random.default_rng(0))
    table = np.zeros((3, 3))
    np.add.at(table, (topic, found.assign(counts)), 1)
    assert table.max(axis=1).sum() / len(topic) > 0.95
    assert len(set(table.argmax(axis=1))) == 3
    assert found.converged
    assert found.words.shape == (3, counts.shape[1])
    assert found.words.sum(axis=1) == pytest.approx(1)
    once = fit_topics(counts, 3, rng=np.random.default_rng(0), restarts=1)
    assert found.bound >= once.bound
    again = fit_topics(counts, 3, rng=np.random.default_rng(0))
    assert again.bound == found.bound
