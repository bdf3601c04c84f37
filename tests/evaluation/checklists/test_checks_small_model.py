"""A real small model fills a checklist: every answer is valid."""

from __future__ import annotations

import pytest

from annotation.models import Answer
from evaluation.models import LLMCall, RunState
from evaluation.runs import engine as runs
from tests.evaluation.corpora import checks as corpus
from tests.support import factories
from tests.support.servers.small_model import SmallModel

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_a_real_model_fills_a_checklist_with_valid_answers_only(small_model: SmallModel) -> None:
    """All questions of a text in one call; answers by chance are ``llm/test_small_model.py``'s."""
    task = corpus.make_task(
        factories.make_project(), topics=1, systems=1, questions=corpus.QUESTIONS[:2]
    )
    model = small_model.make(task.project)
    run = runs.start(
        by=task.project.owner,
        task=task,
        method="checklist_answers",
        params={"model": model.pk, "way": "all"},
    )
    assert runs.execute(run.pk) == RunState.DONE
    assert LLMCall.objects.filter(state="done").count() == 1
    answer = Answer.objects.get(item__task=task, system__name=model.name)
    codes = {(one.field, one.code, one.ordinal) for one in answer.choices.all()}
    assert {name for name, _, _ in codes} == {"q1", "q2"}
    assert {(code, ordinal) for _, code, ordinal in codes} <= {("yes", 1), ("no", 0)}
