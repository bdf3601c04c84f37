"""One family of workers: who is there when jobs come, and how it goes on when something ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from crowdqc.celery import app
from crowdqc.jobs import worker as heartbeat
from crowdqc.jobs.broker import queue_states
from crowdqc.jobs.queues import queue_name
from evaluation.models import JobFailure
from evaluation.operations.selectors import samples
from tests.devstack.test_health_jobs import grow_old, probe
from tests.support.jobs import die_once, note, take_all_memory
from tests.support.processes import ROOT, empty_queue, test_database_url, until

pytestmark = [
    pytest.mark.db,
    pytest.mark.queue,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
# A worker without jobs ends when the test allows it: by a file, not by a clock.
WORKERS = """
import os, sys, tests.support.jobs
from crowdqc.jobs import worker, workers
class Patience(float):
    def __lt__(self, passed):
        return os.path.exists(sys.argv[1]) and passed > 0.5
worker.IDLE_SECONDS = Patience()
sys.exit(workers.main(["default=1", "files=2"]))
"""


class Running:
    """The family, its folder of signs of life, and the file that lets idle workers end."""

    def __init__(self, folder: Path) -> None:
        self.alive, self.impatient = folder / "alive", folder / "impatient"
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKERS, str(self.impatient)],
            cwd=ROOT,
            env=os.environ
            | {
                "DATABASE_URL": test_database_url(),
                "CROWDQC_VISIBILITY_SECONDS": "3",
                "AUTOSCALE_KEEPALIVE": "1",
                "CROWDQC_ALIVE": str(self.alive),
            },
        )

    def members(self) -> dict[str, psutil.Process]:
        """The processes that the family has started, by their names."""
        named = {}
        for child in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):  # it ended meanwhile
                named[child.name()] = child
        return named


@pytest.fixture(scope="module")
def family(
    django_db_setup: None, django_db_blocker: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        empty_queue()
        running = Running(tmp_path_factory.mktemp("family"))
        try:
            for name in ("worker", "worker-files"):
                until(
                    lambda name=name: heartbeat.heartbeat_age(name) is not None,
                    150,
                    f"{name} to be there",
                )
            yield running
        finally:
            running.process.kill()
            running.process.wait()


def _lines(path: Path, word: str) -> int:
    return path.read_text().count(word) if path.exists() else 0


def _has(path: Path, word: str, number: int) -> Callable[[], bool]:
    return lambda: _lines(path, word) >= number  # delivery is at least once


def _files() -> str:
    return queue_name("files")


def test_a_worker_comes_with_its_queue_s_first_job_gives_its_memory_back_and_goes(
    family: Running, tmp_path: Path
) -> None:
    done = tmp_path / "done"
    assert family.members().keys() == {"worker-default", "watch"}
    for _ in range(5):
        note.apply_async((str(done), 0.2), queue=_files())
    until(_has(done, "end", 5), 30, "all five jobs")
    main = family.members()["worker-files"]
    assert len({line.split()[1] for line in done.read_text().splitlines()}) == 2
    until(lambda: main.children() == [], 30, "the processes to end")
    note.apply_async((str(done),), queue=_files())
    until(_has(done, "end", 6), 30, "a later job")
    assert family.members()["worker-files"].pid == main.pid
    family.impatient.touch()
    until(lambda: "worker-files" not in family.members(), 30, "its worker to end")
    family.impatient.unlink()

    again = tmp_path / "again"
    note.apply_async((str(again), 1.0), queue=_files())
    until(_has(again, "begin", 1), 30, "a job after that")
    family.members()["worker-files"].kill()
    until(_has(again, "begin", 2), 30, "the job of the killed worker")
    until(_has(again, "end", 1), 30, "its end")

    watch = family.members()["watch"]
    watch.kill()
    until(
        lambda: family.members().get("watch", watch).pid != watch.pid,
        30,
        "whoever watches the queues to be back",
    )


def test_a_job_killed_for_its_memory_is_given_out_again_and_a_failed_one_is_noted(
    family: Running, tmp_path: Path
) -> None:
    done, later = tmp_path / "done", tmp_path / "later"
    note.apply_async((str(tmp_path / "first"),), queue=_files())
    until(_has(tmp_path / "first", "end", 1), 30, "its worker to be there")
    main = family.members()["worker-files"]
    die_once.apply_async((str(done),), queue=_files())
    until(_has(done, "end", 1), 90, "the job to be done at its second delivery")
    take_all_memory.apply_async(("what Ada wrote",), queue=_files())
    until(JobFailure.objects.exists, 60, "the failure to be noted")
    note.apply_async((str(later), 2.0), queue=_files())
    until(lambda: queue_states(app)["files"].running == 1, 60, "the broker to say that it runs")
    until(_has(later, "end", 1), 60, "a later job")
    assert family.members()["worker-files"].pid == main.pid  # it never ended
    until(lambda: samples.last_hour("finished")["files"] >= 3, 30, "the jobs to be counted")
    row = JobFailure.objects.get()
    error = row.error.partition(",")[0]  # without its line
    assert (row.job, row.queue, error) == (
        take_all_memory.name,
        "files",
        "OutOfMemory in crowdqc.jobs.task",
    )
    assert samples.last_day("failed")["files"] == 1


def test_it_says_that_it_lives_and_who_is_silent_is_named(family: Running) -> None:
    """Last, as it ends the family, which is ended as a container is."""
    names = ("worker", "worker-files")
    for name in names * 2:  # it goes on saying so
        grow_old(family.alive, name)
        until(lambda: probe(family.alive).returncode == 0, 60, "a further sign of life")
    family.process.terminate()
    assert family.process.wait(60) == 0
    for name in names:
        grow_old(family.alive, name)
    silent = probe(family.alive)
    assert silent.returncode == 1
    assert f"no sign of life for 60 seconds: {', '.join(names)}" in silent.stderr
    empty_queue()
