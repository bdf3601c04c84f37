"""Intervals hold the truth with crowds as they really are (``tests/studies/coverage``)."""

from __future__ import annotations

import pytest

from tests.studies.coverage.cases import cases
from tests.studies.coverage.outcomes import Case, measure
from tests.studies.coverage.table import LEAST_COVERED, MOST_FALSE, measured

# What was furthest off before effective clusters: cheap enough for every run.
QUICK = {
    ("share by worker", "Zipf 1.5, 30 workers"): 300,
    ("mean by worker", "two of 40 do 80 %"): 300,
    ("Bradley-Terry by judge", "Zipf 2, 30 judges"): 60,
    ("board by topic and judge", "40 topics, Zipf 1.5"): 40,
    ("live, every look", "two of 40 do 80 %"): 60,
    ("mean rating of a system", "Zipf 1.5"): 60,
    ("two checklist scorings", "12 sources x 12, uneven"): 60,
    ("alternative test at the margin", "300 items in 40 topics"): 100,
}


def quick() -> list[Case]:
    return [one for one in cases() if (one.methods[0], one.design) in QUICK]


@pytest.mark.parametrize("case", quick(), ids=lambda one: f"{one.methods[0]}: {one.design}")
def test_uneven_crowds_get_intervals_that_hold_or_none(case: Case) -> None:
    for cell in measure(case, QUICK[case.methods[0], case.design]):
        n = cell.simulations
        if cell.given:
            assert cell.covered >= LEAST_COVERED - 3 * (0.06 / n) ** 0.5
        if cell.false_sure == cell.false_sure:
            assert cell.false_sure <= MOST_FALSE + 3 * (0.05 / n) ** 0.5


@pytest.mark.long
@pytest.mark.parametrize("case", list(cases()), ids=lambda one: f"{one.methods[0]}: {one.design}")
def test_intervals_hold_as_often_as_the_documentation_says(case: Case) -> None:
    known = {(one["method"], one["design"]): one for one in measured()["now"]}
    for cell in measure(case, 100):
        told = known[cell.method, cell.design]
        if told["covered"] is not None and cell.given:
            error = (0.06 / cell.simulations) ** 0.5 + told["error"]
            assert cell.covered >= told["covered"] - 4 * error
        if told["false_sure"] is not None:
            assert cell.false_sure <= told["false_sure"] + 4 * (0.06 / cell.simulations) ** 0.5
