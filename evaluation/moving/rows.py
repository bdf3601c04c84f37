"""Rows as plain JSON, and back."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection, models
from django.db.models import JSONField, Value
from django.db.models.sql import InsertQuery

from evaluation.moving.tables import Model

Row = dict[str, Any]


def plain(value: Any) -> Any:
    """Return a value of a column as JSON holds it."""
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    return value


@cache
def columns(model: Model) -> tuple[str, ...]:
    """Return the columns of a table, keys by their name with ``_id``."""
    return tuple(one.attname for one in model._meta.concrete_fields)


@cache
def _readers(model: Model) -> dict[str, Callable[[Any], Any]]:
    found: dict[str, Callable[[Any], Any]] = {}
    for field in model._meta.concrete_fields:
        target: Any = field
        while target.remote_field is not None:
            target = target.target_field
        if isinstance(target, models.BinaryField):
            found[field.attname] = _read_bytes
        elif isinstance(target, JSONField):
            found[field.attname] = _keep if field.null else _keep_null
        else:
            found[field.attname] = target.to_python
    return found


def _read_bytes(value: Any) -> Any:
    return None if value is None else base64.b64decode(value, validate=True)


def _keep(value: Any) -> Any:
    return value


def _keep_null(value: Any) -> Any:
    return Value(None, JSONField()) if value is None else value


def insert_rows(model: Model, rows: list[Row]) -> None:
    """Insert rows as they are: no default, no moment of now takes the place of a value."""
    readers = _readers(model)
    made = [model(**{name: readers[name](value) for name, value in row.items()}) for row in rows]
    query = InsertQuery(model)
    query.insert_values(model._meta.concrete_fields, made, raw=True)
    query.get_compiler(connection=connection).execute_sql()


def read_rows(model: Model, ids: list[int]) -> dict[int, Row]:
    """Return the rows of these ids as plain JSON."""
    names = columns(model)
    found = model._base_manager.filter(pk__in=ids).values_list(*names)
    key = names.index(model._meta.pk.attname)
    return {row[key]: dict(zip(names, map(plain, row), strict=True)) for row in found}
