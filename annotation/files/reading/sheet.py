"""A whole file as a sheet; its rows lie in a temporary file where they are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.files.reading.importer import Problems, Sheet
from annotation.files.reading.limits import (
    check_columns,
    check_names,
    check_rows,
    check_size,
    current,
)
from annotation.files.reading.rows import Problem, Row
from annotation.files.reading.sources import Source, of_bytes
from annotation.files.reading.spool import Spool
from annotation.files.reading.tables import Table, open_table
from annotation.files.reading.values import MEND, UNSTORABLE, WRONG, as_text, displayable_value

__all__ = ["check_size", "read", "sheet_of", "spooled"]


def read(content: bytes | Source, name: str) -> Sheet:
    """Read a CSV, JSONL or Parquet file into rows; Invalid if it cannot be read at all."""
    return spooled(open_table(of_bytes(content) if isinstance(content, bytes) else content, name))


def spooled(table: Table) -> Sheet:
    """Read a table to its end into a spool, so that its rows can be read several times."""
    rows, unreadable = Spool[Row](), Problems()
    for event in table.events:
        if isinstance(event, Problem):
            unreadable.append(event)
        else:
            rows.append(event, sum(map(len, event.values.values())))
    return Sheet(
        table.kind,
        table.encoding,
        table.encoding_note,
        table.delimiter,
        table.columns,
        rows,
        unreadable,
        table.notes,
    )


def sheet_of(rows: Sequence[Mapping[str, Any]]) -> Sheet:
    """Make a sheet of rows sent through the API, numbered from 1."""
    limits = current()
    check_rows(len(rows), limits)
    columns = list(dict.fromkeys(str(name) for row in rows for name in row))
    check_columns(len(columns), limits)
    check_names(columns)
    texts, unreadable = Spool[Row](), Problems()
    for number, row in enumerate(rows, 1):
        values = {str(name): as_text(value) for name, value in row.items()}
        wrong = next((name for name, value in values.items() if UNSTORABLE.search(value)), None)
        if wrong is None:
            texts.append(Row(number, values), sum(map(len, values.values())))
        else:
            unreadable.append(
                Problem(number, wrong, displayable_value(values[wrong]), str(WRONG), str(MEND))
            )
    return Sheet("rows", "", "", "", columns, texts, unreadable)
