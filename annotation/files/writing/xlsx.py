"""A table as an Excel workbook, written row by row, so that memory stays flat."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import IO, TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from crowdqc.errors import Conflict
from crowdqc.numbers import count

if TYPE_CHECKING:
    from xlsxwriter.worksheet import Worksheet

MEDIA = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MOST_ROWS, MOST_CHARACTERS = 1_048_576, 32_767  # that a sheet and a cell can have
LARGEST_WHOLE = 2**53  # whole numbers beyond are not exact in a workbook
PIECE = 1 << 20  # bytes
DATED = datetime.datetime(1980, 1, 1)  # as its parts are: the same rows are the same bytes
OPTIONS = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}


def parts(columns: Sequence[str], blocks: Iterable[Sequence[tuple[Any, ...]]]) -> Iterator[bytes]:
    """The workbook in pieces; texts stay texts, and nothing becomes a formula.

    Raises Conflict, before the first piece, for more rows or a longer text than Excel can hold.
    """
    import xlsxwriter  # not above: most pages need none of it

    with contextlib.ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        with xlsxwriter.Workbook(file, OPTIONS) as book:
            book.set_properties({"created": DATED})
            sheet = book.add_worksheet()
            _write_row(sheet, 0, columns, columns)
            rows = itertools.chain.from_iterable(blocks)
            for at, row in enumerate(rows, 1):
                if at >= MOST_ROWS:
                    raise Conflict(_("Excel holds 1,048,576 rows. Choose parquet or CSV."))
                _write_row(sheet, at, row, columns)
            sheet.freeze_panes(1, 0)
        stack.pop_all()  # _pieces closes the file
    return _pieces(file)


def _write_row(sheet: Worksheet, at: int, row: Sequence[Any], columns: Sequence[str]) -> None:
    for place, value in enumerate(row):
        if value is None or value == "":
            continue
        if isinstance(value, bool):
            sheet.write_boolean(at, place, value)
        elif isinstance(value, int | float | Decimal) and abs(float(value)) <= LARGEST_WHOLE:
            sheet.write_number(at, place, value)
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            if len(text) > MOST_CHARACTERS:
                raise Conflict(
                    _(
                        "Row %(row)s of column %(column)s has more than 32,767 characters, which "
                        "Excel cannot hold. Choose parquet, JSONL or CSV."
                    )
                    % {"row": count(at), "column": columns[place]}
                )
            sheet.write_string(at, place, text)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        while piece := file.read(PIECE):
            yield piece
