"""Read a bundle that anybody may have made: a ZIP file within limits, and its manifest.

Nothing is written to disk, and nothing is unpacked before its declared size is within the limits;
the ZIP reader gives no more of a file than it declares.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

from annotation.files.writing.zips import MANIFEST
from evaluation.bundles.kinds.base import Broken, read_value
from evaluation.bundles.manifest import FORMAT, KIND

MB = 1024 * 1024
MOST_BYTES = 1024 * MB  # of all files, unpacked
MOST_FILE = 512 * MB  # of one file, unpacked
MOST_FILES = 200
MOST_NAME = 200
MOST_DIRECTORY = MOST_FILES * 1024  # bytes of the ZIP file's list of its files
NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)
END, END_64, END_BYTES, LOCATOR_BYTES = b"PK\x05\x06", b"PK\x06\x07", 22, 20
UNREADABLE = (
    *(OSError, EOFError, RuntimeError, ValueError, IndexError, OverflowError),
    *(struct.error, zlib.error, zipfile.BadZipFile, zipfile.LargeZipFile),
)
TEXTS = ("method", "snapshot", "result_hash")  # what every manifest says


def open_bundle(path: Path, most: int = MOST_BYTES) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a bundle by name, and its manifest. Raises Broken, saying why.

    ``most`` is how many bytes all files may have together, unpacked.
    """
    files = _unpacked(path, most)
    content = files.pop(MANIFEST, None)
    if content is None:
        raise Broken(f"{path.name} has no {MANIFEST}, so it is no bundle.")
    try:
        manifest = read_value(content)
    except Broken as error:
        raise Broken(f"{path.name} has no {MANIFEST} that can be read. {error}") from error
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        raise Broken(f"{path.name} is no bundle of ours.")
    if manifest.get("format") != FORMAT:
        raise Broken(f"{path.name} has format {manifest.get('format')}; this reads {FORMAT}.")
    wrong = [name for name in TEXTS if not isinstance(manifest.get(name), str)]
    listed = manifest.get("files")
    if not isinstance(listed, dict) or not all(isinstance(one, str) for one in listed.values()):
        wrong.append("files")
    if wrong:
        raise Broken(f"The manifest of {path.name} does not say its {wrong[0]}.")
    return files, manifest


def _unpacked(path: Path, most: int) -> dict[str, bytes]:
    try:
        _check_directory(path)
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _check_entries(path.name, entries, most)
            return {entry.filename: archive.read(entry) for entry in entries}
    except UNREADABLE as error:
        raise Broken(f"{path.name} cannot be read as a ZIP file: {error}") from error


def _check_directory(path: Path) -> None:
    """Refuse a long list of files before the ZIP reader makes objects of it.

    The reader goes by the length of the list, whatever number of files is written beside it.
    """
    if not path.is_file():
        raise Broken(f"{path.name} is no file.")
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - END_BYTES - LOCATOR_BYTES - 0xFFFF))
        tail = file.read()
    at = tail.rfind(END)
    if at < 0 or len(tail) < at + END_BYTES:
        raise Broken(f"{path.name} cannot be read as a ZIP file: its end is missing.")
    if tail[max(0, at - LOCATOR_BYTES) : at].startswith(END_64):
        raise Broken(f"{path.name} is larger than this reads.")
    (length,) = struct.unpack("<L", tail[at + 12 : at + 16])
    if length > MOST_DIRECTORY:
        raise Broken(f"{path.name} holds more files than this reads.")


def _check_entries(name: str, entries: list[zipfile.ZipInfo], most: int) -> None:
    if len(entries) > MOST_FILES:
        raise Broken(f"{name} holds {len(entries):,} files; {MOST_FILES} at most are read.")
    if len({entry.filename for entry in entries}) < len(entries):
        raise Broken(f"{name} holds two files of one name.")
    for entry in entries:
        inner = entry.filename
        if len(inner) > MOST_NAME or not NAME.fullmatch(inner):
            raise Broken(f"{name} holds a file of the name {inner[:60]!r}, which no bundle has.")
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or entry.flag_bits & 1:
            raise Broken(f"{name}: {inner} is a link or encrypted.")
        if entry.file_size > MOST_FILE:
            raise Broken(f"{name}: {inner} has more than {MOST_FILE // MB} MB.")
    if sum(entry.file_size for entry in entries) > most:
        raise Broken(f"{name} unpacks to more than {most // MB:,} MB.")
