"""What the scores of a filled checklist allow to conclude."""

from __future__ import annotations

import numpy as np
import pytest
from django.utils.safestring import SafeString

from annotation.models import Task
from evaluation.checklists.selectors.attributes import more_diverse, sentences
from evaluation.checklists.selectors.checks import Board, Line
from evaluation.checklists.selectors.verdicts import follows, surest
from evaluation.methods.checklists.correlation import correlation_rows


def correlated(low: float | None, articles: int) -> Board:
    rho = {"estimate": 0.97, "low": low, "high": 0.99, "articles": articles, "undefined": 0}
    line = Line("people", "", 1, True, rho | {"setting": "sample-level"}, {}, SafeString())
    return Board("fluency", "Fluency", "people", SafeString(), [line])


def codes(boards: list[Board]) -> list[str]:
    return [one.code for one in follows(Task(pk=1, project_id=1), boards)]


def test_a_checklist_with_few_sources_is_not_called_a_failure() -> None:
    verdict, step = follows(Task(pk=1, project_id=1), [correlated(None, 2)])
    assert (verdict.code, step.code) == ("checklist_few_sources", "add_sources")
    assert "needs 5 sources" in verdict.detail
    assert "3 more sources" in step.text
    assert step.action is not None and step.action.url.endswith("?part=texts")
    assert codes([correlated(-0.1, 9)]) == ["checklist_not_shown", "mend_questions"]
    assert codes([correlated(0.5, 9)]) == ["checklist_follows", "ask_models"]


def test_a_missing_correlation_is_mentioned_only_where_there_is_one() -> None:
    lacking = correlated(0.5, 9)
    assert not lacking.lacks_rho
    lacking.lines[0].rho["undefined"] = 1
    assert lacking.lacks_rho


def board_of(*rows: dict[str, float]) -> Board:
    known = {"articles": 12, "undefined": 0, "setting": "sample-level"}
    lines = [
        Line(f"s{at}", "", at, True, {**known, **row}, {}, SafeString())
        for at, row in enumerate(rows)
    ]
    return Board("fluency", "Fluency", "people", SafeString(), lines)


def test_following_human_scores_is_claimed_over_all_scorers_and_dimensions() -> None:
    one = {"estimate": 0.5, "low": 0.05, "high": 0.95}
    assert codes([board_of(one)])[0] == "checklist_follows"
    many = board_of(one, *[{"estimate": 0.1, "low": -0.4, "high": 0.6}] * 9)
    assert codes([many])[0] == "checklist_not_shown"
    apart = [board_of({"estimate": 0.1, "low": -0.4, "high": 0.6}), board_of(one)]
    assert surest([line.rho for board in apart for line in board.lines])[1].compared_with == 2
    sure = {"estimate": 0.45, "low": 0.35, "high": 0.55}  # not the highest, but the surest
    verdict = follows(Task(pk=1, project_id=1), [board_of(one, sure, *[one] * 8)])[0]
    assert verdict.code == "checklist_follows" and "s1" in verdict.text


@pytest.mark.parametrize("answerers", [5, 20])
@pytest.mark.long
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
@pytest.mark.long
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
