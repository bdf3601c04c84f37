"""Many new texts are encoded in parts by any number of workers, and the run goes on after them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from annotation.models import Task
from crowdqc.errors import Conflict
from evaluation import jobs
from evaluation.embeddings import embeddings, shards, vectors
from evaluation.free_text import encoding
from evaluation.models import Embedding, EncodingShard, Run, RunState, WorkerScore
from evaluation.runs import engine as runs
from tests.evaluation.corpora import texts as corpus
from tests.support import encoders
from tests.support.pages import html_of
from tests.support.processes import Worker, empty_queue, until

PARAMS = {"encoder": "parts", "resamples": 100}
A_PART = 8


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoder for which nothing has to be loaded; what it gives depends on the parts."""
    monkeypatch.setattr(embeddings, "ENCODERS", dict(embeddings.ENCODERS))
    encoders.add_part_model()


@pytest.fixture
def small_parts(settings: Any) -> None:
    settings.CROWDQC_SHARD_TEXTS = A_PART


def waiting_run(task: Task | None = None) -> Run:
    """A run that waits for its shards."""
    task = task or corpus.make_answered()
    run = runs.start(by=task.project.owner, task=task, params=PARAMS)
    assert runs.execute(run.pk) == "waiting"
    return fresh(run)


def fresh(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


def encode_all(run: Run) -> int:
    done = 0
    while encoding.encode_next(run.pk) == "done":
        done += 1
    return done


def made() -> dict[str, bytes]:
    """The vectors that are stored, by their texts."""
    rows = Embedding.objects.values_list("text_hash", "vector")
    return {key: bytes(vector) for key, vector in rows}


@pytest.mark.django_db
def test_a_run_waits_for_its_parts_and_says_how_fast_they_are_encoded(
    small_parts: None, client: Client
) -> None:
    run = waiting_run()
    parts = run.shards.count()
    assert (run.state, run.attempts) == (RunState.RUNNING, 0) and parts > 3
    assert encoding.encode_next(run.pk) == "done"
    client.force_login(run.task.project.owner)
    page = html_of(client.get(reverse("run", args=[run.project_id, run.number])))
    assert "1 worker," in page and "texts/s" in page
    api = APIClient()
    api.force_authenticate(run.task.project.owner)
    found = api.get(f"/api/runs/{run.pk}/").json()
    step = next(one for one in found["progress"] if one["name"] == "Embeddings")
    assert 0 < step["done"] < step["total"] and step["sub"].endswith("texts/s")
    assert runs.execute(run.pk) == "not mine"  # its parts keep it alive
    assert encode_all(run) == parts - 1
    assert runs.execute(run.pk) == RunState.DONE
    assert WorkerScore.objects.filter(run=run).count() == 12
    texts = sum(run.shards.values_list("texts", flat=True))
    step = next(one for one in fresh(run).progress if one["name"] == "Embeddings")
    assert step["sub"].startswith(f"0 from the cache, {texts} new; 1 worker")
    again = runs.start(by=run.started_by, task=run.task, params=PARAMS)
    assert runs.execute(again.pk) == RunState.DONE  # all from the cache
    assert fresh(again).result_hash == fresh(run).result_hash


@pytest.mark.django_db
def test_a_part_belongs_to_one_worker_until_its_lease_runs_out(small_parts: None) -> None:
    run = waiting_run()
    identity = run.shards.first().encoder
    first, second = (shards.claim(run.pk, identity) for _ in range(2))
    assert first and second and first.pk != second.pk
    assert shards.claim(run.pk, "another encoder") is None
    EncodingShard.objects.filter(pk=first.pk).update(lease_until=timezone.now())
    assert encoding.resume_waiting() == 1
    taken = shards.claim(run.pk, identity)
    assert taken and (taken.pk, taken.attempts) == (first.pk, 2)
    assert not shards.close(first) and shards.close(taken)
    EncodingShard.objects.filter(pk=second.pk).update(lease_until=None, attempts=3)
    EncodingShard.objects.filter(run=run).exclude(pk=second.pk).delete()
    with pytest.raises(Conflict, match="60 seconds at part 7 of the texts, in each of 3"):
        shards.claim(run.pk, identity)
    assert encoding.encode_next(run.pk) == RunState.FAILED
    assert fresh(run).error.startswith("No heartbeat for 60 seconds")


@pytest.mark.django_db
def test_a_cancelled_run_ends_after_the_parts_in_work(small_parts: None) -> None:
    run = waiting_run()
    held = shards.claim(run.pk, run.shards.first().encoder)
    assert held is not None
    runs.cancel(by=run.task.project.owner, run=run)
    assert encoding.encode_next(run.pk) == "not mine"
    assert fresh(run).state == RunState.RUNNING  # another worker is at a part
    EncodingShard.objects.filter(pk=held.pk).update(lease_until=None)
    assert encoding.encode_next(run.pk) == "not mine"
    assert fresh(run).state == RunState.CANCELLED
    again = waiting_run(run.task)  # started again, it encodes what is missing
    assert encode_all(again) == again.shards.count()


@pytest.mark.django_db
def test_parts_whose_jobs_were_lost_are_handed_out_again(small_parts: None) -> None:
    run = waiting_run()
    assert encoding.resume_waiting() == 0
    long_ago = timezone.now() - dt.timedelta(minutes=5)
    Run.objects.filter(pk=run.pk).update(heartbeat_at=long_ago)
    assert runs.resume_abandoned() == 0  # it has no worker of its own that could have died
    assert jobs.resume_abandoned() == 1
    assert fresh(run).state == RunState.RUNNING


@pytest.mark.django_db
def test_vectors_that_no_run_reads_are_deleted_and_those_in_use_stay(settings: Any) -> None:
    settings.CROWDQC_VECTOR_DAYS = 30
    task = corpus.make_answered()
    run = runs.start(by=task.project.owner, task=task, params=PARAMS)
    assert runs.execute(run.pk) == RunState.DONE
    used = Embedding.objects.count()
    old = timezone.localdate() - dt.timedelta(days=31)
    Embedding.objects.create(encoder="e", text_hash="0" * 64, vector=b"1234", used_on=old)
    Embedding.objects.exclude(encoder="e").update(used_on=old)
    again = runs.start(by=task.project.owner, task=task, params=PARAMS)
    assert runs.execute(again.pk) == RunState.DONE
    assert jobs.erase_due_texts() == 1
    assert Embedding.objects.count() == used
    settings.CROWDQC_VECTOR_DAYS = 0
    Embedding.objects.update(used_on=old)
    assert vectors.delete_unused() == 0


@pytest.fixture
def two_workers(
    transactional_db: None, small_parts: None, tmp_path: Path
) -> Iterator[list[Worker]]:
    """Real workers of one process and of two, not started yet, which cut texts into small parts."""
    empty_queue()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CROWDQC_SHARD_TEXTS", str(A_PART))
        patch.setenv(encoders.GATE, str(tmp_path / "go on"))
        workers = [Worker(tmp_path / f"worker{k}.log", processes=k) for k in (1, 2)]
    try:
        yield workers
    finally:
        for worker in workers:
            if worker.process is not None and worker.process.poll() is None:
                worker.kill_with_pool()


def is_done(run: Run) -> bool:
    found = fresh(run)
    assert found.state != RunState.FAILED, found.error
    return found.state == RunState.DONE


def workers_of(run: Run) -> int:
    """How many processes have claimed parts of it."""
    return run.shards.exclude(worker="").values("worker").distinct().count()


@pytest.mark.db
@pytest.mark.slow
@pytest.mark.long
def test_one_worker_and_two_make_the_same_bytes(two_workers: list[Worker], tmp_path: Path) -> None:
    task = corpus.make_answered()
    alone = waiting_run(task)  # as a worker of one process would, here
    encode_all(alone)
    assert runs.execute(alone.pk) == RunState.DONE
    first = made()
    Embedding.objects.all().delete()
    empty_queue()
    two_workers[1].start()
    run = runs.start(by=task.project.owner, task=task, params=PARAMS)
    until(lambda: workers_of(run) == 2, 240, "both processes to be at it")
    (tmp_path / "go on").touch()
    until(lambda: is_done(run), 240, "the run was worked on")
    assert (workers_of(alone), workers_of(run)) == (1, 2)
    assert made() == first
    assert fresh(run).result_hash == fresh(alone).result_hash


@pytest.mark.db
@pytest.mark.slow
def test_a_killed_worker_loses_one_part_and_the_run_goes_on(
    two_workers: list[Worker], tmp_path: Path
) -> None:
    task = corpus.make_answered()
    two_workers[0].start()
    run = runs.start(by=task.project.owner, task=task, params=PARAMS)
    closed = run.shards.filter(closed_at__isnull=False)
    until(closed.exists, 240, "a first part was encoded")
    two_workers[0].kill_with_pool()
    kept = made()
    assert len(kept) == sum(closed.values_list("texts", flat=True))
    lost = run.shards.filter(closed_at__isnull=True, lease_until__isnull=False)
    assert lost.count() <= 1
    (tmp_path / "go on").touch()
    # The lease would run out by itself within a minute.
    lost.update(lease_until=timezone.now())
    encoding.resume_waiting()
    two_workers[1].start()
    until(lambda: is_done(run), 240, "the run was taken up and finished")
    assert sum(run.shards.values_list("attempts", flat=True)) <= run.shards.count() + 1
    assert kept.items() <= made().items()
    assert WorkerScore.objects.filter(run=run).count() == 12
