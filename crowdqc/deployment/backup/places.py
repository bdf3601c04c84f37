"""Backup locations: a folder, or a bucket of S3 (``s3://bucket/folder``)."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar, cast

from django.conf import settings

from crowdqc.errors import Conflict, Invalid

PARTIAL = ".partial"  # the end of a name while the file is written
NAME = re.compile(r"crowdqc-\d{8}T\d{6}Z\.(?:backup|tar\.gz)")
STALE = 2 * 86_400  # seconds after which a file that is being written was given up
S3 = "s3://"
T = TypeVar("T")
Fill = Callable[[BinaryIO], None]
Check = Callable[[BinaryIO], T]


class BackupLocation(Protocol):
    """Where backups are written."""

    def write(self, name: str, fill: Fill, check: Check[T]) -> T:
        """Write a file and read it back; the name exists only when complete."""
        ...

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for one sequential read."""
        ...

    def size(self, name: str) -> int:
        """Return the bytes of a file."""
        ...

    def names(self) -> list[str]:
        """List the backups, oldest first."""
        ...

    def delete(self, name: str) -> None:
        """Delete a file if it exists."""
        ...

    def delete_partial(self) -> list[str]:
        """Delete abandoned partial files and return their names."""
        ...

    def address(self, name: str) -> str:
        """The address that ``restore`` accepts."""
        ...


@dataclass(frozen=True)
class Folder:
    """A folder of this machine; its files are readable by this user only."""

    path: Path

    def write(self, name: str, fill: Fill, check: Check[T]) -> T:
        """Write under a partial name until the file was read back."""
        if not self.path.is_dir():
            # Made here it would lie on the wrong disk wherever one is to be mounted.
            raise Invalid(f"The folder {self.path} is not there. Mount it, or create it.")
        partial = self.path / (name + PARTIAL)
        try:
            file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise Conflict(f"Another backup is being written to {partial}.") from None
        try:
            with os.fdopen(file, "wb") as out:
                fill(out)
                out.flush()
                os.fsync(out.fileno())
            with partial.open("rb") as source:
                checked = check(source)
            partial.rename(self.path / name)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        return checked

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file of the folder."""
        return (self.path / name).open("rb")

    def size(self, name: str) -> int:
        """Return the bytes of a file."""
        return (self.path / name).stat().st_size

    def names(self) -> list[str]:
        """List the backups; names sort by time."""
        return sorted(one.name for one in self.path.iterdir() if NAME.fullmatch(one.name))

    def delete(self, name: str) -> None:
        """Delete a file, even one that is being written."""
        (self.path / name).unlink(missing_ok=True)

    def delete_partial(self) -> list[str]:
        """Delete partial files that were not written to for two days."""
        old = [
            partial
            for partial in self.path.glob(f"crowdqc-*{PARTIAL}")
            if partial.stat().st_mtime < time.time() - STALE
        ]
        for partial in old:
            partial.unlink(missing_ok=True)
        return [partial.name for partial in old]

    def address(self, name: str) -> str:
        """The path."""
        return str(self.path / name)


@dataclass(frozen=True)
class Bucket:
    """A folder of a bucket, reached with CROWDQC_S3_ENDPOINT and its keys."""

    bucket: str
    folder: str

    @property
    def storage(self) -> Any:
        """The bucket as a storage; boto3 is loaded on first use."""
        from crowdqc.files.s3 import Bucket as Storage

        return Storage(bucket_name=self.bucket, location=self.folder, **settings.CROWDQC_S3_OPTIONS)

    def write(self, name: str, fill: Fill, check: Check[T]) -> T:
        """Write an object; it exists only when its last part was accepted."""
        storage = self.storage
        out = storage.open(name, "wb")
        try:
            fill(cast(BinaryIO, out))
        except BaseException:
            out.abort()
            raise
        out.close()
        try:
            with closing(storage.reader(name)) as source:
                return check(cast(BinaryIO, source))
        except BaseException:
            storage.delete(name)
            raise

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open an object as a stream."""
        return closing(cast(BinaryIO, self.storage.reader(name)))

    def size(self, name: str) -> int:
        """Return the bytes of an object."""
        size: int = self.storage.size(name)
        return size

    def names(self) -> list[str]:
        """List the backups; names sort by time."""
        return sorted(one for one in self.storage.listdir("")[1] if NAME.fullmatch(one))

    def delete(self, name: str) -> None:
        """Delete an object if it exists."""
        self.storage.delete(name)

    def delete_partial(self) -> list[str]:
        """Do nothing: a rule of the bucket deletes parts of abandoned uploads."""
        return []

    def address(self, name: str) -> str:
        """The address with its bucket."""
        return f"{S3}{'/'.join(filter(None, (self.bucket, self.folder, name)))}"


def open_location(where: Path | str) -> BackupLocation:
    """Return the folder or bucket of this name. Raises Invalid without a bucket."""
    told = str(where)
    if not told.startswith(S3):
        return Folder(Path(told))
    bucket, _, folder = told.removeprefix(S3).partition("/")
    if not bucket:
        raise Invalid(f"{told} names no bucket. Write {S3}bucket/folder.")
    return Bucket(bucket, folder.strip("/"))


def split_address(where: Path | str) -> tuple[BackupLocation, str]:
    """Split the address of a file into its location and name."""
    folder, _, name = str(where).rpartition("/")
    if str(where).startswith(S3):
        return open_location(folder), name
    return Folder(Path(where).parent), Path(where).name


def open_backup(where: Path | str) -> AbstractContextManager[BinaryIO]:
    """Open a backup by its path or bucket address."""
    place, name = split_address(where)
    return place.open(name)
