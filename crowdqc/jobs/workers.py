"""Worker processes of every queue: ``python -m crowdqc.jobs.workers``.

Arguments say how many jobs of a queue run at once: ``default=2 runs=2 files=1 platforms=3
models=2 backups=1`` (that is what there is without any); ``scheduler=1`` adds the process that
starts periodic jobs. A queue has one process that waits; those that work are forked when jobs
come, and end when none has come for a while, which gives their memory back. One of ``default``
stays. Where ``default`` is served, the other queues have not even the process that waits: one
watches all of them, and has a queue's worker started when a job comes.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module

from crowdqc.jobs import worker
from crowdqc.jobs.family import Family, Member, StartRequest
from crowdqc.jobs.queues import DEFAULT, ROLES, queue_name
from crowdqc.metrics import folder

# Kilobytes above which the process of default that stays is replaced after a job: now and then one
# of its jobs needs what none of the others does.
DEFAULT_KILOBYTES = 250_000
PROCESSES = {"default": 2, "runs": 2, "files": 1, "platforms": 3, "models": 2, "backups": 1}
SCHEDULER = "scheduler"
# Parts that Celery or we would load in every process, after the fork.
LOADED = (
    *("celery.app.amqp", "celery.app.control", "celery.app.events", "celery.app.log"),
    *("celery.app.routes", "celery.apps.beat", "celery.apps.worker"),
    *("celery.concurrency.prefork", "celery.events.receiver", "celery.fixups.django"),
    *("celery.worker.autoscale", "celery.worker.consumer", "celery.worker.strategy"),
    *("billiard.popen_fork", "billiard.synchronize", "cffi.cparser"),
    *("crowdqc.jobs.pool", "crowdqc.jobs.watch"),
)


def parse_counts(words: Sequence[str]) -> dict[str, int]:
    """Parse ``queue=processes``; ValueError names an invalid word."""
    found = {}
    for word in words:
        role, _, number = word.partition("=")
        if role not in (*ROLES, SCHEDULER) or not number.isdecimal() or not 0 < int(number) <= 64:
            raise ValueError(f"{word!r}: write {'=N, '.join(ROLES)}=N, with N from 1 to 64")
        found[role] = int(number)
    if found.get(SCHEDULER, 1) != 1:
        raise ValueError("scheduler=1: two would start every periodic job twice")
    return found or dict(PROCESSES)


def set_environment() -> None:
    """Set what libraries read when they are imported."""
    # How long a process waits for another job before it ends. Read when Celery is imported.
    os.environ.setdefault("AUTOSCALE_KEEPALIVE", "5")
    # Several processes share the cores; threads of small products that wait for each other by
    # spinning would take up to 30 times as long. Read when numpy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Whoever starts this has made the framework's checks, which read all models and addresses.
    os.environ.setdefault("CELERY_SKIP_CHECKS", "true")


def load_workers() -> None:
    """Load everything that workers use, so that forks share it."""
    set_environment()
    counts = folder.listen_address() and folder.make_folder()
    gc.disable()  # until Family.run: there is nothing to free while modules load
    for name in (*LOADED, *(("crowdqc.metrics.jobs",) if counts else ())):
        import_module(name)
    from crowdqc.celery import app

    app.loader.import_default_modules()
    app.finalize()
    # What speaks to the queue; it connects to nothing yet.
    assert app.connection_for_write().transport  # noqa: S101


def worker_members(
    wanted: Mapping[str, int], *, output: Mapping[str, int] | None = None, after: str = ""
) -> list[Member]:
    """Return the processes of these queues; the scheduler starts ``after`` one."""
    level = os.environ.get("LOG_LEVEL", "INFO")
    into = output or {}
    watched = [role for role in wanted if role in ROLES and role != DEFAULT]
    bells = {role: StartRequest() for role in watched} if DEFAULT in wanted else {}
    found = []
    for role, processes in wanted.items():
        if role == SCHEDULER:
            work = partial(_run_scheduler, level)
            found.append(Member(role, work, into.get(role), after=after))
        else:
            bell = bells.get(role)
            work = partial(_run_worker, role, processes, level, ends=bell is not None)
            found.append(Member(f"worker-{role}", work, into.get("worker"), bell=bell))
    if bells:
        found.append(Member("watch", partial(_watch, bells), into.get("worker")))
    return found


def _count_jobs(role: str) -> None:
    if folder.listen_address():
        from crowdqc.metrics.jobs import count_jobs_of

        count_jobs_of(role)


def _serve_metrics(listen: tuple[str, int]) -> int:
    from crowdqc.metrics.processes import serve_metrics

    return serve_metrics(listen, "workers")


def _run_worker(role: str, processes: int, level: str, *, ends: bool) -> int:
    """Run Celery's worker of one queue without its command line (8 MB)."""
    from crowdqc.celery import app

    _count_jobs(role)
    worker.end_with_parent()
    worker.ends_without_jobs = ends
    one = app.Worker(
        hostname=f"{role}@",  # of this machine
        queues=[queue_name(role)],
        autoscale=(processes, int(role == DEFAULT)),
        max_memory_per_child=DEFAULT_KILOBYTES if role == DEFAULT else None,
        loglevel=level,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        quiet=True,
    )
    one.start()
    return one.exitcode or 0


def _run_scheduler(level: str) -> int:
    """Run Celery's scheduler."""
    from crowdqc.celery import app

    _count_jobs(SCHEDULER)
    worker.end_with_parent()
    app.Beat(loglevel=level, quiet=True).run()
    return 0


def _watch(bells: Mapping[str, StartRequest]) -> int:
    from crowdqc.jobs.watch import watch_queues

    worker.end_with_parent()
    watch_queues(bells)
    return 0


def main(words: Sequence[str]) -> int:
    """Run the workers named by the arguments."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    try:
        wanted = parse_counts(words)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    load_workers()
    from crowdqc.jobs import alive

    alive.expect_heartbeats(
        role if role == SCHEDULER else worker.worker_name(role) for role in wanted
    )
    members = worker_members(wanted)
    if listen := folder.listen_address():
        members.append(Member("metrics", partial(_serve_metrics, listen)))
    try:
        return Family(members, log_ended(lambda line: print(line, flush=True))).run()
    finally:
        folder.delete_folder()


def log_ended(say: Callable[[str], None]) -> Callable[[Member, int], None]:
    """Log how a member ended and when it restarts."""

    def ended(member: Member, status: int) -> None:
        if not member.once:
            how = f"signal {-status}" if status < 0 else f"status {status}"
            say(f"{member.name} ended ({how}); starting it again in {member.delay:g} s")

    return ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
