"""What the scores of a filled checklist allow to conclude."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from django.utils.safestring import SafeString

from annotation.models import Task
from annotation.models.tasks import TaskState
from evaluation.checklists.selectors import verdicts
from evaluation.checklists.selectors.attributes import more_diverse, sentences
from evaluation.checklists.selectors.checks import Board, Line
from evaluation.checklists.selectors.verdicts import follows, surest, wait_for
from evaluation.methods.checklists.correlation import correlation_rows
from evaluation.runs.planning.price import Price
from evaluation.runs.selectors import more_work
from evaluation.runs.selectors.more_work import Amount, StillOut


def correlated(low: float | None, articles: int) -> Board:
    rho = {"estimate": 0.97, "low": low, "high": 0.99, "articles": articles, "undefined": 0}
    line = Line("people", "", 1, True, rho | {"setting": "sample-level"}, {}, SafeString())
    return Board("fluency", "Fluency", "people", SafeString(), [line])


def test_a_checklist_with_few_sources_is_not_called_a_failure() -> None:
    task = Task(pk=1, project_id=1)
    few = follows(task, [correlated(None, 2)])
    assert few.sentence == "With only 2 sources nobody can tell yet whether the checklist works."
    assert "ρ .97" in few.note and "It takes 5 sources" in few.note
    assert few.next is not None and few.next.url.endswith("?part=texts")
    assert "each of at least 3 more sources" in few.next.sentence
    assert follows(task, [correlated(-0.1, 9)]).sentence.startswith("It is not shown")
    assert follows(task, [correlated(0.5, 9)]).sentence == "Scores of people follow human scores."


def board_of(*rows: dict[str, float]) -> Board:
    known = {"articles": 12, "undefined": 0, "setting": "sample-level"}
    lines = [
        Line(f"s{at}", "", at, True, {**known, **row}, {}, SafeString())
        for at, row in enumerate(rows)
    ]
    return Board("fluency", "Fluency", "people", SafeString(), lines)


def test_following_human_scores_is_claimed_over_all_scorers_and_dimensions() -> None:
    one = {"estimate": 0.5, "low": 0.05, "high": 0.95}
    task = Task(pk=1, project_id=1)
    assert follows(task, [board_of(one)]).sentence == "Scores of s0 follow human scores."
    many = board_of(one, *[{"estimate": 0.1, "low": -0.4, "high": 0.6}] * 9)
    assert follows(task, [many]).sentence.startswith("It is not shown")
    apart = [board_of({"estimate": 0.1, "low": -0.4, "high": 0.6}), board_of(one)]
    assert surest([line.rho for board in apart for line in board.lines])[1].compared_with == 2
    sure = {"estimate": 0.45, "low": 0.35, "high": 0.55}  # not the highest, but the surest
    assert follows(task, [board_of(one, sure, *[one] * 8)]).sentence.startswith("Scores of s1")


@pytest.mark.parametrize("answerers", [5, 20])
def test_scores_without_relation_hardly_ever_follow_human_scores(answerers: int) -> None:
    rng, wrong, studies, sources = np.random.default_rng(answerers), 0, 40, 10
    article = np.repeat(np.arange(sources), 8)
    for _ in range(studies):
        human = rng.normal(size=len(article))
        rows = [
            next(
                row
                for row in correlation_rows(rng.normal(size=len(article)), human, article)
                if (row["kind"], row["setting"]) == ("spearman", "sample-level")
            )
            for _ in range(answerers)
        ]
        claim = surest(rows)[1]
        wrong += claim.is_sure and claim.direction > 0
    assert wrong <= 0.05 * studies + 2


@pytest.mark.parametrize("texts", [3, 4])
def test_coarse_scores_of_few_texts_hardly_ever_follow_human_scores(texts: int) -> None:
    rng, wrong, studies = np.random.default_rng(texts), 0, 40
    article = np.repeat(np.arange(10), texts)
    for _ in range(studies):
        human = rng.integers(0, 3, len(article))
        rows = [
            correlation_rows(rng.normal(size=len(article)), human, article)[0] for _ in range(20)
        ]
        wrong += surest(rows)[1].is_sure
    assert wrong <= 0.05 * studies + 2


def test_coarse_scores_that_follow_human_scores_are_still_found() -> None:
    rng, found = np.random.default_rng(7), 0
    article = np.repeat(np.arange(15), 4)
    for _ in range(20):
        human = rng.integers(0, 3, len(article))
        rows = [
            correlation_rows(human + rng.normal(scale=0.5, size=len(article)), human, article)[0]
        ]
        claim = surest(rows * 5)[1]
        found += claim.is_sure and claim.direction > 0
    assert found == 20


def test_few_sources_say_how_many_texts_and_checklists_more_are_and_what_they_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    price = Price(Decimal("1.60"), 8, Decimal(0), "EUR", 0.0)
    monkeypatch.setattr(more_work, "like_these", lambda _, n: Amount(n, 4 * n, 16 * n, 4, price))
    monkeypatch.setattr(more_work, "whom", lambda *_: "27 workers can.")
    monkeypatch.setattr(verdicts, "writers_of_texts", lambda _: ["people", "Wren"])
    task = Task(pk=1, project_id=1, state=TaskState.OPEN)
    boards = [correlated(None, 2)]
    step = follows(task, boards).next
    assert step is not None and step.cost == (
        "With 4 texts per source, as now, that is 12 texts and 48 filled checklists (4 workers per "
        "text), for €9.60 at most. You add the texts, which costs nothing here: any of the kind "
        "that you want scored will do, by people or by models (those now are by people and Wren). "
        "Scores by hand are not paid here, so what they cost is not known. Models are asked again "
        "only if you want to test their scores, too; what that costs is shown before they start."
    )
    assert step.whom == (
        "27 workers can. For the scores by hand, ask “people” again, on the same scale, and import "
        "them below, where an example row stands. A text has one score: where several people "
        "score, give their mean."
    )
    out = StillOut(task, wanted=32, given=24, free=8, in_work=0, working=0, due=None)
    monkeypatch.setattr(StillOut, "price", price)
    said = wait_for(out, boards)
    assert said.startswith("No: 8 filled checklists still to come are on the same")
    assert "what is still to come costs €1.60 more at most" in said


def test_diversity_is_claimed_over_all_dimensions_at_once() -> None:
    one = {"rouge": {"low": -0.2, "high": -0.01}}
    none = {"rouge": {"low": -0.1, "high": 0.1}}
    assert "on 1 of 1 dimensions" in more_diverse([one]).sentence
    assert "cannot be separated" in more_diverse([one, *[none] * 9]).sentence


def test_differences_of_one_dimension_are_figures_without_a_claim() -> None:
    side = {"estimate": -0.03, "low": -0.05, "high": -0.01, "reason": ""}
    [said] = sentences({"differences": {"rouge": side}, "conditions": []})
    assert "people less models: −.03" in said
    assert "less alike" not in said
