"""A real small model answers items and judges pairs: valid rows throughout, whatever it says."""

from __future__ import annotations

import pytest

from annotation.models import Answer, ChoiceValue, TextValue
from evaluation.models import AnswerScore, LLMCall, RunState
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.llm_runs.test_answering import asked, finished
from tests.support import factories
from tests.support.servers.small_model import SmallModel

pytestmark = [pytest.mark.slow, pytest.mark.django_db]


def test_a_small_model_answers_items_and_scores_them(small_model: SmallModel) -> None:
    task = factories.make_task(n=2)
    model = small_model.make(task.project)
    run = finished(task, "answers", model=model.pk, strategy="sentence@1", max_tokens=60)
    assert run.state == RunState.DONE, run.error
    answers = Answer.objects.filter(item__task=task, system__name=model.name)
    counts = asked(run)["counts"]
    assert counts["answered"] + counts["failed"] == 2
    assert answers.count() == counts["answered"] > 0
    texts = TextValue.objects.filter(answer__in=answers, field="answer")
    assert all(text.strip() for text in texts.values_list("text", flat=True))
    points = finished(task, "judge_points", model=model.pk, max_tokens=100)
    assert points.state == RunState.DONE, points.error
    scores = AnswerScore.objects.filter(run=points).values_list("estimate", flat=True)
    assert len(scores) == answers.count() and all(0 <= score <= 100 for score in scores)
    calls = LLMCall.objects.count()
    again = finished(task, "answers", model=model.pk, strategy="sentence@1", max_tokens=60)
    assert again.state == RunState.DONE
    assert answers.count() == counts["answered"]
    assert counts["failed"] or LLMCall.objects.count() == calls


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
    finished(task, "judge_pairs", model=model.pk, mode="combined", max_tokens=100)
    assert votes.count() == 4
