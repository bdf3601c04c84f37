"""Jobs that exceeded memory are not redelivered.

A worker that is stopped, or a machine that goes away, gives its jobs to others. A process that
died while its worker lives on took too much: it was killed by the kernel or by hand, a library
aborted it, or Python had no memory left to report a MemoryError. The same job would end the same.
The limit of jobs (``crowdqc.jobs.memory``) does not hold for this process, so that it can close
what the job could not.
"""

from __future__ import annotations

import logging
import re
from typing import Any

from billiard.einfo import ExceptionInfo, ExceptionWithTraceback
from billiard.exceptions import WorkerLostError
from celery.worker import request, state
from django.db import Error as DatabaseError
from django.db import connections

from crowdqc.jobs.task import OutOfMemory

logger = logging.getLogger(__name__)
# How a process ends that found no more memory, in billiard's words: SIGKILL, SIGABRT, SIGBUS and
# SIGSEGV, or the status of a failure outside the job. Other signals ask a process to end.
DIED = re.compile(r"signal (9|6|7|11)\b|exitcode 1\b")


class Request(request.Request):
    """Celery's request; ``when_killed`` closes what a killed process could not."""

    def on_failure(
        self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False
    ) -> Any:
        """Handle a failed job or a lost process."""
        error = exc_info.exception
        if isinstance(error, ExceptionWithTraceback):
            error = error.exc
        if isinstance(error, MemoryError):  # of Celery's own code, which would end this process
            try:
                raise OutOfMemory(str(error))
            except OutOfMemory as found:
                error, exc_info, return_ok = found, ExceptionInfo(), False
        if (self._has_died(error) or isinstance(error, OutOfMemory)) and self._close():
            self.acknowledge()  # nothing is left to be handed out
        return super().on_failure(exc_info, send_failed_event, return_ok)

    def _has_died(self, error: BaseException) -> bool:
        ends = (state.should_stop, state.should_terminate)  # an exit status, which may be 0
        is_ending = any(status is not None and status is not False for status in ends)
        return (
            isinstance(error, WorkerLostError) and bool(DIED.search(str(error))) and not is_ending
        )

    def _close(self) -> bool:
        """Return whether the job could close its work by ``when_killed``."""
        close = getattr(self.task, "when_killed", None)
        if close is None:
            return False
        try:
            close(*self.args, **self.kwargs)
        except DatabaseError:
            logger.exception("a job whose process was killed stays open")
            return False
        finally:
            connections.close_all()
        return True
