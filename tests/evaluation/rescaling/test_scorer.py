"""A scorer is learned from a rescaling run, shown on its page, and refused without enough."""

from __future__ import annotations

import pytest
from django.urls import reverse

from crowdqc.errors import Invalid
from evaluation.models import AnswerScore, RunState
from evaluation.runs import engine as runs
from tests.evaluation.corpora import rescaling as corpus
from tests.evaluation.rescaling.test_pages import owner_of, page, rescaled

pytestmark = pytest.mark.django_db


def test_a_scorer_is_fitted_from_its_page_and_scores_what_has_none() -> None:
    task = corpus.make_rated(items=24, raters=6)
    with pytest.raises(Invalid, match="Rescale ratings first"):
        runs.start(by=task.project.owner, task=task, method="explanation_scorer")
    source = rescaled(task)
    unscored = set(AnswerScore.objects.filter(run=source, extra__f=None).values_list("answer"))
    client = owner_of(task)
    start = reverse("run_start", args=[task.project_id, task.pk]) + "?method=explanation_scorer"
    assert "Fit a scorer" in page(client, task, view="scorer")
    sent = client.post(start, {"encoder": "char-svd", "folds": 3, "seed": 1})
    assert sent.status_code == 302
    run = task.runs.filter(method="explanation_scorer").get()
    assert runs.execute(run.pk) == RunState.DONE
    rows = run.figures.get(name="scorer").data
    assert [row["scheme"] for row in rows] == ["workers", "items"]
    assert run.figures.get(name="frame").data["run"] == source.number
    given = AnswerScore.objects.filter(run=run)
    assert set(given.values_list("answer")) <= unscored
    said = page(client, task, view="scorer")
    assert "People it did not see" in said and "not shown to be nearer" in said
    shown = client.get(reverse("run", args=[task.project_id, run.number])).content.decode()
    assert "0 ratings" not in shown  # it reads scores of a run, and no ratings of its own


def test_few_scores_are_refused_with_how_many_it_takes() -> None:
    task = corpus.make_rated(items=6)
    rescaled(task)
    with pytest.raises(Invalid, match="from 100 on"):
        runs.start(by=task.project.owner, task=task, method="explanation_scorer")
