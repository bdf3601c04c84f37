"""Krippendorff's reliability matrix as CSV: a row a coder, a column a unit, blank for missing."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.files.reading.sheet import check_size, read
from annotation.formats.imports.tools.crowdkit import Label
from crowdqc.errors import Invalid
from crowdqc.numbers import count


def read_matrix(content: bytes, name: str) -> list[Label]:
    """The cells that hold a value, row by row; the first column names the coder.

    Raises Invalid naming the file or the line.
    """
    check_size(len(content))
    sheet = read(content, name)
    if sheet.kind != "CSV" or len(sheet.columns) < 2:
        raise Invalid(
            _("%(name)s is no reliability matrix.") % {"name": name},
            fields={
                "file": _("CSV: the first column names the coder, each further one is a unit.")
            },
        )
    coder, *units = sheet.columns
    if sheet.unreadable:
        rows = [problem.as_dict() for problem in sheet.unreadable]
        raise Invalid(
            _("%(name)s: %(rows)s rows cannot be read.") % {"name": name, "rows": count(len(rows))},
            rows=rows,
        )
    found: list[Label] = []
    seen: dict[str, int | None] = {}
    for row in sheet.rows:
        who = row.values.get(coder, "").strip()
        if not who or who in seen:
            wrong = (
                _("stands on line %(seen)s already") % {"seen": seen[who]}
                if who
                else gettext_noop("is not named")
            )
            raise Invalid(
                _("%(name)s, line %(line)s: the coder %(wrong)s.")
                % {"name": name, "line": count(row.line), "wrong": wrong},
                fields={coder: _("A row a coder.")},
            )
        seen[who] = row.line
        for unit in units:
            value = row.values.get(unit, "").strip()
            if value:
                found.append(Label(row.line, unit, who, value))
    if not found:
        raise Invalid(
            _("%(name)s holds no value.") % {"name": name},
            fields={"file": _("Choose a file with values.")},
        )
    return found
