"""Where backups lie: a folder, or a bucket of S3 (``s3://bucket/folder``)."""

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


class Place(Protocol):
    """What a backup is written to."""

    def write(self, name: str, fill: Fill, check: Check[T]) -> T:
        """Write a file and read it back; under its name there is a whole one or none."""
        ...

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A file, to be read once from its beginning."""
        ...

    def size(self, name: str) -> int:
        """Bytes of a file."""
        ...

    def names(self) -> list[str]:
        """Those that are named like backups, the oldest first."""
        ...

    def delete(self, name: str) -> None:
        """Nothing to do where there is none."""
        ...

    def delete_partial(self) -> list[str]:
        """Delete what was begun and given up; gives the names."""
        ...

    def address(self, name: str) -> str:
        """What ``restore`` takes."""
        ...


@dataclass(frozen=True)
class Folder:
    """A folder of this machine that is there; files in it are for this user alone."""

    path: Path

    def write(self, name: str, fill: Fill, check: Check[T]) -> T:
        """Until it was read back the file's name says that it is not whole."""
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
        """A file of the folder."""
        return (self.path / name).open("rb")

    def size(self, name: str) -> int:
        """Bytes of a file."""
        return (self.path / name).stat().st_size

    def names(self) -> list[str]:
        """Names sort by time."""
        return sorted(one.name for one in self.path.iterdir() if NAME.fullmatch(one.name))

    def delete(self, name: str) -> None:
        """Also one that is being written."""
        (self.path / name).unlink(missing_ok=True)

    def delete_partial(self) -> list[str]:
        """Those that nobody has written to for two days."""
        old = [
            partial
            for partial in self.path.glob(f"crowdqc-*{PARTIAL}")
            if partial.stat().st_mtime < time.time() - STALE
        ]
        for partial in old:
            partial.unlink(missing_ok=True)
        return [partial.name for partial in old]

    def address(self, name: str) -> str:
        """Its path."""
        return str(self.path / name)


@dataclass(frozen=True)
class Bucket:
    """A folder of a bucket, reached as CROWDQC_S3_ENDPOINT and its keys say."""

    bucket: str
    folder: str

    @property
    def storage(self) -> Any:
        """The bucket as a storage; boto3 is loaded only where it is asked for."""
        from crowdqc.files.s3 import Bucket as Storage

        return Storage(bucket_name=self.bucket, location=self.folder, **settings.CROWDQC_S3_OPTIONS)

    def write(self, name: str, fill: Fill, check: Check[T]) -> T:
        """An object is there when its last part was taken, so no name says that it is not whole."""
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
        """An object as a stream."""
        return closing(cast(BinaryIO, self.storage.reader(name)))

    def size(self, name: str) -> int:
        """Bytes of an object."""
        size: int = self.storage.size(name)
        return size

    def names(self) -> list[str]:
        """Names sort by time."""
        return sorted(one for one in self.storage.listdir("")[1] if NAME.fullmatch(one))

    def delete(self, name: str) -> None:
        """Nothing to do where there is none."""
        self.storage.delete(name)

    def delete_partial(self) -> list[str]:
        """Parts of uploads that were given up are no objects: a rule of the bucket deletes them."""
        return []

    def address(self, name: str) -> str:
        """With the bucket."""
        return f"{S3}{'/'.join(filter(None, (self.bucket, self.folder, name)))}"


def place_at(where: Path | str) -> Place:
    """The folder or bucket of this name. Raises Invalid for a bucket without a name."""
    told = str(where)
    if not told.startswith(S3):
        return Folder(Path(told))
    bucket, _, folder = told.removeprefix(S3).partition("/")
    if not bucket:
        raise Invalid(f"{told} names no bucket. Write {S3}bucket/folder.")
    return Bucket(bucket, folder.strip("/"))


def place_and_name(where: Path | str) -> tuple[Place, str]:
    """Of one file: where it lies, and its name there."""
    folder, _, name = str(where).rpartition("/")
    if str(where).startswith(S3):
        return place_at(folder), name
    return Folder(Path(where).parent), Path(where).name


def open_backup(where: Path | str) -> AbstractContextManager[BinaryIO]:
    """A backup by its path or its address in a bucket."""
    place, name = place_and_name(where)
    return place.open(name)
