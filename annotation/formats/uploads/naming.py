"""Why an upload cannot be imported, and whether it names a person."""

from __future__ import annotations

from django.utils.translation import gettext as _

from annotation.files.reading.importer import guess, plain
from annotation.files.reading.tables import Row, open_table
from annotation.formats.imports.tables.label_studio import annotators
from annotation.formats.imports.tables.native import unfold
from annotation.formats.registry import TABLES, format_for
from annotation.formats.uploads.staging import reading_of, rows_of, source_of
from annotation.models import ImportFile
from crowdqc.errors import Invalid
from crowdqc.numbers import count

PEOPLE = ("worker", "worker_id", "author", "judge")  # fields that hold a person's id


def refuse(file: ImportFile, *, leave_out_bad: bool) -> None:
    """Raise Invalid where a needed column is missing, or naming bad rows unless left out."""
    found, sheet = file.found, file.sheet
    if found["unmapped"]:
        names = ", ".join(one["name"] for one in found["unmapped"])
        columns = ", ".join(sheet["columns"][:20])
        raise Invalid(
            _("No column is read as %(names)s. The file has %(columns)s.")
            % {"names": names, "columns": columns},
            fields={one["name"]: _("Choose its column.") for one in found["unmapped"]},
        )
    if found["bad"] and not leave_out_bad:
        raise Invalid(
            _("%(bad)s of %(total)s rows cannot be read. Nothing was imported.")
            % {"bad": count(found["bad"]), "total": count(total(file))},
            rows=found["problems"],
        )


def total(file: ImportFile) -> int:
    """Rows of the file, those included that cannot be read."""
    return int(file.sheet["rows"] + file.sheet["unreadable_lines"])


def names_any(file: ImportFile, names: set[str]) -> bool:
    """Whether a cell in a column of people is one of these ids, or a table has a column of one.

    A table that is to become a task may still be read as a matrix, whose columns are workers.
    """
    if file.sheet and file.state != ImportFile.State.READING:
        if file.kind in TABLES and names & set(file.sheet["columns"]):
            return True
        columns = _columns(file, list(file.sheet["columns"]))
        return any(_in_row(file, row, columns, names) for row in rows_of(file))
    if file.stored_id is None:
        return False
    try:
        table = open_table(source_of(file), file.name, reading=reading_of(file))
        table = unfold(table) if file.task_id is None else table
        if file.kind in TABLES and names & set(table.columns):
            return True
        return any(
            _in_row(file, event, _columns(file, list(event.values)), names)
            for event in table.events
            if isinstance(event, Row)
        )
    except Invalid:  # its job will say why
        return False


def _in_row(file: ImportFile, row: Row, columns: set[str], names: set[str]) -> bool:
    """Whether a row names one of these people, in a column or as an annotator of its task."""
    if any(row.values.get(one, "").strip() in names for one in columns):
        return True
    return file.kind in TABLES and bool(names & annotators(row))


def _columns(file: ImportFile, columns: list[str]) -> set[str]:
    """The columns of people: what is read as one, and what is called so."""
    fields = [one for one in format_for(file.task, file.kind).fields if one.name in PEOPLE]
    called = {plain(name) for one in fields for name in (one.name, *one.also)}
    mapping = file.mapping or file.found.get("mapping") or guess(columns, fields)
    read = {mapping[one.name] for one in fields if one.name in mapping}
    return read | {name for name in columns if plain(name) in called}
