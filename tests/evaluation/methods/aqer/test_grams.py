"""Rounds from cosines of which no vector is kept, and from the vectors of crowded questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from evaluation.methods.aqer import grams
from evaluation.methods.aqer.grams import Piece, Rows, stream
from evaluation.methods.aqer.resample import Replicates, replicate
from evaluation.methods.aqer.rounds import Options, iterate, prepare, score_outside
from evaluation.methods.core.base import BadShape, BadVector, EmptyData, FloatArray, Texts
from evaluation.methods.core.bootstrap import WeightsByResample, ranks
from tests.evaluation.methods.simulated import crowd

QUALITY = np.linspace(0.1, 0.9, 12)
RNG = np.random.default_rng


def a_crowd() -> Texts:
    """3 to 12 answers a question, one of them without words."""
    texts = crowd(QUALITY, questions=60, width=16, density=0.6, seed=1)
    texts.vectors[texts.vector[7]] = 0
    return Texts.build(
        texts.worker,
        texts.question,
        texts.vectors,
        vector=texts.vector,
        workers=texts.workers,
        questions=texts.questions,
    )


def pieces(texts: Texts, questions: int = 7) -> Iterator[Piece]:
    """The answers in single precision, some questions at a time."""
    for start in range(0, len(texts.questions), questions):
        part = (texts.question >= start) & (texts.question < start + questions)
        vectors = texts.vectors[texts.vector[part]].astype(np.float32)
        yield texts.worker[part], texts.question[part], vectors


def grades(rows: Rows, options: Options) -> FloatArray:
    return iterate(rows, options, RNG(0)).grades


@pytest.mark.parametrize("leave_one_out", [False, True])
@pytest.mark.parametrize("mapped", [False, True])
def test_vectors_read_once_in_pieces_give_the_same_scores_and_ranks(
    tmp_path: Path, leave_one_out: bool, mapped: bool
) -> None:
    texts, options = a_crowd(), Options(leave_one_out=leave_one_out)
    streamed = stream(pieces(texts), len(QUALITY), tmp_path if mapped else None)
    assert any(isinstance(block.alike, np.memmap) for block in streamed.blocks) == mapped
    found, expected = grades(streamed, options), grades(prepare(texts)[0], options)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert ranks(found).tolist() == ranks(expected).tolist()


@pytest.mark.parametrize("leave_one_out", [False, True])
def test_crowded_questions_score_the_same_from_their_vectors(
    monkeypatch: pytest.MonkeyPatch, leave_one_out: bool
) -> None:
    texts, options = a_crowd(), Options(leave_one_out=leave_one_out)
    expected = prepare(texts)[0]
    monkeypatch.setattr(grams, "TALL", 0.5)
    mixed = prepare(texts)[0]
    tall = [block for block in mixed.blocks if block.inverse is not None]
    assert 0 < len(tall) < len(texts.questions)
    np.testing.assert_allclose(grades(mixed, options), grades(expected, options), atol=1e-12)
    weights = WeightsByResample.of(RNG(0), 20, len(texts.questions), complete=False)
    found: dict[int, list[FloatArray]] = {0: [], 1: []}
    for k, rows in enumerate((mixed, expected)):

        def keep(chunk: slice, result: Replicates, drawn: list[FloatArray] = found[k]) -> None:
            drawn.append(result.grades)

        replicate(rows, weights, options, each=keep)
    mixed_grades, expected_grades = (np.concatenate(found[k]) for k in (0, 1))
    np.testing.assert_allclose(mixed_grades, expected_grades, atol=1e-9)
    alike = {int(block.question[0]): block.cosines()[0] for block in tall}
    for block in expected.blocks:
        for j, cosines in zip(block.question.tolist(), block.cosines(), strict=True):
            np.testing.assert_allclose(alike.get(j, cosines), cosines, atol=1e-12)


def test_pieces_that_split_a_question_or_hold_no_numbers_are_refused() -> None:
    worker, question, vectors = next(pieces(a_crowd()))
    with pytest.raises(BadShape, match="ascending"):
        stream([(worker, question, vectors), (worker, question, vectors)], len(QUALITY))
    with pytest.raises(BadShape, match=r"0\.\.1"):
        stream([(worker, question, vectors)], 2)
    with pytest.raises(EmptyData, match="no answers"):
        stream([], 2)
    wrong = vectors.copy()
    wrong[3, 2] = np.nan
    with pytest.raises(BadVector, match="not finite"):
        stream([(worker, question, wrong)], len(QUALITY))


def test_systems_cannot_be_scored_where_the_vectors_were_not_kept() -> None:
    fit = iterate(stream(pieces(a_crowd()), len(QUALITY)), Options(), RNG(0))
    with pytest.raises(BadShape, match="not kept"):
        score_outside(fit.last, np.ones((1, 16)), [0])


@pytest.mark.parametrize("complete", [False, True])
def test_weights_of_a_resample_do_not_depend_on_those_asked_for_beside_it(complete: bool) -> None:
    weights = WeightsByResample.of(RNG(3), 9, 50, complete=complete)
    np.testing.assert_array_equal(weights[0:9][4:6], weights[4:6])
    np.testing.assert_allclose(weights[0:9].mean(axis=1), 1)
    assert np.unique(weights[0:9], axis=0).shape == (9, 50)
