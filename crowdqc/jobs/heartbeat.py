"""Heartbeats of a row while the process that works on it lives.

Progress is no heartbeat: on a busy machine a step of a minute is a step of five.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connection

EVERY_SECONDS = 5.0
logger = logging.getLogger(__name__)


@contextmanager
def run_heartbeat(beat: Callable[[], object], every: float = EVERY_SECONDS) -> Iterator[None]:
    """Call ``beat`` from a thread with its own connection until the block ends.

    It waits a second at most for a row that a transaction of the block holds: while that is so,
    nobody else takes the row over. A beat that finds no memory is left out: the block may go on,
    and must not count as abandoned then.
    """
    over = threading.Event()

    def run() -> None:
        while not over.wait(every):
            try:
                with connection.cursor() as cursor:
                    cursor.execute("SET lock_timeout = '1s'")
                beat()
            except (DatabaseError, MemoryError) as error:
                logger.info("no heartbeat: %s", type(error).__name__)
            finally:
                connection.close()

    thread = threading.Thread(target=run, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
