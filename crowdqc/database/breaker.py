"""A circuit breaker: after one failed try nobody waits for the database until it is back."""

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


class DatabaseAway(psycopg.OperationalError):
    """The database did not answer a moment ago, and is not asked again by every request."""


class ShortWhileAway(logging.Filter):
    """Leaves the stack out of what is logged of a refused request: each would be the same."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the record."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, DatabaseAway) or isinstance(
            getattr(error, "__cause__", None), DatabaseAway
        ):
            record.exc_info = None
        return True


class Breaker:
    """Knows whether the database answers, by one thread that asks while it does not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched = False
        self._away = False

    def refuse_while_away(self) -> None:
        """Raise DatabaseAway where the last try failed."""
        if self._away:
            raise DatabaseAway("the database does not answer")

    def check(self, params: Mapping[str, Any], renew: Callable[[], object]) -> bool:
        """Ask the database after a failure; whether it answers.

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
