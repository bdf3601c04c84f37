"""Runs that would take more memory than there is: refused, or failed, and never tried again."""

from __future__ import annotations

import os
import signal
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from annotation.models import ImportFile, Task
from crowdqc.errors import Invalid
from crowdqc.jobs.heartbeat import run_heartbeat
from evaluation.labels import run as label_runs
from evaluation.methods.core.memory import Size
from evaluation.methods.labels.method import METHOD
from evaluation.models import Run, RunState
from evaluation.runs import engine as runs
from evaluation.runs import memory
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora.pair_study import client_of
from tests.evaluation.score_table.test_pages import drop, score
from tests.support import factories
from tests.support.jobs import abort, exhaust_memory, fail_to_report, fill_memory, note, stay
from tests.support.processes import Worker, empty_queue, queue_worker, until

MB = 2**20


def estimate(**counts: int) -> float:
    return METHOD.memory(Size(**counts), METHOD.params)


def test_a_usual_crowd_fits_and_one_with_a_hundred_million_cells_does_not() -> None:
    assert estimate(votes=20_000, workers=200, items=4_000, labels=5, meetings=40_000) < 512 * MB
    assert estimate(votes=40_000, workers=40_000, items=8_000, labels=50) > 10_000 * MB
    assert (
        estimate(votes=20_000, workers=20_000, items=1, labels=2, meetings=2 * 10**8) > 10_000 * MB
    )


@pytest.mark.django_db
def test_a_run_that_would_not_fit_is_refused_by_page_api_and_action(settings: Any) -> None:
    task = corpus.make_labelled(items=12, workers=6)
    settings.CROWDQC_JOB_MEMORY = 200
    with pytest.raises(Invalid) as refused:
        runs.start(by=task.project.owner, task=task)
    assert refused.value.code == "too-large" and "200 MB" in refused.value.message
    client = client_of(task)
    page = client.post(reverse("run_start", args=[task.project_id, task.pk]), {"again": "1"})
    assert page.status_code == 422 and b"200 MB" in page.content
    program = APIClient(HTTP_AUTHORIZATION=f"Token {factories.api_token(task.project.owner)}")
    told = program.post(f"/api/tasks/{task.pk}/runs/", {"method": METHOD.slug}, format="json")
    assert told.status_code == 422 and told.json()["code"] == "too-large", told.content
    assert not Run.objects.exists()


def hostile(workers: int, labels: int) -> str:
    """A row a worker, each of whom gives one of many labels."""
    rows = [f"w{k},i{k % (workers // 5)},label {k % labels}" for k in range(workers)]
    return "\n".join(["worker,item,label", *rows]) + "\n"


@pytest.mark.django_db
def test_a_small_table_of_many_workers_and_labels_is_refused_before_anything_is_written(
    settings: Any, tmp_path: Path
) -> None:
    settings.CROWDQC_JOB_MEMORY = 1_000
    client = Client()
    client.force_login(factories.make_user())
    text = hostile(2_000, 50)
    score(client, drop(client, text, "labels.csv"))
    file = ImportFile.objects.get()
    assert "1,000 MB" in file.error["message"] and file.state == ImportFile.State.READY
    assert not Task.objects.exists() and not Run.objects.exists()
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(CommandError, match="1,000 MB"):
        call_command("crowdqc_score", tmp_path / "labels.csv")


@pytest.mark.django_db
def test_a_run_that_finds_no_more_memory_fails_with_the_limit_and_is_not_taken_up_again(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    task = corpus.make_labelled(items=12, workers=6)
    run = runs.start(by=task.project.owner, task=task)
    monkeypatch.setattr(label_runs, "fit", lambda *words: np.empty(2**50))
    settings.CROWDQC_JOB_MEMORY = 700
    assert runs.execute(run.pk) == RunState.FAILED
    run.refresh_from_db()
    assert "700 MB" in run.error and run.attempts == 1
    assert runs.resume_abandoned() == 0


@pytest.mark.django_db
def test_what_a_run_held_is_free_before_its_failure_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Large:
        """Stands for a large array."""

    references: list[weakref.ref[Large]] = []

    def fit(*words: Any) -> None:
        large = Large()
        references.append(weakref.ref(large))
        raise MemoryError

    task = corpus.make_labelled(items=12, workers=6)
    run = runs.start(by=task.project.owner, task=task)
    monkeypatch.setattr(label_runs, "fit", fit)
    message = memory.exceeded_message
    monkeypatch.setattr(
        memory, "exceeded_message", lambda: message() if references[0]() is None else "held"
    )
    assert runs.execute(run.pk) == RunState.FAILED
    run.refresh_from_db()
    assert "CROWDQC_JOB_MEMORY" in run.error


@pytest.mark.django_db(transaction=True)
def test_heartbeats_go_on_after_one_that_found_no_memory() -> None:
    beats: list[int] = []

    def beat() -> None:
        beats.append(1)
        if len(beats) == 1:
            raise MemoryError

    with run_heartbeat(beat, every=0.01):
        until(lambda: len(beats) > 2, 10, "further heartbeats")


@pytest.fixture
def small_worker(
    django_db_blocker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Worker]:
    """A worker whose processes may hold a gigabyte."""
    monkeypatch.setenv("CROWDQC_JOB_MEMORY", "1000")
    with queue_worker(tmp_path / "worker.log", 2, role="default") as running:
        yield running
    empty_queue()


@pytest.mark.db
@pytest.mark.queue
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_process_of_jobs_is_held_to_the_limit_and_a_run_that_it_was_killed_at_ends(
    small_worker: Worker, tmp_path: Path
) -> None:
    fill_memory.delay(str(tmp_path / "filled"), 400, 1_600)
    until((tmp_path / "filled").exists, 60, "the job to say how far it came")
    until(lambda: (tmp_path / "filled").read_text() == "400 held, 1600 refused", 10, "the limit")
    task = corpus.make_labelled(items=12, workers=6)
    run = runs.start(by=task.project.owner, task=task)
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING, attempts=1)
    stay.delay(str(tmp_path / "pid"), run.pk)
    until((tmp_path / "pid").exists, 60, "the job to begin")
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    until(lambda: Run.objects.get(pk=run.pk).state == RunState.FAILED, 60, "the run to be failed")
    found = Run.objects.get(pk=run.pk)
    assert "was ended" in found.error and "1,000 MB" in found.error and found.attempts == 1
    assert small_worker.process is not None and small_worker.process.poll() is None
    assert (tmp_path / "pid").read_text().count("\n") == 0  # it was not handed out again


@pytest.mark.db
@pytest.mark.queue
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "job", [exhaust_memory, fail_to_report, abort], ids=lambda job: str(job.__name__)
)
def test_a_run_fails_at_once_whose_process_cannot_write_that_it_failed(
    small_worker: Worker, tmp_path: Path, job: Any
) -> None:
    task = corpus.make_labelled(items=12, workers=6)
    run = runs.start(by=task.project.owner, task=task)
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING, attempts=1)
    job.delay(str(tmp_path / "began"), run.pk)
    until(lambda: Run.objects.get(pk=run.pk).state == RunState.FAILED, 60, "the run to be failed")
    note.delay(str(tmp_path / "later"))
    until((tmp_path / "later").exists, 60, "a later job")
    assert small_worker.process is not None and small_worker.process.poll() is None
    assert (tmp_path / "began").read_text() == "begin\n"  # it was not handed out again
