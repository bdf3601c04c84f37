"""Statements of the hot path: written once per process, planned once per connection.

The framework writes a query's SQL anew at every call, which takes it longer than the database
needs to answer; and the database plans it anew, since the values stand in its text. Here a query is
written at its first use, its values are sent beside it, and after a few uses it is prepared.

Precomputing rows uses internals of Django. Where a version of it has changed them, queries run as
ordinary querysets, and a warning says so once a query.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from enum import Enum
from functools import cache, cached_property
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models import Expression, QuerySet
from django.db.models.base import ModelState
from django.db.transaction import TransactionManagementError
from psycopg import Cursor
from psycopg.types.numeric import Int8

logger = logging.getLogger(__name__)
M = TypeVar("M", bound=models.Model)
# The values of placeholders while a query runs as an ordinary queryset.
_values: ContextVar[Mapping[str, Any] | None] = ContextVar("placeholder_values", default=None)


class _Cursor(Cursor[Any]):
    """A cursor that reports its statement to loggers, prepared or not."""

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        found = super().execute(query, *args, **kwargs)
        if self._query is None:
            self._query = SimpleNamespace(query=query.encode())  # type: ignore[assignment]
        return found


def run_statement(sql: str, values: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run a constant statement and return its rows, [] without any.

    Values are None, truths, whole numbers, texts, moments, UUIDs, decimals, or lists of one of
    these; cast (``%s::jsonb``) what the statement does not give a type to.
    """
    if isinstance(values, Mapping):
        typed: Any = {name: _cast_numbers(value) for name, value in values.items()}
    else:
        typed = [_cast_numbers(value) for value in values]
    db: Any = connections[DEFAULT_DB_ALIAS]
    db.close_if_health_check_failed()
    db.ensure_connection()
    cursor = _Cursor(db.connection)
    db._prepare_cursor(cursor).execute(sql, typed)
    return cursor.fetchall() if cursor.pgresult.nfields else []  # type: ignore[union-attr]


def _cast_numbers(value: Any) -> Any:
    """Cast numbers of any size to one type, so that a statement is prepared once."""
    if type(value) is int:
        return Int8(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list):
        return [_cast_numbers(one) for one in value]
    return value


class Placeholder(Expression):
    """The place of a value that is passed with each call."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        """Compile to a parameter that the value replaces."""
        values = _values.get()
        return "%s", [self if values is None else values[self.name]]


class CompiledQuery(Generic[M]):
    """A query of a model whose SQL is written once.

    ``make`` gives the queryset, with ``Placeholder("name")`` where a value comes with each call:
    ``CompiledQuery(lambda: User.objects.filter(pk=Placeholder("pk")))``. ``select_related``,
    ``only``, ``defer``, annotations and row locks hold; prefetches do not.
    """

    def __init__(self, make: Callable[[], QuerySet[M]]) -> None:
        self._make = make

    @cached_property
    def _plan(self) -> _Plan | None:
        """The precomputed query; None where Django's internals are not those of ``_Plan``."""
        queryset = self._make()
        try:
            return _Plan(queryset)
        except (AttributeError, ImportError, KeyError, TypeError, ValueError) as error:
            logger.warning(
                "a query of %s runs without being compiled: %s", queryset.model.__name__, error
            )
            return None

    def all(self, **values: Any) -> list[M]:
        """Return all rows."""
        plan = self._plan
        if plan is None:
            return self.all_uncompiled(**values)
        if plan.locks and connections[DEFAULT_DB_ALIAS].get_autocommit():
            raise TransactionManagementError("Rows are locked within a transaction only.")
        given = [values[one.name] if isinstance(one, Placeholder) else one for one in plan.params]
        return [plan.row(row) for row in run_statement(plan.sql, given)]

    def all_uncompiled(self, **values: Any) -> list[M]:
        """Return all rows by an ordinary queryset."""
        token = _values.set(values)
        try:
            return list(self._make())
        finally:
            _values.reset(token)

    def first(self, **values: Any) -> M | None:
        """Return the first row, or None."""
        rows = self.all(**values)
        return rows[0] if rows else None


class _Maker:
    """Create model objects as ``Model.from_db`` does, without signals."""

    def __init__(self, model: type[models.Model]) -> None:
        self._model = model

    def from_db(self, db: str, names: Sequence[str], values: Sequence[Any]) -> models.Model:
        """Create the object of a row; fields not in ``names`` are deferred."""
        made = self._model.__new__(self._model)
        state = ModelState()
        state.adding, state.db = False, db
        made.__dict__.update(zip(names, values, strict=True), _state=state)
        return made


def _use_fast_makers(populators: Sequence[Any]) -> Sequence[Any]:
    """Let populators of related objects create them through ``_Maker``."""
    for one in populators:
        one.model_cls = _Maker(one.model_cls)
        _use_fast_makers(one.related_populators)
    return populators


class _Plan:
    """The SQL of a query and how its rows become objects, precomputed ``ModelIterable``."""

    def __init__(self, queryset: QuerySet[Any]) -> None:
        from django.db.models.query import (  # type: ignore[attr-defined]
            get_related_populators,
        )

        db = connections[DEFAULT_DB_ALIAS]
        compiler: Any = queryset.query.get_compiler(connection=db)
        self.sql, self.params = compiler.as_sql()
        self.locks = queryset.query.select_for_update
        select, found = compiler.select, compiler.klass_info
        fields = found["select_fields"]
        self._own = slice(fields[0], fields[-1] + 1)
        self._names = [column[0].target.attname for column in select[self._own]]
        self._maker = _Maker(found["model"])
        related = get_related_populators(found, select, DEFAULT_DB_ALIAS)
        self._related = _use_fast_makers(related)
        self._annotations = list((compiler.annotation_col_map or {}).items())
        converters = compiler.get_converters([column[0] for column in select])
        self._converters = list(converters.items())

    def row(self, row: tuple[Any, ...]) -> Any:
        """Create the object of a row with its selected related objects."""
        if self._converters:
            db, changed = connections[DEFAULT_DB_ALIAS], list(row)
            for at, (converters, expression) in self._converters:
                for convert in converters:
                    changed[at] = convert(changed[at], expression, db)
            row = tuple(changed)
        made = self._maker.from_db(DEFAULT_DB_ALIAS, self._names, row[self._own])
        for related in self._related:
            related.populate(row, made)
        for name, at in self._annotations:
            setattr(made, name, row[at])
        return made


@cache
def _insert_statement(model: type[models.Model]) -> tuple[str, list[Any]]:
    """Return the INSERT of one row of a model, and its fields in that order."""
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
    names = ", ".join(quote(str(field.column)) for field in fields)
    places = ", ".join("%s::jsonb" if _is_json(field) else "%s" for field in fields)
    table, key = quote(model._meta.db_table), quote(str(model._meta.pk.column))
    return f"INSERT INTO {table} ({names}) VALUES ({places}) RETURNING {key}", fields  # noqa: S608


def _is_json(field: Any) -> bool:
    return isinstance(field, models.JSONField)


def insert_row(row: M) -> M:
    """Insert a row by one statement and set its id, without signals."""
    sql, fields = _insert_statement(type(row))
    values = [
        json.dumps(getattr(row, field.attname), cls=field.encoder)
        if _is_json(field)
        else getattr(row, field.attname)
        for field in fields
    ]
    row.pk = run_statement(sql, values)[0][0]
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    return row
