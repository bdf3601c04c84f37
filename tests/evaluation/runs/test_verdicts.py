"""Where the sentences on top of result pages turn over: an interval that touches 0, a name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.utils.safestring import SafeString

from annotation.models import Task
from annotation.models.tasks import TaskState
from annotation.work.snapshots.judgments import AskedDimension
from evaluation.checklists.selectors.attributes import more_diverse
from evaluation.checklists.selectors.verdicts import against_others
from evaluation.free_text.selectors.disagreement import one_truth, what_now
from evaluation.methods.aqer.diagnostics import TOO_FEW_FOR_CAMPS, TOO_MANY_WORKERS
from evaluation.models import Run
from evaluation.pairwise.results import POOLED
from evaluation.pairwise.selectors.facts import of_run
from evaluation.pairwise.selectors.hard import read_hard
from evaluation.pairwise.selectors.order.effects import Drift, Side, verdict_of
from evaluation.pairwise.selectors.pages import told_apart
from evaluation.pairwise.selectors.resistance import advice
from evaluation.pairwise.selectors.resistance.advice import after_place
from evaluation.pairwise.selectors.tables.advice import compared
from evaluation.pairwise.selectors.tables.grades import Difference
from evaluation.people.selectors.card import against_medians
from evaluation.rescaling.selectors.rating_boards import ScaleBoard, SourceMean, best_of
from evaluation.results.boards import heading
from evaluation.runs.selectors.more_work import StillOut
from evaluation.runs.selectors.verdicts import (
    NextStep,
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
    return first_place([*rows, *others], noun="systems", by="9 votes")


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
        (first((1, 1), (2, 3), (2, 3), (4, 4)), "A is first. B and C can be second."),
        (first((1, 1), (2, 3), (2, 3)), "A is first."),
        (
            first((1, 2), (1, 2)),
            "A and B may both be the best: 9 votes are too few to say which.",
        ),
        (first(*[(1, 4)] * 4), "Any of these four systems may be the best: 9 votes are too few"),
        (
            first((1, 2), (1, 2), (3, 3)),
            "A and B may both be the best: 9 votes are too few to say which. C is third.",
        ),
        (
            first((1, 2), (1, 2), (3, 3), (4, 4)),
            "A and B may both be the best: 9 votes are too few to say which. C is third.",
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
            "Four systems may all be the best: 9 votes are too few to say which.",
        ),
        (highest([share("A", 0.1, 0.2)], "win rate"), "Only A has a win rate"),
        (highest([share("A", 0.6, 0.7), share("B", 0.2, 0.5)], "win rate"), "above all others"),
        (highest([share("A", 0.5, 0.7), share("B", 0.2, 0.5)], "win rate"), "may be as good"),
        (highest([share("A", None, None), share("B", 0.2, 0.5)], "win rate"), "how sure that is"),
        (one_truth([]), "This run does not say"),
        (one_truth([{"found": None, "reason": "something"}]), "two camps is not known."),
        (one_truth([{"found": None, "reason": TOO_FEW_FOR_CAMPS}]), "takes 6 workers and 8"),
        (one_truth([{"found": None, "reason": TOO_MANY_WORKERS}]), "among so many workers"),
        (one_truth([{"found": False}]), "No split of the workers into two camps"),
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
        (against_medians([0]), "cannot be separated"),
        (against_medians([-1]), "Worse than most workers in the one scored task"),
        (against_medians([1]), "Better than most workers in the one scored task"),
        (
            against_medians([1, -1]),
            "Worse than most workers in 1 of 2 scored tasks and better in 1,",
        ),
    ],
)
def test_a_verdict_says_no_more_than_its_intervals(made: Verdict, said: str) -> None:
    assert said in made.sentence


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
    found = what_now(Run(project_id=1, task_id=1, number=3), [{"found": False}], [6, 15])
    assert found.note == "No split of the workers into two camps is shown."
    assert found.next is not None
    assert "Read questions 6, 15 first: use the best answer where" in found.next.sentence


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


def test_a_change_over_time_comes_first_where_no_side_is_shown_and_rejects_nobody() -> None:
    run = Run(project_id=1, task_id=1, number=3)
    side = Side("All", 0.45, 0.37, 0.53, 99, "", SafeString(), 0)
    drift = Drift("All", 0.25, 0.2, -0.05, -0.09, -0.02, None, "", 0)
    found = verdict_of(run, [side], [drift])
    assert found.sentence == "People answer “neutral” less often later on."
    none = "Neither side is shown to win more often: the difference may be chance."
    assert found.note == none
    assert found.next is not None and found.next.sentence.startswith("Reject nobody for this")
    unknown = verdict_of(run, [side], [replace(drift, low=-0.09, high=0.02)])
    assert unknown.sentence == none
    assert unknown.next is not None and unknown.next.sentence.startswith("Nothing to do")


def graded(style: str, *differs: float) -> dict[str, Any]:
    tests = [Difference(value, 0.01, value != 0, 10, "") for value in differs]
    return {"style": style, "differences": tests, "differing": sum(one.differs for one in tests)}


def test_grades_that_differ_in_one_style_say_who_is_better_on_what() -> None:
    run = Run(project_id=1, task_id=1, number=3)
    blocks = [graded("list", 0, 0), graded("prose", -2.0, 1.0), graded("All styles", 0, 0)]
    found = compared(run, blocks, ["Depth", "Style"], ("people", "models"))
    assert found.sentence == (
        "Over all styles, no difference between people and models is shown on any dimension."
    )
    assert found.note == (
        "In prose, people has higher grades on Style. In prose, models has higher grades on Depth. "
        "Each style is tested on its own."
    )
    assert found.next is not None and found.next.sentence == (
        "For all styles, choose between people and models by cost or another reason. For prose "
        "alone, prefer the higher grades on the dimension that matters to you; read five pairs "
        "first. For list alone, no difference is shown: choose by cost there, too."
    )
    blocks[1] = graded("prose", -2.0, 0)
    clear = compared(run, blocks, ["Depth", "Style"], ("people", "models"))
    assert clear.next is not None and "For prose alone, prefer models" in clear.next.sentence
    none = compared(run, [graded("list", 0, 0)], ["Depth", "Style"], ("people", "models"))
    assert none.next is not None and "more votes on these topics cannot" in none.next.sentence


def test_a_lead_that_is_not_sure_at_equal_length_says_when_to_use_it() -> None:
    run = Run(project_id=1, task=Task(pk=1, project_id=1), number=3)
    step = after_place(Place("A is first by the votes.", first=("A",)), run, "depth")
    assert step.sentence.startswith("Use A if length and style may count in its favour.")
    assert step.url.endswith("score=controlled")


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
    assert f"{apart.head} {apart.text}" == (
        "Workers cannot be compared. No two workers saw the same pair."
    )
    assert (unlike.head, unlike.url) == ("Clarity, Depth.", "/pairs/")
    assert unlike.text == "Some final labels differ from what most people chose."


def test_a_verdict_tells_the_first_step_that_there_is() -> None:
    pay, wait = NextStep("Review the work."), NextStep("Nothing to do.")
    assert Verdict("So it is.").then(None, pay, wait).next == pay
    assert Verdict("So it is.").then(None).next is None


def test_who_may_be_the_best_outside_the_first_group_is_counted_in_its_heading() -> None:
    rows = [SimpleNamespace(best=1, worst=4) for _ in range(2)]
    group = {"first": 1, "clear_above": False}
    assert heading(group, cast("Any", rows), 1) == (
        "Ranks 1–4: these two cannot be separated, and one below may be the best too"
    )


def test_pairs_are_read_before_the_judgments_that_nobody_has_taken_are_given() -> None:
    task = Task(pk=1, project_id=1, state=TaskState.OPEN)
    run = Run(project_id=1, task_id=1, number=3)
    pair = {"n": 5, "differentiable": False, "agreeing": 1, "pair": 7}
    out = StillOut(task, wanted=40, given=8, free=16, in_work=2, working=16, due=None)
    step = read_hard(run, {"pair": [pair, {**pair, "pair": 8}]}, known=True, out=out)
    assert "Read the 2 pairs whose texts votes do not tell apart." in step.sentence
    assert (
        "First pause the task on its own page, so that the 16 judgments that workers can still "
        "take come under better instructions. 16 judgments in progress stay under the old ones."
    ) in step.sentence
    assert step.sentence.endswith("publish them, and resume the task.")
    few = replace(out, given=400)
    calm = read_hard(run, {"pair": [pair]}, known=True, out=few).sentence
    assert "pause" not in calm
    assert "Nothing to do: the leaderboard’s ranks allow for this agreement. If you ask" in calm
    task.state = TaskState.CLOSED
    assert "pause" not in read_hard(run, {"pair": [pair]}, known=False, out=out).sentence
