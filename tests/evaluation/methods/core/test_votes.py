"""Votes and comparisons: names mapped once, equal rows added up, one place that flips."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.methods.core import votes
from evaluation.methods.core.base import BadShape, BadVector, EmptyData, UnknownIndex
from evaluation.methods.core.votes import FIRST, SECOND, TIE, Labels, Pairs
from tests.evaluation.methods.named import labels_from_names


def test_equal_votes_become_one_row_that_weighs_as_many() -> None:
    data = labels_from_names(["b", "a", "b"], ["x", "x", "x"], ["no", "yes", "no"])
    assert data.workers == ("a", "b")
    assert (data.worker.tolist(), data.label.tolist()) == ([0, 1], [1, 0])
    assert data.weight.tolist() == [1.0, 2.0]
    assert data.source.tolist() == [1, 0, 1]


def test_a_vote_shown_the_other_way_round_stays_a_row_of_its_own() -> None:
    data = Labels.build(
        [0, 0], [0, 0], [0, 0], shown=[0, 1], workers="w", items="i", labels=["left", "right"]
    )
    assert len(data) == 2


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1))
def test_turning_a_comparison_round_turns_its_outcome_and_side(rows: list[Any]) -> None:
    rows = [row for row in rows if row[0] != row[1]] or [(0, 1, 0)]
    a, b, y = (np.array(column) for column in zip(*rows, strict=True))
    left = np.where(y == TIE, 0, 1)
    one = Pairs.build(a, b, y, players="abcd", left=left)
    two = Pairs.build(b, a, SECOND - y, players="abcd", left=-left)
    for name in ("first", "second", "outcome", "left", "weight"):
        assert getattr(one, name).tolist() == getattr(two, name).tolist()
    assert (one.first < one.second).all()
    assert one.weight.sum() == len(rows)


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"first": [], "second": [], "outcome": []}, EmptyData, "empty"),
        ({"outcome": [3]}, UnknownIndex, "outcome"),
        ({"second": [0]}, BadShape, "with itself"),
        ({"second": [7]}, UnknownIndex, "second"),
        ({"weight": [float("nan")]}, BadVector, "weight"),
        ({"left": [2]}, UnknownIndex, "left"),
        ({"judge": [0]}, UnknownIndex, "judge"),
        ({"outcome": [0, 1]}, BadShape, "shape"),
    ],
)
def test_bad_comparisons_are_refused_by_name(
    change: dict[str, Any], error: type[Exception], said: str
) -> None:
    good: dict[str, Any] = {"first": [0], "second": [1], "outcome": [FIRST]}
    with pytest.raises(error, match=said):
        Pairs.build(**{**good, **change}, players="abc")


def test_names_too_many_for_one_key_are_put_in_the_same_order() -> None:
    rng = np.random.default_rng(3)
    few = tuple(rng.integers(-1, 4, 200) for _ in range(4))
    wide = tuple(column * 2**40 for column in few)  # the same order, no longer one number
    assert votes._order(few).tolist() == votes._order(wide).tolist()
