"""Workbooks of Excel and OpenDocument, read in a process of its own (``child``)."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from typing import IO

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.files.reading.child import read_apart
from annotation.files.reading.limits import Limits
from annotation.files.reading.rows import FILE
from annotation.files.reading.sources import ZIP, Source
from crowdqc.numbers import count

NAMED = 5  # sheets that the note lists
OLD_EXCEL = b"\xd0\xcf\x11\xe0"
PARTS = {"xl/workbook.xml", "xl/workbook.bin", "content.xml"}  # of XLSX, XLSB and ODS


def read(
    source: Source, limits: Limits
) -> tuple[list[str], str, Iterator[tuple[int, list[str]]]] | None:
    """Columns, a note on the sheet, and rows as numbers and texts; None where it is no workbook.

    The first sheet with rows is read. Its first row names the columns, after rows with a title
    alone. Raises Invalid, also while rows are read.
    """
    head = source.head()
    if not head.startswith((OLD_EXCEL, ZIP)):
        return None
    file = tempfile.TemporaryFile(prefix="crowdqc-workbook-")  # noqa: SIM115 (closed by read_apart)
    for piece in source.pieces():
        file.write(piece)
    if head.startswith(ZIP) and not _has_sheets(file):
        file.close()
        return None
    first, rows = read_apart("workbook", file, limits)
    notes = []
    columns = first["columns"]
    if first["stacked"]:
        columns = [*columns, FILE]
        told = {"n": len(first["stacked"]), "names": ", ".join(first["stacked"][:NAMED])}
        notes.append(
            _(
                "read from %(n)s sheets, whose rows are numbered on: %(names)s; their names stand "
                "for the worker or item that no column names"
            )
            % told
        )
    elif first["sheets"] > 1:
        notes.append(
            _("sheet “%(name)s” of %(n)s is read") % {"name": first["sheet"], "n": first["sheets"]}
        )
    if first["head"]:
        notes.append(_("row %(row)s names the columns") % {"row": first["head"]})
    if first["merged"]:
        notes.append(
            ngettext(
                "%(n)s merged cell counts for each of its rows",
                "%(n)s merged cells count for each of their rows",
                first["merged"],
            )
            % {"n": count(first["merged"])}
        )
    return columns, "; ".join(notes), ((number, texts) for number, texts in rows)


def _has_sheets(file: IO[bytes]) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            return not PARTS.isdisjoint(archive.namelist())
    except zipfile.BadZipFile:
        return False
