"""The format of a backup: a gzipped tar of rows as text between two lists.

``manifest.json`` comes first and says what follows; ``tables/NAME/NUMBER.copy`` are rows in the
text format of PostgreSQL's COPY, a few megabytes each; ``files/NAME/NUMBER.part`` are pieces of
files that lie outside of the database; ``closing.json`` comes last with the number of rows and a
checksum of each table and file. Without a passphrase the file is just that, so ``tar`` opens
it; with one, it lies in an envelope.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO, cast

from crowdqc.deployment.backup.envelope import (
    CUT_OFF,
    DAMAGED,
    MAGIC,
    BadBackup,
    SealedReader,
    SealingWriter,
    is_sealed,
)
from crowdqc.files.json_input import Unreadable, read_json

FORMAT = 1
MANIFEST, KEYS, CLOSING = "manifest.json", "keys.json", "closing.json"
PART = 4 << 20  # bytes of rows in one member, beyond which it takes no more rows
LARGEST_PART = 1 << 30  # the longest that PostgreSQL writes one row
LARGEST_LIST = 64 << 20
GZIP = b"\x1f\x8b"
LEVEL = 3  # a third of the time of the usual level, for a tenth more bytes
FOREIGN = "This is no backup of crowdqc."


@dataclass(frozen=True)
class Manifest:
    """The header of a backup: written and read first.

    Parameters
    ----------
    made_at
        The moment of its rows, ISO 8601.
    migrations
        Those applied, as [app, name].
    tables
        The columns of each table in the order of its rows' text.
    keys
        Whether the secrets of the installation are in it.
    """

    version: str
    made_at: str
    database: str
    migrations: list[list[str]]
    tables: dict[str, list[str]]
    keys: bool
    app: str = "crowdqc"
    format: int = FORMAT


@dataclass
class Digest:
    """Number and checksum of the rows of one table."""

    rows: int = 0
    hash: Any = field(default_factory=hashlib.sha256)

    def add(self, text: bytes) -> None:
        """Add rows; line breaks within a value are escaped."""
        self.rows += text.count(b"\n")
        self.hash.update(text)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the closing list."""
        return {"rows": self.rows, "sha256": self.hash.hexdigest()}


class _Output:
    """A file that accepts nothing more after a failed write.

    Else what is packed on the way to it would be written again by each layer as it is thrown away.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._failed = out, False

    def write(self, data: bytes) -> int:
        """Write, or raise OSError on the first failure only."""
        if not self._failed:
            try:
                self._out.write(data)
            except OSError:
                self._failed = True
                raise
        return len(data)

    def flush(self) -> None:
        """Flush, or raise OSError as ``write`` does."""
        if not self._failed:
            self._out.flush()


class ArchiveWriter:
    """Write a backup into an open file, member by member."""

    def __init__(self, file: BinaryIO, passphrase: str = "") -> None:
        out = cast(BinaryIO, _Output(file))
        self._sealed = SealingWriter(out, passphrase) if passphrase else None
        self._zip = gzip.GzipFile(
            fileobj=cast(Any, self._sealed or out), mode="wb", compresslevel=LEVEL, mtime=0
        )
        self._tar = tarfile.open(fileobj=self._zip, mode="w|", format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self._folder, self._number = "", 0

    def add(self, name: str, content: bytes) -> None:
        """Add one member."""
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(content), 0o600
        self._tar.addfile(info, io.BytesIO(content))

    def add_json(self, name: str, value: Any) -> None:
        """Add a list as JSON."""
        self.add(name, json.dumps(value, indent=1).encode())

    def add_rows(self, table: str, text: bytes) -> None:
        """Add rows of a table; rows of one table must follow each other."""
        self._add_next(f"tables/{table}", "copy", text)

    def add_piece(self, name: str, data: bytes) -> None:
        """Add a piece of a file; pieces of one file must follow each other."""
        self._add_next(f"files/{name}", "part", data)

    def _add_next(self, folder: str, kind: str, content: bytes) -> None:
        self._number = self._number + 1 if folder == self._folder else 1
        self._folder = folder
        self.add(f"{folder}/{self._number:06d}.{kind}", content)

    def close(self) -> None:
        """Finish the archive; an unfinished archive counts as truncated."""
        self._tar.close()
        self._zip.close()
        if self._sealed is not None:
            self._sealed.close()


class ArchiveReader:
    """Read a backup once from start to end.

    ``manifest`` and ``keys`` are there at once; ``rows`` and then ``files`` give the rest;
    ``closing`` is there when that has come to its end, which only a whole backup does.
    """

    def __init__(self, source: BinaryIO, passphrase: str = "") -> None:
        peeked = (
            source
            if isinstance(source, io.BufferedReader)
            else io.BufferedReader(cast(io.RawIOBase, source))
        )
        head, source = peeked.peek(len(MAGIC))[: len(MAGIC)], peeked
        if is_sealed(head):
            if not passphrase:
                raise BadBackup("The backup is encrypted. Give --passphrase-file.")
            source = cast(BinaryIO, SealedReader(source, passphrase))
        elif not head.startswith(GZIP):
            raise BadBackup(FOREIGN)
        self._zip = gzip.GzipFile(fileobj=source, mode="rb")
        self._digests: dict[str, Digest] = {}
        self._next: tarfile.TarInfo | None = None
        self.closing: dict[str, Any] = {}
        self.keys: dict[str, Any] = {}
        with translate_damage():
            try:
                self._tar = tarfile.open(fileobj=self._zip, mode="r|")  # noqa: SIM115
            except tarfile.ReadError:
                raise BadBackup(FOREIGN) from None
            self.manifest = _parse_manifest(self._list(self._tar.next(), MANIFEST))
            if self.manifest.keys:
                self.keys = self._list(self._tar.next(), KEYS)

    def rows(self) -> Iterator[tuple[str, bytes]]:
        """Yield table names with batches of their rows. Raises BadBackup."""
        digests = self._digests = {name: Digest() for name in self.manifest.tables}
        with translate_damage():
            while (member := self._tar.next()) is not None and member.name.startswith("tables/"):
                table = member.name.split("/")[1]
                if table not in digests or member.size > LARGEST_PART:
                    raise BadBackup(DAMAGED)
                text = self._content(member)
                digests[table].add(text)
                yield table, text
            self._next = member

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield file names with pieces of their content, after the rows.

        Raises
        ------
        BadBackup
            Something is not as it was written; the last thing that is looked at is the end.
        """
        digests, member, found = self._digests, self._next, dict[str, Any]()
        with translate_damage():
            while member is not None and member.name.startswith("files/"):
                name = member.name.removeprefix("files/").rpartition("/")[0]
                if member.size > LARGEST_PART:
                    raise BadBackup(DAMAGED)
                piece = self._content(member)
                found.setdefault(name, hashlib.sha256()).update(piece)
                yield name, piece
                member = self._tar.next()
            self.closing = self._list(member, CLOSING)
            if self._tar.next() is not None:
                raise BadBackup(DAMAGED)
            while self._zip.read(PART):  # to its end, where its checksum stands
                pass
        for name, digest in digests.items():
            if self.closing.get("tables", {}).get(name) != digest.as_dict():
                raise BadBackup(f"{DAMAGED} ({name})")
        if self.closing.get("files", {}) != {name: one.hexdigest() for name, one in found.items()}:
            raise BadBackup(DAMAGED)

    def _content(self, member: tarfile.TarInfo) -> bytes:
        file = self._tar.extractfile(member)
        if file is None:
            raise BadBackup(DAMAGED)
        return file.read()

    def _list(self, member: tarfile.TarInfo | None, name: str) -> dict[str, Any]:
        if member is None or member.name != name or member.size > LARGEST_LIST:
            raise BadBackup(FOREIGN if name == MANIFEST else CUT_OFF)
        try:
            found = read_json(self._content(member))
        except Unreadable:
            raise BadBackup(DAMAGED) from None
        if not isinstance(found, dict):
            raise BadBackup(DAMAGED)
        return found


@contextmanager
def translate_damage() -> Iterator[None]:
    """Translate errors of gzip and tar into BadBackup."""
    try:
        yield
    except EOFError:
        raise BadBackup(CUT_OFF) from None
    except (OSError, zlib.error, tarfile.TarError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, OSError) and error.errno:
            raise  # of the disk, not of the content
        cut = "unexpected end" in str(error)
        raise BadBackup(CUT_OFF if cut else DAMAGED) from None


def _parse_manifest(told: dict[str, Any]) -> Manifest:
    """Parse the manifest; BadBackup if it is foreign or from a newer version."""
    if told.get("app") != "crowdqc":
        raise BadBackup(FOREIGN)
    version, made_by = told.get("format"), told.get("version", "?")
    if not isinstance(version, int) or version > FORMAT:
        raise BadBackup(
            f"The backup was made by crowdqc {made_by} in format {version}; this one reads up to "
            f"format {FORMAT}. Update crowdqc first."
        )
    try:
        return Manifest(**told)
    except TypeError:
        raise BadBackup(DAMAGED) from None


def manifest_json(manifest: Manifest) -> dict[str, Any]:
    """Return the manifest as JSON."""
    return asdict(manifest)


@dataclass(frozen=True)
class CheckedBackup:
    """A backup that was read to its end and is complete."""

    manifest: Manifest
    closing: dict[str, Any]

    @property
    def missing(self) -> list[str]:
        """Files that rows name but that were gone when the backup was made."""
        return list(self.closing.get("missing", []))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(one["rows"] for one in self.closing["tables"].values())


def check_backup(source: BinaryIO, passphrase: str = "") -> CheckedBackup:
    """Read a backup to its end; BadBackup if it is incomplete."""
    reader = ArchiveReader(source, passphrase)
    for _ in reader.rows():
        pass
    for _ in reader.files():
        pass
    return CheckedBackup(reader.manifest, reader.closing)
