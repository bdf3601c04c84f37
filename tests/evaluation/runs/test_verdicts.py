"""Where the sentences on top of result pages turn over: an interval that touches 0, a name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.utils.safestring import SafeString

from annotation.models import Task
from annotation.work.snapshots.judgments import AskedDimension
from evaluation.checklists.selectors.attributes import more_diverse
from evaluation.checklists.selectors.verdicts import against_others
from evaluation.free_text.selectors.disagreement import camps_verdict, questions_findings
from evaluation.methods.aqer.diagnostics import TOO_FEW_FOR_CAMPS, TOO_MANY_WORKERS
from evaluation.models import Run
from evaluation.pairwise.results import POOLED
from evaluation.pairwise.selectors.facts import of_run
from evaluation.pairwise.selectors.hard import read_hard
from evaluation.pairwise.selectors.order.effects import Drift, Side, order_findings
from evaluation.pairwise.selectors.pages import pairs_verdict
from evaluation.pairwise.selectors.resistance import advice
from evaluation.pairwise.selectors.resistance.advice import equal_length
from evaluation.pairwise.selectors.tables.advice import compared
from evaluation.pairwise.selectors.tables.grades import Difference
from evaluation.people.selectors.card import median_findings
from evaluation.rescaling.selectors.rating_boards import ScaleBoard, SourceMean, best_of
from evaluation.results.boards import heading
from evaluation.results.findings import Finding
from evaluation.runs.selectors.verdicts import (
    Place,
    Verdict,
    first_place,
    highest,
    why_not_exact,
)


@dataclass
class Row:
    in_sentence: str
    best: int | None
    worst: int | None
    component: int = 1


def first(*ranks: tuple[int, int] | None, others: tuple[Row, ...] = ()) -> Verdict:
    """Who is first of A, B, C ... whose best and worst possible ranks are these."""
    rows = [Row(name, *(span or (None, None))) for name, span in zip("ABCDEF", ranks, strict=False)]
    return first_place([*rows, *others], noun="system", by="9 votes")


def share(name: str, low: float | None, high: float | None, estimate: float = 0.5) -> SourceMean:
    return SourceMean(name, "", estimate, low, high, n=9, why="")


def difference(low: float | None, high: float | None, p: float = 0.01) -> dict[str, Any]:
    return {"difference": 0.2, "low": low, "high": high, "p": p}


def side(low: float, high: float) -> dict[str, Any]:
    return {"cosine": {"low": low, "high": high}}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (first(None), "Nobody can be called first: no interval"),
        (first((1, 1)), "A is alone on its board"),
        (first((1, 1), others=(Row("B", 1, 1, 2),)), "A is alone on its board"),
        (first((1, 1), (2, 2)), "A is first. B is second."),
        (first((1, 1), (2, 2), (3, 4), (3, 4)), "A is first. B is second."),
        (first((1, 1), (2, 3), (3, 4), (3, 4)), "A is first."),
        (
            first((1, 1), (2, 3), (2, 3), (4, 4)),
            "A is first. B and C come next and cannot be told apart.",
        ),
        (first((1, 1), (2, 3), (2, 3)), "A is first."),
        (
            first((1, 2), (1, 2)),
            "A and B may both be the best: 9 votes are too few to say which.",
        ),
        (first(*[(1, 4)] * 4), "Any of these 4 systems may be the best: 9 votes are too few"),
        (
            first((1, 2), (1, 2), (3, 3)),
            "A and B may both be the best: 9 votes are too few to say which.",
        ),
        (
            first((1, 2), (1, 2), (3, 3), (4, 4)),
            "A and B may both be the best: 9 votes are too few to say which.",
        ),
        (
            first((1, 2), (1, 3), (2, 3)),
            "A and B may both be the best: 9 votes are too few to say which.",
        ),
        (
            first((1, 2), (1, 3), (2, 4), (3, 4)),
            "A and B may both be the best: 9 votes are too few to say which.",
        ),
        (
            first((1, 4), (1, 4), (1, 5), (1, 5), (3, 6), (5, 6)),
            "4 systems may all be the best: 9 votes are too few to say which.",
        ),
        (highest([share("A", 0.1, 0.2)], "win rate"), "Only A has a win rate"),
        (
            highest([share("A", 0.6, 0.7), share("B", 0.2, 0.5)], "win rate"),
            "A has a higher win rate than B",
        ),
        (
            highest([share("A", 0.5, 0.7), share("B", 0.2, 0.5)], "win rate"),
            "A and B may both have",
        ),
        (
            highest([share("A", 0.5, 0.5), share("B", 0.0, 1.0), share("C", 0.0, 1.0)], "win rate"),
            "A, B and C may each have",
        ),
        (highest([share("A", None, None), share("B", 0.2, 0.5)], "win rate"), "how sure that is"),
        (more_diverse([{}]), "too few to compare"),
        (more_diverse([side(-0.1, 0.0)]), "cannot be separated"),
        (more_diverse([side(-0.2, -0.1)]), "of people are more diverse on 1 of 1"),
        (more_diverse([side(0.1, 0.2)]), "of models are more diverse on 1 of 1"),
        (more_diverse([side(-0.2, -0.1), side(0.1, 0.2)]), "those of models on 1."),
    ],
)
def test_a_verdict_says_no_more_than_its_intervals(made: Verdict, said: str) -> None:
    assert said in made.sentence


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (camps_verdict([]), "camps_unknown"),
        (camps_verdict([{"found": None, "reason": "something"}]), "camps_unknown"),
        (camps_verdict([{"found": None, "reason": TOO_FEW_FOR_CAMPS}]), "camps_need_more"),
        (camps_verdict([{"found": None, "reason": TOO_MANY_WORKERS}]), "camps_too_many"),
        (camps_verdict([{"found": False}]), "no_camps"),
        (camps_verdict([{"found": False}, {"found": True}]), "two_camps"),
        (pairs_verdict(0, 0), "pairs_untested"),
        (pairs_verdict(0, 9), "pairs_all_apart"),
        (pairs_verdict(2, 9), "pairs_not_apart"),
        (against_others([difference(0.1, 0.3)], human=False)[0], "no_human_scores"),
        (against_others([], human=True)[0], "no_other_scoring"),
        (against_others([difference(None, None)], human=True)[0], "no_difference_known"),
        (against_others([difference(0.0, 0.3)], human=True)[0], "no_difference_shown"),
        (against_others([difference(0.1, 0.3, 0.06)], human=True)[0], "no_difference_shown"),
        (against_others([difference(0.1, 0.3)], human=True)[0], "checklist_differs"),
        (median_findings([])[0], "worker_no_interval"),
        (median_findings([], 1)[0], "worker_not_compared"),
        (median_findings([0])[0], "worker_not_separated"),
        (median_findings([-1])[0], "worker_worse"),
        (median_findings([1])[0], "worker_better"),
        (median_findings([1, -1])[0], "worker_mixed"),
    ],
)
def test_the_code_of_a_verdict_follows_the_intervals(found: Finding, code: str) -> None:
    assert found.code == code


def test_a_missing_interval_says_how_much_is_needed() -> None:
    assert why_not_exact("10 topics; an interval needs 15") == (
        "How exact this is cannot be said with 10 topics: at least 15 are needed."
    )
    uneven = "10 workers, but a few did most of the work: as much as 1.5 equally active ones"
    assert why_not_exact(f"{uneven}; an interval needs 3") == (
        "How exact this is cannot be said: of 10 workers a few did most of the work, as much as "
        "1.5 equally active ones would. At least 3 are needed."
    )
    assert why_not_exact("every resample gives this value") == "Every resample gives this value."
    assert why_not_exact("") == ""


def test_the_questions_of_least_agreement_are_those_to_read() -> None:
    run = Run(project_id=1, task_id=1, number=3)
    verdict, read = questions_findings(run, [{"found": False}], [6, 15])
    assert (verdict.code, read.code) == ("no_camps", "read_lowest_questions")
    assert "6 and 15" in read.text and read.action is not None
    assert read.action.url.endswith("?run=3&sort=agreement")


def scale(label: str, *rows: SourceMean) -> ScaleBoard:
    return ScaleBoard(AskedDimension(label.lower(), label), {}, "", rows)


def test_a_scale_without_a_sure_first_is_named_beside_the_one_that_has_one() -> None:
    clear = scale("Depth", share("A", 0.6, 0.7), share("B", 0.2, 0.5))
    equal = scale("Facts", share("A", 1.0, 1.0), share("B", 1.0, 1.0))
    assert best_of(clear, [clear]).note == ""
    assert best_of(clear, [clear, equal]).note == (
        "No source is shown to be above all others on Facts."
    )
    equal = replace(equal, rows=(*equal.rows, share("C", -0.1, 0.4, estimate=0.1)))
    assert best_of(clear, [clear, equal]).note.endswith("C is below all others on Facts.")


def test_a_change_over_time_comes_first_where_no_side_is_shown() -> None:
    run = Run(project_id=1, task_id=1, number=3)
    side = Side("All", 0.45, 0.37, 0.53, 99, "", SafeString(), 0)
    drift = Drift("All", 0.25, 0.2, -0.05, -0.09, -0.02, None, "", 0)
    cases = [
        (side, drift, ["neutral_falls", "side_not_shown"]),
        (side, replace(drift, high=0.02), ["side_not_shown", "no_drift"]),
        (replace(side, high=0.48), drift, ["left_wins", "neutral_falls", "side_matters"]),
    ]
    for one, change, codes in cases:
        assert [found.code for found in order_findings(run, [one], [change])] == codes


def graded(style: str, *differs: float) -> dict[str, Any]:
    tests = [Difference(value, 0.01, value != 0, 10, "") for value in differs]
    return {"style": style, "differences": tests, "differing": sum(one.differs for one in tests)}


def test_grades_that_differ_in_one_style_say_who_is_better_on_what() -> None:
    run = Run(project_id=1, task_id=1, number=3)
    labels, groups = ["Depth", "Style"], ("people", "models")
    blocks = [graded("list", 0, 0), graded("prose", -2.0, 1.0), graded("All styles", 0, 0)]
    verdict, read, *styles = compared(run, blocks, labels, groups)
    assert verdict.text == (
        "Over all styles, no difference between people and models is shown on any dimension."
    )
    assert read.code == "read_group_pairs"
    assert [one.text for one in styles] == [
        "In prose, people has higher grades on Style.",
        "In prose, models has higher grades on Depth.",
    ]
    assert [one.code for one in compared(run, [graded("list", 0, 0)], labels, groups)] == [
        "groups_differ"
    ]


def test_a_lead_that_is_not_sure_leads_to_the_ranking_at_equal_length() -> None:
    run = Run(project_id=1, task=Task(pk=1, project_id=1), number=3)
    found = equal_length(run, Place("A is first by the votes.", first=("A",)), "depth")
    assert found is not None and found.action is not None
    assert found.code == "rank_at_equal_length"
    assert found.action.url.endswith("score=controlled")
    for place in (Place(""), Place("A is first.", first=("A",), sure=True)):
        assert equal_length(run, place, "depth") is None


def test_a_dimension_without_a_winner_names_the_one_of_all_dimensions_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    several = Place("A and B may both be the best.", open=True, first=("A", "B"))
    monkeypatch.setattr(advice, "place_of", lambda *_: Place("A is first.", first=("A",)))
    said = "All dimensions together, if all of them matter to you: A is first."
    assert said in advice.beside_all(several, {}, [], "depth").note
    assert advice.beside_all(several, {}, [], POOLED) == several
    monkeypatch.setattr(advice, "place_of", lambda *_: several)
    assert advice.beside_all(several, {}, [], "depth") == several


def test_parts_that_share_no_pair_and_labels_unlike_most_are_told_once() -> None:
    asked = [AskedDimension(name, name.title()) for name in ("clarity", "depth", "overall")]
    told = {
        "diagnostics": {
            "components": [{"workers": 1}, {"workers": 1}],
            "warnings": [
                "The workers fall into 2 parts that share no pair (of 1, 1 workers): competence "
                "does not compare across them.",
                "clarity: labels leave the majority on 9 of 49 items (18%; those of ...",
                "depth: labels leave the majority on 7 of 49 items (14%; those of ...",
            ],
        }
    }
    apart, unlike = of_run(told, asked, "/pairs/")
    assert (apart.code, unlike.code) == ("workers_share_no_pair", "labels_unlike_votes")
    assert unlike.action is not None and unlike.action.url == "/pairs/"
    assert unlike.detail == "Clarity, Depth."


def test_who_may_be_the_best_outside_the_first_group_is_named_in_its_heading() -> None:
    rows = [SimpleNamespace(best=1, worst=4) for _ in range(2)]
    group = {"first": 1, "clear_above": False}
    assert heading(group, cast("Any", rows), ["wren-03"]).endswith("so may wren-03 below")
    assert heading(group, cast("Any", rows), list("abcd")).endswith("a, b and 2 more below")


def test_a_group_that_overlaps_the_one_above_says_so_in_its_heading() -> None:
    rows = cast("Any", [SimpleNamespace(best=2, worst=4) for _ in range(2)])
    overlapping = heading({"first": 3, "clear_above": False}, rows)
    below = heading({"first": 3, "clear_above": True}, rows)
    first = heading({"first": 1, "clear_above": False}, rows)
    assert len({overlapping, below, first}) == 3 and "overlap" in overlapping


def test_pairs_that_votes_leave_open_are_the_ones_to_read() -> None:
    run = Run(project_id=1, task_id=1, number=3)
    pair = {"n": 5, "differentiable": False, "agreeing": 1, "pair": 7}
    found = read_hard(run, {"pair": [pair, {**pair, "pair": 8}]})
    assert found.code == "read_hard_pairs" and found.action is not None
    assert found.action.url.endswith("?run=3&show=same")
    assert read_hard(run, {"pair": []}).code == "read_split_pairs"
