"""Checklists answered by people and models: agreement, signal of questions, conditions."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from evaluation.methods.checklists.agreement import (
    kappa_of,
    majority_of,
    one_person,
    signal_rows,
    table_of,
)
from evaluation.methods.checklists.correlation import compare_rows
from evaluation.methods.checklists.study import Study, fit
from evaluation.methods.core.base import DuplicateAnswer, EmptyData


def made(
    *, articles: int = 12, systems: int = 6, people: int = 3, seed: int = 1, noise: float = 0.1
) -> Study:
    """Four questions: two follow the quality of a text, one is a coin, one is always yes.

    The last author is a model, whose probability of yes is told.
    """
    rng = np.random.default_rng(seed)
    texts = articles * systems
    quality = rng.normal(size=texts)
    true = np.stack(
        [quality > -0.4, quality > 0.5, rng.random(texts) < 0.5, np.ones(texts, bool)], axis=1
    )
    rows = []
    for author in range(people + 1):
        for text in range(texts):
            for question in range(4):
                wrong = question < 3 and rng.random() < noise
                yes = float(true[text, question] ^ wrong)
                model = author == people
                rows.append((author, text, question, yes, 0.25 + yes / 2 if model else np.nan))
    author, text, question, yes, chance = (np.array(column) for column in zip(*rows, strict=True))
    return Study.build(
        author,
        text,
        question,
        yes,
        chance=chance,
        person=[True] * people + [False],
        authors=[f"a{k}" for k in range(people + 1)],
        texts=[f"t{k}" for k in range(texts)],
        questions=["low", "high", "coin", "always"],
        article=np.repeat(np.arange(articles), systems),
        articles=[f"d{k}" for k in range(articles)],
        human=quality + rng.normal(scale=0.2, size=texts),
    )


def test_people_and_models_get_scores_by_the_share_of_yes_and_by_its_probability() -> None:
    data = made()
    found = fit(data, rng=np.random.default_rng(0), resamples=200)
    text = found.estimates["text"]
    assert sorted(set(text["answerer"].tolist())) == [0, 1, 2, 3, 4]
    model = text["answerer"] == 4
    assert np.allclose(text["estimate"][model], 1 + 4 * text["yes"][model] / 4)
    # p(yes) is .75 for a yes and .25 for a no
    mean = 0.25 + (text["yes"][model] / 4) / 2
    assert np.allclose(text["weighted"][model], 1 + 4 * mean)
    by = {
        (row["answerer"], row["score"], row["kind"], row["setting"]): row
        for row in found.estimates["correlation"].rows()
    }
    yes, _ = data.grid(3)
    score = np.nansum(yes, axis=1)
    per = [
        stats.spearmanr(score[data.article == k], data.human[data.article == k]).statistic
        for k in range(12)
        if len(set(score[data.article == k].tolist())) > 1
    ]
    row = by[4, "share", "spearman", "sample-level"]
    assert row["estimate"] == pytest.approx(np.mean(per))
    assert row["undefined"] == 12 - len(per)
    assert by[0, "share", "spearman", "pooled"]["estimate"] > 0.6


def test_agreement_on_each_question_is_that_of_a_second_implementation() -> None:
    data = made(articles=16, noise=0.2)
    found = fit(data, rng=np.random.default_rng(0), resamples=200)
    agreed = {row["question"]: row for row in found.estimates["agreement"].rows()}
    matrix = [data.grid(person)[0][:, 0] for person in range(3)]
    alpha = krippendorff.alpha(np.array(matrix), level_of_measurement="nominal")
    assert agreed[0]["alpha"] == pytest.approx(alpha)
    assert agreed[0]["low"] < alpha < agreed[0]["high"]
    assert agreed[3]["alpha"] is None and "not defined" in agreed[3]["reason"]
    people = data.person[data.author]
    most, _, _ = majority_of(
        data.text[people], data.question[people], data.yes[people], len(data.texts), 4
    )
    beside = {
        (row["answerer"], row["question"]): row for row in found.estimates["with_people"].rows()
    }
    kappa = cohen_kappa_score(data.grid(3)[0][:, 1], most[:, 1])
    assert beside[4, 1]["kappa"] == pytest.approx(kappa)
    assert beside[4, 1]["low"] < kappa < beside[4, 1]["high"]
    assert beside[-1, 1]["n"] > 0 and beside[-1, 1]["same"] > 0.7


def test_questions_with_signal_are_told_from_coins_and_from_what_never_varies() -> None:
    found = fit(made(articles=30, noise=0.05), rng=np.random.default_rng(0), resamples=200)
    rows = {(row["answerer"], row["question"]): row for row in found.estimates["signal"].rows()}
    low, coin, always = rows[0, 0], rows[0, 2], rows[0, 3]
    assert low["setting"] == "within articles"
    assert low["adjusted"] < 0.01 and low["low"] > 0.3
    assert coin["adjusted"] > 0.05 and coin["low"] < 0 < coin["high"]
    assert always["tau"] is None and always["undefined"] == 30
    assert low["change"] > 0.05 and low["change_adjusted"] < 0.05
    assert coin["change"] < 0  # the score is better without the coin
    assert low["adjusted"] >= low["p"]


def test_noise_alone_seldom_counts_as_signal() -> None:
    rng, found = np.random.default_rng(3), 0
    for _ in range(40):
        yes = (rng.random((60, 10)) < 0.5).astype(float)
        rows = signal_rows(
            yes, rng.normal(size=60), np.repeat(np.arange(10), 6), answerer=0, level=0.95
        )
        found += any(row["adjusted"] <= 0.05 for row in rows)
    assert found <= 6  # a false discovery in 5 % of checklists


def test_texts_of_articles_of_their_own_are_told_over_all_texts() -> None:
    rng = np.random.default_rng(0)
    yes = (rng.random((40, 3)) < 0.5).astype(float)
    human = yes[:, 0] + rng.normal(scale=0.3, size=40)
    rows = signal_rows(yes, human, np.arange(40), answerer=0, level=0.95)
    assert rows[0]["setting"] == "over all texts" and rows[0]["units"] == 40
    assert rows[0]["tau"] == pytest.approx(stats.kendalltau(yes[:, 0], human).statistic)
    assert rows[0]["low"] < rows[0]["tau"] < rows[0]["high"]
    # Forty texts of four articles are four units.
    few = signal_rows(yes, human, np.arange(40) % 4, answerer=0, level=0.95)[0]
    assert few["tau"] == rows[0]["tau"] and few["reason"] == "4 articles; an interval needs 30"
    assert np.isnan(
        [few[name] for name in ("low", "p", "adjusted", "change_low", "change_p")]
    ).all()


@pytest.mark.parametrize(
    ("articles", "texts"),
    [(4, 25), (3, 40), (8, 12), (12, 12)],
)
def test_equal_scorings_of_few_articles_are_hardly_ever_called_different(
    articles: int, texts: int
) -> None:
    """Texts of one article are alike: resampled as if they were not, .49 and .56 of these were."""
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng([articles, seed])
        size = np.full(articles, texts)
        if articles == texts:
            size = np.maximum(5, (articles * texts / np.arange(1, articles + 1) / 3.1).astype(int))
        article = np.repeat(np.arange(articles), size)
        human = rng.normal(size=len(article))
        slope = 0.6 + 0.4 * rng.normal(size=(2, articles))
        scores = [slope[k][article] * human + rng.normal(size=len(article)) for k in (0, 1)]
        (row,) = compare_rows(scores, human, article, [(0, 1)])
        sure = row["low"] > 0 or row["high"] < 0
        p = [row[name] for name in ("p", "adjusted", "dependent_p", "independent_p")]
        wrong += sure or any(value <= 0.05 for value in p)
        if articles < 5:
            assert row["reason"] == f"{articles} articles; an interval needs 5"
    assert wrong <= 7  # of 60: .05 and three standard errors


def test_scorings_of_texts_without_articles_in_common_are_compared_over_all_texts() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=60)
    good, coin = human + rng.normal(scale=0.3, size=60), rng.normal(size=60)
    (row,) = compare_rows([good, coin], human, np.arange(60), [(0, 1)])
    assert row["setting"] == "over all texts" and row["articles"] == 0
    assert 0 < row["low"] < row["difference"] < row["high"] and row["p"] < 0.01
    assert row["dependent_p"] < 0.01 and row["independent_p"] < 0.01
    (few,) = compare_rows([good, coin], human, np.arange(60) // 59, [(0, 1)])
    assert np.isnan([few["low"], few["p"], few["dependent_p"]]).all() and few["reason"]


def test_the_published_test_is_too_cautious_for_two_scores_of_the_same_texts() -> None:
    rng = np.random.default_rng(5)
    human = rng.normal(size=160)
    common = human + rng.normal(size=160)
    good, worse = (common + rng.normal(scale=scale, size=160) for scale in (0.1, 0.5))
    row, other = compare_rows(
        [good, worse, np.full(160, np.nan)],
        human,
        np.repeat(np.arange(20), 8),
        [(0, 1), (0, 2)],
    )
    assert row["articles"] == 20 and row["setting"] == "by article"
    assert row["difference"] == pytest.approx(row["s_first"] - row["s_second"])
    assert row["low"] < row["difference"] < row["high"]
    assert abs(row["dependent_z"]) > 1.5 * abs(row["independent_z"])
    r = stats.spearmanr(good, human).statistic, stats.spearmanr(worse, human).statistic
    z = (np.arctanh(r[0]) - np.arctanh(r[1])) / np.sqrt(2 / 157)
    assert row["independent_z"] == pytest.approx(z)
    assert other["reason"] == "fewer than 5 texts in common" and np.isnan(other["p"])


def test_one_answer_throughout_has_no_kappa_and_says_why() -> None:
    ones = np.ones((6, 2))
    cells = table_of(ones, ones, np.ones((6, 2), bool), np.arange(6))
    found = kappa_of(cells, rng=np.random.default_rng(0), resamples=100, level=0.95)
    assert found["same"] == 1 and np.isnan(found["kappa"]) and "one answer" in found["reason"]


def test_answers_twice_or_none_are_refused() -> None:
    names = {
        "person": [True],
        "authors": ["a"],
        "texts": ["t"],
        "questions": ["q"],
        "article": [0],
        "articles": ["d"],
    }
    with pytest.raises(DuplicateAnswer):
        Study.build([0, 0], [0, 0], [0, 0], [1, 0], **names)
    with pytest.raises(EmptyData):
        Study.build([], [], [], [], **names)


def test_a_tie_of_the_other_people_is_no_majority() -> None:
    """15 of 29 said yes: of the 28 others of each of these, 14 did (15 / 29 * 29 - 1 is not 14)."""
    person, text = np.tile(np.arange(29), 4), np.repeat(np.arange(4), 29)
    yes = (person < 15).astype(float)
    (every, _) = one_person(
        person,
        text,
        np.zeros(len(text), dtype=np.int64),
        yes,
        np.arange(4),
        questions=1,
        rng=np.random.default_rng(0),
        resamples=100,
        level=0.95,
    )
    assert every["n"] == 4 * 14 and every["same"] == 0
