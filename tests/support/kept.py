"""Rows that many tests begin with are made once in a process, and put back for each next test.

The first call of a kept function goes through the application's actions. What it left in the
tables is read from them, and put back by one statement where a later call finds nobody there.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.core.cache import caches
from django.db import connection, transaction

from annotation.models import User

P = ParamSpec("P")
T = TypeVar("T")
USERS = f'"{User._meta.db_table}"'
# What is no part of a state: it was counted or computed on the way, or a worker beside wrote it.
PASSING = ("crowdqc_cache", "crowdqc_limit", "annotation_heartbeat")
NEXT_TRANSACTION = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint % (2^32)::bigint"
COLUMNS = """
    SELECT table_name, array_agg(column_name::text ORDER BY ordinal_position)
    FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND is_generated = 'NEVER'
    GROUP BY table_name ORDER BY table_name
"""


@dataclass(frozen=True)
class State:
    """The statement that puts the rows back, and what the function returned."""

    sql: str
    returned: Any


def kept(make: Callable[P, T]) -> Callable[P, T]:
    """A function that begins a test, whose rows are made once for each set of arguments.

    Where somebody is there already it is called as it is.
    """
    states: dict[str, State] = {}

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> T:
        if not _may_put_back():
            return make(*args, **kwargs)
        key = repr((args, sorted(kwargs.items())))
        if key not in states:
            states[key] = _made(lambda: make(*args, **kwargs))
        else:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(states[key].sql)
            caches["default"].clear()  # what it knows by number is of an earlier test's rows
        result: T = copy.deepcopy(states[key].returned)
        return result

    return made


def _may_put_back() -> bool:
    """Whether nobody is there, and the account may pass by triggers, which ran with the first."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT current_setting('is_superuser') = 'on' AND NOT EXISTS (SELECT FROM {USERS})"  # noqa: S608
        )
        return bool(cursor.fetchone() == (True,))


def _made(make: Callable[[], Any]) -> State:
    with connection.cursor() as cursor:
        cursor.execute(NEXT_TRANSACTION)
        [first] = cursor.fetchone()
        with transaction.atomic():
            returned = make()
        cursor.execute(COLUMNS)
        tables = [row for row in cursor.fetchall() if row[0] not in PASSING]
        statements = [
            "SET LOCAL session_replication_role = replica",
            *(one for row in tables for one in _statements(cursor, *row, first)),
            "SET LOCAL session_replication_role = origin",
        ]
    return State("; ".join(statements), copy.deepcopy(returned))


def _statements(cursor: Any, table: str, columns: list[str], first: int) -> Iterator[str]:
    """What puts back a table's rows of this transaction and later ones."""
    names = ", ".join(f'"{name}"' for name in columns)
    values = " || ', ' || ".join(f'quote_nullable("{name}"::text)' for name in columns)
    since = f'FROM "{table}" WHERE xmin::text::bigint >= {first}'
    cursor.execute(f"SELECT '(' || {values} || ')' {since}")
    rows = [row for (row,) in cursor.fetchall()]
    if not rows:
        return
    yield f'INSERT INTO "{table}" ({names}) VALUES {", ".join(rows)}'  # noqa: S608
    if "id" not in columns:
        return
    cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [f'"{table}"'])
    [numbers] = cursor.fetchone()
    if numbers:  # emptied tables may count from 1 again, and would come to these rows
        cursor.execute(f"SELECT max(id) {since}")
        [last] = cursor.fetchone()
        yield f"SELECT setval('{numbers}', GREATEST(last_value, {last})) FROM {numbers}"  # noqa: S608
