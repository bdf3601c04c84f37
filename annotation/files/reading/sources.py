"""A file as pieces of bytes that can be read again: from memory, from an upload, from the database.

Nothing here holds more of a file than a piece.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.files.reading.alphabets import tell_alphabet
from annotation.files.reading.scripts import NAMES, rank_encodings
from crowdqc import numbers
from crowdqc.errors import Invalid

PIECE = 1024 * 1024  # bytes


@dataclass(frozen=True)
class Source:
    """A file's size and its bytes; ``pieces`` begins at the file's beginning each time."""

    size: int
    pieces: Callable[[], Iterator[bytes]]

    def head(self, length: int = 4096) -> bytes:
        """The first bytes."""
        found = b""
        for piece in self.pieces():
            found += piece[: length - len(found)]
            if len(found) >= length:
                break
        return found


def of_bytes(content: bytes) -> Source:
    """Make a source of bytes in memory."""
    view = memoryview(content)
    return Source(
        len(content),
        lambda: (bytes(view[at : at + PIECE]) for at in range(0, len(view), PIECE)),
    )


def without_mark(source: Source) -> Source:
    """The same without a mark of UTF-8 at its beginning."""
    mark = codecs.BOM_UTF8
    if source.head(len(mark)) != mark:
        return source

    def pieces() -> Iterator[bytes]:
        given = source.pieces()
        first = b""
        while len(first) < len(mark):
            first += next(given)
        yield first[len(mark) :]
        yield from given

    return Source(source.size - len(mark), pieces)


def of_upload(upload: Any) -> Source:
    """Make a source of an uploaded file."""
    return Source(upload.size or 0, lambda: iter(upload.chunks(PIECE)))


GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
# What a file begins with that is no table, and what to do about it.
TABLE = gettext_lazy("Choose a CSV, JSONL, Parquet or Excel file.")
XML = gettext_lazy("Export the annotations as CSV or JSON: a row for each worker and item.")
ARCHIVE = gettext_lazy("Unpack it, and choose the table in it.")
TAR, TAR_AT = (b"ustar\0", b"ustar  \0"), 257  # POSIX and GNU, behind the name of the first file
FOREIGN = (
    (ZIP, gettext_lazy("a ZIP archive"), ARCHIVE),
    (b"PK\x05\x06", gettext_lazy("an empty ZIP archive"), ARCHIVE),
    (GZIP, gettext_lazy("a gzip archive"), ARCHIVE),
    (b"BZh", gettext_lazy("a bzip2 archive"), ARCHIVE),
    (b"\xfd7zXZ", gettext_lazy("an xz archive"), ARCHIVE),
    (b"\x28\xb5\x2f\xfd", gettext_lazy("a Zstandard archive"), ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", gettext_lazy("a 7z archive"), ARCHIVE),
    (b"Rar!", gettext_lazy("a RAR archive"), ARCHIVE),
    (TAR, gettext_lazy("a tar archive"), ARCHIVE),
    (b"%PDF", gettext_lazy("a PDF"), TABLE),
    (b"\x89PNG", gettext_lazy("a picture"), TABLE),
    (b"\xff\xd8\xff", gettext_lazy("a picture"), TABLE),
    (b"GIF8", gettext_lazy("a picture"), TABLE),
    (b"SQLite format 3", gettext_lazy("a database"), gettext_lazy("Export the table as CSV.")),
    (b"\x7fELF", gettext_lazy("a program"), TABLE),
    (b"<!DOCTYPE", gettext_lazy("a web page"), TABLE),
    (b"<!doctype", gettext_lazy("a web page"), TABLE),
    (b"<html", gettext_lazy("a web page"), TABLE),
    (b"<?xml", gettext_lazy("XML"), XML),
)
BEFORE_TAG = b" \t\r\n\xef\xbb\xbf"
TAGS = re.compile(rb"<[A-Za-z][^<>]*>\s*<[A-Za-z]")  # of XML that does not say that it is


def refuse_foreign(head: bytes) -> None:
    """Refuse a file that begins like a PDF, an image or another file that is no table."""
    for mark, what, mend in FOREIGN:
        text = head.lstrip(BEFORE_TAG)
        is_xml = mark == b"<?xml" and TAGS.match(text)
        begin = text if mark[:1] == b"<" else head
        if is_xml or begin.startswith(mark, TAR_AT if mark == TAR else 0):
            raise Invalid(
                _("The file is %(what)s, not a table.") % {"what": what}, fields={"file": mend}
            )


class _Raw(io.RawIOBase):
    """Pieces as a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def stream(source: Source) -> IO[bytes]:
    """The file's bytes as a stream."""
    return io.BufferedReader(_Raw(source.pieces()), PIECE)


@dataclass(frozen=True)
class Encoding:
    """How a file's bytes become text, as it is called, and a note where it was guessed."""

    codec: str
    name: str
    note: str = ""
    errors: str = "strict"


MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", gettext_noop("UTF-8 with byte order mark")),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)


OFFERED = (
    ("utf-8", "UTF-8"),
    ("cp1252", gettext_noop("Western (Windows-1252)")),
    ("cp1250", gettext_noop("Central European (Windows-1250)")),
    ("cp1251", gettext_noop("Cyrillic (Windows-1251)")),
    ("mac-roman", gettext_noop("Western (Mac)")),
    ("gb18030", gettext_noop("Chinese (GB18030)")),
    ("big5", gettext_noop("Chinese (Big5)")),
    ("cp932", gettext_noop("Japanese (Shift JIS)")),
    ("euc_jp", gettext_noop("Japanese (EUC-JP)")),
    ("cp949", gettext_noop("Korean (EUC-KR)")),
)
SAMPLE = 20  # bytes of a line before its first letter beyond ASCII that a sample shows
HIGH = re.compile(rb"[\x80-\xff]+")
BREAK = re.compile(rb"[\s,;|\"]+")
LONG_RUN = 2  # letters beyond ASCII in a row, which words of Western languages seldom have


def encoding_of(source: Source, wanted: str = "") -> Encoding:
    """Detect the encoding of a file: UTF-8, UTF-16, else Windows-1252; ``wanted`` overrides it.

    Windows-1252 fits every file and is therefore noted, as are East Asian encodings, which are
    taken by how plausible their text is. ``wanted`` is a person's choice. Raises Invalid where a
    file is not what is said of it.
    """
    if wanted:
        try:
            return _strict(source, Encoding(codecs.lookup(wanted).name, wanted))
        except LookupError:
            raise Invalid(
                _("There is no encoding %(name)s.") % {"name": wanted},
                fields={"encoding": "utf-8, cp1252, gb18030, shift_jis"},
            ) from None
    head = source.head(2000)
    for mark, codec, name in MARKS:
        if head.startswith(mark):
            return _strict(source, Encoding(codec, _(name)))
    even, odd = head[::2].count(0), head[1::2].count(0)
    # Zeros at one of two places are letters in two bytes; at both they fill up a file.
    if max(even, odd) > len(head) // 4 > 10 * min(even, odd):
        codec = "utf-16-le" if odd > even else "utf-16-be"
        return _strict(source, Encoding(codec, "UTF-16", _("without byte order mark")))
    wrong = _first_wrong(source, "utf-8")
    if wrong is None:
        return Encoding("utf-8", "UTF-8")
    return _guessed(source, numbers.count(wrong[1]))


def _guessed(source: Source, line: str) -> Encoding:
    """The encoding of a file that is not UTF-8 on a line, by its letters."""
    fits = [one.codec for one in rank_encodings(source.head(PIECE))]
    fits = [codec for codec in fits if _first_wrong(source, codec) is None]
    other = None if fits else tell_alphabet(source.head(PIECE))
    if other and _first_wrong(source, other[0]) is None:
        note = _("line %(wrong)s is not UTF-8, so it is read as %(name)s; look at its letters")
        return Encoding(*other, note % {"wrong": line, "name": other[1]})
    if not fits:
        note = _("line %(wrong)s is not UTF-8, so it is read as Windows-1252; look at its accents")
        return Encoding("cp1252", "Windows-1252", note % {"wrong": line}, "replace")
    names = [NAMES[codec] for codec in fits]
    note = _("line %(wrong)s is not UTF-8, so it is read as %(name)s; look at its letters")
    if len(names) > 1:
        note = _("line %(wrong)s is not UTF-8; it is read as %(name)s, but may be %(others)s")
    told = {"wrong": line, "name": names[0], "others": ", ".join(names[1:])}
    return Encoding(fits[0], names[0], note % told)


def encodings_instead(source: Source) -> list[tuple[str, str, str]]:
    """As ``encodings_of``, those that may be meant where a file does not tell its own."""
    head = source.head(PIECE)
    if fits := rank_encodings(head):
        others = {one.codec for one in fits[1:]}
        return [one for one in encodings_of(source) if one[0] in others]
    runs = HIGH.findall(head)
    is_long = 2 * sum(len(run) >= LONG_RUN for run in runs) > len(runs)
    if not is_long and "\ufffd" not in head.decode("cp1252", "replace"):
        return []
    return [one for one in encodings_of(source) if one[0] != "cp1252"]


def encodings_of(source: Source) -> list[tuple[str, str, str]]:
    """List the encodings that fit a file: codec, name, and a sample of non-ASCII text.

    Empty where all is ASCII: every encoding reads it the same.
    """
    head = source.head(PIECE)
    found = HIGH.search(head)
    if found is None or head.count(0) or head.startswith((GZIP, ZIP, codecs.BOM_UTF8)):
        return []
    start = head.rfind(b"\n", 0, found.start()) + 1
    if start < found.start() - SAMPLE:  # begin with a whole word
        cut = BREAK.search(head, found.start() - SAMPLE, found.start())
        start = cut.end() if cut else found.start() - SAMPLE
    end = head.find(b"\n", found.start())
    line = head[start : end if end > 0 else len(head)]
    offered = []
    for codec, name in OFFERED:
        try:
            codecs.getincrementaldecoder(codec)().decode(head)
        except UnicodeDecodeError:
            continue
        offered.append((codec, _(name), line.decode(codec, "ignore")[: 2 * SAMPLE].strip()))
    return offered


def _strict(source: Source, encoding: Encoding) -> Encoding:
    wrong = _first_wrong(source, encoding.codec.removesuffix("-sig"))  # which counts no mark
    if wrong is not None:
        raise Invalid(
            _("The file says that it is %(encoding_name)s, but its byte %(wrong)s is not.")
            % {"encoding_name": encoding.name, "wrong": numbers.count(wrong[0])},
            fields={"file": _("Save it again as UTF-8.")},
        )
    return encoding


def _first_wrong(source: Source, codec: str) -> tuple[int, int] | None:
    """Byte and line of the first byte that is not of this encoding."""
    decoder = codecs.getincrementaldecoder(codec)()
    before, lines = 0, 1
    for piece in source.pieces():
        kept = len(decoder.getstate()[0])  # bytes of a character that the last piece cut
        try:
            decoder.decode(piece)
        except UnicodeDecodeError as error:
            at = max(0, error.start - kept)
            return before - kept + error.start, lines + piece.count(b"\n", 0, at)
        before, lines = before + len(piece), lines + piece.count(b"\n")
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        return before - len(error.object) + error.start, lines
    return None


def lines(source: Source, encoding: Encoding, most: int) -> Iterator[str]:
    """Lines with their ends (LF, CR LF or CR); Invalid where one has more than ``most`` characters.

    A line is never read further than that.
    """
    text = io.TextIOWrapper(
        stream(source), encoding=encoding.codec, errors=encoding.errors, newline=""
    )
    number = 0
    while line := text.readline(most + 1):
        number += 1
        if line[0] == "\0" and not line.strip("\0"):
            continue  # what fills up a file
        if len(line) > most:
            raise Invalid(
                _("Line %(number)s has more than %(most)s characters.")
                % {"number": numbers.count(number), "most": numbers.count(most)},
                fields={"file": _("Write each row on a line of its own.")},
            )
        yield line
