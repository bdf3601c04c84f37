"""Django storages for files: database, folder, or S3 bucket.

Each streams: ``open(name, "wb")`` takes a file piece by piece, ``pieces`` gives it so. None gives
addresses: files leave by the views alone, which ask who may see them.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import psycopg
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, Storage
from django.db import connection
from django.utils.deconstruct import deconstructible

PIECE = 1 << 20  # bytes
TABLE = "crowdqc_file_piece"
WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def has_checksum(storage: Any, name: str, sha256: str) -> bool:
    """Whether an existing file has this checksum."""
    digest = hashlib.sha256()
    for piece in storage.pieces(name):
        digest.update(piece)
    return digest.hexdigest() == sha256


def write_checked(storage: Any, name: str, pieces: Iterable[bytes], sha256: str) -> bool:
    """Write a file over a possible older one, read it back, and compare."""
    if storage.exists(name):
        storage.delete(name)
    with storage.open(name, "wb") as out:
        for piece in pieces:
            out.write(piece)
    return has_checksum(storage, name, sha256)


class _Piecewise(io.RawIOBase):
    """A file that is being written into the table."""

    def __init__(self, name: str) -> None:
        self._name, self._number, self._waiting = name, 0, bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Write data; full pieces become rows."""
        self._waiting += data
        while len(self._waiting) >= PIECE:
            self._store_piece(bytes(self._waiting[:PIECE]))
            del self._waiting[:PIECE]
        return len(data)

    def close(self) -> None:
        """Write the rest; an empty file has one empty piece."""
        if not self.closed and (self._waiting or not self._number):
            self._store_piece(bytes(self._waiting))
        super().close()

    def _store_piece(self, data: bytes) -> None:
        # Bytes go as they are: within a statement they would be written as hexadecimal digits.
        with connection.cursor() as cursor, psycopg.Cursor(cursor.connection) as bound:
            bound.execute(
                f"INSERT INTO {TABLE} (name, number, data) VALUES (%s, %s, %b)",  # noqa: S608
                [self._name, self._number, data],
            )
        self._number += 1


def _rows(query: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query.format(TABLE), values)
        return cursor.fetchall() if cursor.description else []


@deconstructible
class DatabaseStorage(Storage):
    """Files as rows of PostgreSQL: no setup, shared by all machines, backed up.

    What is written or deleted in a transaction is undone with it.
    """

    transactional = True

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content in pieces. Raises FileNotFoundError."""
        number = 0
        while rows := _rows("SELECT data FROM {} WHERE name = %s AND number = %s", name, number):
            yield bytes(rows[0][0])
            number += 1
        if not number:
            raise FileNotFoundError(name)

    def _open(self, name: str, mode: str = "rb") -> File[Any]:
        if "w" in mode:
            return File(cast(Any, _Piecewise(name)), name)
        return File(io.BytesIO(b"".join(self.pieces(name))), name)

    def _save(self, name: str, content: Any) -> str:
        with self._open(name, "wb") as out:
            for piece in content.chunks(PIECE):
                out.write(piece)
        return name

    def delete(self, name: str) -> None:
        """Delete the file if it exists."""
        _rows("DELETE FROM {} WHERE name = %s", name)

    def exists(self, name: str) -> bool:
        return bool(_rows("SELECT 1 FROM {} WHERE name = %s AND number = 0", name))

    def size(self, name: str) -> int:
        ((found,),) = _rows("SELECT sum(length(data)) FROM {} WHERE name = %s", name)
        if found is None:
            raise FileNotFoundError(name)
        size: int = found
        return size

    def get_modified_time(self, name: str) -> Any:
        ((at,),) = _rows("SELECT max(at) FROM {} WHERE name = %s", name)
        if at is None:
            raise FileNotFoundError(name)
        return at

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        start = f"{path.rstrip('/')}/" if path.strip("/.") else ""
        found = _rows("SELECT name FROM {} WHERE number = 0 AND starts_with(name, %s)", start)
        rest = sorted(name.removeprefix(start) for (name,) in found)
        folders = dict.fromkeys(one.partition("/")[0] for one in rest if "/" in one)
        return list(folders), [one for one in rest if "/" not in one]


@deconstructible
class FolderStorage(FileSystemStorage):
    """Files in a folder that all machines share."""

    transactional = False

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content in pieces. Raises FileNotFoundError."""
        with open(self.path(name), "rb") as file:
            while piece := file.read(PIECE):
                yield piece

    def _open(self, name: str, mode: str = "rb") -> File[Any]:
        path = Path(self.path(name))
        if "w" in mode:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return File(os.fdopen(os.open(path, WRITE, 0o600), mode), name)
        return File(path.open(mode), name)
