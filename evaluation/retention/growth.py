"""What each kind of rows takes now, what the last 30 days added, and what a year costs."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Count, Min, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import StoredFile
from crowdqc.numbers import sized
from crowdqc.web.terms import Words
from evaluation.models import DeletedRows
from evaluation.results.columns import Column, head_column
from evaluation.results.tables import plain_table
from evaluation.retention.kinds import KINDS, Kind

RECENT = 30  # days
YEAR = 365
NONE = "–"
MAIN = "l1r nowrap"
PIECES = "crowdqc_file_piece"  # bytes of files, where the database holds them


@dataclass(frozen=True)
class Growth:
    """One kind: what it takes, and what it adds; None where its rows have no time or no number."""

    kind: str
    label: Words
    rows: int | None
    bytes: int
    recent_rows: int | None
    recent_bytes: int | None
    year_bytes: int | None
    kept: str
    oldest: dt.datetime | None
    deleted: int | None  # rows of the last 30 days, by retention


def table_bytes() -> dict[str, int]:
    """Return the bytes of each table with its indexes and long values."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        return dict(cursor.fetchall())


def estimated_rows() -> dict[str, int]:
    """Return about how many rows each table has, as the database counted them last."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, greatest(reltuples, 0)::bigint FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        return dict(cursor.fetchall())


@dataclass(frozen=True)
class _Counts:
    """What a table's rows say of a kind; ``recent`` of the last days."""

    rows: int
    recent: int | None = None
    oldest: dt.datetime | None = None
    bytes: int | None = None
    recent_bytes: int | None = None


def growth(now: dt.datetime | None = None) -> list[Growth]:
    """Return every kind, the one first that a year adds most of; last all other tables."""
    since = (now or timezone.now()) - dt.timedelta(days=RECENT)
    sizes, deleted = table_bytes(), _deleted(since.date())
    counts = {name: _count(kind, since) for name, kind in KINDS.items()}
    shares = _shares({name: each.rows for name, each in counts.items()})
    found = [
        _of_kind(
            kind,
            counts[name],
            sizes,
            shares[name],
            deleted.get(name, 0) if kind.is_settable else None,
        )
        for name, kind in KINDS.items()
    ]
    found.sort(key=lambda one: (-(one.year_bytes or 0), -one.bytes))
    return [*found, _others(sizes)]


def _count(kind: Kind, since: dt.datetime) -> _Counts:
    """Count all rows and recent ones, and of files their bytes (one query)."""
    figures: dict[str, Any] = {"rows": Count("pk")}
    if kind.born:
        recent = Q(**{f"{kind.born}__gte": since})
        figures |= {"recent": Count("pk", filter=recent), "oldest": Min(kind.born)}
        if kind.model is StoredFile:
            figures |= {"bytes": Sum("size"), "recent_bytes": Sum("size", filter=recent)}
    return _Counts(**kind.rows().order_by().aggregate(**figures))


def _shares(rows: Mapping[str, int]) -> dict[str, float]:
    """Return each kind's share of its table by its rows; an empty table is the first kind's."""
    in_table, shares = Counter[str](), dict[str, float]()
    for name, kind in KINDS.items():
        in_table[kind.model._meta.db_table] += rows[name]
    empty: set[str] = set()
    for name, kind in KINDS.items():
        table = kind.model._meta.db_table
        shares[name] = rows[name] / in_table[table] if in_table[table] else table not in empty
        empty.add(table)
    return shares


def _of_kind(
    kind: Kind, counts: _Counts, sizes: Mapping[str, int], share: float, deleted: int | None
) -> Growth:
    """Figures of a kind, which has a share of its tables."""
    size = round(share * sum(sizes.get(one._meta.db_table, 0) for one in kind.models))
    recent = round(size * (counts.recent or 0) / counts.rows) if counts.rows else 0
    size, recent = size + (counts.bytes or 0), recent + (counts.recent_bytes or 0)
    is_known = counts.recent is not None
    return Growth(
        kind=kind.name,
        label=kind.label,
        rows=counts.rows,
        bytes=size,
        recent_rows=counts.recent,
        recent_bytes=recent if is_known else None,
        year_bytes=round(recent * YEAR / RECENT) if is_known else None,
        kept=kind.keeps_words,
        oldest=counts.oldest,
        deleted=deleted,
    )


def _others(sizes: Mapping[str, int]) -> Growth:
    """All tables that belong to no kind."""
    known = {model._meta.db_table for kind in KINDS.values() for model in kind.models}
    rest = sum(size for table, size in sizes.items() if table not in known | {PIECES})
    return Growth("other", _("Other tables"), None, rest, None, None, None, "", None, None)


def _deleted(since: dt.date) -> dict[str, int]:
    """Count the rows of each kind that retention deleted since a day."""
    rows = DeletedRows.objects.filter(day__gte=since).order_by().values_list("kind")
    return dict(rows.annotate(n=Sum("rows")))


def stored_by_kind() -> dict[str, tuple[int, int]]:
    """Return bytes and about how many rows by kind, without counting any row.

    Kinds that share a table are one here, under the first one's name.
    """
    sizes, rows = table_bytes(), estimated_rows()
    first: dict[str, tuple[int, int]] = {}
    seen: set[str] = set()
    for name, kind in KINDS.items():
        table = kind.model._meta.db_table
        if table not in seen:
            size = sum(sizes.get(model._meta.db_table, 0) for model in kind.models)
            first[name] = (size, rows.get(table, 0))
        seen.add(table)
    return first


# -- the table of the page ------------------------------------------------------------------------


def _size_column(key: str, label: Words, short: Words, **more: Any) -> Column:
    return Column.number(key, label, short, html=lambda row: _size(getattr(row, key)), **more)


def _size(value: int | None) -> str:
    return NONE if value is None else sized(value)


COLUMNS = (
    head_column("label", gettext_lazy("Kind")),
    _size_column("year_bytes", gettext_lazy("A year adds"), gettext_lazy("A year"), classes=MAIN),
    _size_column("bytes", gettext_lazy("Size now"), gettext_lazy("Size now"), classes="nowrap"),
    Column.count("rows", gettext_lazy("Rows"), missing=NONE),
    _size_column(
        *("recent_bytes", gettext_lazy("Added in 30 days"), gettext_lazy("In 30 days")),
        classes="nowrap",
    ),
    Column.count(
        *("recent_rows", gettext_lazy("Rows in 30 days"), gettext_lazy("Rows in 30 days")),
        missing=NONE,
    ),
    Column.count(
        *("deleted", gettext_lazy("Deleted in 30 days"), gettext_lazy("Deleted")),
        missing=NONE,
        fades_zero=True,
    ),
    Column.text("kept", gettext_lazy("Kept"), gettext_lazy("Kept"), classes="nowrap"),
    Column.moment("oldest", gettext_lazy("Oldest"), gettext_lazy("Oldest"), missing=NONE),
)


def growth_page() -> dict[str, Any]:
    """Return the table, and what a year adds in all."""
    rows = growth()
    return {
        "table": plain_table(_("Growth by kind of data"), COLUMNS, rows),
        "year": sized(sum(row.year_bytes or 0 for row in rows)),
        "total": sized(sum(row.bytes for row in rows)),
    }
