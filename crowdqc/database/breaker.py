"""Circuit breaker: after one failure nobody waits for the database until it is back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import psycopg

RETRY_SECONDS = 0.5
# For so long a request waits to hear whether the database is away; a silent one counts as away.
VERDICT_SECONDS = 0.3
CONNECT_SECONDS = 2  # the least that libpq takes
logger = logging.getLogger(__name__)


class DatabaseDown(psycopg.OperationalError):
    """The database failed a moment ago, so this request does not try it."""


class OmitTraceback(logging.Filter):
    """Drop the traceback from logs of refused requests: all are the same."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the record without its traceback."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, DatabaseDown) or isinstance(
            getattr(error, "__cause__", None), DatabaseDown
        ):
            record.exc_info = None
        return True


class Breaker:
    """Track whether the database answers, with one thread that polls while it is down."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched = False
        self._away = False

    def refuse_while_down(self) -> None:
        """Raise DatabaseDown if the last attempt failed."""
        if self._away:
            raise DatabaseDown("the database does not answer")

    def check(self, params: Mapping[str, Any], renew: Callable[[], object]) -> bool:
        """Return whether the database answers; called after a failure.

        Parameters
        ----------
        params
            How to connect, as psycopg takes it.
        renew
            Replaces dead connections of the pool; called once the database answers.
        """
        with self._lock:
            if self._watched:  # somebody else's failure is being looked into
                return False
            self._watched = True
        answered = threading.Event()
        threading.Thread(
            target=self._watch, args=(params, renew, answered), name="database-watch", daemon=True
        ).start()
        if answered.wait(VERDICT_SECONDS):
            return True
        with self._lock:
            self._away = self._watched
        return False

    def _watch(
        self, params: Mapping[str, Any], renew: Callable[[], object], answered: threading.Event
    ) -> None:
        while not _answers(params):
            if not self._away:
                logger.warning("the database does not answer; requests are refused until it does")
            self._away = True
            time.sleep(RETRY_SECONDS)
        renew()
        with self._lock:
            self._away = self._watched = False
        answered.set()


def _answers(params: Mapping[str, Any]) -> bool:
    try:
        with psycopg.connect(**{**params, "connect_timeout": CONNECT_SECONDS}) as connection:
            connection.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True
