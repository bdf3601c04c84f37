"""A table as parquet, written row group by row group, so that memory stays flat."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from annotation.files.writing.zips import Sink
from crowdqc.errors import Conflict

if TYPE_CHECKING:
    import pyarrow

GROUP = 10_000  # rows
MEDIA = "application/vnd.apache.parquet"
Rows = Sequence[tuple[Any, ...]]


def parts(columns: Sequence[str], blocks: Iterable[Rows]) -> Iterator[bytes]:
    """Write rows as a Parquet file; yields one piece per row group.

    What the first rows of a column are decides its type: whole numbers, numbers, true or false,
    else text; lists are JSON. Raises Conflict where a later value does not fit that.
    """
    import pyarrow  # not above: it takes a while, and most pages need none of it
    import pyarrow.parquet

    source = itertools.chain.from_iterable(blocks)
    group = _columns(source, columns)
    schema = pyarrow.schema(
        [(name, _type(values)) for name, values in zip(columns, group, strict=True)]
    )
    sink = Sink()
    with pyarrow.parquet.ParquetWriter(sink, schema) as writer:
        while group and group[0]:
            writer.write_table(_table(schema, group))
            yield sink.drain()
            group = _columns(source, columns)
    yield sink.drain()


def _columns(source: Iterator[tuple[Any, ...]], columns: Sequence[str]) -> list[Sequence[Any]]:
    """The next rows, a sequence a column."""
    rows = list(itertools.islice(source, GROUP))
    return list(zip(*rows, strict=True)) if rows else [() for _ in columns]


def _type(column: Sequence[Any]) -> Any:
    import pyarrow

    kinds = {value.__class__ for value in column} - {type(None)}
    if kinds == {bool}:
        return pyarrow.bool_()
    if kinds == {int}:
        return pyarrow.int64()
    if kinds and kinds <= {int, float}:
        return pyarrow.float64()
    return pyarrow.string()


def _table(schema: pyarrow.Schema, columns: Sequence[Sequence[Any]]) -> pyarrow.Table:
    import pyarrow

    arrays = []
    for field, values in zip(schema, columns, strict=True):
        text = pyarrow.types.is_string(field.type)
        try:
            arrays.append(pyarrow.array(map(_text, values) if text else values, field.type))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
            raise Conflict(
                gettext(
                    "The column %(field_name)s does not hold one kind of values, which "
                    "parquet needs; take CSV or JSONL."
                )
                % {"field_name": field.name}
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
