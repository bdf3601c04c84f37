"""What an item of a labels task is made of, and how its text is read: pure."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crowdqc.errors import Invalid
from crowdqc.web.terms import Words

TEXT, MARKDOWN, TABLE, IMAGE, AUDIO = "text", "markdown", "table", "image", "audio"
CONVERSATION = "conversation"
CONTENTS: Mapping[str, Words] = {
    TEXT: gettext_lazy("Text"),
    MARKDOWN: gettext_lazy("Markdown"),
    TABLE: gettext_lazy("Table"),
    IMAGE: gettext_lazy("Image"),
    AUDIO: gettext_lazy("Audio"),
    CONVERSATION: gettext_lazy("Conversation"),
}
# Their items show a file; the text of the item is its description.
FILES: Mapping[str, str] = {IMAGE: "image/", AUDIO: "audio/"}
MAX_ROWS, MAX_COLUMNS = 500, 50
COLUMN = re.compile(r"\{\{ *([^{}]+?) *\}\}")  # in a caption: a column that was kept with the item
MAX_CAPTION = 300


def caption_of(settings: Mapping[str, Any], meta: Mapping[str, Any]) -> str:
    """Fill the item's columns into the caption of its file; "" if they are all empty."""
    caption = str(settings.get("caption") or "")
    said = [str(meta.get(name, "")) for name in COLUMN.findall(caption)]
    if said and not any(said):
        return ""
    return COLUMN.sub(lambda found: str(meta.get(found[1], "")), caption)


def read_table(text: str) -> list[list[str]]:
    """Parse a table from CSV or JSON into rows of equal length, the head first.

    JSON as a list of lists, or of objects whose keys are the head; else CSV, by commas,
    semicolons or tabs, whichever the first line has most of.
    """
    rows = _of_json(text) if text.lstrip().startswith("[") else _of_csv(text)
    width = max(map(len, rows), default=0)
    if len(rows) < 2:
        raise _no_table(_("A table has a head and a row at least."))
    if len(rows) - 1 > MAX_ROWS or width > MAX_COLUMNS:
        raise _no_table(
            _("%(rows)s rows and %(columns)s columns at most.")
            % {"rows": MAX_ROWS, "columns": MAX_COLUMNS}
        )
    uneven = next((n for n, row in enumerate(rows, 1) if len(row) != width), None)
    if uneven is not None:
        raise _no_table(
            _("Row %(number)s has %(cells)s cells, others have %(width)s.")
            % {"number": uneven, "cells": len(rows[uneven - 1]), "width": width}
        )
    return rows


def _of_json(text: str) -> list[list[str]]:
    try:
        listed = json.loads(text)
    except ValueError:
        raise _no_table(_("It begins with [ and is no JSON.")) from None
    if all(isinstance(row, dict) for row in listed):
        head = list(dict.fromkeys(name for row in listed for name in row))
        return [head, *([_cell(row.get(name)) for name in head] for row in listed)] if head else []
    if not all(isinstance(row, list) for row in listed):
        raise _no_table(_("Give a list of lists, or a list of objects."))
    return [[_cell(value) for value in row] for row in listed]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _of_csv(text: str) -> list[list[str]]:
    first = text.strip().partition("\n")[0]
    mark = max(",;\t", key=first.count)
    try:
        return [row for row in csv.reader(io.StringIO(text.strip()), delimiter=mark) if any(row)]
    except csv.Error as error:
        raise _no_table(_("It cannot be read as CSV: %(error)s.") % {"error": error}) from None


def _no_table(mend: str) -> Invalid:
    return Invalid(_("This text is no table."), fields={"question": mend})


def render_table(text: str) -> SafeString:
    """The table as HTML; a text that is none stands as it is, so that nothing is hidden."""
    try:
        head, *rows = read_table(text)
    except Invalid:
        return format_html('<p class="preformatted">{}</p>', text)
    cells = format_html_join("", '<th scope="col">{}</th>', ((cell,) for cell in head))
    lines = format_html_join(
        "",
        "<tr>{}</tr>",
        ((format_html_join("", "<td>{}</td>", ((cell,) for cell in row)),) for row in rows),
    )
    table = '<table class="data"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>'
    return format_html(
        '<div class="scroll" tabindex="0" role="region" aria-label="Table">' + table + "</div>",
        cells,
        lines,
    )
