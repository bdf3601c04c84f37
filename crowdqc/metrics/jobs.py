"""Count jobs that ended, by the process that did them, and those that the scheduler started.

Names of jobs are the program's: no argument, no project and no person.
"""

from __future__ import annotations

import time
from typing import Any

from billiard import current_process
from celery.signals import (
    beat_init,
    before_task_publish,
    task_postrun,
    task_prerun,
    worker_process_init,
)
from prometheus_client import Counter, Histogram

from crowdqc.metrics.processes import counted, identify_process

SECONDS = (0.01, 0.05, 0.25, 1.0, 5.0, 30.0, 120.0, 600.0, 3600.0)
JOBS = Counter(
    "crowdqc_jobs", "Jobs that ended, by name and outcome.", ["job", "outcome"], registry=counted
)
TIMES = Histogram(
    "crowdqc_job_duration_seconds",
    "Time that jobs took, by name.",
    ["job"],
    buckets=SECONDS,
    registry=counted,
)
SCHEDULED = Counter(
    "crowdqc_jobs_scheduled", "Periodic jobs that were started, by name.", ["job"], registry=counted
)
_role, _began = "worker", 0.0


def count_jobs_of(role: str) -> None:
    """Count under the name of a queue, in the process that serves it and those it forks."""
    global _role  # noqa: PLW0603
    _role = role
    identify_process(role)


@worker_process_init.connect
def _identify_process(**_: Any) -> None:
    identify_process(f"{_role}-{getattr(current_process(), 'index', 0)}")


@task_prerun.connect
def _begin(**_: Any) -> None:
    global _began  # noqa: PLW0603
    _began = time.perf_counter()


@task_postrun.connect
def _count(sender: Any = None, state: str | None = None, **_: Any) -> None:
    name = str(getattr(sender, "name", ""))
    JOBS.labels(name, "done" if state == "SUCCESS" else "failed").inc()
    TIMES.labels(name).observe(time.perf_counter() - _began)


@beat_init.connect
def _count_scheduled(**_: Any) -> None:
    before_task_publish.connect(_scheduled)


def _scheduled(sender: Any = None, **_: Any) -> None:
    SCHEDULED.labels(str(sender)).inc()
