"""The page of a rating task's results."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Task
from evaluation.models import Run, RunState
from evaluation.runs import engine as runs
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.pair_study import text_of
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db


def page(task: Task) -> str:
    client = Client()
    client.force_login(task.project.owner)
    answer = client.get(reverse("task_results", args=[task.project_id, task.pk]), follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_ratings_show_agreement_and_means_with_intervals_by_source() -> None:
    task = pair_corpus.make_rated()
    assert "Means appear here after the first run." in page(task)
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 200})
    assert runs.execute(run.pk) == RunState.DONE
    text = page(task)
    assert "Krippendorff’s α" in text and "model-a" in text and "model-b" in text
    assert text.index("model-a") < text.index("model-b")  # the better source stands first
    assert "Correlation with the others" in text


def test_a_run_corrected_by_competence_is_started_from_the_page_and_shows_both_means() -> None:
    task = pair_corpus.make_rated(topics=10, raters=6)
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 200})
    assert runs.execute(run.pk) == RunState.DONE
    client = Client()
    client.force_login(task.project.owner)
    start = reverse("run_start", args=[task.project_id, task.pk])
    text = page(task)
    assert start in text and "Corrected by the competence" not in text
    assert "Correct by the competence of raters" in html_of(client.get(start))
    answer = client.post(start, {"resamples": 200, "competence": "on", "seed": 1})
    assert answer.status_code == 302
    run = Run.objects.filter(task=task).latest("pk")
    assert run.params["competence"] is True and runs.execute(run.pk) == RunState.DONE
    run.refresh_from_db()
    address = f"{reverse('rating_results', args=[task.project_id, task.pk])}?run={run.number}"
    told = reads.figures_of(run)
    said = text_of(html_of(client.get(address)))
    assert "Trial." in said
    assert "Corrected by the competence of raters" in said and "Read the cross-fit" in said
    for row in told["corrected"]:
        assert f"{row['cross_fitted']:.2f}".lstrip("0") in said
    for row in told["corrected_system"]:
        assert f"{row['estimate']:.2f}" in said
    assert "Competence of each rater" in said
