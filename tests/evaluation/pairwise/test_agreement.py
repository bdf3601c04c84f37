"""Agreement between judges before their checks are done, and exclusion with preview."""

from __future__ import annotations

from typing import Any

import krippendorff
import pytest
from django.urls import reverse

from annotation.models import (
    Answer,
    Exclusion,
    Task,
)
from crowdqc.numbers import score
from evaluation.models import ItemLabel, Run, RunState
from evaluation.pairwise import dataset as judged
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.pair_checked import (
    careless,
    check,
    core,
    figure,
    page,
    reliability,
    signed_in,
    words,
)
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def judged_task(shared_rows: None) -> Task:
    """A study with its core run; the checks are queued."""
    task = pair_corpus.make_judged()
    core(task)
    return task


@pytest.fixture
def task(judged_task: Task, db: None) -> Task:
    return Task.objects.select_related("project__owner", "current").get(pk=judged_task.pk)


@pytest.fixture
def run(task: Task) -> Run:
    return Run.objects.get(task=task, source__isnull=True)


def live(task: Task) -> Any:
    """What the page's fragment asks for while the checks are in work."""
    url = reverse("pair_agreement", args=[task.project_id, task.pk])
    return signed_in(task).get(f"{url}?part=live", headers={"HX-Request": "true"})


# Agreement -------------------------------------------------------------------------------------


def test_raw_alpha_shows_at_once_and_the_rest_only_together_when_the_checks_are_done(
    task: Task, run: Run
) -> None:
    html = signed_in(task).get(reverse("pair_agreement", args=[task.project_id, task.pk]))
    text = words(html)
    raw = krippendorff.alpha(reliability(task, "overall"), level_of_measurement="ordinal")
    assert f"Overall {score(raw, 2)}" in text
    assert "In progress, 0%" in text and "none of them says anything alone" in text
    assert b'class="heat circular' not in html.content and "hatched" not in text
    waiting = live(task)
    assert b"hx-get" in waiting.content and b"<html" not in waiting.content
    assert "hx-retarget" not in waiting.headers

    checks = check(run)
    done = live(task)
    assert done.headers["HX-Retarget"] == "#agreement" and b"hx-get" not in done.content
    assert b'id="agreement-rail" hx-swap-oob="true"' in done.content
    told = {row["dimension"]: row for row in figure(checks, "corrected")}
    for name, label in (("clarity", "Clarity"), ("overall", "Overall"), ("", "Mean of two")):
        row = told[name]
        figures = [row[k] for k in ("uncorrected", "corrected", "shuffled_null", "cross_fitted")]
        line = " ".join([label, *(score(value, 2) for value in figures)])
        assert f"{line} {100 * row['removed_share']:.0f}%" in words(done), line
    said = f"Read the raw figure: {score(told['']['uncorrected'], 2)}."  # the other has no interval
    assert said in page(task, "pair_agreement")


def test_a_run_of_checks_that_failed_says_so_and_leaves_raw_alpha_standing(
    task: Task, run: Run
) -> None:
    Run.objects.filter(source=run).update(state=RunState.FAILED, error="The disk is full.")
    text = page(task, "pair_agreement")
    assert "Only raw α is known." in text and "The disk is full." in text
    assert b"hx-get" not in live(task).content


# Removing a worker -----------------------------------------------------------------------------


def test_the_dialog_writes_nothing_and_foretells_the_next_run(task: Task, run: Run) -> None:
    worker = careless(task)
    url = reverse("task_exclude", args=[task.project_id, task.pk, worker.pk])
    client = signed_in(task)
    held = [Answer.objects.count(), Run.objects.count(), Exclusion.objects.count()]
    assert b'hx-trigger="load"' in client.get(url).content
    shown = client.get(f"{url}?part=effect", headers={"HX-Request": "true"}).context["effect"]
    assert held == [Answer.objects.count(), Run.objects.count(), Exclusion.objects.count()]

    assert client.post(url, {"reason": " "}).status_code == 422
    assert not Exclusion.objects.exists()
    done = client.post(url, {"reason": "one side throughout"}, follow=True)
    assert "Run again, exclusions have changed" in words(done)

    after = core(task)
    alphas = [
        next(row["alpha"] for row in figure(one, "agreement") if not row["dimension"])
        for one in (run, after)
    ]
    labels = [
        {
            row[:2]: row[2]
            for row in ItemLabel.objects.filter(run=one).values_list("item", "dimension", "label")
        }
        for one in (run, after)
    ]
    changed = sum(labels[1].get(key) != label for key, label in labels[0].items())
    effects = [(one.before, one.after) for one in shown.named]
    assert len(effects) == 5
    assert effects[1] == (score(alphas[0], 2), score(alphas[1], 2))
    assert effects[2] == ("0", f"{changed} of {len(labels[0])}")


def test_an_exclusion_can_be_taken_back_and_then_counts_again(task: Task) -> None:
    worker, client = careless(task), signed_in(task)
    url = reverse("task_exclude", args=[task.project_id, task.pk, worker.pk])
    client.post(url, {"reason": "asked to be left out"})
    exclusion = Exclusion.objects.get()
    assert worker.pk not in judged.current_judgments(task).workers
    text = words(client.get(url))
    assert "is left out" in text and "asked to be left out" in text
    undo = reverse("task_exclusion_undo", args=[task.project_id, task.pk, exclusion.pk])
    assert "is in again from the next run on" in words(client.post(undo, follow=True))
    assert worker.pk in judged.current_judgments(task).workers
    assert "taken in again" in words(client.get(url))


def test_only_a_requester_of_the_project_leaves_somebody_out(task: Task) -> None:
    manager = factories.make_member(task.project, "manager").user
    worker = careless(task)
    url = reverse("task_exclude", args=[task.project_id, task.pk, worker.pk])
    client = signed_in(task, manager)
    assert client.get(url).status_code == 403
    assert client.post(url, {"reason": "why not"}).status_code == 403
    assert "Remove from task" not in page(task, "pair_agreement", client=client)
    stranger = pair_corpus.make_task(topics=1, sources=2)
    assert signed_in(stranger).get(url).status_code == 404
