"""Tables as text in a form that all supported PostgreSQL versions share.

Rows come in the order of the primary key, compared byte by byte, so that the checksum of a table
does not depend on the server that holds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
from django.apps import apps
from psycopg import sql

from crowdqc.deployment.backup.archive import PART, Digest

Connection = psycopg.Connection[Any]

# Tables whose rows are of the moment: sign-ins (so a revoked one never comes back), counters of
# tries, the cache, which workers are alive, and the state of backups and recovery themselves.
LEFT_OUT = (
    "annotation_heartbeat",
    "crowdqc_backup",
    "crowdqc_cache",
    "crowdqc_limit",
    "crowdqc_recovery",
    "django_session",
    "usersessions_usersession",
)
# How values are written as text: the same whatever the server's settings are.
SETTINGS = {
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "standard_conforming_strings": "on",
    "lc_monetary": "C",
    "lc_numeric": "C",
}

COLUMNS = """
SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relnamespace = %s::regnamespace AND c.relkind IN ('r', 'p')
    AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
GROUP BY c.relname ORDER BY c.relname
"""
KEY = """
SELECT a.attname, a.attcollation <> 0
FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
WHERE i.indrelid = %s::regclass AND i.indisprimary
ORDER BY array_position(i.indkey::int2[], a.attnum)
"""
SEQUENCES = """
SELECT c.relname, a.attname, format('%%I.%%I', n.nspname, s.relname)
FROM pg_class AS s JOIN pg_namespace AS n ON n.oid = s.relnamespace
JOIN pg_depend AS d ON d.objid = s.oid AND d.classid = 'pg_class'::regclass
    AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
JOIN pg_class AS c ON c.oid = d.refobjid
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
WHERE s.relkind = 'S' AND c.relnamespace = %s::regnamespace
ORDER BY 1, 2
"""


def set_text_form(connection: Connection) -> None:
    """Read and write values in one form from here on."""
    for name, value in SETTINGS.items():
        connection.execute("SELECT set_config(%s, %s, false)", [name, value])


def is_own_table(name: str) -> bool:
    """Whether a table is ours by its prefix; a database may hold others."""
    labels = (f"{config.label}_" for config in apps.get_app_configs())
    return name.startswith((*labels, "django_", "crowdqc_"))


def kept_columns(connection: Connection, schema: str) -> dict[str, list[str]]:
    """Return the columns of each of our tables whose rows are kept."""
    found = connection.execute(COLUMNS, [schema]).fetchall()
    return {name: held for name, held in found if is_own_table(name) and name not in LEFT_OUT}


def copy_out(connection: Connection, schema: str, table: str, names: list[str]) -> Iterator[bytes]:
    """Yield the rows of a table in key order, some megabytes at a time."""
    place = sql.Identifier(schema, table)
    key = connection.execute(KEY, [place.as_string(connection)]).fetchall()
    order = [
        sql.SQL("{} COLLATE {}").format(sql.Identifier(name), sql.Identifier("C"))
        if collated
        else sql.Identifier(name)
        for name, collated in key
    ] or [sql.SQL("{}::text COLLATE {}").format(sql.Identifier(table), sql.Identifier("C"))]
    query = sql.SQL("COPY (SELECT {} FROM {} ORDER BY {}) TO STDOUT").format(
        sql.SQL(", ").join(map(sql.Identifier, names)), place, sql.SQL(", ").join(order)
    )
    waiting = bytearray()
    with connection.cursor() as cursor, cursor.copy(query) as rows:
        for row in rows:
            waiting += row
            if len(waiting) >= PART:
                yield bytes(waiting)
                waiting.clear()
    if waiting:
        yield bytes(waiting)


def digest_table(
    connection: Connection, schema: str, table: str, names: list[str]
) -> dict[str, Any]:
    """Compute the number and checksum of a table's rows."""
    found = Digest()
    for text in copy_out(connection, schema, table, names):
        found.add(text)
    return found.as_dict()


def read_sequences(connection: Connection, schema: str) -> list[list[Any]]:
    """Return [table, column, last value, is_called] of each sequence."""
    found = []
    for table, column, name in connection.execute(SEQUENCES, [schema]).fetchall():
        state = sql.SQL("SELECT last_value, is_called FROM {}").format(sql.SQL(name))
        found += [[table, column, *row] for row in connection.execute(state).fetchall()]
    return found


def set_sequences(connection: Connection, schema: str, told: list[list[Any]]) -> None:
    """Continue the sequences where the backup stopped."""
    ours = {
        (table, column): name
        for table, column, name in connection.execute(SEQUENCES, [schema]).fetchall()
    }
    for table, column, value, called in told:
        if (table, column) in ours:
            connection.execute(
                "SELECT setval(%s::regclass, %s, %s)", [ours[(table, column)], value, called]
            )
