"""The file that holds a project: a ZIP of plain JSON lines and files, which says itself what it is.

``manifest.json`` lists every other member with its SHA-256, and the rows of each table.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from crowdqc.deployment.installation import read_version
from crowdqc.errors import Invalid

KIND, FORMAT = "crowdqc project", 1
MANIFEST, README = "manifest.json", "README.txt"
PEOPLE, VECTORS = "people.jsonl", "vectors.jsonl"
PIECE = 1 << 20  # bytes
LARGEST_MANIFEST = 64 << 20  # bytes
LARGEST_ROW = 512 << 20  # bytes
MOMENT = (1980, 1, 1, 0, 0, 0)  # of each member, so that equal rows give equal bytes
UNREADABLE = (
    *(OSError, EOFError, RuntimeError, ValueError, OverflowError),
    *(struct.error, zlib.error, zipfile.BadZipFile, zipfile.LargeZipFile),
)

WORDS = """This is one project of crowdqc, a program for annotation with quality control.

manifest.json      what the project is called, when and by which version this was written, and of
                   each other file its SHA-256 and number of rows; the sums of the books; its runs
people.jsonl       the people that rows point to: their number here, and a pseudonym or account
rows/NAME.jsonl    a table each: one row a line, as JSON. "id" is the row's number, and a column
                   whose name ends in "_id" is the number of a row in another table. Moments are
                   ISO 8601 in UTC, amounts and UUIDs are texts, bytes are in base64.
vectors.jsonl      vectors of texts, by encoder and the SHA-256 of the text: float32, base64
files/SHA256       images, recordings and uploads; rows/annotation.StoredFile.jsonl names them

The tables to begin with:
annotation.Task, annotation.TaskVersion   what people were asked to do, with settings and texts
annotation.Item, annotation.Candidate     questions, and texts under judgment
annotation.Membership                     people of the project, workers under pseudonyms
annotation.Assignment, annotation.Answer  who answered what; the values of an answer are in
                                          annotation.TextValue, ChoiceValue and SpanValue
annotation.EventBatch                     the log of what workers did on the page
annotation.LedgerEntry                    the books: each row moves an amount between two accounts
annotation.AuditEntry                     who did what and when
evaluation.Run, evaluation.RunFigure      computed results, with their recipe; scores are in
                                          evaluation.WorkerScore, SystemScore, ItemLabel and others

Whoever has crowdqc takes it in by: python manage.py crowdqc_project import FILE
No passwords, tokens, keys, payment details or addresses of people are in it.
"""


class BadArchive(Invalid):
    """The file is damaged, cut off, of another program, or of another version."""

    code = "bad-archive"


@dataclass
class Member:
    """What the manifest says of a file: its checksum, its size, and the rows of a table."""

    sha256: str
    size: int
    rows: int | None = None


@dataclass
class Manifest:
    """What an archive holds.

    Parameters
    ----------
    purpose
        "move": the source has given the project away; "copy": it goes on there.
    migrations
        Those applied, as "app.name".
    ids
        The lowest and the highest id of each table that has rows.
    books
        The debit and credit of each account by currency, as "EUR work:12".
    snapshots
        Frozen answers that are still what they were: id -> [reader, id of what reads them].
    fresh
        Those of them since which no answer came.
    dropped
        Keys that point to rows of other projects, and are empty here: how many of each.
    """

    version: str
    made_at: str
    purpose: str
    people: str
    project: int
    name: str
    migrations: list[str]
    members: dict[str, Member] = field(default_factory=dict)
    ids: dict[str, list[int]] = field(default_factory=dict)
    books: dict[str, list[str]] = field(default_factory=dict)
    snapshots: dict[str, list[Any]] = field(default_factory=dict)
    fresh: list[int] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    kind: str = KIND
    format: int = FORMAT


def applied_migrations() -> list[str]:
    """Return the migrations of this database that decide what tables look like."""
    rows = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in rows if app in ("annotation", "evaluation"))


def rows_name(label: str) -> str:
    """Return the member that holds the rows of a table."""
    return f"rows/{label}.jsonl"


def file_name(sha256: str) -> str:
    """Return the member that holds a file."""
    return f"files/{sha256}"


class ArchiveWriter:
    """Writes members one after another, and the manifest at the end."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self.members: dict[str, Member] = {}

    def add_pieces(self, name: str, pieces: Iterable[bytes]) -> Member:
        """Add one member piece by piece."""
        digest, size = hashlib.sha256(), 0
        with self._zip.open(self._info(name), "w", force_zip64=True) as out:
            for piece in pieces:
                digest.update(piece)
                size += len(piece)
                out.write(piece)
        self.members[name] = Member(digest.hexdigest(), size)
        return self.members[name]

    def add_rows(self, name: str, rows: Iterable[dict[str, Any]]) -> int:
        """Add a table, a row a line; return how many."""
        count = 0

        def lines() -> Iterator[bytes]:
            nonlocal count
            for row in rows:
                count += 1
                yield encode_line(row)

        member = self.add_pieces(name, lines())
        member.rows = count
        return count

    def close(self, manifest: Manifest) -> None:
        """Write the manifest and finish the file."""
        manifest.members = self.members
        text = json.dumps(asdict(manifest), indent=1, ensure_ascii=False).encode()
        with self._zip.open(self._info(MANIFEST), "w") as out:
            out.write(text)
        self._zip.close()

    @staticmethod
    def _info(name: str) -> zipfile.ZipInfo:
        info = zipfile.ZipInfo(name, MOMENT)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        return info


def encode_line(row: dict[str, Any]) -> bytes:
    """Return a row as one line of JSON."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_json(text: bytes) -> Any:
    """Parse JSON as this program wrote it. Raises ValueError or RecursionError."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no number")

    return json.loads(text, parse_constant=refuse)


class ArchiveReader:
    """Reads an archive that anybody may have made."""

    def __init__(self, path: Path) -> None:
        """Open the file and read its manifest. Raises BadArchive, saying why."""
        self.path = path
        if not path.is_file():
            raise BadArchive(f"{path.name} is no file.")
        try:
            self._zip = zipfile.ZipFile(path)
            self.manifest = self._read_manifest()
        except UNREADABLE as error:
            raise BadArchive(f"{path.name} is damaged or cut off: {error}") from error

    def _read_manifest(self) -> Manifest:
        names = self._zip.namelist()
        if MANIFEST not in names:
            raise BadArchive(f"{self.path.name} has no {MANIFEST}; it is no project of crowdqc.")
        if self._zip.getinfo(MANIFEST).file_size > LARGEST_MANIFEST:
            raise BadArchive(f"The manifest of {self.path.name} is too large.")
        try:
            found = read_json(self._zip.read(MANIFEST))
        except (ValueError, RecursionError) as error:
            raise BadArchive(f"The manifest of {self.path.name} cannot be read: {error}") from error
        if not isinstance(found, dict) or found.get("kind") != KIND:
            raise BadArchive(f"{self.path.name} is no project of crowdqc.")
        if found.get("format") != FORMAT:
            raise BadArchive(
                f"{self.path.name} has format {found.get('format')}; this version reads {FORMAT}."
            )
        try:
            members = {name: Member(**one) for name, one in found.pop("members").items()}
            manifest = Manifest(**found, members=members)
        except (TypeError, KeyError, AttributeError) as error:
            raise BadArchive(f"The manifest of {self.path.name} is not whole: {error}") from error
        if sorted(names) != sorted([*manifest.members, MANIFEST]):
            raise BadArchive(f"{self.path.name} does not hold the files that its manifest lists.")
        return manifest

    def check_migrations(self) -> None:
        """Refuse an archive whose tables are not those of this installation."""
        here, there = set(applied_migrations()), set(self.manifest.migrations)
        if here == there:
            return
        only = [f"only there: {', '.join(sorted(there - here))}"] if there - here else []
        only += [f"only here: {', '.join(sorted(here - there))}"] if here - there else []
        raise BadArchive(
            f"The archive was written by crowdqc {self.manifest.version} with other tables than "
            f"those of this installation ({read_version()}); migrations {'; '.join(only)}. "
            "Update the older one, and export again."
        )

    def check_members(self) -> None:
        """Read every member and compare it with the manifest."""
        for name, told in self.manifest.members.items():
            digest, size, rows = hashlib.sha256(), 0, 0
            for piece in self.pieces(name):
                digest.update(piece)
                size += len(piece)
                rows += piece.count(b"\n")
            lines = rows if name.endswith(".jsonl") else None
            if (digest.hexdigest(), size, lines) != (told.sha256, told.size, told.rows):
                raise BadArchive(f"{self.path.name} is damaged: {name} was changed.")

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content of a member. Raises BadArchive where it cannot be read."""
        try:
            with self._zip.open(name) as source:
                while piece := source.read(PIECE):
                    yield piece
        except (*UNREADABLE, KeyError) as error:
            raise BadArchive(f"{self.path.name} is damaged: {name}: {error}") from error

    def rows(self, name: str, skip: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table, without the first ``skip``."""
        try:
            with self._zip.open(name) as source:
                lines = iter(lambda: source.readline(LARGEST_ROW), b"")
                for line in itertools.islice(lines, skip, None):
                    row = read_json(line)
                    if not isinstance(row, dict):
                        raise BadArchive(f"{self.path.name}: a line of {name} is no row.")
                    yield row
        except (*UNREADABLE, KeyError) as error:
            raise BadArchive(f"{self.path.name} is damaged: {name}: {error}") from error

    def sha256(self) -> str:
        """Return the checksum of the whole file."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
