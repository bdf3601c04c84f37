"""The content of a backup: a gzipped tar file of rows as text, between two lists.

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
    """What a backup is of: written first, read before anything else.

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
    """The rows of one table: how many, and the checksum of their text."""

    rows: int = 0
    hash: Any = field(default_factory=hashlib.sha256)

    def add(self, text: bytes) -> None:
        """More of the rows; a line break within a value is escaped."""
        self.rows += text.count(b"\n")
        self.hash.update(text)

    def told(self) -> dict[str, Any]:
        """As it stands in the closing list."""
        return {"rows": self.rows, "sha256": self.hash.hexdigest()}


class _Output:
    """A file that takes nothing more once writing failed.

    Else what is packed on the way to it would be written again by each layer as it is thrown away.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._failed = out, False

    def write(self, data: bytes) -> int:
        """Write, unless that failed before; raises OSError the first time."""
        if not self._failed:
            try:
                self._out.write(data)
            except OSError:
                self._failed = True
                raise
        return len(data)

    def flush(self) -> None:
        """Hand on what is held back; raises OSError as ``write`` does."""
        if not self._failed:
            self._out.flush()


class ArchiveWriter:
    """Writes a backup into an open file, member by member."""

    def __init__(self, file: BinaryIO, passphrase: str = "") -> None:
        out = cast(BinaryIO, _Output(file))
        self._sealed = SealingWriter(out, passphrase) if passphrase else None
        self._zip = gzip.GzipFile(
            fileobj=cast(Any, self._sealed or out), mode="wb", compresslevel=LEVEL, mtime=0
        )
        self._tar = tarfile.open(fileobj=self._zip, mode="w|", format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self._folder, self._number = "", 0

    def add(self, name: str, content: bytes) -> None:
        """One member."""
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(content), 0o600
        self._tar.addfile(info, io.BytesIO(content))

    def add_json(self, name: str, value: Any) -> None:
        """One list."""
        self.add(name, json.dumps(value, indent=1).encode())

    def add_rows(self, table: str, text: bytes) -> None:
        """More rows of a table; those of one come together."""
        self._add_next(f"tables/{table}", "copy", text)

    def add_piece(self, name: str, data: bytes) -> None:
        """More of a file; the pieces of one come together."""
        self._add_next(f"files/{name}", "part", data)

    def _add_next(self, folder: str, kind: str, content: bytes) -> None:
        self._number = self._number + 1 if folder == self._folder else 1
        self._folder = folder
        self.add(f"{folder}/{self._number:06d}.{kind}", content)

    def close(self) -> None:
        """End the file; before that it counts as cut off."""
        self._tar.close()
        self._zip.close()
        if self._sealed is not None:
            self._sealed.close()


class ArchiveReader:
    """A backup that is read once, from its beginning to its end.

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
        with told_damage():
            try:
                self._tar = tarfile.open(fileobj=self._zip, mode="r|")  # noqa: SIM115
            except tarfile.ReadError:
                raise BadBackup(FOREIGN) from None
            self.manifest = _manifest(self._list(self._tar.next(), MANIFEST))
            if self.manifest.keys:
                self.keys = self._list(self._tar.next(), KEYS)

    def rows(self) -> Iterator[tuple[str, bytes]]:
        """Name of a table and some of its rows, all of one together. Raises BadBackup."""
        digests = self._digests = {name: Digest() for name in self.manifest.tables}
        with told_damage():
            while (member := self._tar.next()) is not None and member.name.startswith("tables/"):
                table = member.name.split("/")[1]
                if table not in digests or member.size > LARGEST_PART:
                    raise BadBackup(DAMAGED)
                text = self._content(member)
                digests[table].add(text)
                yield table, text
            self._next = member

    def files(self) -> Iterator[tuple[str, bytes]]:
        """After the rows: name of a file and a piece of it, all of one together.

        Raises
        ------
        BadBackup
            Something is not as it was written; the last thing that is looked at is the end.
        """
        digests, member, found = self._digests, self._next, dict[str, Any]()
        with told_damage():
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
            if self.closing.get("tables", {}).get(name) != digest.told():
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
def told_damage() -> Iterator[None]:
    """What gzip and tar raise of a broken file, in our words."""
    try:
        yield
    except EOFError:
        raise BadBackup(CUT_OFF) from None
    except (OSError, zlib.error, tarfile.TarError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, OSError) and error.errno:
            raise  # of the disk, not of the content
        cut = "unexpected end" in str(error)
        raise BadBackup(CUT_OFF if cut else DAMAGED) from None


def _manifest(told: dict[str, Any]) -> Manifest:
    """What the first list says; BadBackup for another program's, or one from the future."""
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
    """As it is written."""
    return asdict(manifest)


@dataclass(frozen=True)
class Checked:
    """A backup that was read to its end and is whole."""

    manifest: Manifest
    closing: dict[str, Any]

    @property
    def missing(self) -> list[str]:
        """Files that its rows name and that were gone when it was made."""
        return list(self.closing.get("missing", []))

    @property
    def rows(self) -> int:
        """How many rows it holds."""
        return sum(one["rows"] for one in self.closing["tables"].values())


def check(source: BinaryIO, passphrase: str = "") -> Checked:
    """Read a backup to its end; BadBackup where it is not whole."""
    reader = ArchiveReader(source, passphrase)
    for _ in reader.rows():
        pass
    for _ in reader.files():
        pass
    return Checked(reader.manifest, reader.closing)
