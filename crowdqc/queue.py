"""Handing jobs to the queue, so that no request waits for a broker that is down.

Every row that a job works on says itself that it waits, and a periodic job takes up what was
never delivered (``CELERY_BEAT_SCHEDULE``). So a message may be late or lost, and nothing is. It
is sent by a thread of this process; whoever commits waits a moment for it, and goes on.
"""

from __future__ import annotations

import contextvars
import logging
import os
import threading
from collections.abc import Callable
from functools import partial
from queue import Full, Queue
from typing import Any

from django.db import transaction
from django.utils.module_loading import import_string

logger = logging.getLogger(__name__)
WAIT = 0.25  # seconds that a request waits for its message to leave
MOST = 1000  # messages that wait in a process; more are left to the periodic jobs


class Publisher:
    """One thread that sends messages, begun when the first is sent."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.late = False  # the last message did not leave in time
        self.waiting: Queue[tuple[Callable[[], Any], threading.Event]] = Queue(MOST)
        threading.Thread(target=self._send, name="publisher", daemon=True).start()

    def publish(self, send: Callable[[], Any]) -> None:
        """Send it; wait for that, unless an earlier one has shown that nothing leaves just now."""
        done, late = threading.Event(), self.late
        try:
            self.waiting.put_nowait((send, done))
        except Full:
            logger.warning("the queue is down; a job is left to its periodic turn")
            return
        if not late and not done.wait(WAIT):
            self.late = True
            # A queue that is busy, say: one that is down is warned of when the message fails.
            logger.info("the queue has not answered for %s s; jobs start when it does", WAIT)

    def _send(self) -> None:
        while True:
            send, done = self.waiting.get()
            try:
                send()
                self.late = False
            except Exception as error:
                self.late = True
                logger.warning("a job was not queued: %s; its periodic turn takes it up", error)
            done.set()


_publisher: Publisher | None = None
_begin = threading.Lock()


def _current() -> Publisher:
    """This process's publisher; a fork leaves threads behind."""
    global _publisher  # noqa: PLW0603
    with _begin:
        if _publisher is None or _publisher.pid != os.getpid():
            _publisher = Publisher()
        return _publisher


def is_late() -> bool:
    """Whether the last message did not leave in time; jobs start when the queue is back."""
    return _publisher is not None and _publisher.late


def enqueue(name: str, *args: Any, **options: Any) -> None:
    """Hand a job to a worker once this transaction is committed; a broker that is down delays it.

    A job is named ("annotation.jobs.send_mail"), as jobs import what hands them over. ``options``
    are Celery's: a queue or time limits other than the job's own. Raises ImportError where no job
    has this name.
    """
    job = import_string(name)
    # Sent by another thread, and still as asked for by this request.
    send = partial(contextvars.copy_context().run, job.apply_async, args, **options)
    transaction.on_commit(lambda: _current().publish(send), robust=True)
