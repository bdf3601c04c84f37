"""Decisions of reviewers in a cell, as Rayyan writes them among the notes, as a row each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from django.utils.translation import gettext as _

from annotation.files.reading.rows import Row
from annotation.files.reading.tables import Event, Table
from annotation.formats.imports.tables.nested import peek

MARK = "RAYYAN-INCLUSION:"
DECISIONS = re.compile(re.escape(MARK) + r"\s*\{([^}]*)\}")
DECISION = re.compile(r'"([^"]+)"\s*=>\s*"([^"]+)"')


def fold(table: Table) -> Table:
    """A table with a row for each decision; others stay as they are."""
    table, rows = peek(table)
    column = next((name for name in table.columns for row in rows if MARK in row.get(name, "")), "")
    if not column:
        return table
    note = _("%(column)s: who included or excluded what is read out of its text.")
    table.notes.append(note % {"column": column})
    others = [name for name in table.columns if name != column]
    columns = ["worker", "label", *others]
    return replace(table, columns=columns, events=_decisions(table.events, column, others))


def _decisions(events: Iterator[Event], column: str, others: Sequence[str]) -> Iterator[Event]:
    for event in events:
        if not isinstance(event, Row):
            yield event
            continue
        kept = {name: event.values.get(name, "") for name in others}
        for inner in DECISIONS.findall(event.values.get(column, "")):
            for worker, label in DECISION.findall(inner):
                yield Row(event.line, {**kept, "worker": worker, "label": label})
