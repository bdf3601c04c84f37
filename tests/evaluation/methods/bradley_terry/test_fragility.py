"""What would change who is first, held against every removal that could be tried."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from evaluation.methods.bradley_terry.cells import cells_of
from evaluation.methods.bradley_terry.covariates import StyledPairs
from evaluation.methods.bradley_terry.fit import Model, maximise
from evaluation.methods.bradley_terry.fragility import Change, Fragility, fragility
from evaluation.methods.core.base import IntArray
from evaluation.methods.core.votes import FIRST, SECOND, TIE, Pairs

MODEL = Model("davidson", 0.2)


def board(
    seed: int, votes: int = 45, k: int = 4, judges: int = 8, items: int = 10
) -> tuple[Pairs, dict[str, IntArray]]:
    """A small board whose first is not far ahead, and the judge and item of each vote."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, k, votes)
    second = (first + rng.integers(1, k, votes)) % k
    lead = np.linspace(0.6, -0.6, k)
    won = rng.random(votes) < 1 / (1 + np.exp(lead[second] - lead[first]))
    outcome = np.where(rng.random(votes) < 0.2, TIE, np.where(won, FIRST, SECOND))
    data = StyledPairs.build(
        first,
        second,
        outcome,
        np.zeros((votes, 0)),
        players=[f"p{i}" for i in range(k)],
        names=(),
    )
    units = {"judge": rng.integers(0, judges, votes), "item": rng.integers(0, items, votes)}
    return data.pairs, {name: unit[data.order] for name, unit in units.items()}


def first_of(data: Pairs, keep: IntArray) -> int:
    """Who is first by a fit from scratch; -1 where two are level."""
    cells = cells_of(data.take(keep), side=False)
    model = MODEL if cells.tie.any() else Model("none", 0.2)
    merit = np.round(maximise(cells, model).point.merit, 9)
    best = np.flatnonzero(merit == merit.max())
    return int(cells.layout.player[best[0]]) if len(best) == 1 else -1


def without(data: Pairs, rows: IntArray) -> int:
    return first_of(data, np.setdiff1d(np.arange(len(data)), rows))


def found_for(seed: int) -> tuple[Pairs, dict[str, IntArray], Fragility]:
    data, units = board(seed)
    found = fragility(data, MODEL, units)
    assert found is not None
    assert found.first == first_of(data, np.arange(len(data)))
    return data, units, found


@pytest.mark.parametrize("seed", range(12))
def test_every_judge_and_item_that_changes_the_first_is_found(seed: int) -> None:
    data, units, found = found_for(seed)
    for name, unit in units.items():
        brute = {
            int(one): then
            for one in np.unique(unit)
            if (then := without(data, np.flatnonzero(unit == one))) not in (found.first, -1)
        }
        assert {change.unit: change.first for change in found.units[name]} == brute
        for change in found.units[name]:
            assert change.rows.tolist() == np.flatnonzero(unit == change.unit).tolist()


def fewest_by_force(data: Pairs, first: int, most: int = 3) -> int | None:
    """The size of the smallest set of at most ``most`` votes, from all sets of unlike votes."""
    kind = np.unique(
        np.column_stack([data.first, data.second, data.outcome]), axis=0, return_inverse=True
    )[1].reshape(-1)
    rows = {int(k): np.flatnonzero(kind == k) for k in np.unique(kind)}
    for size in range(1, most + 1):
        for kinds in combinations_with_replacement(rows, size):
            counts = {k: kinds.count(k) for k in set(kinds)}
            if any(count > len(rows[k]) for k, count in counts.items()):
                continue
            gone = np.concatenate([rows[k][:count] for k, count in counts.items()])
            if without(data, gone) not in (first, -1):
                return size
    return None


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_fewest_votes_are_those_of_trying_all(seed: int) -> None:
    data, _, found = found_for(seed)
    size = None if found.votes is None else len(found.votes.rows)
    brute = fewest_by_force(data, found.first)
    assert (size if size is not None and size <= 3 else None) == brute
    if found.votes is not None:
        assert without(data, found.votes.rows) == found.votes.first != found.first


def test_the_board_has_cases_of_one_two_three_and_more_votes() -> None:
    sizes = [len(votes.rows) for seed in range(12) if (votes := found_for(seed)[2].votes)]
    assert {1, 2, 3} <= set(sizes) and max(sizes) > 3


def test_a_first_far_ahead_is_robust() -> None:
    rows = [(0, 1, FIRST)] * 40 + [(0, 1, SECOND)] * 4 + [(1, 2, FIRST)] * 10 + [(1, 2, SECOND)] * 4
    first, second, outcome = (np.array(column) for column in zip(*rows, strict=True))
    data = StyledPairs.build(
        first, second, outcome, np.zeros((len(rows), 0)), players=["a", "b", "c"], names=()
    )
    found = fragility(data.pairs, MODEL, {"judge": np.arange(len(rows)) % 8})
    assert found is not None and found.first == 0 and found.second == 1
    assert found.votes is None and found.units["judge"] == []
    assert found.gap > 3 * found.error


def test_two_that_are_level_are_not_called_first() -> None:
    data = Pairs.build([0, 1], [1, 0], [FIRST, FIRST], players=["a", "b"])
    assert fragility(data, Model("none", 0.2), {}) is None


def test_a_change_that_parts_the_board_is_none() -> None:
    # The one vote between a and b: without it the two do not compare.
    rows = [(0, 1, FIRST), (1, 2, FIRST), (1, 2, FIRST), (1, 2, SECOND)]
    first, second, outcome = (np.array(column) for column in zip(*rows, strict=True))
    data = StyledPairs.build(
        first, second, outcome, np.zeros((4, 0)), players=["a", "b", "c"], names=()
    )
    found = fragility(data.pairs, Model("none", 0.2), {"item": np.arange(4)[data.order]})
    assert found is not None
    assert [change.unit for change in found.units["item"] if 0 in change.rows] == []


def test_the_largest_of_many_judges_is_found_without_trying_all() -> None:
    """One judge of 60 who votes for the second alone made it so: the influence shows where."""
    # 190 votes of 360 are for the first; then come 40 for the second, all of one judge.
    rows = [(0, 1, FIRST if i % 36 < 19 else SECOND) for i in range(360)] + [(0, 1, SECOND)] * 40
    judge = [i // 6 for i in range(360)] + [60] * 40
    first, second, outcome = (np.array(column) for column in zip(*rows, strict=True))
    data = StyledPairs.build(
        first, second, outcome, np.zeros((len(rows), 0)), players=["a", "b"], names=()
    )
    found = fragility(data.pairs, MODEL, {"judge": np.array(judge)[data.order]})
    assert found is not None and found.first == 1
    assert 60 in [change.unit for change in found.units["judge"]]
    assert isinstance(found.units["judge"][0], Change)
