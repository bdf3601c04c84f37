"""Several right answers to a question, each class scored by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaluation.methods.aqer import classes
from evaluation.methods.aqer import method as aqer
from evaluation.methods.core.base import Texts


def near(rng: np.random.Generator, centre: np.ndarray, noise: float, k: int) -> np.ndarray:  # type: ignore[type-arg]
    return centre + noise * rng.standard_normal((k, len(centre))) / np.sqrt(len(centre))


def test_two_right_answers_are_two_classes_and_a_stray_one_joins_the_nearer() -> None:
    rng = np.random.default_rng(2)
    axes = np.eye(40)
    vectors = np.concatenate(
        [near(rng, axes[0], 0.5, 7), near(rng, axes[1], 0.5, 5), axes[1:2] + 2 * axes[5:6]]
    )
    order = rng.permutation(len(vectors))
    found = classes.find_classes(vectors[order])
    groups = {tuple(sorted(order[found == number])) for number in np.unique(found)}
    assert groups == {tuple(range(7)), tuple(range(7, 13))}


@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
def test_one_answer_however_noisy_is_one_class(noise: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        assert not classes.find_classes(near(rng, np.eye(60)[0], noise, 20)).any()
    assert not classes.find_classes(near(rng, np.eye(60)[0], noise, 4)).any()


def crowd(second: bool, *, systems: bool = False) -> tuple[Texts, np.ndarray]:  # type: ignore[type-arg]
    """Good workers give one of two right answers where there is a ``second``; bad ones neither."""
    rng = np.random.default_rng(9)
    q, m, d = 10, 20, 60
    good = np.arange(m) < 16
    vectors: list[Any] = []
    for _ in range(q):
        right = [v / np.linalg.norm(v) for v in rng.standard_normal((2, d))]
        for worker in range(m):
            if good[worker]:
                which = int(second and rng.random() < 0.45)
                vectors.append(near(rng, right[which], 0.5, 1)[0])
            else:
                vectors.append(rng.standard_normal(d) / np.sqrt(d))
    outside = None
    names = [f"q{k}" for k in range(q)]
    if systems:
        outside = Texts.build(
            np.zeros(q, dtype=int),
            np.arange(q),
            np.array(vectors)[::m],
            workers=["model"],
            questions=names,
            repeats=True,
        )
    texts = Texts.build(
        np.tile(np.arange(m), q),
        np.repeat(np.arange(q), m),
        np.array(vectors),
        workers=[f"w{k}" for k in range(m)],
        questions=names,
        outside=outside,
    )
    return texts, good


def test_good_workers_with_different_right_answers_all_score_high() -> None:
    texts, good = crowd(second=True, systems=True)
    apart = classes.fit(texts, rng=np.random.default_rng(0), resamples=200)
    together = aqer.fit(texts, rng=np.random.default_rng(0), resamples=0)
    ours, theirs = (
        np.array([row["score"] for row in one.estimates["worker"].rows()])
        for one in (apart, together)
    )
    assert ours[good].min() > ours[~good].max() + 0.1
    assert ours[good].mean() > theirs[good].mean() + 0.05
    rows = apart.diagnostics["classes"]
    assert len(rows) >= 10 and all(row["answers"] >= 3 for row in rows)
    sure = apart.intervals["worker"]
    assert (sure.low < ours).all() and (ours < sure.high).all()
    assert apart.estimates["system"].rows()[0]["score"] > 0.5


def test_without_a_second_right_answer_the_scores_are_those_of_aqer() -> None:
    texts, _ = crowd(second=False)
    apart = classes.fit(texts, rng=np.random.default_rng(0), resamples=0)
    together = aqer.fit(texts, rng=np.random.default_rng(0), resamples=0)
    assert apart.diagnostics["classes"] == []
    for one, other in zip(
        apart.estimates["worker"].rows(), together.estimates["worker"].rows(), strict=True
    ):
        assert one["score"] == pytest.approx(other["score"])


def test_a_large_class_of_the_same_wrong_answer_is_scored_as_right() -> None:
    """What it cannot do, and what the page says of it."""
    rng = np.random.default_rng(4)
    right, wrong = np.eye(30)[:2]
    vectors = np.concatenate(
        [np.concatenate([near(rng, right, 0.4, 8), near(rng, wrong, 0.4, 5)]) for _ in range(6)]
    )
    texts = Texts.build(
        np.tile(np.arange(13), 6),
        np.repeat(np.arange(6), 13),
        vectors,
        workers=[f"w{k}" for k in range(13)],
        questions=[f"q{k}" for k in range(6)],
    )
    scores = np.array(
        [
            row["score"]
            for row in classes.fit(texts, rng=rng, resamples=0).estimates["worker"].rows()
        ]
    )
    assert scores[8:].min() > 0.8
