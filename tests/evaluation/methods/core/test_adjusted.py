"""Question-adjusted scores against plain least squares, and where they must equal the mean."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.methods.core.adjusted import Design, two_way
from evaluation.methods.core.base import FloatArray
from evaluation.methods.core.components import components


def design(rng: np.random.Generator, workers: int, questions: int, density: float) -> Design:
    """A connected random design: worker 0 answers everything, everybody answers question 0."""
    asked = rng.random((questions, workers)) < density
    asked[0], asked[:, 0] = True, True
    question, worker = np.nonzero(asked)
    return Design(worker, question, workers, questions)


def least_squares(
    scores: FloatArray, given: Design, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The same model by a dense solver with one column an effect: a second implementation."""
    n, m = len(scores), given.n_workers
    matrix = np.zeros((n, m + given.n_questions))
    matrix[np.arange(n), given.worker] = 1
    matrix[np.arange(n), m + given.question] = 1
    root = np.sqrt(weights[given.question])
    effects = np.linalg.lstsq(matrix * root[:, None], scores * root, rcond=None)[0]
    shift = (weights * effects[m:]).sum() / weights.sum()
    return effects[:m] + shift, effects[m:] - shift


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), density=st.floats(0.1, 0.9))
def test_effects_equal_those_of_a_dense_least_squares_solver(seed: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    given = design(rng, workers=7, questions=9, density=density)
    scores = rng.standard_normal((3, len(given.worker)))
    weights = rng.exponential(size=(3, 9)) + 0.01
    worker, question = two_way(scores, given, weights)
    for b in range(3):
        expected = least_squares(scores[b], given, weights[b])
        np.testing.assert_allclose(worker[b], expected[0], atol=1e-7)
        np.testing.assert_allclose(question[b], expected[1], atol=1e-7)


def test_where_everybody_answered_everything_the_adjusted_score_is_the_mean() -> None:
    rng = np.random.default_rng(1)
    given = design(rng, workers=5, questions=8, density=1.1)
    scores = rng.random((1, 40))
    worker, question = two_way(scores, given)
    table = scores.reshape(8, 5)
    np.testing.assert_allclose(worker[0], table.mean(axis=0))
    np.testing.assert_allclose(question[0], table.mean(axis=1) - table.mean())


def test_a_worker_who_got_the_hard_questions_is_not_ranked_below_for_it() -> None:
    # Questions 0-9 are easy (+.3), 10-19 hard (-.3); the better worker b mostly got hard ones.
    rng = np.random.default_rng(2)
    hard = np.repeat([0.3, -0.3], 10)
    quality = np.array([0.5, 0.6, 0.4, 0.5, 0.5])
    asked = np.ones((20, 5), dtype=bool)
    asked[10:, 0], asked[:8, 1] = False, False
    question, worker = np.nonzero(asked)
    given = Design(worker, question, 5, 20)
    scores = quality[worker] + hard[question] + rng.normal(0, 0.02, len(worker))
    raw = np.bincount(worker, weights=scores) / np.bincount(worker)
    adjusted = two_way(scores[None], given)[0][0]
    assert raw[0] > raw[1]
    assert adjusted[1] > adjusted[0]
    np.testing.assert_allclose(adjusted - adjusted.mean(), quality - quality.mean(), atol=0.03)


@pytest.mark.parametrize("length", [2, 30])
def test_a_long_chain_of_workers_is_solved_exactly(length: int) -> None:
    # Worker k shares only question k with worker k + 1: the hardest graph for an iterative solver.
    question = np.repeat(np.arange(length), 2)
    worker = np.stack([np.arange(length), np.arange(length) + 1], axis=1).ravel()
    quality = np.linspace(0, 1, length + 1)
    difficulty = np.random.default_rng(3).normal(0, 1, length)
    scores = quality[worker] + difficulty[question]
    adjusted = two_way(scores[None], Design(worker, question, length + 1, length))[0][0]
    np.testing.assert_allclose(np.diff(adjusted), np.diff(quality), atol=1e-8)


def test_parts_without_a_common_question_are_told_apart_largest_first() -> None:
    worker = np.array([0, 1, 1, 2, 3, 3, 5])
    question = np.array([0, 0, 1, 1, 3, 4, 4])
    workers, questions = components(worker, question, 6, 6)
    assert workers.tolist() == [1, 1, 1, 2, 0, 2]
    assert questions.tolist() == [1, 1, 0, 2, 2, 0]


def test_twenty_thousand_workers_who_share_no_question_are_numbered_at_once() -> None:
    """A pass for each part took two seconds, and four times as long for twice as many."""
    each = np.arange(20_000)
    began = time.process_time()
    workers, questions = components(each, each, len(each), len(each))
    assert time.process_time() - began < 0.5
    assert workers.tolist() == questions.tolist() == (each + 1).tolist()
