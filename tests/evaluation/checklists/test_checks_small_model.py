"""A real small model fills a checklist: every answer is valid, nothing is asked twice."""

from __future__ import annotations

import pytest

from annotation.models import Answer
from evaluation.models import CandidateScore, LLMCall, RunState
from evaluation.runs import engine as runs
from tests.evaluation.corpora import checks as corpus
from tests.support.servers.small_model import SmallModel, small_model

__all__ = ["small_model"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_a_real_model_fills_a_checklist_with_valid_answers_only(small_model: SmallModel) -> None:
    """All questions of a text in one call; answers by chance are ``llm/test_small_model.py``'s."""
    task = corpus.make_study(topics=1, people=1)
    model = small_model.make(task.project)
    for _ in range(2):  # the second run finds everything answered
        run = runs.start(
            by=task.project.owner,
            task=task,
            method="checklist_answers",
            params={"model": model.pk, "way": "all"},
        )
        assert runs.execute(run.pk) == RunState.DONE
        assert LLMCall.objects.count() == 5
    answers = Answer.objects.filter(item__task=task, system__name=model.name)
    assert answers.count() == 5
    codes = {(one.field, one.code, one.ordinal) for a in answers for one in a.choices.all()}
    assert {name for name, _, _ in codes} == {"q1", "q2", "q3", "q4"}
    assert {(code, ordinal) for _, code, ordinal in codes} <= {("yes", 1), ("no", 0)}
    scored = runs.start(by=task.project.owner, task=task, params={"resamples": 200})
    assert scored.method == "checklist" and runs.execute(scored.pk) == RunState.DONE
    rows = CandidateScore.objects.filter(run=scored, extra__kind="model")
    assert rows.count() == 5 and all(1 <= one.estimate <= 5 for one in rows)
