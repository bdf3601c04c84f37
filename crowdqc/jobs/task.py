"""The base class of jobs, for which running out of memory is a failure."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from celery import Task as CeleryTask

from crowdqc.hooks import is_read_only
from crowdqc.jobs.schedule import PAUSED_WHEN_READ_ONLY


class OutOfMemory(Exception):
    """A job ran out of memory.

    Celery ends a worker at whose job Python says MemoryError, and gives the job out again: to the
    next worker, which ends as well. What the job held is free once it has failed.
    """


class Task(CeleryTask):
    """The base class of all jobs."""

    abstract = True
    Request = "crowdqc.jobs.request:Request"
    # Closes what the job worked on, by the job's arguments, where its process was killed or had no
    # memory left to do so; a job without one is handed out again once its process was killed.
    when_killed: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the job, unless it is one that waits until the installation takes changes again."""
        if self.name in PAUSED_WHEN_READ_ONLY and is_read_only():
            return None
        try:
            return super().__call__(*args, **kwargs)
        except MemoryError as error:
            traceback.clear_frames(error.__traceback__)  # to log the failure takes memory as well
            found = OutOfMemory("there was not enough memory")
            raise found.with_traceback(error.__traceback__) from None
