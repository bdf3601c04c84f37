"""Connections, long work and slow queries, as the database's server reports them.

Only statistics of statements are read, whose values the server has left out: the text of one that
is running may quote what people wrote.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection
from psycopg import sql

MOST, LONGEST = 10, 300
EXTENSION = "pg_stat_statements"
STATEMENTS = sql.SQL(
    "SELECT query, calls, mean_exec_time, max_exec_time, "
    "total_exec_time / nullif(sum(total_exec_time) OVER (), 0) FROM {} "
    "WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND query ~* '^\\s*(select|insert|update|delete|with)' "
    "ORDER BY mean_exec_time DESC LIMIT %s"
)


@dataclass(frozen=True)
class Load:
    """Connections by state with their limit, and the longest work in seconds."""

    connections: dict[str, int]
    limit: int
    longest_query: float
    longest_transaction: float


@dataclass(frozen=True)
class SlowQuery:
    """A statement without its values, and the time that it took."""

    text: str
    calls: int
    mean_ms: float
    max_ms: float
    share: float


def read_load() -> Load:
    """Return the connections of the whole server and the longest work of this database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(state, 'other'), count(*) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' GROUP BY 1"
        )
        states = dict(cursor.fetchall())
        cursor.execute(
            "SELECT current_setting('max_connections')::int, "
            "coalesce(max(extract(epoch FROM clock_timestamp() - query_start))"
            " FILTER (WHERE state = 'active'), 0)::float8, "
            "coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float8 "
            "FROM pg_stat_activity WHERE datname = current_database() "
            "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return Load(states, *cursor.fetchone())


def slow_queries() -> list[SlowQuery] | None:
    """List the statements with the highest mean time; None where the server counts none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
            "WHERE extname = %s",
            [EXTENSION],
        )
        found = cursor.fetchone()
        if found is None:
            return None
        cursor.execute(STATEMENTS.format(sql.Identifier(found[0], EXTENSION)), [MOST])
        rows = cursor.fetchall()
    return [
        SlowQuery(" ".join(text.split())[:LONGEST], calls, mean, longest, share or 0.0)
        for text, calls, mean, longest, share in rows
    ]
