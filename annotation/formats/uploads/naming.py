"""Why an upload cannot be imported, and whether it names a person."""

from __future__ import annotations

from annotation.files.reading.importer import guess, plain
from annotation.files.reading.tables import Row, open_table
from annotation.formats.registry import format_for
from annotation.formats.uploads.staging import rows_of, source_of
from annotation.models import ImportFile, ImportPart
from crowdqc.errors import Invalid

PEOPLE = ("worker", "worker_id", "author", "judge")  # fields that hold a person's id


def refuse(file: ImportFile, *, leave_out_bad: bool) -> None:
    """Raise Invalid where a needed column is missing, or naming bad rows unless left out."""
    found, sheet = file.found, file.sheet
    if found["unmapped"]:
        names = ", ".join(one["name"] for one in found["unmapped"])
        columns = ", ".join(sheet["columns"][:20])
        raise Invalid(
            f"No column is read as {names}. The file has {columns}.",
            fields={one["name"]: "Choose its column." for one in found["unmapped"]},
        )
    if found["bad"] and not leave_out_bad:
        raise Invalid(
            f"{found['bad']:,} of {total(file):,} rows cannot be read. Nothing was imported.",
            rows=found["problems"],
        )


def total(file: ImportFile) -> int:
    """Rows of the file, those included that cannot be read."""
    return int(file.sheet["rows"] + file.sheet["unreadable_lines"])


def names_any(file: ImportFile, names: set[str]) -> bool:
    """Whether a cell in a column of people is one of these ids."""
    if file.sheet:
        columns = _columns(file, list(file.sheet["columns"]))
        return bool(columns) and any(
            row.values.get(one, "").strip() in names for row in rows_of(file) for one in columns
        )
    if not file.parts.filter(kind=ImportPart.Kind.FILE).exists():
        return False
    try:
        table = open_table(source_of(file), file.name)
        return any(
            event.values.get(one, "").strip() in names
            for event in table.events
            if isinstance(event, Row)
            for one in _columns(file, [name for name in event.values])
        )
    except Invalid:  # its job will say why
        return False


def _columns(file: ImportFile, columns: list[str]) -> set[str]:
    """The columns of people: what is read as one, and what is called so."""
    fields = [one for one in format_for(file.task, file.kind).fields if one.name in PEOPLE]
    called = {plain(name) for one in fields for name in (one.name, *one.also)}
    mapping = file.mapping or file.found.get("mapping") or guess(columns, fields)
    read = {mapping[one.name] for one in fields if one.name in mapping}
    return read | {name for name in columns if plain(name) in called}
