"""Heartbeat files of workers and scheduler for a container's health check.

The rows of ``crowdqc.jobs.worker`` say whether a queue is served anywhere. These files say whether
this container works, also while the database is away, when a restart would mend nothing.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from celery.signals import beat_init, before_task_publish

VARIABLE = "CROWDQC_ALIVE"  # the folder; without it nothing is written
SCHEDULER = "scheduler"
JUMP, EVERY = 30.0, 2.0  # seconds
logger = logging.getLogger(__name__)


def write_heartbeats(*names: str) -> None:
    """Write heartbeats of these names; a full disk only loses the heartbeat."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name in names:
            (Path(folder) / name).touch()
    except OSError:
        return


def expect_heartbeats(names: Iterable[str]) -> None:
    """Name the processes that must live here; a silent one is missed after a minute."""
    write_heartbeats(*names)


@beat_init.connect
def _scheduler_begins(**_: Any) -> None:
    write_heartbeats(SCHEDULER)
    before_task_publish.connect(_scheduler_lives)
    threading.Thread(target=_watch_clock, name="clock-watch", daemon=True).start()


def _scheduler_lives(**_: Any) -> None:
    """Record the scheduler's heartbeat with each job, before the broker is called."""
    write_heartbeats(SCHEDULER)


def _watch_clock() -> None:
    """End a scheduler whose clock jumped, so that it is restarted.

    Celery plans by the time of day: after an hour back it would start nothing for an hour.
    """
    apart = time.time() - time.monotonic()
    while True:
        time.sleep(EVERY)
        now = time.time() - time.monotonic()
        if abs(now - apart) > JUMP:
            logger.warning("the clock jumped by %.0f seconds; the scheduler restarts", now - apart)
            logging.shutdown()
            os._exit(1)
        apart = now  # a clock that is set right little by little is followed
