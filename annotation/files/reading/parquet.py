"""Parquet and Arrow, read in a process of its own (``child``).

A Parquet file of some kilobytes can say that it holds gigabytes, in its footer, in the header of
any page or by one long value that a million rows refer to.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO

from django.utils.translation import gettext as _

from annotation.files.reading.child import read_apart
from annotation.files.reading.footer import footer_length, read_shape
from annotation.files.reading.limits import Limits, check_columns, check_rows
from annotation.files.reading.sources import Source
from crowdqc.errors import Invalid

PARQUET = b"PAR1"
ARROW = (b"ARROW1", b"\xff\xff\xff\xff")  # a file, and a stream as data sets are kept


def read(source: Source, limits: Limits, kind: str) -> tuple[list[str], Iterator[list[str]]]:
    """Columns, and rows as texts; ``kind`` is "parquet" or "arrow".

    Raises Invalid, also while rows are read.
    """
    file = tempfile.TemporaryFile(prefix="crowdqc-parquet-")  # noqa: SIM115 (closed by _told)
    for piece in source.pieces():
        file.write(piece)
    try:
        if kind == "parquet":
            _check_footer(file, source.size, limits)
    except Invalid:
        file.close()
        raise
    first, rows = read_apart(kind, file, limits)
    return first["columns"], rows


def _check_footer(file: IO[bytes], size: int, limits: Limits) -> None:
    """Refuse at once what says of itself that it is too much, or is cut off."""
    try:
        file.seek(max(0, size - 8))
        length = footer_length(file.read(8), size)
        file.seek(size - 8 - length)
        rows, columns = read_shape(file.read(length))
    except ValueError as error:
        raise Invalid(
            _("The file cannot be read as parquet: %(error)s.") % {"error": error},
            fields={"file": _("Write it again.")},
        ) from error
    check_rows(rows, limits)
    check_columns(columns, limits)
