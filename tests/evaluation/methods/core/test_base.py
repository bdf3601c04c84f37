"""Texts say exactly what is wrong with the arrays they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    BadVector,
    DataError,
    DuplicateAnswer,
    EmptyData,
    Table,
    Texts,
    UnknownIndex,
)
from evaluation.methods.registry import METHODS, get_method
from tests.evaluation.methods.named import texts_from_names

VECTORS = np.eye(3)


def build(**changes: Any) -> Texts:
    given: dict[str, Any] = {
        "worker": [1, 0, 1],
        "question": [1, 0, 0],
        "vectors": VECTORS,
        "workers": ["a", "b"],
        "questions": ["x", "y"],
        **changes,
    }
    return Texts.build(given.pop("worker"), given.pop("question"), given.pop("vectors"), **given)


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"worker": [], "question": []}, EmptyData, "no answers to score"),
        ({"worker": [0, 2, 1]}, UnknownIndex, r"worker\[1\] is 2"),
        ({"question": [0, -1, 1]}, UnknownIndex, r"question\[1\] is -1"),
        ({"vector": [0, 1, 3]}, UnknownIndex, r"vector\[2\] is 3"),
        ({"worker": [0, 1]}, BadShape, "worker has 2 entries, question 3"),
        ({"worker": [[0], [1], [1]]}, BadShape, "worker has 2 dimensions"),
        ({"worker": [0.0, 1.0, 1.0]}, BadShape, "must hold integers"),
        ({"vectors": np.ones(3)}, BadShape, "vectors has 1 dimensions"),
        ({"vectors": np.array([[1.0], [np.nan], [0.0]])}, BadVector, "row 1"),
        ({"vectors": np.array([[1.0], [0.0], [np.inf]])}, BadVector, "row 2"),
        ({"worker": [1, 1, 1], "question": [1, 0, 0]}, DuplicateAnswer, "'b'.*'x'"),
    ],
)
def test_texts_name_what_is_wrong(
    changes: dict[str, Any], error: type[DataError], says: str
) -> None:
    with pytest.raises(error, match=says):
        build(**changes)


def test_answers_come_sorted_by_question_and_lead_back_to_their_source() -> None:
    texts = build()
    assert texts.question.tolist() == [0, 0, 1]
    assert texts.worker.tolist() == [0, 1, 1]
    assert texts.source.tolist() == [1, 2, 0]
    assert texts.vector.tolist() == [1, 2, 0]


def test_names_are_mapped_once_and_an_unknown_name_is_named() -> None:
    texts = texts_from_names(["b", "a"], ["x", "x"], VECTORS[:2])
    assert (texts.workers, texts.worker.tolist()) == (("a", "b"), [0, 1])
    with pytest.raises(UnknownIndex, match="worker 'c' is not among"):
        texts_from_names(["c", "a"], ["x", "x"], VECTORS[:2], workers=["a", "b"])


def test_systems_must_answer_the_same_questions_but_may_answer_twice() -> None:
    systems = build(worker=[0, 0, 1], question=[0, 0, 1], repeats=True)
    assert build(outside=systems).outside is systems
    with pytest.raises(UnknownIndex, match="other questions"):
        build(questions=["x", "z"], outside=systems)


def test_a_missing_number_in_a_table_reads_as_none() -> None:
    assert Table({"score": np.array([0.5, np.nan]), "n": np.array([2, 0])}).rows() == [
        {"score": 0.5, "n": 2},
        {"score": None, "n": 0},
    ]


def test_a_method_is_found_by_its_slug_and_an_unknown_one_is_refused() -> None:
    assert get_method("aqer") is METHODS["aqer"]
    with pytest.raises(BadParameter, match="no method 'magic'"):
        get_method("magic")
