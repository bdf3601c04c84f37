"""How large a file may be, in every sense, and the refusals that say so."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from crowdqc import numbers
from crowdqc.errors import Invalid

MAX_BYTES = 64 * 1024 * 1024  # some 200,000 answers of a paragraph
AT_ONCE = 10 * 1024 * 1024  # bytes of a file that is read while a page waits
MAX_NAME = 200  # characters of a column's name
NAMED = 5  # columns that an error lists


@dataclass(frozen=True)
class Limits:
    """The most that is read of one file."""

    size: int = MAX_BYTES  # bytes
    rows: int = 500_000
    columns: int = 500
    cell: int = 1_000_000  # characters
    line: int = 2_000_000  # characters
    decoded: int = 256 * 1024 * 1024  # characters of all cells together


def current() -> Limits:
    """Return this installation's limits on imported files (bytes, rows, columns)."""
    return Limits(
        size=settings.CROWDQC_IMPORT_MAX_BYTES,
        rows=settings.CROWDQC_IMPORT_MAX_ROWS,
        columns=settings.CROWDQC_IMPORT_MAX_COLUMNS,
    )


def check_size(size: int, most: int | None = None) -> None:
    """Refuse a file that is empty or too large, naming both sizes."""
    most = current().size if most is None else most
    if size == 0:
        raise Invalid(_("The file is empty."), fields={"file": _("Choose a file with rows.")})
    if size > most:
        raise Invalid(
            _("The file has %(value)s MB; %(value2)s MB is the most.")
            % {"value": f"{size / 2**20:.1f}", "value2": most // 2**20},
            fields={"file": _("Split it into smaller files; importing adds to what is there.")},
        )


def check_columns(count: int, limits: Limits) -> None:
    """Refuse a file of too many columns."""
    if count > limits.columns:
        raise Invalid(
            _("The file has %(count)s columns; %(columns)s is the most.")
            % {"count": numbers.count(count), "columns": numbers.count(limits.columns)},
            fields={"file": _("Remove the columns that are not imported.")},
        )


def check_rows(count: int, limits: Limits) -> None:
    """Refuse a file of too many rows."""
    if count > limits.rows:
        raise too_many_rows(numbers.count(count), limits)


def too_many_rows(count: str, limits: Limits) -> Invalid:
    """The refusal of a file with so many rows."""
    return Invalid(
        _("The file has %(count)s rows; %(rows)s is the most.")
        % {"count": count, "rows": numbers.count(limits.rows)},
        fields={"file": _("Split it into smaller files; importing adds to what is there.")},
    )


def check_decoded(size: int, limits: Limits) -> None:
    """Refuse a file that is small only because it is compressed."""
    if size > limits.decoded:
        raise Invalid(
            _("Uncompressed, the file has more than %(value)s MB of text.")
            % {"value": limits.decoded // 2**20},
            fields={"file": _("Split it into smaller files; importing adds to what is there.")},
        )


def check_head(columns: list[str], limits: Limits) -> None:
    """Refuse a head that is empty, has too many or too long names, or repeats one."""
    check_columns(len(columns), limits)
    seen: set[str] = set()
    twice = {name for name in columns if name and (name in seen or seen.add(name))}  # type: ignore[func-returns-value]
    if twice:
        shown = sorted(twice)
        rest = len(shown) - NAMED
        more = " " + _("and %(number)s more") % {"number": numbers.count(rest)} if rest > 0 else ""
        raise Invalid(
            _("The first line names %(join)s%(more)s twice.")
            % {"join": ", ".join(shown[:NAMED]), "more": more},
            fields={"file": _("Give each column a name of its own.")},
        )
    check_names(columns)
    if not any(columns):
        raise Invalid(
            _("The first line names no column."),
            fields={"file": _("The first line names the columns.")},
        )


def check_names(columns: list[str], begin: int = 1) -> None:
    """Refuse column names that are too long or that cannot be stored."""
    for number, name in enumerate(columns, begin):
        if len(name) > MAX_NAME:
            raise Invalid(
                _(
                    "The name of column %(number)s has %(name)s characters; %(max_name)s is "
                    "the most."
                )
                % {
                    "number": numbers.count(number),
                    "name": numbers.count(len(name)),
                    "max_name": MAX_NAME,
                },
                fields={"file": _("The first line names the columns.")},
            )
        if "\x00" in name or any("\ud800" <= mark <= "\udfff" for mark in name):
            raise Invalid(
                _("The name of column %(number)s holds a character that no text can hold.")
                % {"number": numbers.count(number)},
                fields={"file": _("Save the file as UTF-8 text.")},
            )
