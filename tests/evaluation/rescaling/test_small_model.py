"""A real small model rescales ratings: shapes and rows are asserted, never quality."""

from __future__ import annotations

import pytest

from evaluation.models import AnswerScore, LLMCall, RunState
from evaluation.runs import engine as runs
from tests.evaluation.corpora import rescaling as corpus
from tests.support.servers.small_model import SmallModel

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.long]


def test_ratings_become_scores_from_0_to_100(small_model: SmallModel) -> None:
    task = corpus.make_rated(items=1, raters=2)  # one of the two has no explanation
    model = small_model.make(task.project)
    run = runs.start(
        by=task.project.owner, task=task, method="rescaling", params={"model": model.pk, "draws": 2}
    )
    runs.execute(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.error
    rows = AnswerScore.objects.filter(run=run)
    assert rows.count() == 2
    for row in rows:
        assert row.estimate is not None and 0 <= row.estimate <= 100
        assert row.extra["fallback"] == (row.extra["why"] == "no explanation")
    assert rows.filter(extra__fallback=True).count() == 1
    call = LLMCall.objects.get()
    assert call.state == "done" and call.tokens_out
