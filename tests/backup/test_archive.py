"""A backup that is not whole, not ours or not readable here is refused, with the reason."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
from pathlib import Path
from typing import Any

import pytest

from crowdqc.deployment.backup import envelope
from crowdqc.deployment.backup.archive import (
    CLOSING,
    KEYS,
    MANIFEST,
    ArchiveReader,
    ArchiveWriter,
    CheckedBackup,
    Digest,
    Manifest,
    check_backup,
    manifest_json,
)
from crowdqc.deployment.backup.envelope import BadBackup, read_passphrase
from crowdqc.deployment.backup.schedule import prune
from crowdqc.deployment.backup.schema import check_migrations
from crowdqc.errors import Invalid

WORD = "correct horse battery"
ROWS = [b"1\tone\n", b"2\ttwo lines\\n\n"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A passphrase is tried quickly, and pieces are small, so that there are several."""
    monkeypatch.setitem(envelope.COST, "n", 1 << 4)
    monkeypatch.setattr(envelope, "PIECE", 200)


def check_file(path: Path, word: str = "") -> CheckedBackup:
    with path.open("rb") as source:
        return check_backup(source, word)


def write(path: Path, word: str = "", **manifest: Any) -> Path:
    told = Manifest(
        version="0.1.0",
        made_at="2026-11-26T10:00:00+00:00",
        database="PostgreSQL 18.6",
        migrations=[["annotation", "0001_initial"]],
        tables={"a": ["id", "text"], "empty": ["id"]},
        keys=bool(word),
    )
    noise = random.Random(1).randbytes(1500).hex().encode() + b"\n"
    digest = Digest()
    with path.open("wb") as out:
        writer = ArchiveWriter(out, word)
        writer.add_json(MANIFEST, manifest_json(told) | manifest)
        if word:
            writer.add_json(KEYS, {"SECRET_KEY": "s", "SECRET_KEY_FALLBACKS": []})
        for text in (*ROWS, noise):
            digest.add(text)
            writer.add_rows("a", text)
        tables = {"a": digest.as_dict(), "empty": Digest().as_dict()}
        writer.add_json(CLOSING, {"tables": tables, "sequences": []})
        writer.close()
    return path


@pytest.fixture(params=["", WORD], ids=["plain", "encrypted"])
def word(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file(tmp_path: Path, word: str) -> Path:
    return write(tmp_path / "a.backup", word)


def test_what_was_written_is_read(file: Path, word: str) -> None:
    checked = check_file(file, word)
    assert checked.rows == 3
    assert checked.manifest.tables["a"] == ["id", "text"]
    with file.open("rb") as source:
        reader = ArchiveReader(source, word)
        assert b"".join(text for _, text in reader.rows()).startswith(b"".join(ROWS))
        assert reader.keys.get("SECRET_KEY") == ("s" if word else None)


def test_without_a_passphrase_usual_programs_open_it_and_it_holds_no_keys(tmp_path: Path) -> None:
    with tarfile.open(write(tmp_path / "a.tar.gz")) as archive:
        names = archive.getnames()
    assert names[0] == MANIFEST and names[-1] == CLOSING and KEYS not in names


def test_with_a_passphrase_nothing_of_it_can_be_read(tmp_path: Path) -> None:
    content = write(tmp_path / "a.backup", WORD).read_bytes()
    assert b"annotation" not in content and gzip.compress(b"")[:2] not in content[:200]


def test_a_file_that_was_cut_off_anywhere_is_refused(file: Path, word: str) -> None:
    content = file.read_bytes()
    for length in {*range(0, len(content), 23), *range(len(content) - 60, len(content))}:
        file.write_bytes(content[:length])
        with pytest.raises(BadBackup):
            check_file(file, word)


def test_a_changed_byte_anywhere_is_found(file: Path, word: str) -> None:
    content = file.read_bytes()
    # Of the header of gzip, bytes 3 to 9 say when and where it was made, which nothing reads.
    first = 0 if word else 10
    for place in {*range(first, first + 400), *range(first, len(content), 23)}:
        damaged = bytearray(content)
        damaged[place] ^= 0x20
        file.write_bytes(damaged)
        try:
            checked = check_file(file, word)
        except BadBackup:
            continue
        # Padding between the members of a tar file means nothing.
        assert not word and checked.rows == 3


def test_something_added_to_its_end_is_found(file: Path, word: str) -> None:
    with file.open("ab") as out:
        out.write(b"more")
    with pytest.raises(BadBackup, match="damaged"):
        check_file(file, word)


def test_pieces_in_another_order_are_found(tmp_path: Path) -> None:
    file = write(tmp_path / "a.backup", WORD)
    head, _, rest = file.read_bytes().partition(b"\n")
    size = 4 + 200 + envelope.TAG
    swapped = rest[size : 2 * size] + rest[:size] + rest[2 * size :]
    file.write_bytes(head + b"\n" + swapped)
    with pytest.raises(BadBackup):
        check_file(file, WORD)


def test_the_passphrase_is_asked_for_and_has_to_be_right(tmp_path: Path) -> None:
    file = write(tmp_path / "a.backup", WORD)
    with pytest.raises(BadBackup, match="--passphrase-file"):
        check_file(file)
    with pytest.raises(BadBackup, match="passphrase is wrong"):
        check_file(file, WORD + "!")


def test_a_short_or_missing_passphrase_is_refused(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("short\n")
    with pytest.raises(Invalid, match="at least 12"):
        read_passphrase(tmp_path / "word")
    with pytest.raises(Invalid, match="cannot be read"):
        read_passphrase(tmp_path / "none")


def other_tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("etc/passwd"))
    return out.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"PGDMP\x01\x10\x00", b"\x00" * 5000, gzip.compress(b"x" * 5000), other_tar()],
    ids=["empty", "pg_dump", "zeros", "gzip", "another tar"],
)
def test_another_programs_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(BadBackup, match="no backup of crowdqc"):
        check_file(tmp_path / "a")


def test_a_newer_format_asks_for_an_update(tmp_path: Path) -> None:
    with pytest.raises(BadBackup, match=r"crowdqc 7\.0\.0 in format 2.*Update crowdqc first"):
        check_file(write(tmp_path / "a", version="7.0.0", format=2))
    header = json.dumps({"format": 2}).encode()
    (tmp_path / "b").write_bytes(envelope.MAGIC + header + b"\n")
    with pytest.raises(BadBackup, match=r"format 2.*Update crowdqc first"):
        check_file(tmp_path / "b", WORD)


@pytest.mark.django_db
def test_a_newer_version_asks_for_an_update() -> None:
    applied = [["annotation", "0001_initial"], ["annotation", "0099_later"], ["gone", "0001_x"]]
    with pytest.raises(BadBackup, match=r"crowdqc 7\.0\.0, which is newer.*annotation\.0099_later"):
        check_migrations(applied, "7.0.0", "0.1.0")
    check_migrations([applied[0], applied[2]], "0.0.1", "0.1.0")


def test_the_newest_are_kept_and_other_files_left_alone(tmp_path: Path) -> None:
    names = [f"crowdqc-2026010{day}T000000Z.{end}" for day in (1, 2, 3) for end in ("backup",)]
    for name in (*names, "crowdqc-mine.backup", "notes.txt"):
        (tmp_path / name).touch()
    assert prune(tmp_path, 2) == names[:1]
    assert prune(tmp_path, 0) == names[1:2]  # never the last one
    assert {one.name for one in tmp_path.iterdir()} == {
        names[2],
        "crowdqc-mine.backup",
        "notes.txt",
    }
