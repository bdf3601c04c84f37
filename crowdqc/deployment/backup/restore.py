"""Restoring a backup: beside the tables in use, checked, and then put in their place at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.utils.module_loading import import_string
from psycopg import sql

from crowdqc.deployment.backup import schema, tables
from crowdqc.deployment.backup.archive import ArchiveReader, Checked, check
from crowdqc.deployment.backup.envelope import DAMAGED, BadBackup
from crowdqc.deployment.backup.files import put_files
from crowdqc.deployment.backup.places import open_backup
from crowdqc.deployment.installation import version
from crowdqc.errors import Conflict
from crowdqc.sealing.sealed import UNREADABLE, reseal_all

Say = Callable[[str], None]


@dataclass
class Restored:
    """What came of it: said to whoever restores.

    Parameters
    ----------
    unreadable
        Sealed values that no key opens which is known here.
    notes
        What the apps did because time has passed since the backup (payments that are held).
    """

    checked: Checked
    seconds: float = 0.0
    unreadable: int = 0
    notes: list[str] = field(default_factory=list)


def restore(
    path: Path | str,
    *,
    passphrase: str = "",
    replace: bool = False,
    say: Say = lambda text: None,
) -> Restored:
    """Put a backup in the place of an empty database, or with ``replace`` of what is there.

    Raises
    ------
    BadBackup
        It is damaged, cut off, another program's, or of a newer version. Nothing was changed.
    Conflict
        The database holds data, or is in use. Nothing was changed.
    """
    began = time.monotonic()
    _check_target(replace=replace)
    say("Reading the backup")
    with open_backup(path) as source:
        checked = check(source, passphrase)
    restored = Restored(checked)
    with _loaded(path, passphrase, say) as (name, secrets):
        say("Bringing tables and sealed values up to date")
        schema.migrate_to_newest()
        put_files(path, passphrase, checked.closing)
        with transaction.atomic():
            restored.unreadable = _reseal(secrets)
            for after in settings.CROWDQC_AFTER_RESTORE:
                restored.notes += import_string(after)(checked.manifest.made_at)
        say("Replacing the tables")
        with transaction.atomic():
            schema.swap(name)
    restored.seconds = time.monotonic() - began
    return restored


def try_restore(
    path: Path | str, *, passphrase: str = "", say: Say = lambda text: None
) -> Restored:
    """Restore a backup beside the tables in use, compare every row, and remove it again.

    Raises Conflict before any work where the database would not take it.
    """
    began = time.monotonic()
    _check_server()
    say("Reading the backup")
    with open_backup(path) as source:
        restored = Restored(check(source, passphrase))
    with _loaded(path, passphrase, say) as (_, secrets), transaction.atomic():
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


def _check_target(*, replace: bool) -> None:
    _check_server()
    if schema.in_use() and not replace:
        raise Conflict(
            "The database holds data. Restore into an empty database, or give --replace to put "
            "the backup in its place."
        )
    if foreign := schema.foreign_tables():
        raise Conflict(
            f"The database holds tables of another program, such as {foreign[0]}. Restore into a "
            "database of its own."
        )
    if others := schema.other_sessions():
        raise Conflict(
            f"{others} other connections to the database are open. Stop web, workers and the "
            "scheduler first."
        )


@contextmanager
def _loaded(path: Path | str, passphrase: str, say: Say) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a backup in tables of their own, each compared with its checksum."""
    with open_backup(path) as source:
        reader = ArchiveReader(source, passphrase)
        manifest = reader.manifest
        schema.check_migrations(manifest.migrations, manifest.version, version())
        with schema.scratch_schema() as name:
            say("Making the tables")
            schema.migrate_to(manifest.migrations)
            with transaction.atomic(), connection.wrap_database_errors:
                _load(reader, name, say)
            say("Comparing every table")
            own = _own()
            tables.set_text_form(own)
            for table, names in manifest.tables.items():
                found = tables.digest(own, name, table, names)
                if found != reader.closing["tables"][table]:
                    raise BadBackup(f"{DAMAGED} Table {table} came out differently.")
            yield name, reader.keys


def _own() -> Any:
    """The driver's connection below Django's."""
    connection.ensure_connection()
    return connection.connection


def _load(reader: ArchiveReader, name: str, say: Say) -> None:
    own, told = _own(), reader.manifest.tables
    tables.set_text_form(own)
    schema.check_tables(told, tables.columns(own, name))
    with schema.bare_tables(name):
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
    """Seal the backup's secrets under this site's key; gives how many no key opens."""
    older = [secrets.get("SECRET_KEY"), *secrets.get("SECRET_KEY_FALLBACKS", [])]
    with _fallbacks([key for key in older if key]):
        return sum(counts[UNREADABLE] for _, counts in reseal_all())


@contextmanager
def _fallbacks(keys: Sequence[str]) -> Iterator[None]:
    """For the time of a command, values sealed under these keys are opened, too."""
    before = settings.SECRET_KEY_FALLBACKS
    settings.SECRET_KEY_FALLBACKS = [*before, *keys]
    try:
        yield
    finally:
        settings.SECRET_KEY_FALLBACKS = before
