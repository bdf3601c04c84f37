"""Jobs for tests of the queue, loaded by the test's own worker."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from pathlib import Path

from celery import Task, shared_task

if "CROWDQC_TEST_PARTS_GATE" in os.environ:
    from tests.support.encoders import add_part_model

    add_part_model()


@shared_task
def note(path: str, seconds: float = 0.0) -> None:
    """Append a line when it begins and one when it ends."""
    for word in ("begin", "end"):
        with Path(path).open("a") as handle:
            handle.write(f"{word} {os.getpid()}\n")
        if word == "begin":
            time.sleep(seconds)


@shared_task
def ask_many(run_id: int, model_id: int, count: int) -> None:
    """Ask a model so many questions for a run."""
    from evaluation.llm.calls import fetch_replies
    from evaluation.models import LanguageModel, Run
    from tests.evaluation.corpora.llm_asks import ask

    model = LanguageModel.objects.select_related("endpoint__project").get(pk=model_id)
    fetch_replies(Run.objects.get(pk=run_id), model, [ask(number) for number in range(count)])


@shared_task
def die_once(path: str) -> None:
    """End as the kernel ends what takes too much memory; done when it is given out again."""
    if not Path(path).exists():
        Path(path).write_text("begin\n")
        os.kill(os.getpid(), signal.SIGKILL)
    with Path(path).open("a") as handle:
        handle.write("end\n")


@shared_task
def take_all_memory(quote: str) -> None:
    """Fail as what finds no more memory does, with words of somebody in the message."""
    raise MemoryError(quote)


@shared_task
def fill_memory(path: str, *megabytes: int) -> None:
    """Say which of so many megabytes this process may hold."""
    said = []
    for size in megabytes:
        try:
            held = bytearray(size * 2**20)
        except MemoryError:
            said.append(f"{size} refused")
        else:
            said.append(f"{size} held")
            del held
    Path(path).write_text(", ".join(said))


@shared_task
def stay(path: str, run_id: int) -> None:
    """Say which process this is, and stay at the run for longer than a test lasts."""
    Path(path).write_text(f"{os.getpid()}" if not Path(path).exists() else "again\n")
    time.sleep(120)


@shared_task
def abort(path: str, run_id: int) -> None:
    """End as a library does that finds no more memory."""
    with Path(path).open("a") as handle:
        handle.write("begin\n")
    os.abort()


@shared_task
def exhaust_memory(path: str, run_id: int) -> None:
    """Take all that this process may hold, and keep it: not even the failure can be written."""
    with Path(path).open("a") as handle:
        handle.write("begin\n")
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (1, hard))
    for size in (4096, 512, 64):
        with contextlib.suppress(MemoryError):
            while True:
                _held.append(bytes(size))
    raise MemoryError


_held: list[bytes] = []


class CeleryTask(Task):
    """A task that lets Celery see a MemoryError, as it does where its own code finds no memory."""

    abstract = True
    Request = "crowdqc.jobs.request:Request"


@shared_task(base=CeleryTask)
def fail_to_report(path: str, run_id: int) -> None:
    """Leave a MemoryError to Celery."""
    with Path(path).open("a") as handle:
        handle.write("begin\n")
    raise MemoryError


def _end_run(path: str, run_id: int) -> None:
    from evaluation.runs.engine import fail_killed

    fail_killed(run_id)


for job in (stay, abort, exhaust_memory, fail_to_report):
    job.when_killed = _end_run
