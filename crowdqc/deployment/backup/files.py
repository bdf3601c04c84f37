"""Back up and restore files that are stored outside of the database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.files.storage import storages
from django.db import connection
from psycopg import sql

from crowdqc.deployment.backup.archive import ArchiveReader
from crowdqc.deployment.backup.envelope import DAMAGED, BadBackup
from crowdqc.deployment.backup.places import open_backup
from crowdqc.files.storages import has_checksum, write_checked

TABLE = "annotation_storedfile"
INSIDE = "database"  # the storage whose files are rows


@dataclass(frozen=True)
class StoredFileRef:
    """A file by its storage and name."""

    storage: str
    name: str


def stored_files(source: psycopg.Connection[Any], schema: str) -> list[StoredFileRef]:
    """List files outside of the database at the moment of the backup."""
    query = sql.SQL("SELECT storage, name FROM {} WHERE storage <> %s ORDER BY id").format(
        sql.Identifier(schema, TABLE)
    )
    return [StoredFileRef(*row) for row in source.execute(query, [INSIDE]).fetchall()]


def read_pieces(file: StoredFileRef) -> Iterator[bytes]:
    """Yield the content, following a move since. Raises FileNotFoundError."""
    storage: Any = storages[file.storage]
    try:
        found: Iterator[bytes] = storage.pieces(file.name)
        first = next(found, b"")
    except FileNotFoundError:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT storage FROM {TABLE} WHERE name = %s", [file.name])  # noqa: S608
            row = cursor.fetchone()
        if row is None or row[0] == file.storage:
            raise
        storage = storages[row[0]]
        found = storage.pieces(file.name)
        first = next(found, b"")
    yield first
    yield from found


def restore_files(where: Path | str, passphrase: str, closing: dict[str, Any]) -> None:
    """Write a backup's files into this site's storage and update their rows.

    Raises
    ------
    BadBackup
        One came out differently.
    """
    hashes: dict[str, str] = closing.get("files", {})
    if hashes:
        storage: Any = storages[settings.CROWDQC_FILES]
        with open_backup(where) as source:
            reader = ArchiveReader(source, passphrase)
            for _ in reader.rows():
                pass
            for name, pieces in groupby(reader.files(), key=lambda one: one[0]):
                _write_file(storage, name, (piece for _, piece in pieces), hashes[name])
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {TABLE} SET storage = %s WHERE storage <> %s",  # noqa: S608
            [settings.CROWDQC_FILES, INSIDE],
        )


def _write_file(storage: Any, name: str, pieces: Iterator[bytes], sha256: str) -> None:
    if storage.exists(name) and has_checksum(storage, name, sha256):
        return  # the site's own bucket still has it
    if not write_checked(storage, name, pieces, sha256):
        raise BadBackup(f"{DAMAGED} File {name} came out differently.")
