"""Models in allowed folders: encoders by their name, and a first round by entailment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Task
from crowdqc.errors import Conflict
from evaluation.bundles.kinds.texts import OfTexts
from evaluation.models import Run, RunState, WorkerScore
from evaluation.runs import engine as runs
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import texts as corpus
from tests.evaluation.corpora.pair_study import text_of
from tests.evaluation.embeddings.test_entailment import LABELS, build
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db
FORM = {"encoder": "char-svd", "rank_by": "auto", "similarity": "cosine", "start": "equal"}


@pytest.fixture
def task() -> Task:
    return corpus.make_answered()


def posted(task: Task, **options: Any) -> tuple[str, int]:
    """What the form of a run answers, and its status."""
    client = Client()
    client.force_login(task.project.owner)
    given = {**FORM, "resamples": 100, "seed": 1, **options}
    response = client.post(reverse("run_start", args=[task.project_id, task.pk]), given)
    return html_of(response), response.status_code


def test_a_sentence_model_is_chosen_by_its_name(task: Task, settings: Any, tmp_path: Path) -> None:
    settings.CROWDQC_ENCODER_DIRS = [str(tmp_path)]
    folder = tmp_path / "sentence-transformers" / "all-mpnet-base-v2"
    folder.mkdir(parents=True)
    (folder / "modules.json").write_text("[]")
    client = Client()
    client.force_login(task.project.owner)
    form = html_of(client.get(reverse("run_start", args=[task.project_id, task.pk])))
    assert ">all-mpnet-base-v2</option>" in form
    for name in ("mpnet", "all-mpnet-base-v2", f"path:{folder}"):
        run = runs.start(by=task.project.owner, task=task, params={"encoder": name})
        assert run.params["encoder"] == f"path:{folder}"
        runs.cancel(by=task.project.owner, run=run)
    said, status = posted(task, encoder="roberta")
    assert status == 422 and "is no model in the folders named" in text_of(said)
    said, status = posted(task, encoder="path:/etc")
    assert status == 422 and "is not among those allowed" in text_of(said)


def test_a_cross_encoder_gives_the_first_votes_and_is_named_in_the_recipe(
    task: Task, settings: Any, tmp_path: Path
) -> None:
    settings.CROWDQC_ENCODER_DIRS = [str(tmp_path)]
    folder = tmp_path / "tiny-nli"
    folder.mkdir()
    build(folder, LABELS)
    _, status = posted(task, start="entailment", entailment=f"path:{folder}")
    assert status == 302
    run = Run.objects.get(task=task)
    assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
    assert WorkerScore.objects.filter(run=run, estimate__isnull=False).exists()
    told = reads.figures_of(run, "recipe")["recipe"]
    assert told["entailment"].startswith("tiny-nli@") and told["params"]["start"] == "entailment"
    client = Client()
    client.force_login(task.project.owner)
    page = client.get(
        reverse("task_results", args=[task.project_id, task.pk]) + f"?run={run.number}"
    )
    assert "start entailment by tiny-nli" in text_of(html_of(page))


def test_without_a_cross_encoder_the_form_says_what_is_missing(task: Task) -> None:
    said, status = posted(task, start="entailment", entailment="")
    assert status == 422 and "needs a cross-encoder from a folder" in text_of(said)
    assert "none is installed" in text_of(said)
    assert not Run.objects.filter(task=task).exists()


def test_a_cross_encoder_scores_pairs_in_place_of_cosines(
    task: Task, settings: Any, tmp_path: Path
) -> None:
    settings.CROWDQC_ENCODER_DIRS = [str(tmp_path)]
    folder = tmp_path / "tiny-sts"
    folder.mkdir()
    build(folder, ["score"])
    client = Client()
    client.force_login(task.project.owner)
    form = html_of(client.get(reverse("run_start", args=[task.project_id, task.pk])))
    assert f'<option value="pairs:{folder}">' in form
    assert f'<option value="path:{folder}">' not in form  # it judges no entailment
    _, status = posted(task, encoder=f"pairs:{folder}")
    assert status == 302
    run = Run.objects.get(task=task)
    assert runs.execute(run.pk) == RunState.DONE, Run.objects.get(pk=run.pk).error
    assert reads.figures_of(run, "recipe")["recipe"]["encoder"].startswith("pairs+tiny-sts@")
    estimates = WorkerScore.objects.filter(run=run).values_list("estimate", flat=True)
    assert len(set(estimates)) > 1
    page = reverse("task_results", args=[task.project_id, task.pk]) + f"?run={run.number}"
    assert "pairs+tiny-sts" in text_of(html_of(client.get(page)))
    with pytest.raises(Conflict):
        list(OfTexts().pack(run))
    # A name will do for a program, and a folder without a model is refused.
    again = runs.start(by=task.project.owner, task=task, params={"encoder": "pairs:tiny-sts"})
    assert again.params["encoder"] == f"pairs:{folder}"
    runs.cancel(by=task.project.owner, run=again)
    settings.CROWDQC_ENCODER_DIRS = []
    said, status = posted(task, encoder="pairs:tiny-sts")
    assert status == 422 and "none is installed" in text_of(said)
