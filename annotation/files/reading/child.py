"""Run the process that reads a file whose size is known only once it is unpacked.

A file of some kilobytes can hold gigabytes. It is unpacked in a process of its own, whose memory
and time are limited, so that nothing else is harmed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.files.reading.limits import Limits
from crowdqc.errors import Invalid

ROOT = Path(__file__).resolve().parents[3]
MEMORY = 512 * 1024 * 1024  # bytes, beside what the library itself needs
SECONDS = 120  # of computing


def read_apart(kind: str, file: IO[bytes], limits: Limits) -> tuple[dict[str, Any], Iterator[Any]]:
    """Read a file in a child process; return its header (``columns`` and more) and its rows.

    A row of a workbook comes as its number and its texts.

    ``kind`` is "parquet", "arrow" or "workbook". Raises Invalid, also while rows are read.
    """
    file.seek(0)
    told = {"kind": kind, "language": get_language(), "memory": MEMORY, "seconds": SECONDS}
    bounds = json.dumps({**told, **asdict(limits)})
    child = subprocess.Popen(  # noqa: S603 (our own module, and numbers)
        [sys.executable, "-m", "annotation.files.reading.child_process", bounds],
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
    )
    lines = _read_output(child, file)
    first: dict[str, Any] = next(lines)
    return first, (row for rows in lines for row in rows)


def _read_output(child: subprocess.Popen[bytes], file: IO[bytes]) -> Iterator[Any]:
    """Yield the child's columns, then its lists of rows, and kill it at the end.

    Raises Invalid where the child reports a fault or its output is cut short.
    """
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
            raise _limit_error()
    finally:
        child.kill()
        child.stdout.close()
        child.wait()
        file.close()


def _limit_error() -> Invalid:
    return Invalid(
        _("Reading the file takes more than %(value)s MB of memory or %(seconds)s seconds.")
        % {"value": MEMORY // 2**20, "seconds": SECONDS},
        fields={"file": _("Save it as CSV or JSONL, or split it into smaller files.")},
    )
