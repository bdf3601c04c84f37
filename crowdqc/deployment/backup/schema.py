"""A second set of tables beside those in use, which takes their place in one transaction.

It is made by the migrations, in a schema of its own, so what serves the site is not touched until
the new tables are filled and checked. No right to create databases is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from crowdqc.deployment.backup.envelope import BadBackup
from crowdqc.deployment.backup.tables import is_own_table
from crowdqc.errors import Conflict

SCRATCH = "crowdqc_restore"
USUAL = "public"
# Kinds of relations by pg_class.relkind, as ALTER and DROP call them.
RELATIONS = {"r": "TABLE", "p": "TABLE", "v": "VIEW", "m": "MATERIALIZED VIEW", "S": "SEQUENCE"}
# What is in a schema, without what belongs to a table (its indexes and counters) or an extension.
OBJECTS = """
SELECT c.relkind::text, c.relname, format('%%I.%%I', n.nspname, c.relname)
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
    AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.objid = c.oid
        AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i', 'e'))
UNION ALL
SELECT 'function', p.proname, p.oid::regprocedure::text
FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
WHERE n.nspname = %(schema)s AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.objid = p.oid
    AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e')
UNION ALL
SELECT 'type', t.typname, format('%%I.%%I', n.nspname, t.typname)
FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace
LEFT JOIN pg_class AS c ON c.oid = t.typrelid
WHERE n.nspname = %(schema)s AND (t.typtype IN ('e', 'd') OR c.relkind = 'c')
    AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.objid = t.oid
        AND d.classid = 'pg_type'::regclass AND d.deptype = 'e')
"""


def execute(statement: str, values: Any = None) -> list[tuple[Any, ...]]:
    """The rows of a statement, or [] where it gives none."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


@contextmanager
def scratch_schema() -> Iterator[str]:
    """Give Django's connection an empty schema that is dropped at the end.

    The search path is an option of the connection, so that one made anew does not fall back to the
    tables in use.
    """
    execute(f"DROP SCHEMA IF EXISTS {SCRATCH} CASCADE")
    execute(f"CREATE SCHEMA {SCRATCH}")
    options: dict[str, Any] = connection.settings_dict["OPTIONS"]
    before = dict(options)
    options.pop("pool", None)
    options["options"] = f"{before.get('options', '')} -c search_path={SCRATCH}".strip()
    connection.close()
    try:
        yield SCRATCH
    finally:
        connection.close()
        options.clear()
        options.update(before)
        execute(f"DROP SCHEMA IF EXISTS {SCRATCH} CASCADE")


def check_migrations(applied: list[list[str]], made_by: str, ours: str) -> None:
    """Refuse a backup whose tables this version cannot create."""
    known = MigrationExecutor(connection).loader.disk_migrations
    # Rows of apps that were taken out stay in that list.
    labels = {config.label for config in apps.get_app_configs()}
    missing = [
        f"{app}.{name}" for app, name in applied if app in labels and (app, name) not in known
    ]
    if missing:
        raise BadBackup(
            f"The backup was made by crowdqc {made_by}, which is newer than this one ({ours}): "
            f"migration {missing[0]} is not here. Update crowdqc first."
        )


def migrate_to(applied: list[list[str]]) -> None:
    """Create the tables as of these migrations."""
    executor = MigrationExecutor(connection)
    graph, done = executor.loader.graph, {(app, name) for app, name in applied}
    last = [
        node
        for node in graph.nodes
        if node in done and not any(child.key in done for child in graph.node_map[node].children)
    ]
    executor.migrate(last)


def migrate_to_newest() -> None:
    """Migrate filled tables to this version."""
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def check_tables(told: dict[str, list[str]], held: dict[str, list[str]]) -> None:
    """Refuse rows that do not fit the tables (a state between two releases)."""
    for table, names in told.items():
        more = set(names) ^ set(held.get(table, ()))
        if table not in held or more:
            what = f"table {table}" if table not in held else f"{table}.{sorted(more)[0]}"
            raise BadBackup(
                f"The backup’s tables are not those of its version: {what} differs. It was made "
                "by an unreleased crowdqc. Restore it with the same checkout."
            )
    if missing := sorted(set(held) - set(told)):
        raise BadBackup(f"The backup holds no rows of {missing[0]}; its tables are not whole.")


@contextmanager
def without_constraints(schema: str) -> Iterator[None]:
    """Drop triggers, foreign keys and indexes within the block, for fast loading.

    Afterwards all are there again, and every foreign key was checked.
    """
    keys = execute(
        "SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) "
        "FROM pg_constraint WHERE connamespace = %s::regnamespace AND contype = 'f'",
        [schema],
    )
    indexes = execute(
        "SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index AS i "
        "JOIN pg_class AS c ON c.oid = i.indexrelid "
        "WHERE c.relnamespace = %s::regnamespace AND NOT i.indisunique AND i.indisvalid "
        # Made again from its text, a condition would read a little differently.
        "AND i.indpred IS NULL AND i.indexprs IS NULL "
        "AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)",
        [schema],
    )
    triggers = execute(
        "SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger AS t "
        "JOIN pg_class AS c ON c.oid = t.tgrelid "
        "WHERE c.relnamespace = %s::regnamespace AND NOT t.tgisinternal",
        [schema],
    )
    for table, name, _ in keys:
        execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    for name, _ in indexes:
        execute(f"DROP INDEX {name}")
    for (table,) in triggers:
        execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    yield
    for _, made in indexes:
        execute(made)
    for table, name, made in keys:
        execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {made}")
    for (table,) in triggers:
        execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def has_data() -> bool:
    """Whether the site's tables hold anything that people made."""
    (there,) = execute("SELECT to_regclass(%s) IS NOT NULL", [f"{USUAL}.annotation_user"])[0]
    return bool(there and execute(f"SELECT 1 FROM {USUAL}.annotation_user LIMIT 1"))  # noqa: S608


def foreign_tables() -> list[str]:
    """List tables of other programs, which are never dropped."""
    found = execute(OBJECTS, {"schema": USUAL})
    return sorted(name for kind, name, _ in found if kind in ("r", "p") and not is_own_table(name))


def count_other_sessions() -> int:
    """Count the other programs connected to this database."""
    ((count,),) = execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    return count


def swap_tables(schema: str) -> None:
    """Replace the current tables by those of a schema, within a transaction.

    Raises
    ------
    Conflict
        Another program holds a table for longer than a minute.
    """
    execute("SET LOCAL lock_timeout = '60s'")
    execute("SET LOCAL search_path = ''")  # so that every name is told in full
    order = ("v", "m", "r", "p", "S", "function", "type")
    old = sorted(execute(OBJECTS, {"schema": USUAL}), key=lambda one: order.index(one[0]))
    for kind, _, name in old:
        word = RELATIONS.get(kind, kind.upper())
        execute(f"DROP {word} IF EXISTS {name} CASCADE")
    for kind, _, name in execute(OBJECTS, {"schema": schema}):
        word = RELATIONS.get(kind, kind.upper())
        execute(f"ALTER {word} {name} SET SCHEMA {USUAL}")
    left = execute(OBJECTS, {"schema": schema})
    if left:
        raise Conflict(f"{left[0][2]} could not be moved. Nothing was changed.")
