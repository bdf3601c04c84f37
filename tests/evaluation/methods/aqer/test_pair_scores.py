"""AQER on scores of pairs of answers in place of cosines of vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from evaluation.methods.aqer import method as aqer
from evaluation.methods.aqer.pair_scores import vectors_of_pairs
from evaluation.methods.core.base import BadVector, Texts
from tests.evaluation.methods.simulated import crowd

THREE = {("a", "b"): 0.9, ("b", "a"): 0.7, ("a", "c"): 0.2, ("c", "a"): 0.4, ("b", "c"): 0.1,
         ("c", "b"): 0.5}  # fmt: skip


def from_table(premises: Sequence[str], hypotheses: Sequence[str]) -> list[float]:
    return [THREE[pair] for pair in zip(premises, hypotheses, strict=True)]


def test_cosines_are_the_mean_scores_of_both_orders() -> None:
    found = vectors_of_pairs(["a", "b", "c"], np.zeros(3, dtype=int), from_table)
    np.testing.assert_allclose(
        found.vectors @ found.vectors.T, [[1, 0.8, 0.3], [0.8, 1, 0.3], [0.3, 0.3, 1]], atol=1e-12
    )
    assert found.moved < 1e-12


def test_scores_that_are_no_cosines_are_moved_and_by_how_much_is_told() -> None:
    # a is b and b is c, but a is not c: no three directions do that.
    scores = {frozenset("ab"): 1.0, frozenset("bc"): 1.0, frozenset("ac"): 0.0}
    found = vectors_of_pairs(
        ["a", "b", "c"],
        np.zeros(3, dtype=int),
        lambda one, other: [scores[frozenset(pair)] for pair in zip(one, other, strict=True)],
    )
    cosines = found.vectors @ found.vectors.T
    # Eigenvalues r = 1 + sqrt 2 and 1 stay, of (1, sqrt 2, 1) / 2 and (1, 0, -1) / sqrt 2; by
    # hand: a.b = r sqrt 2 / 4, a.a = r / 4 + 1 / 2, b.b = r / 2, a.c = r / 4 - 1 / 2.
    r = 1 + np.sqrt(2)
    np.testing.assert_allclose(
        cosines[0, 1], r * np.sqrt(2) / 4 / np.sqrt((r / 4 + 0.5) * r / 2), atol=1e-12
    )
    np.testing.assert_allclose(cosines[0, 2], (r / 4 - 0.5) / (r / 4 + 0.5), atol=1e-12)
    np.testing.assert_allclose(np.diag(cosines), 1)
    assert found.moved == pytest.approx(abs(cosines - [[1, 1, 0], [1, 1, 1], [0, 1, 1]]).max())


def test_aqer_on_the_cosines_of_vectors_as_pair_scores_gives_the_scores_of_these_vectors() -> None:
    data = crowd(np.array([0.3, 0.5, 0.7, 0.9]), questions=6, seed=2)
    unit = data.vectors / np.linalg.norm(data.vectors, axis=1, keepdims=True)
    names = [str(at) for at in range(len(unit))]
    question = np.empty(len(unit), dtype=int)
    question[data.vector] = data.question

    def scorer(one: Sequence[str], other: Sequence[str]) -> list[float]:
        # Cosines from -1 to 1 moved to 0..1, as the vectors below are.
        return [
            (1 + float(unit[int(a)] @ unit[int(b)])) / 2 for a, b in zip(one, other, strict=True)
        ]

    found = vectors_of_pairs(names, question, scorer)
    assert found.moved < 1e-9
    moved = np.hstack([unit, np.ones((len(unit), 1))]) / np.sqrt(2)  # their cosines are these
    by_pairs, by_vectors = (
        aqer.fit(
            Texts.build(
                data.worker,
                data.question,
                vectors,
                workers=data.workers,
                questions=data.questions,
                vector=data.vector,
            ),
            rng=np.random.default_rng(0),
            resamples=0,
        )
        for vectors in (found.vectors, moved)
    )
    for table, column in (("worker", "score"), ("worker", "adjusted"), ("answer", "score")):
        if column in by_pairs.estimates[table].columns:
            np.testing.assert_allclose(
                by_pairs.estimates[table][column], by_vectors.estimates[table][column], atol=1e-9
            )


def test_a_score_outside_0_to_1_is_refused() -> None:
    with pytest.raises(BadVector):
        vectors_of_pairs(["a", "b"], np.zeros(2, dtype=int), lambda one, other: [1.2] * len(one))
