"""A table as parquet, written row group by row group, so that memory stays flat."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from annotation.files.writing.zips import Sink
from crowdqc.errors import Conflict

if TYPE_CHECKING:
    import pyarrow

GROUP = 10_000  # rows
MEDIA = "application/vnd.apache.parquet"
Rows = Sequence[Mapping[str, Any]]


def parts(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """The file, a piece a row group.

    What the first rows of a column are decides its type: whole numbers, numbers, true or false,
    else text; lists are JSON. Raises Conflict where a later value does not fit that.
    """
    import pyarrow  # not above: it takes a while, and most pages need none of it
    import pyarrow.parquet

    source = iter(rows)
    group = list(itertools.islice(source, GROUP))
    schema = pyarrow.schema([(name, _type(group, name)) for name in columns])
    sink = Sink()
    with pyarrow.parquet.ParquetWriter(sink, schema) as writer:
        while group:
            writer.write_table(_table(schema, group))
            yield sink.drain()
            group = list(itertools.islice(source, GROUP))
    yield sink.drain()


def _type(rows: Rows, name: str) -> Any:
    import pyarrow

    values = [row[name] for row in rows if row[name] is not None]
    if not values:
        return pyarrow.string()
    if all(isinstance(value, bool) for value in values):
        return pyarrow.bool_()
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return pyarrow.int64()
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return pyarrow.float64()
    return pyarrow.string()


def _table(schema: pyarrow.Schema, rows: Rows) -> pyarrow.Table:
    import pyarrow

    arrays = []
    for field in schema:
        values = [row[field.name] for row in rows]
        if pyarrow.types.is_string(field.type):
            values = [_text(value) for value in values]
        try:
            arrays.append(pyarrow.array(values, field.type))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
            raise Conflict(
                f"The column {field.name} does not hold one kind of values, which parquet needs; "
                "take CSV or JSONL."
            ) from error
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)


def read(content: bytes) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """Columns and rows of a file. Raises ValueError where it is none."""
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content))
    except pyarrow.ArrowInvalid as error:
        raise ValueError(str(error)) from error

    def rows() -> Iterator[dict[str, Any]]:
        for batch in file.iter_batches(GROUP):
            yield from batch.to_pylist()

    return list(file.schema_arrow.names), rows()
