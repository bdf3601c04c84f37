"""People and language models vote together: started from the form, on one board."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, TextValue
from evaluation.models import Run, RunState, SystemScore, WorkerScore
from evaluation.runs import engine as runs
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.corpora.pair_study import text_of
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db
FORM = {
    "encoder": "char-svd",
    "mode": "together",
    "rank_by": "auto",
    "similarity": "cosine",
    "start": "equal",
    "resamples": 100,
    "seed": 1,
}


@pytest.mark.parametrize("mode", ["together", "systems"])
def test_people_and_models_stand_on_one_board(mode: str) -> None:
    task = corpus.make_answered()
    client = Client()
    client.force_login(task.project.owner)
    address = reverse("run_start", args=[task.project_id, task.pk]) + "?method=aqer_joint"
    assert "Workers and language models" in html_of(client.get(address))
    assert client.post(address, {**FORM, "mode": mode}).status_code == 302
    run = Run.objects.get(task=task)
    assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
    models, people = SystemScore.objects.filter(run=run), WorkerScore.objects.filter(run=run)
    assert models.count() == 3 and people.count() == (12 if mode == "together" else 0)
    assert reads.figures_of(run, "joint")["joint"]["alike"]["systems"] is not None
    text = text_of(html_of(client.get(reverse("aqer_joint", args=[task.project_id, task.pk]))))
    row = models.filter(low__isnull=False).order_by("-estimate").first()
    assert row is not None and row.low < row.estimate < row.high
    assert f"{row.system.name} model" in text and f"{row.estimate:.3f}".lstrip("0") in text
    assert "model model" not in text and "(model" not in text
    assert ("12 workers and 3 language models vote." in text) == (mode == "together")
    best = reads.figures_of(run, "merged")["merged"]
    assert {row["item"] for row in best} == set(task.items.values_list("pk", flat=True))
    for row in best:
        answer = Answer.objects.get(pk=row["answer"])
        assert answer.item_id == row["item"] and (answer.system_id is not None) == row["model"]
    assert any(row["model"] for row in best) or mode == "together"
    models_wrote = sum(row["model"] for row in best)
    assert f"people wrote {8 - models_wrote} of them, models {models_wrote}" in text
    assert TextValue.objects.get(answer=best[0]["answer"]).text in text
    moved = reads.figures_of(run, "without_models")["without_models"]
    assert len(moved["rows"]) == (15 if mode == "together" else 0)
    said = "closest to the shared answer" if mode == "together" else "no worker votes in this run"
    assert said in text
    steps = html_of(client.get(reverse("run", args=[run.project_id, run.number])))
    assert "rounds" in steps and "No round was needed." not in steps


def test_without_models_a_joint_run_says_why_it_failed() -> None:
    task = corpus.make_answered(systems=False)
    run = runs.start(
        by=task.project.owner, task=task, method="aqer_joint", params={"encoder": "char-svd"}
    )
    assert runs.execute(run.pk) == RunState.FAILED
    run.refresh_from_db()
    assert run.error == "No language model has answered yet."
