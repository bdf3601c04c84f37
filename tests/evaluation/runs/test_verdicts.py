"""Where the sentences on top of result pages turn over: an interval that touches 0, a name."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.checklists.selectors.attributes import more_diverse
from evaluation.checklists.selectors.checks import against_others
from evaluation.free_text.selectors.disagreement import one_truth
from evaluation.pairwise.selectors.pages import told_apart
from evaluation.people.selectors.card import against_medians
from evaluation.runs.selectors.verdicts import possible_first


def row(name: str, best: int | None, component: int = 1) -> dict[str, Any]:
    return {"name": name, "component": component, "best": best, "worst": best}


def difference(low: float | None, high: float | None, p: float = 0.01) -> dict[str, Any]:
    return {"difference": 0.2, "low": low, "high": high, "adjusted": p}


def side(low: float, high: float) -> dict[str, Any]:
    return {"cosine": {"low": low, "high": high}}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (possible_first([row("A", None)], "authors"), "Nobody has enough answers"),
        (possible_first([row("A", 1), row("B", 2)], "authors"), "A is first."),
        (possible_first([row("A", 1), row("B", 1), row("C", 3)], "authors"), "A and B can each"),
        (possible_first([row("A", 1), row("B", 1)], "authors"), "All 2 authors can be first"),
        (possible_first([row("A", 1), row("B", 1, 2)], "authors"), "A is first."),
        (one_truth([]), "This run does not say"),
        (one_truth([{"found": None, "reason": "too few"}]), "is not known: too few."),
        (one_truth([{"found": False}]), "No two camps"),
        (one_truth([{"found": False}, {"found": True}]), "Workers form two camps"),
        (told_apart(0, 0), "not computed"),
        (told_apart(0, 9), "every pair apart"),
        (told_apart(2, 9), "2 of 9 pairs cannot be separated"),
        (against_others([difference(0.1, 0.3)], human=False), "no human scores"),
        (against_others([], human=True), "Nothing else has scored"),
        (against_others([difference(None, None)], human=True), "has an interval yet"),
        (against_others([difference(0.0, 0.3)], human=True), "cannot be separated"),
        (against_others([difference(0.1, 0.3, 0.06)], human=True), "cannot be separated"),
        (against_others([difference(0.1, 0.3)], human=True), "better in 1 and surely worse in 0"),
        (more_diverse([{}]), "not compared yet"),
        (more_diverse([side(-0.1, 0.0)]), "cannot be separated"),
        (more_diverse([side(-0.2, -0.1)]), "of people are more diverse on 1 of 1"),
        (more_diverse([side(0.1, 0.2)]), "of models are more diverse on 1 of 1"),
        (more_diverse([side(-0.2, -0.1), side(0.1, 0.2)]), "those of models on 1."),
        (against_medians([]), "has an interval yet"),
        (against_medians([(0.4, 0.6, 0.6)]), "cannot be separated"),
        (against_medians([(0.4, 0.6, 0.7)]), "below the median of all workers on 1 of 1"),
        (against_medians([(0.4, 0.6, 0.3)]), "above the median of all workers on 1 of 1"),
        (against_medians([(0.4, 0.6, 0.3), (0.1, 0.2, 0.3)]), "and above it on 1."),
    ],
)
def test_a_verdict_says_no_more_than_its_intervals(made: dict[str, str], said: str) -> None:
    assert said in made["sentence"]
