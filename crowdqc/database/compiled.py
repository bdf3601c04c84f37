"""Statements of the hot path: written once a process, and planned once a connection.

The framework writes a query's SQL anew at every call, which takes it longer than the database
needs to answer; and the database plans it anew, since the values stand in its text. Here a query is
written at its first use, its values are sent beside it, and after a few uses it is prepared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache, cached_property
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models import Expression, QuerySet
from django.db.models.base import ModelState
from django.db.models.query import get_related_populators  # type: ignore[attr-defined]
from django.db.transaction import TransactionManagementError
from psycopg import Cursor
from psycopg.types.numeric import Int8

M = TypeVar("M", bound=models.Model)


class _Cursor(Cursor[Any]):
    """A cursor that tells its statement to whoever logs them, also one that is prepared."""

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        found = super().execute(query, *args, **kwargs)
        if self._query is None:
            self._query = SimpleNamespace(query=query.encode())  # type: ignore[assignment]
        return found


def run(sql: str, values: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a constant statement, or [] where it gives none.

    Values are None, truths, whole numbers, texts, moments, UUIDs, decimals, or lists of one of
    these; cast (``%s::jsonb``) what the statement does not give a type to.
    """
    if isinstance(values, Mapping):
        typed: Any = {name: _typed(value) for name, value in values.items()}
    else:
        typed = [_typed(value) for value in values]
    db: Any = connections[DEFAULT_DB_ALIAS]
    db.close_if_health_check_failed()
    db.ensure_connection()
    cursor = _Cursor(db.connection)
    db._prepare_cursor(cursor).execute(sql, typed)
    return cursor.fetchall() if cursor.pgresult.nfields else []  # type: ignore[union-attr]


def _typed(value: Any) -> Any:
    """Numbers of any size as one type, so that a statement is prepared once and not per size."""
    if type(value) is int:
        return Int8(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list):
        return [_typed(one) for one in value]
    return value


class Given(Expression):
    """The place of a value that comes with each call."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        """A parameter, to be replaced by the value."""
        return "%s", [self]


class CompiledQuery(Generic[M]):
    """Rows of a model by a query whose SQL is written once.

    ``make`` gives the queryset, with ``Given("name")`` where a value comes with each call:
    ``CompiledQuery(lambda: User.objects.filter(pk=Given("pk")))``. ``select_related``, ``only``,
    ``defer``, annotations and row locks hold; prefetches do not.
    """

    def __init__(self, make: Callable[[], QuerySet[M]]) -> None:
        self._make = make

    @cached_property
    def _plan(self) -> _Plan:
        return _Plan(self._make())

    def all(self, **values: Any) -> list[M]:
        """All rows."""
        plan = self._plan
        if plan.locks and connections[DEFAULT_DB_ALIAS].get_autocommit():
            raise TransactionManagementError("Rows are locked within a transaction only.")
        given = [values[one.name] if isinstance(one, Given) else one for one in plan.params]
        return [plan.row(row) for row in run(plan.sql, given)]

    def first(self, **values: Any) -> M | None:
        """The first row; None where there is none."""
        rows = self.all(**values)
        return rows[0] if rows else None


class _Maker:
    """Makes objects of a model as ``Model.from_db`` does, but sends no signals of their making."""

    def __init__(self, model: type[models.Model]) -> None:
        self._model = model

    def from_db(self, db: str, names: Sequence[str], values: Sequence[Any]) -> models.Model:
        """The object of a row; fields that are not among ``names`` are deferred."""
        made = self._model.__new__(self._model)
        state = ModelState()
        state.adding, state.db = False, db
        made.__dict__.update(zip(names, values, strict=True), _state=state)
        return made


def _make_quickly(populators: Sequence[Any]) -> Sequence[Any]:
    """Populators of related objects that make these as ``_Maker`` does."""
    for one in populators:
        one.model_cls = _Maker(one.model_cls)
        _make_quickly(one.related_populators)
    return populators


class _Plan:
    """A query's SQL, and how its rows become objects: ``ModelIterable``, worked out beforehand."""

    def __init__(self, queryset: QuerySet[Any]) -> None:
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
        self._related = _make_quickly(related)
        self._annotations = list((compiler.annotation_col_map or {}).items())
        converters = compiler.get_converters([column[0] for column in select])
        self._converters = list(converters.items())

    def row(self, row: tuple[Any, ...]) -> Any:
        """The object of a row, with those selected beside it."""
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
def _insert_of(model: type[models.Model]) -> tuple[str, list[Any]]:
    """The INSERT of one row of a model, and its fields in that order."""
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
    names = ", ".join(quote(str(field.column)) for field in fields)
    places = ", ".join("%s::jsonb" if _is_json(field) else "%s" for field in fields)
    table, key = quote(model._meta.db_table), quote(str(model._meta.pk.column))
    return f"INSERT INTO {table} ({names}) VALUES ({places}) RETURNING {key}", fields  # noqa: S608


def _is_json(field: Any) -> bool:
    return isinstance(field, models.JSONField)


def insert_row(row: M) -> M:
    """Add a row as its fields stand, by one statement, and give it its id. Sends no signals."""
    sql, fields = _insert_of(type(row))
    values = [
        json.dumps(getattr(row, field.attname), cls=field.encoder)
        if _is_json(field)
        else getattr(row, field.attname)
        for field in fields
    ]
    row.pk = run(sql, values)[0][0]
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    return row
