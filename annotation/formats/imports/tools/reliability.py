"""Krippendorff's reliability matrix as CSV: a row a coder, a column a unit, blank for missing."""

from __future__ import annotations

from annotation.files.reading.sheet import check_size, read
from annotation.formats.imports.tools.crowdkit import Label
from crowdqc.errors import Invalid


def read_matrix(content: bytes, name: str) -> list[Label]:
    """The cells that hold a value, row by row; the first column names the coder.

    Raises Invalid naming the file or the line.
    """
    check_size(len(content))
    sheet = read(content, name)
    if sheet.kind != "CSV" or len(sheet.columns) < 2:
        raise Invalid(
            f"{name} is no reliability matrix.",
            fields={"file": "CSV: the first column names the coder, each further one is a unit."},
        )
    coder, *units = sheet.columns
    if sheet.unreadable:
        rows = [problem.as_dict() for problem in sheet.unreadable]
        raise Invalid(f"{name}: {len(rows):,} rows cannot be read.", rows=rows)
    found: list[Label] = []
    seen: dict[str, int | None] = {}
    for row in sheet.rows:
        who = row.values.get(coder, "").strip()
        if not who or who in seen:
            wrong = f"stands on line {seen[who]} already" if who else "is not named"
            raise Invalid(
                f"{name}, line {row.line:,}: the coder {wrong}.", fields={coder: "A row a coder."}
            )
        seen[who] = row.line
        for unit in units:
            value = row.values.get(unit, "").strip()
            if value:
                found.append(Label(row.line, unit, who, value))
    if not found:
        raise Invalid(f"{name} holds no value.", fields={"file": "Choose a file with values."})
    return found
