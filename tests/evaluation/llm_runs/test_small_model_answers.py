"""A real small model answers items and judges pairs: valid rows throughout, whatever it says."""

from __future__ import annotations

import pytest

from annotation.models import Answer, ChoiceValue, TextValue
from evaluation.models import RunState
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.llm_runs.test_answering import asked, finished
from tests.support import factories
from tests.support.servers.small_model import SmallModel

pytestmark = [pytest.mark.slow, pytest.mark.django_db]


def test_a_small_model_answers_an_item(small_model: SmallModel) -> None:
    task = factories.make_task(n=1)
    model = small_model.make(task.project)
    run = finished(task, "answers", model=model.pk, strategy="sentence@1", max_tokens=20)
    assert run.state == RunState.DONE, run.error
    assert asked(run)["counts"]["answered"] == 1
    answer = Answer.objects.get(item__task=task, system__name=model.name)
    assert TextValue.objects.get(answer=answer, field="answer").text.strip()


@pytest.mark.long
def test_a_small_model_judges_pairs_in_both_orders(small_model: SmallModel) -> None:
    task = pair_corpus.make_task(topics=1, sources=2)
    model = small_model.make(task.project)
    run = finished(task, "judge_pairs", model=model.pk, mode="combined", max_tokens=100)
    assert run.state == RunState.DONE, run.error
    counts = asked(run)["counts"]
    assert (counts["asked"], counts["failed"]) == (2, 0)
    votes = ChoiceValue.objects.filter(answer__system__name=model.name)
    assert votes.count() == 2 * 2  # calls on the pair, dimensions
    assert set(votes.values_list("code", flat=True)) <= {"first", "neutral", "second"}
    assert not votes.filter(field="overall", code="neutral").exists()
    shown = votes.filter(field="overall").values_list(
        "answer__item", "answer__replicate", "answer__flipped"
    )
    assert {(replicate, flipped) for _, replicate, flipped in shown} == {(0, False), (1, True)}
