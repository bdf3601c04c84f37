"""Rows of the API as records, and as tables of pandas, polars and datasets."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from crowdqc_client.errors import MissingPackage

Record = dict[str, Any]


def flatten(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a row; those of an inner object by names such as ``posterior.yes``."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def make_records(rows: Sequence[BaseModel]) -> list[Record]:
    """Return rows as flat dictionaries with the same keys; None where a row has no value."""
    flat = [dict(flatten(row.model_dump())) for row in rows]
    names = list(dict.fromkeys(name for record in flat for name in record))
    return [{name: record.get(name) for name in names} for record in flat]


def columns_of(model: type[BaseModel], records: Sequence[Record]) -> list[str]:
    """Return the columns of a table, also where it has no row."""
    return list(records[0]) if records else list(model.model_fields)


def load(package: str) -> Any:
    """Import an optional package; MissingPackage says how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingPackage(f'Install it with: pip install "crowdqc-client[{package}]"') from error


def make_pandas(model: type[BaseModel], records: Sequence[Record]) -> Any:
    """Return a pandas.DataFrame; amounts of money stay exact."""
    return load("pandas").DataFrame(list(records), columns=columns_of(model, records))


def make_polars(model: type[BaseModel], records: Sequence[Record]) -> Any:
    """Return a polars.DataFrame, whose types come from all rows."""
    polars = load("polars")
    if not records:
        return polars.DataFrame(schema=columns_of(model, records))
    return polars.DataFrame(list(records), infer_schema_length=None)


def make_dataset(model: type[BaseModel], records: Sequence[Record]) -> Any:
    """Return a datasets.Dataset."""
    columns = columns_of(model, records)
    values = {name: [record[name] for record in records] for name in columns}
    return load("datasets").Dataset.from_dict(values)
