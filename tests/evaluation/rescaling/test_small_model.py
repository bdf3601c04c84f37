"""A real small model rescales ratings: shapes and rows are asserted, never quality."""

from __future__ import annotations

import pytest

from evaluation.models import AnswerScore, LLMAttempt, LLMCall, RunFigure, RunState
from evaluation.runs import engine as runs
from tests.evaluation.corpora import rescaling as corpus
from tests.support.servers.small_model import SmallModel

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_ratings_become_scores_from_0_to_100_and_a_second_run_asks_nothing(
    small_model: SmallModel,
) -> None:
    task = corpus.make_rated(items=2, raters=2)  # 4 ratings, one of them without an explanation
    model = small_model.make(task.project)
    for number in (1, 2):
        run = runs.start(
            by=task.project.owner,
            task=task,
            method="rescaling",
            params={"model": model.pk, "draws": 2},
        )
        runs.execute(run.pk)
        run.refresh_from_db()
        assert run.state == RunState.DONE, run.error
        rows = AnswerScore.objects.filter(run=run)
        assert rows.count() == 4
        for row in rows:
            assert row.estimate is not None and 0 <= row.estimate <= 100
            assert row.extra["fallback"] == (row.extra["why"] == "no explanation")
        assert rows.filter(extra__fallback=True).count() == 1
        assert run.uses.count() == 3
        if number == 1:
            attempts = LLMAttempt.objects.count()
            calls = LLMCall.objects.filter(state="done")
            assert calls.count() == 3 and all(call.tokens_out for call in calls)
    assert LLMAttempt.objects.count() == attempts
    told = RunFigure.objects.filter(name="recipe").values_list("data", flat=True)
    assert len({data["calls"]["digest"] for data in told}) == 1
