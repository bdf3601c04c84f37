"""A job in the process that hands it out: a job whose process was killed is not handed out again.

A worker that is stopped, or a machine that goes away, gives its jobs to others. A process that was
killed while its worker lives on (by the kernel for want of memory, or by hand) took too much: the
same job would be killed again.
"""

from __future__ import annotations

import logging
from typing import Any

from billiard.einfo import ExceptionWithTraceback
from billiard.exceptions import WorkerLostError
from celery.worker import request, state
from django.db import Error as DatabaseError
from django.db import connections

logger = logging.getLogger(__name__)
KILLED = "signal 9"  # as billiard words how a process ended


class Request(request.Request):
    """Celery's request, which tells a job's ``when_killed`` that its process was killed."""

    def on_failure(self, exc_info: Any, *words: Any, **named: Any) -> Any:
        """The job failed, or its process was lost."""
        if self._was_killed(exc_info.exception) and self._told():
            self.acknowledge()  # nothing is left to be handed out
        return super().on_failure(exc_info, *words, **named)

    def _was_killed(self, error: BaseException) -> bool:
        if isinstance(error, ExceptionWithTraceback):
            error = error.exc
        ends = (state.should_stop, state.should_terminate)  # an exit status, which may be 0
        is_ending = any(status is not None and status is not False for status in ends)
        return isinstance(error, WorkerLostError) and KILLED in str(error) and not is_ending

    def _told(self) -> bool:
        """Whether the job could close what it worked on; one without ``when_killed`` cannot."""
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
