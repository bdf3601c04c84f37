"""Rows as plain JSON, and back."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models

from annotation.records.actions.bulk import copy_into
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
def _encoders(model: Model) -> tuple[Callable[[Any], Any], ...]:
    found: list[Callable[[Any], Any]] = []
    for field in model._meta.concrete_fields:
        if isinstance(field, models.JSONField):
            found.append(_encode_json_or_null if field.null else _encode_json)
        elif isinstance(field, models.BinaryField):
            found.append(_encode_bytes)
        elif isinstance(field, ArrayField):
            found.append(_encode_array)
        else:
            found.append(_encode_simple)
    return tuple(found)


def _encode_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _encode_json_or_null(value: Any) -> str | None:
    return None if value is None else _encode_json(value)


def _encode_bytes(value: Any) -> str | None:
    return None if value is None else f"\\x{base64.b64decode(value, validate=True).hex()}"


def _encode_array(value: Any) -> str | None:
    if value is None:
        return None
    return f"{{{','.join(json.dumps(one, ensure_ascii=False) for one in value)}}}"


def _encode_simple(value: Any) -> Any:
    if isinstance(value, dict | list):
        raise TypeError("a column of one value holds a list")
    return value


def insert_rows(model: Model, rows: list[Row]) -> None:
    """Insert rows as they are: no default, no moment of now takes the place of a value."""
    names, encoders = columns(model), _encoders(model)
    copy_into(
        model,
        names,
        (
            tuple(encode(row[name]) for name, encode in zip(names, encoders, strict=True))
            for row in rows
        ),
    )


def read_rows(model: Model, ids: list[int]) -> dict[int, Row]:
    """Return the rows of these ids as plain JSON."""
    names = columns(model)
    found = model._base_manager.filter(pk__in=ids).values_list(*names)
    key = names.index(model._meta.pk.attname)
    return {row[key]: dict(zip(names, map(plain, row), strict=True)) for row in found}
