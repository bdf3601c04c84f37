"""Potato's exports as plain tables: a column an option becomes a column a question.

Potato writes ``sentiment:::positive`` and ``sentiment:::negative`` with a mark in the cell of what
was chosen; its JSON Lines nest the same under ``label_annotations``. Several options at once are
one label: ``negative + sarcastic``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from annotation.files.reading.rows import Row
from annotation.files.reading.tables import Event, Table
from annotation.files.reading.values import as_text
from crowdqc.files.json_input import Unreadable, read_json

MARK = ":::"
NESTED = "label_annotations"
EMPTY = ("", "false", "0", "none", "null", "nan")
TYPED = ("text_box", "textbox", "free_response", "slider", "number")  # what they hold is the answer


def fold(table: Table) -> Table:
    """Merge Potato's columns, one per option, into one per question; others stay as they are."""
    by_line = table.kind in ("JSON", "JSONL")  # its columns come up while it is read
    if not by_line and not any(MARK in name for name in table.columns):
        return table
    columns: list[str] = []
    _add(columns, table.columns)
    return replace(table, columns=columns, events=_events(table, columns))


def _events(table: Table, columns: list[str]) -> Iterator[Event]:
    for event in table.events:
        if not isinstance(event, Row):
            yield event
            continue
        folds = NESTED in event.values or any(MARK in name for name in event.values)
        row = Row(event.line, folded(event.values)) if folds else event
        _add(columns, row.values)
        yield row


def _add(columns: list[str], names: Iterable[str]) -> None:
    known = set(columns)
    for name in names:
        own = name.partition(MARK)[0]
        if own not in known:
            known.add(own)
            columns.append(own)


def folded(values: Mapping[str, str]) -> dict[str, str]:
    """A row with the options that were chosen, by question."""
    found: dict[str, str] = {}
    chosen: dict[str, list[str]] = {}
    for name, value in (*values.items(), *_nested(values.get(NESTED, ""))):
        question, mark, option = name.partition(MARK)
        if not mark:
            if name != NESTED:
                found[name] = value
        elif value.strip().casefold() not in EMPTY:
            chosen.setdefault(question, []).append(_answer(option, value.strip()))
        else:
            chosen.setdefault(question, [])
    return found | {question: " + ".join(sorted(said)) for question, said in chosen.items()}


def _answer(option: str, value: str) -> str:
    """The option, or the value where that is what was typed or the point of a scale."""
    if option.casefold() in TYPED or (value.isdigit() and option.endswith(f"_{value}")):
        return value
    return option


def _nested(raw: str) -> Iterator[tuple[str, str]]:
    """``label_annotations`` as columns."""
    try:
        told = read_json(raw, any_text=True) if raw else {}
    except Unreadable:
        return
    for question, said in told.items() if isinstance(told, dict) else ():
        for option, value in said.items() if isinstance(said, dict) else ():
            yield f"{question}{MARK}{option}", as_text(value)
