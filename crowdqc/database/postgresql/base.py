"""PostgreSQL backend that fails fast while the database is down.

A web process shares a pool of connections among its threads (``crowdqc.web.server`` sets it). While
the database does not answer, requests fail at once, and one thread tries until it is back.
"""

from __future__ import annotations

from typing import Any

import psycopg
from django.db.backends.postgresql import base

from crowdqc.database.breaker import Breaker

# One for each process; a fork begins with a closed one, as nothing connects before it.
breaker = Breaker()


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that passes the breaker if there is a pool."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect, or raise OperationalError at once while the database is down."""
        pool: Any = self.pool  # type: ignore[attr-defined]
        if pool is None:
            return super().get_new_connection(conn_params)
        breaker.refuse_while_down()
        lost = _count_dead_connections(pool)
        try:
            return super().get_new_connection(conn_params)
        except psycopg.OperationalError:
            if not breaker.check(conn_params, pool.check) or _count_dead_connections(pool) == lost:
                raise
        # The server was restarted meanwhile: the pool held dead connections, and has new ones now.
        return super().get_new_connection(conn_params)


def _count_dead_connections(pool: Any) -> int:
    """Count the connections of the pool that turned out dead."""
    number: int = pool.get_stats().get("connections_lost", 0)
    return number
