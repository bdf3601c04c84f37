"""Runs on labels: what is frozen, what counts, what is stored, and what a bad recipe gets."""

from __future__ import annotations

import csv
import io
import json
import zipfile

import pytest
from django.urls import reverse

from annotation.models import Answer, ChoiceValue, Task
from annotation.work.actions import exclusions
from annotation.work.snapshots import labels as collected
from crowdqc.errors import Conflict, Invalid
from evaluation.labels import dataset
from evaluation.models import Run, RunState, WorkerScore
from evaluation.runs import engine as runs
from evaluation.runs.official.selectors import official_run
from evaluation.runs.results import votes_used
from evaluation.runs.selectors import lists as reads
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.evaluation.corpora.pair_study import client_of, page, text_of
from tests.support.pages import findings_in, html_of

pytestmark = pytest.mark.django_db
QUICK = {"resamples": 100, "restarts": 2}


def scored(task: Task, **params: object) -> Run:
    """A finished run, official where none was."""
    run = runs.start(by=task.project.owner, task=task, params={**QUICK, **params})
    state = runs.execute(run.pk)
    run.refresh_from_db()
    assert state == RunState.DONE, run.error
    return run if official_run(task) else make_official(run)


def test_every_label_is_used_or_left_out_for_a_reason() -> None:
    task = corpus.make_labelled(items=12, known=2, workers=6, guessing=1)
    first, second = task.assignments.order_by("pk")[:2]
    own = list(first.answers.order_by("pk"))
    ChoiceValue.objects.filter(answer=own[0]).update(code="unsure", ordinal=None)
    ChoiceValue.objects.filter(answer=own[1]).delete()
    wanted = first.answers.filter(item__expected__isnull=True).order_by("-pk").first()
    assert wanted is not None
    Answer.objects.filter(pk=wanted.pk).update(counts=False, uncounted_reason="a test")
    again = corpus.add_labels(task, first.worker, [(own[2].item, "contradicted")], hours_ago=1)
    exclusions.exclude(by=task.project.owner, task=task, worker=second.worker, reason="a test")
    run = scored(task)
    tally = votes_used.tally_of(reads.figures_of(run, votes_used.FIGURE))
    assert tally is not None and run.snapshot is not None
    assert tally.came == Answer.objects.filter(item__task=task).count()
    assert tally.left_out == {
        "unsure": 1,
        "no_choice": 1,
        "uncounted": 1,
        "repeated": 1,
        "excluded": second.answers.count(),
    }
    assert again[0].pk not in run.snapshot.answer_ids  # the first label of an item stands
    assert second.answers.first().pk not in run.snapshot.answer_ids


def test_the_same_labels_give_the_same_snapshot_and_changed_ones_are_refused() -> None:
    task = corpus.make_labelled(items=8, known=1, workers=4, guessing=0)
    field = collected.field_of(task)
    snapshot = dataset.freeze_labels(task, field)
    assert dataset.freeze_labels(task, field).pk == snapshot.pk
    found = dataset.load(snapshot, field)
    votes = ChoiceValue.objects.filter(answer__item__task=task).count()
    assert found.data.weight.sum() == votes == len(snapshot.answer_ids)
    assert found.gold.tolist().count(-1) == len(found.items) - 1
    value = ChoiceValue.objects.filter(answer__item__task=task, code="supported").first()
    assert value is not None
    ChoiceValue.objects.filter(pk=value.pk).update(code="contradicted")
    with pytest.raises(Conflict, match="no longer what they were"):
        dataset.load(snapshot, field)


def test_a_field_that_the_task_does_not_have_is_refused_with_those_there_are() -> None:
    task = corpus.make_labelled(items=8, known=0, workers=4, guessing=0)
    with pytest.raises(Invalid) as refused:
        runs.start(by=task.project.owner, task=task, params={**QUICK, "field": "mood"})
    assert refused.value.fields == {"field": "verdict, tone"}


def test_the_form_offers_the_fields_and_takes_a_threshold_or_none() -> None:
    task = corpus.make_labelled(items=8, known=0, workers=4, guessing=0)
    assert '<option value="tone">Tone</option>' in page(task, "run_start")
    asked = {"field": "verdict", "competence_from": "dawid_skene", "seed": "1"}
    for threshold, stored in (("", None), ("0.7", 0.7)):
        url = reverse("run_start", args=[task.project_id, task.pk])
        response = client_of(task).post(url, {**asked, "reliable": threshold})
        assert response.status_code == 302, html_of(response)
        run = Run.objects.latest("pk")
        assert (run.params["field"], run.params["reliable"]) == ("verdict", stored)
        runs.cancel(by=task.project.owner, run=run)


def test_a_field_that_nobody_answered_fails_and_says_so() -> None:
    task = corpus.make_labelled(items=8, known=0, workers=4, guessing=0)
    run = runs.start(by=task.project.owner, task=task, params={**QUICK, "field": "tone"})
    assert runs.execute(run.pk) == RunState.FAILED
    run.refresh_from_db()
    assert run.error == "No label of “Tone” counts yet, so there is nothing to score."


def test_two_workers_have_agreement_and_no_competence() -> None:
    task = corpus.make_labelled(items=24, known=0, workers=2, guessing=0)
    run = scored(task)
    rows = WorkerScore.objects.filter(run=run)
    assert all(row.estimate is None and row.extra["standing"] == "not_scored" for row in rows)
    html = page(task, "label_results")
    assert {"label_few_workers", "label_not_scored"} <= set(findings_in(html))
    assert "better than guessing" not in html
    assert "Krippendorff’s alpha" in text_of(page(task, "label_agreement"))


@pytest.mark.fits_anew
def test_the_same_recipe_gives_the_same_rows_again() -> None:
    task = corpus.make_labelled(items=20, known=4, workers=6, guessing=1)
    first, second = scored(task), scored(task)
    assert first.result_hash == second.result_hash


def test_files_hold_labels_by_method_soft_labels_workers_and_confusion() -> None:
    task = corpus.make_labelled(items=20, known=4, workers=6, guessing=1)
    run = scored(task)
    url = reverse("label_export", args=[task.project_id, task.pk])
    client = client_of(task)

    def table(name: str) -> list[dict[str, str]]:
        response = client.get(f"{url}?table={name}&format=csv")
        assert response.status_code == 200, response.content
        text = b"".join(response.streaming_content).decode()
        return list(csv.DictReader(io.StringIO(text)))

    labels = table("labels")
    assert len(labels) == 20 and {row["dawid_skene"] for row in labels} <= set(corpus.CODES)
    assert sum(bool(row["gold"]) for row in labels) == 4
    soft = table("soft_labels")
    assert len(soft) == 20 * 4 * 3
    for item in labels:
        own = [r for r in soft if r["item_id"] == item["item_id"] and r["method"] == "dawid_skene"]
        assert sum(float(row["probability"]) for row in own) == pytest.approx(1)
        assert max(own, key=lambda r: float(r["probability"]))["label"] == item["dawid_skene"]
    scores = {row.worker.pseudonym: row for row in WorkerScore.objects.filter(run=run)}
    assert {row["worker"] for row in table("workers")} == set(scores)
    confusion = table("confusion")
    assert len(confusion) == 6 * 9
    parquet = client.get(f"{url}?table=soft_labels&format=parquet")
    assert b"".join(parquet.streaming_content)[:4] == b"PAR1"
    archive = zipfile.ZipFile(io.BytesIO(client.get(url).content))
    assert {"labels.csv", "soft_labels.csv", "workers.csv", "confusion.csv"} <= set(
        archive.namelist()
    )
    told = json.loads(archive.read("manifest.json"))
    assert told["result_hash"] == run.result_hash and told["task_versions"] == [1]


def test_the_api_gives_workers_and_estimated_labels_of_the_official_run() -> None:
    task = corpus.make_labelled(items=12, known=2, workers=5, guessing=1)
    run = scored(task)
    client = client_of(task)
    told = client.get(f"/api/tasks/{task.pk}/scores/labels/").json()
    assert told["run"]["number"] == run.number and len(told["results"]) == 12
    row = told["results"][0]
    assert row["dimension"] == "verdict" and row["label"] in corpus.CODES
    assert sum(row["posterior"].values()) == pytest.approx(1)
    workers = client.get(f"/api/runs/{run.pk}/scores/workers/").json()["results"]
    assert {one["extra"]["standing"] for one in workers} <= {"better", "unknown", "one_label"}
