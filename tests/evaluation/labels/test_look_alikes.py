"""Workers whose labels are alike beyond their quality stand on the list, and nothing acts on it."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Exclusion, Task
from evaluation.models import Run, WorkerScore
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora.pair_study import page, text_of
from tests.evaluation.labels.test_runs import scored
from tests.support import factories

pytestmark = pytest.mark.django_db


def copied_task() -> tuple[Task, list[int]]:
    """Ten workers, and two more who give the first one's label to every item."""
    task = corpus.make_labelled(items=80, known=0, workers=10, guessing=2)
    found = list(task.items.order_by("position"))
    people = [factories.make_worker(project=task.project) for _ in range(2)]
    given = [(item, corpus.CODES[at * at % 7 % len(corpus.CODES)]) for at, item in enumerate(found)]
    for person in people:
        corpus.add_labels(task, person, given)
    return task, [person.pk for person in people]


def test_copies_are_listed_as_evidence_with_links_to_their_labels() -> None:
    task, copies = copied_task()
    run = scored(task)
    told = run.figures.get(name="look_alikes").data
    assert [row["workers"] for row in told["rows"]] == [copies]
    row = told["rows"][0]
    assert row["agreement"] == 1 and row["expected"] < 0.7 and row["shared"] == 80
    html = page(task, "label_results")
    assert "Look-alikes 1" in text_of(html)
    url = reverse("label_items", args=[task.project_id, task.pk])
    assert all(f"{url}?worker={pk}" in html for pk in copies)
    assert not Exclusion.objects.exists()
    assert WorkerScore.objects.filter(run=run, worker__in=copies).count() == 2


def test_a_run_without_copies_or_of_before_has_no_such_list() -> None:
    task = corpus.make_labelled(items=30, known=0)
    run = scored(task)
    assert run.figures.get(name="look_alikes").data["rows"] == []
    assert "Look-alikes" not in page(task, "label_results")
    run.figures.filter(name="look_alikes").delete()
    WorkerScore.objects.filter(run=run).update(extra=_of_before(run))
    assert "Look-alikes" not in page(task, "label_results")


def test_a_crowd_that_is_not_independent_is_told_so_without_names() -> None:
    task = corpus.make_labelled(items=30, known=0)
    run = scored(task)
    run.figures.filter(name="look_alikes").update(
        data={"rows": [], "tested": 10, "dependent": True}
    )
    section = page(task, "label_results").partition('id="look-alikes"')[2].partition("</section")[0]
    assert "<p>" in section and "<table" not in section
    assert not any(row.worker.pseudonym in section for row in WorkerScore.objects.filter(run=run))


def _of_before(run: Run) -> dict[str, object]:
    """What a row held before workers were compared with the median."""
    extra = dict(WorkerScore.objects.filter(run=run).latest("pk").extra)
    for name in ("median_gap", "median_gap_low", "median_gap_high"):
        extra.pop(name)
    return extra
