"""Restore a backup: load beside the current tables, check, then swap at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from psycopg import sql

from crowdqc.deployment.backup import schema, tables
from crowdqc.deployment.backup.archive import ArchiveReader, CheckedBackup, check_backup
from crowdqc.deployment.backup.envelope import DAMAGED, BadBackup
from crowdqc.deployment.backup.files import restore_files
from crowdqc.deployment.backup.places import open_backup
from crowdqc.deployment.backup.recovery import record_restored
from crowdqc.deployment.installation import read_version
from crowdqc.errors import Conflict
from crowdqc.hooks import after_restore
from crowdqc.sealing.sealed import UNREADABLE, reseal_all

Say = Callable[[str], None]


@dataclass
class Restored:
    """The result of a restore.

    Parameters
    ----------
    unreadable
        Sealed values that no key opens which is known here.
    notes
        What the apps did because time has passed since the backup (payments that are held).
    """

    checked: CheckedBackup
    seconds: float = 0.0
    unreadable: int = 0
    notes: list[str] = field(default_factory=list)


def restore_backup(
    path: Path | str,
    *,
    passphrase: str = "",
    replace: bool = False,
    in_use: bool = False,
    say: Say = lambda text: None,
) -> Restored:
    """Restore a backup into an empty database, or with ``replace`` over its data.

    ``in_use`` is for a demo: the site serves on, and nothing of it has left since the backup.

    Raises
    ------
    BadBackup
        It is damaged, cut off, another program's, or of a newer version. Nothing was changed.
    Conflict
        The database holds data, or is in use. Nothing was changed.
    """
    began = time.monotonic()
    _check_target(replace=replace, in_use=in_use)
    say("Reading the backup")
    with open_backup(path) as source:
        checked = check_backup(source, passphrase)
    restored = Restored(checked)
    with _load_tables(path, passphrase, say) as (name, secrets):
        say("Bringing tables and sealed values up to date")
        schema.migrate_to_newest()
        restore_files(path, passphrase, checked.closing)
        with transaction.atomic():
            restored.unreadable = _reseal(secrets)
            if not in_use:
                record_restored()
                restored.notes += after_restore(checked.manifest.made_at)
        say("Replacing the tables")
        with transaction.atomic():
            schema.swap_tables(name)
    restored.seconds = time.monotonic() - began
    return restored


def test_restore(
    path: Path | str, *, passphrase: str = "", say: Say = lambda text: None
) -> Restored:
    """Restore beside the current tables, compare every row, and remove it again.

    Raises Conflict before any work where the database would not take it.
    """
    began = time.monotonic()
    _check_server()
    say("Reading the backup")
    with open_backup(path) as source:
        restored = Restored(check_backup(source, passphrase))
    with _load_tables(path, passphrase, say) as (_, secrets), transaction.atomic():
        restored.unreadable = _reseal(secrets)
    restored.seconds = time.monotonic() - began
    return restored


def _check_server() -> None:
    if schema.execute("SHOW server_encoding") != [("UTF8",)]:
        raise Conflict("The database is not in UTF-8. Create one with ENCODING 'UTF8'.")
    may = "SELECT has_database_privilege(current_database(), 'CREATE'), current_user"
    ((allowed, role),) = schema.execute(may)
    if not allowed:
        raise Conflict(
            f"The role {role} may not create a schema here: GRANT CREATE ON DATABASE ... TO {role}."
        )


def _check_target(*, replace: bool, in_use: bool) -> None:
    _check_server()
    if schema.has_data() and not replace:
        raise Conflict(
            "The database holds data. Restore into an empty database, or give --replace to put "
            "the backup in its place."
        )
    if foreign := schema.foreign_tables():
        raise Conflict(
            f"The database holds tables of another program, such as {foreign[0]}. Restore into a "
            "database of its own."
        )
    if not in_use and (others := schema.count_other_sessions()):
        raise Conflict(
            f"{others} other connections to the database are open. Stop web, workers and the "
            "scheduler first."
        )


@contextmanager
def _load_tables(
    path: Path | str, passphrase: str, say: Say
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Load a backup into separate tables and compare each checksum."""
    with open_backup(path) as source:
        reader = ArchiveReader(source, passphrase)
        manifest = reader.manifest
        schema.check_migrations(manifest.migrations, manifest.version, read_version())
        with schema.scratch_schema() as name:
            say("Making the tables")
            schema.migrate_to(manifest.migrations)
            with transaction.atomic(), connection.wrap_database_errors:
                _load(reader, name, say)
            say("Comparing every table")
            own = _driver_connection()
            tables.set_text_form(own)
            for table, names in manifest.tables.items():
                found = tables.digest_table(own, name, table, names)
                if found != reader.closing["tables"][table]:
                    raise BadBackup(f"{DAMAGED} Table {table} came out differently.")
            yield name, reader.keys


def _driver_connection() -> Any:
    """Return the driver's connection below Django's."""
    connection.ensure_connection()
    return connection.connection


def _load(reader: ArchiveReader, name: str, say: Say) -> None:
    own, told = _driver_connection(), reader.manifest.tables
    tables.set_text_form(own)
    schema.check_tables(told, tables.kept_columns(own, name))
    with schema.without_constraints(name):
        for table in told:  # what migrations wrote is in the backup, too
            if schema.execute(f'SELECT 1 FROM "{table}" LIMIT 1'):  # noqa: S608
                schema.execute(f'DELETE FROM "{table}"')  # noqa: S608
        say(f"Loading {len(told)} tables")
        rows, more = reader.rows(), True
        table, text = next(rows, ("", b""))
        while table and more:
            copy = sql.SQL("COPY {} ({}) FROM STDIN").format(
                sql.Identifier(name, table), sql.SQL(", ").join(map(sql.Identifier, told[table]))
            )
            current = table
            with own.cursor() as cursor, cursor.copy(copy) as into:
                into.write(text)
                for table, text in rows:
                    if table != current:
                        break
                    into.write(text)
                else:
                    more = False
        for _ in reader.files():  # to the end, where the lists stand
            pass
        tables.set_sequences(own, name, reader.closing.get("sequences", []))
        say("Making indexes and checking references")


def _reseal(secrets: dict[str, Any]) -> int:
    """Reseal secrets under this site's key; return how many no key opens."""
    older = [secrets.get("SECRET_KEY"), *secrets.get("SECRET_KEY_FALLBACKS", [])]
    with _accept_fallback_keys([key for key in older if key]):
        return sum(counts[UNREADABLE] for _, counts in reseal_all())


@contextmanager
def _accept_fallback_keys(keys: Sequence[str]) -> Iterator[None]:
    """Accept these keys for sealed values during the command."""
    before = settings.SECRET_KEY_FALLBACKS
    settings.SECRET_KEY_FALLBACKS = [*before, *keys]
    try:
        yield
    finally:
        settings.SECRET_KEY_FALLBACKS = before
