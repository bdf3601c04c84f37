"""The page of a rating task's results."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Task
from evaluation.models import RunState
from evaluation.runs import engine as runs
from tests.evaluation.corpora import pairs as pair_corpus

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
