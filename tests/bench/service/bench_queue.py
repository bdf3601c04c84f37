"""Jobs of one queue done by 1, 2 and 4 worker programs, as on so many machines; one is killed.

Each worker program is ``crowdqc.jobs.workers`` with one process at work. With four, one of them is
killed with all its processes halfway: every job is done once all the same.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import Any

import psutil
import psycopg

from tests.bench import harness
from tests.bench.harness import ROOT, figure

JOBS = 2000
WORKERS = (1, 2, 4)
MODULE = "tests.bench.service.queue_jobs"
VISIBILITY = 5  # seconds until the job of a killed worker is delivered again
LIMIT = 400.0


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    found: list[dict[str, Any]] = []
    with harness.scratch_database() as environment:
        plain = environment | {
            "CROWDQC_VISIBILITY_SECONDS": str(VISIBILITY),
        }
        broker = "Redis" if os.environ.get("BROKER_URL", "").startswith("redis") else "PostgreSQL"
        rates = {workers: _rate(plain, workers)[0] for workers in WORKERS}
        for workers in WORKERS:
            found.append(
                figure(
                    f"jobs a second, {workers} workers",
                    rates[workers],
                    "1/s",
                    ("1 worker", rates[1]),
                    f"{JOBS:,} jobs that lock and write a row; queue in {broker}; "
                    f"{os.cpu_count()} cores for all of it",
                )
            )
        _, done, again, lost = _rate(plain, 4, kill=True)
        found.append(
            figure(
                "jobs done once, 1 of 4 workers killed",
                done,
                "jobs",
                ("jobs sent", float(JOBS)),
                f"{lost} lost, {again} delivered again and left alone",
            )
        )
    return found


def _rate(
    environment: dict[str, str], workers: int, *, kill: bool = False
) -> tuple[float, int, int, int]:
    """Jobs a second; how many were done once, tried more than once, and lost."""
    harness.python(environment, "-m", MODULE, "send", str(JOBS))
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(
            psycopg.connect(environment["DATABASE_URL"], autocommit=True)
        )
        running = [_worker(environment, stack) for _ in range(workers)]
        first = _wait(database, 20)
        if kill:
            _wait(database, JOBS // 2)
            _kill(running[0])
        _wait(database, JOBS)
        took = time.monotonic() - first
        row = database.execute(
            "SELECT count(*) FILTER (WHERE done = 1), count(*) FILTER (WHERE tries > 1), "
            "count(*) FILTER (WHERE done = 0) FROM bench_jobs"
        ).fetchone()
        assert row is not None
    return (JOBS - 20) / took, row[0], row[1], row[2]


def _worker(environment: dict[str, str], stack: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-m", MODULE, "work"], cwd=ROOT, env=environment)
    stack.callback(process.wait)
    stack.callback(lambda: process.poll() is None and process.terminate())
    return process


def _kill(program: subprocess.Popen[bytes]) -> None:
    """As a machine that fails: nothing of it says goodbye."""
    for process in [*psutil.Process(program.pid).children(recursive=True), program]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)


def _wait(database: psycopg.Connection[Any], jobs: int) -> float:
    """When so many jobs were done."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        row = database.execute("SELECT count(*) FROM bench_jobs WHERE done > 0").fetchone()
        if row is not None and row[0] >= jobs:
            return time.monotonic()
        time.sleep(0.1)
    raise RuntimeError(f"{jobs} jobs were not done within {LIMIT:g} s")
