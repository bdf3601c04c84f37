"""Parquet, read in a process of its own whose memory and time are limited.

A Parquet file of some kilobytes can say that it holds gigabytes, in its footer, in the header of
any page or by one long value that a million rows refer to. What it needs is known only when it has
been unpacked, so it is unpacked where nothing else can be harmed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from django.utils.translation import gettext as _

from annotation.files.reading.footer import footer_length, read_shape
from annotation.files.reading.limits import Limits, check_columns, check_rows
from annotation.files.reading.sources import Source
from crowdqc.errors import Invalid

ROOT = Path(__file__).resolve().parents[3]
MEMORY = 512 * 1024 * 1024  # bytes, beside what the library itself needs
SECONDS = 120  # of computing


def read(source: Source, limits: Limits) -> tuple[list[str], Iterator[list[str]]]:
    """Columns, and rows as texts. Raises Invalid, also while rows are read."""
    file = tempfile.TemporaryFile(prefix="crowdqc-parquet-")  # noqa: SIM115 (closed by _told)
    for piece in source.pieces():
        file.write(piece)
    try:
        _check_footer(file, source.size, limits)
    except Invalid:
        file.close()
        raise
    file.seek(0)
    bounds = json.dumps({**asdict(limits), "memory": MEMORY, "seconds": SECONDS})
    child = subprocess.Popen(  # noqa: S603 (our own module, and numbers)
        [sys.executable, "-m", "annotation.files.reading.child_process", bounds],
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
    told = _told(child, file)
    columns: list[str] = next(told)["columns"]
    return columns, (row for rows in told for row in rows)


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


def _told(child: subprocess.Popen[bytes], file: IO[bytes]) -> Iterator[Any]:
    """What the other process writes: the columns, then lists of rows. It ends with this."""
    assert child.stdout is not None  # noqa: S101 (a pipe)
    ended = False
    try:
        for line in child.stdout:
            told: Any = json.loads(line)
            if "wrong" in told:
                raise Invalid(told["wrong"], fields={"file": told["mend"]})
            ended = "done" in told
            if not ended:
                yield told
        if not ended:
            raise _too_much()
    finally:
        child.kill()
        child.stdout.close()
        child.wait()
        file.close()


def _too_much() -> Invalid:
    return Invalid(
        _("Reading the file takes more than %(value)s MB of memory or %(seconds)s seconds.")
        % {"value": MEMORY // 2**20, "seconds": SECONDS},
        fields={"file": _("Save it as CSV or JSONL, or split it into smaller files.")},
    )
