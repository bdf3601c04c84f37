"""Runs that still count a worker who was left out since say so, wherever they are shown or sent."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Answer, Exclusion, Membership, Task
from annotation.work.actions import exclusions
from evaluation.models import Run
from evaluation.runs.selectors.exclusions import exclusion_finding
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora.pair_study import client_of, page
from tests.evaluation.labels.test_runs import scored
from tests.support import factories
from tests.support.pages import findings_in, html_of

pytestmark = pytest.mark.django_db


def counted(run: Run) -> list[str]:
    """Whom the run counts though they are left out."""
    found = exclusion_finding(Run.objects.select_related("snapshot").get(pk=run.pk))
    return [] if found is None else str(found.values["names"]).split(", ")


def leave_out(task: Task, worker: Membership) -> Exclusion:
    return exclusions.exclude(by=task.project.owner, task=task, worker=worker, reason="a test")


def test_a_run_names_who_was_left_out_since_until_it_is_made_again() -> None:
    task = corpus.make_labelled(items=12, known=0, workers=5, guessing=1)
    worker = task.assignments.order_by("pk")[0].worker
    first = scored(task)
    assert counted(first) == []
    found = leave_out(task, worker)
    assert counted(first) == [worker.pseudonym]
    html = page(task, "label_results")
    assert "excluded_since_run" in findings_in(html)
    share = reverse("run_share", args=[task.project_id, first.number])
    said = exclusion_finding(first)
    assert said is not None and said.text in html_of(client_of(task).get(share))
    assert html.count(said.text) == 2  # what to do, and the menu that shares it
    second = scored(task)
    assert counted(second) == [] and counted(first) == [worker.pseudonym]
    assert "excluded_since_run" not in findings_in(page(task, "label_results"))
    exclusions.undo(by=task.project.owner, exclusion=found)
    assert counted(first) == counted(second) == []
    leave_out(task, worker)
    assert counted(second) == [] and counted(first) == [worker.pseudonym]


def test_who_answered_only_after_the_run_is_not_called_counted() -> None:
    task = corpus.make_labelled(items=12, known=0, workers=4, guessing=0)
    run = scored(task)
    late = factories.make_worker(project=task.project)
    corpus.add_labels(task, late, [(item, "supported") for item in task.items.all()])
    leave_out(task, late)
    assert counted(run) == []


def test_whose_work_had_been_rejected_before_the_run_is_not_called_counted() -> None:
    """Their answers did not count in it; the next run met the same answers and its snapshot."""
    task = corpus.make_labelled(items=12, known=0, workers=5, guessing=1)
    worker = task.assignments.order_by("pk")[0].worker
    theirs = Answer.objects.filter(item__task=task, worker=worker)
    rejected = theirs.update(counts=False, uncounted_reason="copied")
    first = scored(task)
    leave_out(task, worker)
    second = scored(task)
    assert first.snapshot_id == second.snapshot_id
    assert counted(first) == counted(second) == []
    assert second.snapshot is not None
    left_out = second.snapshot.counts["left_out"]
    assert (left_out["uncounted"], left_out["excluded"]) == (rejected, 0)  # as exports say
