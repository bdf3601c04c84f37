"""AQER's rounds against a literal second implementation, and what must not matter to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.methods.aqer.rounds import Options, iterate, prepare, score_outside
from evaluation.methods.core.base import BadParameter, FloatArray, Texts
from tests.evaluation.methods.simulated import crowd

RNG = np.random.default_rng
Answers = dict[tuple[int, int], list[float]]


@dataclass
class Literal:
    grades: list[float]
    weights: list[float]
    first: list[float]
    rounds: int


def literally(answers: Answers, workers: int, *, leave_one_out: bool = False) -> Literal:
    """The algorithm as the paper words it, in loops over lists: a second implementation."""
    unit = {}
    for key, vector in answers.items():
        length = math.sqrt(sum(v * v for v in vector))
        unit[key] = [v / length for v in vector]
    weights = [1 / workers] * workers
    rounds, first, scores = 0, None, dict[tuple[int, int], float]()
    while True:
        for (i, j), vector in unit.items():
            voters = [k for k in unit if k[1] == j and not (leave_one_out and k[0] == i)]
            votes = {key: weights[key[0]] for key in voters}
            if sum(votes.values()) == 0:  # crowdqc's rule where only the worst workers answered
                votes = dict.fromkeys(voters, 1.0)
            sea = [sum(votes[k] * unit[k][d] for k in voters) for d in range(len(vector))]
            length = math.sqrt(sum(s * s for s in sea))
            scores[i, j] = sum(s * v for s, v in zip(sea, vector, strict=True)) / length
        grades = []
        for i in range(workers):
            own = [score for (who, _), score in scores.items() if who == i]
            grades.append(sum(own) / len(own))
        first = grades if first is None else first
        low, high = min(grades), max(grades)
        scaled = [(g - low) / (high - low) for g in grades]
        following = [s / sum(scaled) for s in scaled]
        moved = math.sqrt(
            sum((a - b) ** 2 for a, b in zip(following, weights, strict=True)) / workers
        )
        weights, rounds = following, rounds + 1
        if moved < 1e-6 or rounds == 100:
            break
    return Literal(grades, weights, first, rounds)


def by_key(texts: Texts) -> Answers:
    return {
        (int(w), int(q)): texts.vectors[v].tolist()
        for w, q, v in zip(texts.worker, texts.question, texts.vector, strict=True)
    }


@pytest.mark.parametrize("leave_one_out", [False, True])
@pytest.mark.parametrize(("density", "seed"), [(1.0, 3), (0.75, 3), (0.6, 4)])
def test_rounds_agree_with_a_literal_second_implementation(
    density: float, seed: int, leave_one_out: bool
) -> None:
    quality = np.array([0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    texts = crowd(quality, questions=7, width=5, density=density, seed=seed)
    expected = literally(by_key(texts), len(quality), leave_one_out=leave_one_out)
    fit = iterate(prepare(texts)[0], Options(leave_one_out=leave_one_out), RNG(0))
    np.testing.assert_allclose(fit.grades, expected.grades, atol=1e-12)
    np.testing.assert_allclose(fit.uniterated, expected.first, atol=1e-12)
    np.testing.assert_allclose(fit.weights, expected.weights, atol=1e-12)
    assert (fit.rounds, fit.converged) == (expected.rounds, True)


def test_one_question_of_two_agreeing_and_one_other_worked_by_hand() -> None:
    # x = (1,0), (1,0), (0,1) with equal votes: SEA = (2,1)/3, so cosines 2/sqrt5, 2/sqrt5, 1/sqrt5.
    # Min-max gives 1, 1, 0, so the second vote is (1,0): cosines 1, 1, 0, and nothing moves again.
    vectors = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 0.5]])
    texts = Texts.build([0, 1, 2], [0, 0, 0], vectors, workers=list("abc"), questions=["q"])
    fit = iterate(prepare(texts)[0], Options(), RNG(0))
    np.testing.assert_allclose(fit.uniterated, np.array([2, 2, 1]) / math.sqrt(5))
    np.testing.assert_allclose(fit.grades, [1, 1, 0], atol=1e-12)
    np.testing.assert_allclose(fit.weights, [0.5, 0.5, 0])
    assert fit.rounds == 2
    np.testing.assert_allclose(fit.trace, [math.sqrt(2 * (1 / 6) ** 2 / 3 + (1 / 3) ** 2 / 3), 0])


def test_negative_euclidean_is_the_distance_to_the_mean_of_unit_answers() -> None:
    vectors = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 0.5]])
    texts = Texts.build([0, 1, 2], [0, 0, 0], vectors, workers=list("abc"), questions=["q"])
    fit = iterate(prepare(texts)[0], Options(similarity="neg_euclidean"), RNG(0))
    near, far = math.hypot(1 / 3, 1 / 3), math.hypot(2 / 3, 2 / 3)
    np.testing.assert_allclose(fit.uniterated, [-near, -near, -far])


def grades_of(texts: Texts, **options: object) -> FloatArray:
    """Grades after few rounds: tiny random crowds may never settle, and rounding then grows."""
    options = {"max_rounds": 6, **options}
    return iterate(prepare(texts)[0], Options(**options), RNG(0)).grades  # type: ignore[arg-type]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), leave_one_out=st.booleans())
def test_order_and_names_of_workers_and_questions_do_not_matter(
    seed: int, leave_one_out: bool
) -> None:
    rng = RNG(seed)
    texts = crowd(rng.uniform(0.1, 0.9, 6), questions=5, width=6, density=0.8, seed=seed)
    people, asked = rng.permutation(6), rng.permutation(5)
    shuffled = rng.permutation(len(texts))
    again = Texts.build(
        people[texts.worker[shuffled]],
        asked[texts.question[shuffled]],
        texts.vectors,
        vector=texts.vector[shuffled],
        workers=[f"z{i}" for i in range(6)],
        questions=[f"y{j}" for j in range(5)],
    )
    here = np.unique(texts.worker)
    expected = dict(zip(people[here], grades_of(texts, leave_one_out=leave_one_out), strict=True))
    found = grades_of(again, leave_one_out=leave_one_out)
    np.testing.assert_allclose(found, [expected[i] for i in sorted(expected)], atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), scale=st.floats(1e-3, 1e3))
def test_length_of_vectors_does_not_matter(seed: int, scale: float) -> None:
    texts = crowd(RNG(seed).uniform(0.1, 0.9, 5), questions=4, width=6, seed=seed)
    lengths = scale * RNG(seed).uniform(0.5, 2, (len(texts), 1))
    stretched = Texts.build(
        texts.worker,
        texts.question,
        texts.vectors[texts.vector] * lengths,
        workers=texts.workers,
        questions=texts.questions,
    )
    np.testing.assert_allclose(grades_of(stretched), grades_of(texts), atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), copies=st.integers(2, 4))
def test_asking_every_question_several_times_changes_nothing(seed: int, copies: int) -> None:
    texts = crowd(RNG(seed).uniform(0.1, 0.9, 5), questions=4, width=6, density=0.9, seed=seed)
    offsets = np.repeat(np.arange(copies) * 4, len(texts))
    again = Texts.build(
        np.tile(texts.worker, copies),
        np.tile(texts.question, copies) + offsets,
        texts.vectors,
        vector=np.tile(texts.vector, copies),
        workers=texts.workers,
        questions=[f"q{j}" for j in range(4 * copies)],
    )
    np.testing.assert_allclose(grades_of(again), grades_of(texts), atol=1e-9)


def test_equal_answers_give_equal_weights_instead_of_nought_over_nought() -> None:
    vectors = np.tile([[0.6, 0.8]], (6, 1))
    texts = Texts.build(
        [0, 1, 2] * 2, [0] * 3 + [1] * 3, vectors, workers=list("abc"), questions=["p", "q"]
    )
    fit = iterate(prepare(texts)[0], Options(), RNG(0))
    np.testing.assert_allclose(fit.weights, 1 / 3)
    assert fit.converged


def test_a_question_only_the_worst_workers_answered_is_an_equal_vote() -> None:
    # Worker c answers q0 badly, so c's weight is 0; c and d alone answer q1, d as badly.
    vectors = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1.0]])
    texts = Texts.build(
        [0, 1, 2, 3, 2, 3], [0, 0, 0, 0, 1, 1], vectors, workers=list("abcd"), questions=["p", "q"]
    )
    fit = iterate(prepare(texts)[0], Options(), RNG(0))
    assert np.all(np.isfinite(fit.last.scores))
    np.testing.assert_allclose(fit.last.scores[4:], math.sqrt(0.5))


def test_an_answer_without_words_scores_nought_and_does_no_harm() -> None:
    vectors = np.array([[1.0, 0], [1, 0.1], [0, 0]])
    texts = Texts.build([0, 1, 2], [0, 0, 0], vectors, workers=list("abc"), questions=["q"])
    fit = iterate(prepare(texts)[0], Options(leave_one_out=True), RNG(0))
    assert fit.grades[2] == 0
    assert fit.grades[0] > 0.9


def test_running_out_of_rounds_is_reported() -> None:
    texts = crowd(np.linspace(0.1, 0.9, 8), seed=1)
    fit = iterate(prepare(texts)[0], Options(max_rounds=2), RNG(0))
    assert (fit.converged, fit.rounds, len(fit.trace)) == (False, 2, 2)


def test_a_noisy_start_ends_where_an_equal_start_does() -> None:
    texts = crowd(np.linspace(0.1, 0.9, 8), seed=1)
    equal, noisy = (grades_of(texts, start=start, max_rounds=100) for start in ("equal", "noisy"))
    assert 0 < np.abs(equal - noisy).max() < 5e-6


def test_rows_in_single_precision_agree_with_double(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = crowd(np.linspace(0.1, 0.9, 8), density=0.8, seed=2)
    double = grades_of(texts)
    monkeypatch.setattr("evaluation.methods.aqer.rounds.SMALL", 0)
    shuffled = RNG(0).permutation(len(texts))  # rows out of order: gathered block by block
    single = Texts.build(
        texts.worker[shuffled],
        texts.question[shuffled],
        texts.vectors[texts.vector[shuffled]].astype(np.float32),
        workers=texts.workers,
        questions=texts.questions,
    )
    np.testing.assert_allclose(grades_of(single), double, atol=2e-6)


def test_quality_of_simulated_workers_is_recovered() -> None:
    quality = np.linspace(0.15, 0.85, 20)
    grades = grades_of(crowd(quality, questions=60, width=128, seed=5))
    assert np.corrcoef(grades, quality)[0, 1] > 0.995


def test_an_answer_from_outside_scores_its_cosine_with_the_sea() -> None:
    texts = crowd(np.array([0.4, 0.7, 0.9]), questions=3, width=5, seed=6)
    rows, _, _ = prepare(texts)
    fit = iterate(rows, Options(), RNG(0))
    votes = fit.voted[texts.worker] / texts.norms[texts.vector]
    outside = RNG(1).standard_normal((2, 5)) * 7
    found = score_outside(fit.last, outside, [0, 2])
    for k, j in enumerate((0, 2)):
        here = texts.question == j
        sea = votes[here] @ texts.vectors[texts.vector[here]]
        expected = outside[k] @ sea / np.linalg.norm(outside[k]) / np.linalg.norm(sea)
        assert found[k] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"similarity": "dot"}, "similarity is 'dot'"),
        ({"start": "warm"}, "start is 'warm'"),
        ({"max_rounds": 0}, "max_rounds is 0"),
        ({"tolerance": 0.0}, "tolerance is 0.0"),
        ({"tolerance": float("nan")}, "tolerance is nan"),
    ],
)
def test_a_parameter_out_of_range_is_named(options: dict[str, object], says: str) -> None:
    with pytest.raises(BadParameter, match=says):
        Options(**options)  # type: ignore[arg-type]
