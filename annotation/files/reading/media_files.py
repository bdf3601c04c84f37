"""Uploads of images and sound: one file, or an archive of them, with a table or without."""

from __future__ import annotations

import tempfile
import weakref
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from django.utils.translation import gettext as _

from annotation.files.reading.media import KINDS, MAX_BYTES, looks_like_media, refused
from annotation.files.reading.sources import PIECE, ZIP, Source, of_bytes
from annotation.files.reading.tables import BESIDE, DAMAGED, UNSEEN
from crowdqc.errors import Invalid
from crowdqc.numbers import count

MAX_FILES = 500  # in one archive
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".xls", ".ods")
# What archives have that are one file to whoever made them: workbooks.
WORKBOOK = frozenset({"[Content_Types].xml", "mimetype"})


@dataclass(frozen=True)
class MediaFiles:
    """The files of an upload, opened one at a time, and the table that names them, if any."""

    archive: zipfile.ZipFile
    members: Sequence[zipfile.ZipInfo]
    names: Mapping[str, str]  # path in the archive -> name of the file
    table: tuple[str, Source] | None = None

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        """Yield name and bytes of each file; Invalid names one that is too large or damaged."""
        for one in self.members:
            yield self.names[one.filename], _read(self.archive, one)

    @property
    def size(self) -> int:
        """Bytes of all files together, as the archive says."""
        return sum(one.file_size for one in self.members)


def pack_files(files: Sequence[tuple[str, Source]]) -> Source:
    """Make one archive of several files, as an upload is one file."""
    held = tempfile.TemporaryFile()  # noqa: SIM115 (the source reads it)
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        for name, source in files:
            with archive.open(_free(archive, name), "w") as member:
                for piece in source.pieces():
                    member.write(piece)
    size = held.seek(0, 2)

    def pieces() -> Iterator[bytes]:
        held.seek(0)
        while piece := held.read(PIECE):
            yield piece

    weakref.finalize(pieces, held.close)
    return Source(size, pieces)


def _free(archive: zipfile.ZipFile, name: str) -> str:
    """The name, with a folder before it where the archive has it already."""
    taken, number, free = set(archive.namelist()), 1, name
    while free in taken:
        number += 1
        free = f"{number}/{name}"
    return free


@contextmanager
def open_media(source: Source, name: str) -> Iterator[MediaFiles | None]:
    """Open an image or recording, or an archive of them; None for any other file.

    Invalid where it has too many files or tables.
    """
    head = source.head()
    if looks_like_media(head):
        source = pack_files([(name, source)])
    elif not head.startswith(ZIP):
        yield None
        return
    with tempfile.TemporaryFile() as file:
        for piece in source.pieces():
            file.write(piece)
        yield _opened(file)


def _opened(file: IO[bytes]) -> MediaFiles | None:
    try:
        archive = zipfile.ZipFile(file)
        shown = [
            one
            for one in archive.infolist()
            if not one.is_dir()
            and not UNSEEN.search(one.filename)
            and not BESIDE.search(one.filename)
        ]
        tables = [one for one in shown if one.filename.lower().endswith(TABLES)]
        members = [one for one in shown if one not in tables]
        has_media = any(looks_like_media(_head(archive, one)) for one in members)
    except DAMAGED:
        return None  # the reader of tables says what is wrong
    if not has_media or any(one.filename in WORKBOOK for one in shown):
        return None
    return _media_files(archive, members, tables)


def _media_files(
    archive: zipfile.ZipFile,
    members: Sequence[zipfile.ZipInfo],
    tables: Sequence[zipfile.ZipInfo],
) -> MediaFiles:
    if len(members) > MAX_FILES:
        raise Invalid(
            _("The upload has %(count)s files; %(most)s is the most.")
            % {"count": count(len(members)), "most": MAX_FILES},
            fields={"file": _("Upload fewer at once.")},
        )
    if len(tables) > 1:
        listed = ", ".join(one.filename for one in tables[:5])
        raise Invalid(
            _("The upload has several tables: %(names)s.") % {"names": listed},
            fields={"file": _("Keep the one that names the files.")},
        )
    table = None
    if tables:
        table = (tables[0].filename, of_bytes(_read(archive, tables[0])))
    bare = Counter(PurePosixPath(one.filename).name for one in members)
    names = {}
    for one in members:
        name = PurePosixPath(one.filename).name
        names[one.filename] = one.filename if bare[name] > 1 else name
    return MediaFiles(archive, members, names, table)


def _head(archive: zipfile.ZipFile, one: zipfile.ZipInfo) -> bytes:
    with archive.open(one) as member:
        return member.read(16)


def _read(archive: zipfile.ZipFile, one: zipfile.ZipInfo) -> bytes:
    """The bytes of a member, which may claim any size."""
    try:
        with archive.open(one) as member:
            data = member.read(MAX_BYTES + 1)
    except DAMAGED as error:
        raise refused(one.filename, _("is damaged or has a password"), KINDS) from error
    if len(data) > MAX_BYTES:
        raise refused(
            one.filename,
            _("has more than %(max_bytes)s MB") % {"max_bytes": MAX_BYTES // 2**20},
            _("Make it smaller."),
        )
    return data
