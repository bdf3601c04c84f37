"""Chai et al. by our reading, beside slow second implementations."""

from __future__ import annotations

import numpy as np
import pytest
from nltk.translate.gleu_score import sentence_gleu

from evaluation.methods.baselines import chai
from evaluation.methods.core.base import BadShape, DataError, Texts
from evaluation.methods.text.corpus import Responses, words

RIGHT = "the lamp burned rapeseed oil at first"
ANSWERS = (RIGHT, "at first the lamp burned rapeseed oil", "rapeseed oil burned in the lamp")
WRONG = ("it burned coal gas", "nobody knows", "a lamp of glass")


def crowd(questions: int = 6, *, outside: bool = False) -> chai.Dual:
    """Three workers who are right in other words, and three who are each wrong."""
    rng = np.random.default_rng(1)
    texts = [*ANSWERS, *WRONG]
    axes = np.eye(12)
    vectors = np.array([axes[0] + 0.3 * axes[1 + k] if k < 3 else axes[4 + k] for k in range(6)])
    names = {"questions": [f"q{k}" for k in range(questions)]}
    worker, question = np.tile(np.arange(6), questions), np.repeat(np.arange(questions), 6)
    at = np.tile(np.arange(6), questions)
    order = rng.permutation(len(at))
    others: tuple[Texts | None, Responses | None] = (None, None)
    if outside:
        who = np.repeat([0, 1], questions)
        asked, said = np.tile(np.arange(questions), 2), np.repeat([0, 3], questions)
        systems = ["good", "poor"]
        others = (
            Texts.build(who, asked, vectors, workers=systems, vector=said, repeats=True, **names),
            Responses.build(who, asked, texts, workers=systems, text=said, repeats=True, **names),
        )
    people = [f"w{k}" for k in range(6)]
    return chai.Dual(
        Texts.build(
            worker[order],
            question[order],
            vectors,
            workers=people,
            vector=at[order],
            outside=others[0],
            **names,
        ),
        Responses.build(
            worker[order],
            question[order],
            texts,
            workers=people,
            text=at[order],
            outside=others[1],
            **names,
        ),
    )


def test_mutual_gleu_is_that_of_nltk_and_the_same_both_ways() -> None:
    texts = [*ANSWERS, *WRONG, ""]
    found = chai.mutual_gleu(texts)
    np.testing.assert_allclose(found, found.T)
    for i, one in enumerate(texts):
        for j, other in enumerate(texts[:-1]):
            if i != j:
                assert found[i, j] == pytest.approx(sentence_gleu([words(one)], words(other)))


def test_the_descent_lowers_the_loss_of_its_definition() -> None:
    rng = np.random.default_rng(2)
    spaces = [rng.standard_normal((5, width)) for width in (3, 7)]
    grams = tuple((one @ one.T)[None] for one in spaces)

    def slow(theta: np.ndarray) -> float:  # type: ignore[type-arg]
        weight = np.exp(theta) / np.exp(theta).sum()
        both = []
        for one in spaces:
            distance = ((one - weight @ one) ** 2).sum(axis=1)
            both.append(distance / distance.mean())
        apart = ((both[0] - both[1]) ** 2).mean()
        return float(apart + (weight * (both[0] + both[1])).sum() / 2)

    theta = rng.standard_normal(5)
    assert chai.loss(theta[None, None], grams)[0, 0] == pytest.approx(slow(theta))
    start = chai.descend(grams, step=0.1, max_steps=0, tolerance=1e-9)
    assert start.mean() == pytest.approx(1)
    # The same descent, one parameter at a time.
    at = np.zeros(5)
    for _ in range(40):
        slope = np.array([(slow(at + 1e-5 * e) - slow(at - 1e-5 * e)) / 2e-5 for e in np.eye(5)])
        at = at - 0.1 * slope
    weight = np.exp(at) / np.exp(at).sum()
    by_hand = np.zeros(5)
    for one in spaces:
        distance = ((one - weight @ one) ** 2).sum(axis=1)
        by_hand += distance / distance.mean() / 2
    found = chai.descend(grams, step=0.1, max_steps=40, tolerance=1e-12)
    np.testing.assert_allclose(found[0], by_hand, atol=1e-5)


def test_those_who_say_the_same_score_above_those_who_are_each_wrong() -> None:
    data = crowd(outside=True)
    found = chai.fit(data, rng=np.random.default_rng(0), resamples=100)
    scores = [row["score"] for row in found.estimates["worker"].rows()]
    assert min(scores[:3]) > max(scores[3:])
    good, poor = (row["score"] for row in found.estimates["system"].rows())
    assert good > 0.9 and poor < 0.1
    assert (found.intervals["worker"].low <= np.array(scores)).all()


def test_too_many_answers_and_other_answers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = crowd()
    with pytest.raises(BadShape):
        chai.Dual(data.texts, crowd(5).responses)
    monkeypatch.setattr(chai, "MOST", 5)
    with pytest.raises(DataError, match="has 6 answers"):
        chai.fit(data, rng=np.random.default_rng(0), resamples=0)
