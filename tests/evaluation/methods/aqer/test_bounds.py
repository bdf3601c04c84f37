"""Equations 6 and 8 against the values worked out beforehand."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from evaluation.methods.aqer.diagnostics import bound, sea_error, worst_sea_error
from evaluation.methods.core.base import BadParameter

TABLE = {
    5: {0.3: (0.4248, 1.5855), 0.5: (0.2094, 1.2347), 0.7: (0.0902, 0.7963), 0.9: (0.0227, 0.4353)},
    20: {
        0.3: (0.1850, 1.0165),
        0.5: (0.0675, 0.3329),
        0.7: (0.0250, 0.1121),
        0.9: (0.0058, 0.0424),
    },
    100: {
        0.3: (0.0470, 0.1428),
        0.5: (0.0147, 0.0312),
        0.7: (0.0052, 0.0105),
        0.9: (0.0012, 0.0035),
    },
}


@pytest.mark.parametrize(
    ("workers", "quality", "values"),
    [(m, mu, values) for m, row in TABLE.items() for mu, values in row.items()],
)
def test_bounds_equal_the_table_to_four_digits(
    workers: int, quality: float, values: tuple[float, float]
) -> None:
    found = bound(quality, workers)
    assert (round(found.expected, 4), round(found.worst, 4)) == values
    assert found.vacuous == (values[1] > 1)


def test_a_single_worker_is_off_by_their_own_error() -> None:
    assert sea_error(0.6, 1) == pytest.approx(0.4)


def test_more_workers_never_make_the_bound_worse() -> None:
    errors = [worst_sea_error(0.6, m) for m in range(2, 200)]
    assert all(a > b for a, b in pairwise(errors))


@pytest.mark.parametrize(
    "given", [(1.2, 5, 0.05), (0.5, 0, 0.05), (0.5, 5, 1.0), (math.nan, 5, 0.05)]
)
def test_bounds_refuse_what_is_no_quality_crowd_or_chance(given: tuple[float, int, float]) -> None:
    with pytest.raises(BadParameter):
        bound(*given)
