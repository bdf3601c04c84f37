"""Documents in a ZIP archive, such as Inspect's ``.eval`` logs, within limits.

Inspect writes members by method 93 (Zstandard), which ``zipfile`` reads from Python 3.14 on; here
they are read by ``zstandard``, loaded only for such a file. What a member claims of its size is not
trusted: reading stops at the limit.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, Protocol, cast

from django.utils.translation import gettext as _

from annotation.files.reading.limits import Limits, check_decoded
from crowdqc import numbers
from crowdqc.errors import Invalid

ZSTANDARD = 93
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
METHODS = (STORED, DEFLATED, ZSTANDARD)
MAX_MEMBERS = 100_000
MAX_MEMBER = 64 * 2**20  # bytes of one document
MAX_WINDOW = 2**27  # bytes that Zstandard may keep of what it wrote
PIECE = 256 * 1024
LOCAL = struct.Struct("<4s5H3L2H")  # header of a member, in front of its bytes


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


class BadMember(ValueError):
    """A document of the archive that cannot be read; the message says why."""


def open_archive(file: IO[bytes]) -> zipfile.ZipFile:
    """Open an archive; Invalid where it is damaged, encrypted or has too many members."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        raise Invalid(
            _("The archive is cut off or damaged."), fields={"file": _("Write it again.")}
        ) from None
    if len(archive.infolist()) > MAX_MEMBERS:
        raise Invalid(
            _("The archive holds more than %(most)s files.") % {"most": numbers.count(MAX_MEMBERS)},
            fields={"file": _("Split it into smaller archives.")},
        )
    return archive


def documents(archive: zipfile.ZipFile, limits: Limits) -> Iterator[tuple[str, bytes | BadMember]]:
    """Yield name and bytes of each JSON document; BadMember for one that cannot be read.

    Raises Invalid where all together are larger than the limit.
    """
    total = 0
    for info in archive.infolist():
        if not info.filename.lower().endswith((".json", ".jsonl")):
            continue
        try:
            content = read_member(archive, info)
        except BadMember as error:
            yield info.filename, error
            continue
        total += len(content)
        check_decoded(total, limits)
        yield info.filename, content


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a member; raises BadMember."""
    if info.flag_bits & 0x1:
        raise BadMember(_("The file in the archive is encrypted."))
    if info.compress_type not in METHODS:
        raise BadMember(
            _("The file in the archive is compressed in an unknown way (%(method)s).")
            % {"method": info.compress_type}
        )
    try:
        if info.compress_type == ZSTANDARD:
            return _read_zstandard(archive, info)
        with archive.open(info) as member:
            return _bounded(member)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, struct.error, ValueError) as error:
        if isinstance(error, BadMember):
            raise
        raise BadMember(_("The file in the archive is damaged.")) from error


def _bounded(stream: _Readable) -> bytes:
    pieces, size = [], 0
    while piece := stream.read(PIECE):
        size += len(piece)
        if size > MAX_MEMBER:
            raise BadMember(
                _("The file in the archive has more than %(most)s MB.")
                % {"most": MAX_MEMBER // 2**20}
            )
        pieces.append(piece)
    return b"".join(pieces)


def _read_zstandard(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    import zstandard

    file: Any = archive.fp
    file.seek(info.header_offset)
    fields = LOCAL.unpack(file.read(LOCAL.size))
    if fields[0] != b"PK\x03\x04":
        raise BadMember(_("The file in the archive is damaged."))
    file.seek(fields[-2] + fields[-1], io.SEEK_CUR)  # name and extra field
    reader = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(
        cast("IO[bytes]", _Section(file, info.compress_size)), read_across_frames=True
    )
    try:
        content = _bounded(reader)
    except zstandard.ZstdError as error:
        raise BadMember(_("The file in the archive is damaged.")) from error
    if zlib.crc32(content) != info.CRC:
        raise BadMember(_("The file in the archive is damaged."))
    return content


class _Section(io.RawIOBase):
    """The next ``size`` bytes of a file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        count = self._left if size < 0 else min(size, self._left)
        piece = self._file.read(count)
        self._left -= len(piece)
        return piece
