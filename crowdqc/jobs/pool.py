"""The processes of a queue: forked for jobs, ended when idle.

Celery's own pool is made for a number of processes that stays. Two threads that tend it at once
count the same process twice, and one that is ended by a signal can take a job with it that it has
read and not yet confirmed; that job would wait for as long as the worker lives.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from billiard import pool as billiard
from celery.concurrency import prefork
from celery.utils.log import get_logger
from celery.worker import autoscale

logger = get_logger(__name__)


class Worker(billiard.Worker):
    """A process of the pool that may be asked to end without failing."""

    wait_for_job: Callable[[], Any]

    def _make_child_methods(self, *words: Any) -> None:
        super()._make_child_methods(*words)
        receive = self.wait_for_job

        def wait_for_job() -> Any:
            try:
                return receive()
            except SystemExit:
                raise SystemExit(billiard.EX_OK) from None

        self.wait_for_job = wait_for_job


class Pool(billiard.Pool):
    """Processes that one thread at a time manages."""

    Worker = Worker

    def __init__(self, *words: Any, **named: Any) -> None:
        self._tending = threading.RLock()
        super().__init__(*words, **named)

    def _maintain_pool(self) -> None:
        with self._tending:
            super()._maintain_pool()

    def grow(self, n: int = 1) -> None:
        """Allow ``n`` more processes; they are forked on the next turn."""
        with self._tending:
            super().grow(n)

    def shrink(self, n: int = 1) -> None:
        """End ``n`` processes, or as many as are idle.

        Who reads the request ends, and holds nothing then: a job that was sent before it has been
        taken by somebody, one that is sent after it waits for the next process.
        """
        with self._tending:
            for _ in range(n):
                # Waiting here for a busy process would keep the lock that its end needs.
                if not self._putlock.acquire(blocking=False):
                    return
                self._putlock._initial_value -= 1
                self._processes -= 1
                self._taskqueue.put(([None], None))


class TaskPool(prefork.TaskPool):
    """Celery's pool over ours."""

    BlockingPool = Pool


class Autoscaler(autoscale.Autoscaler):
    """Celery's autoscaler; forks a process as soon as a job needs one.

    With a broker that has no event loop it would look once a second.
    """

    def on_task_received(self, req: Any) -> None:
        """Scale up for a received job."""
        super().on_task_received(req)
        with self.mutex:
            if self._maybe_scale(req):
                self.pool.maintain_pool()
