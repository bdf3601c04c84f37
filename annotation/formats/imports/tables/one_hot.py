"""Columns of options as columns of questions: of Potato, of REDCap, and others of 0 and 1.

Potato writes ``sentiment:::positive`` and ``sentiment:::negative`` with a mark in the cell of what
was chosen; its JSON Lines nest the same under ``label_annotations``. Several options at once are
one label: ``negative + sarcastic``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from django.utils.translation import gettext as _

from annotation.files.reading.literals import read_value
from annotation.files.reading.recognise import (
    ITEMS,
    LABELS,
    LOOKED_AT,
    WORKERS,
    is_usual,
    named_column,
)
from annotation.files.reading.rows import Row
from annotation.files.reading.tables import Event, Table
from annotation.files.reading.values import as_text
from annotation.formats.imports.tables.ratings import SCORES
from crowdqc.files.json_input import Unreadable

MARK = ":::"
OF_BITS = ("___", "/")  # as REDCap and Kobo end the name of a question before an option
BITS = {"", "0", "1", "true", "false"}
NESTED = "label_annotations"
DIGITS = {"0", "1"}
VOTE = "label"  # what columns of 0 and 1 without a common name answer
LEAST_OPTIONS = 3  # of such
NOTHING = {"none", "neutral", "other", "no emotion", "keine", "nichts", "ninguno", "ninguna"}
EMPTY = ("", "false", "0", "none", "null", "nan")
TYPED = ("text_box", "textbox", "free_response", "slider", "number")  # what they hold is the answer


def fold(table: Table) -> Table:
    """Merge Potato's columns, one per option, into one per question; others stay as they are."""
    table = _with_marked_bits(table)
    by_line = table.kind in ("JSON", "JSONL")  # its columns come up while it is read
    if not by_line and not any(MARK in name for name in table.columns):
        return table
    columns: list[str] = []
    _add(columns, table.columns)
    return replace(table, columns=columns, events=_events(table, columns))


def _with_marked_bits(table: Table) -> Table:
    """Name columns ``topic___1`` or ``topic/sport`` that hold 0 and 1 as Potato names them.

    Only where another column names workers: else people may be called so. So are three columns or
    more of 0 and 1 without a common name, where no column holds votes.
    """
    if table.kind in ("JSON", "JSONL") or not named_column(table.columns, WORKERS):
        return table
    marked = [name for name in table.columns if any(mark in name for mark in OF_BITS)]
    names = [name for name in table.columns if not is_usual(name)]
    is_bare = len(marked) < 2 and len(names) >= LEAST_OPTIONS and _lacks_a_vote(table.columns)
    if len(marked) < 2 and not is_bare:
        return table
    held = list(itertools.islice(table.events, LOOKED_AT))
    rows = [one.values for one in held if isinstance(one, Row)]
    groups: dict[str, dict[str, str]] = {}
    if is_bare:
        options = [name for name in names if {row.get(name, "").strip() for row in rows} <= DIGITS]
        if len(options) >= LEAST_OPTIONS:
            groups[VOTE] = {name: f"{VOTE}{MARK}{name}" for name in options}
    for name in marked:
        mark = next(mark for mark in OF_BITS if mark in name)
        stem, _sign, option = name.rpartition(mark)
        groups.setdefault(stem, {})[name] = f"{stem}{MARK}{option}"
    told: dict[str, str] = {}
    for stem, group in groups.items():
        given = {row.get(name, "").strip().casefold() for row in rows for name in group}
        if len(group) > 1 and stem not in table.columns and {"1", "true"} & given and given <= BITS:
            told |= group
            note = _("%(question)s: read from %(n)s columns, one for each option.")
            table.notes.append(note % {"question": stem, "n": len(group)})
    events = itertools.chain(held, table.events)
    if not told:
        return replace(table, events=events)
    columns = [told.get(name, name) for name in table.columns]
    return replace(table, columns=columns, events=(_renamed(one, told) for one in events))


def _lacks_a_vote(columns: Iterable[str]) -> bool:
    """Whether a column is called as items are, and none as votes are."""
    named = [*columns]
    return bool(named_column(named, ITEMS)) and not named_column(named, (*LABELS, *SCORES))


def _renamed(event: Event, told: Mapping[str, str]) -> Event:
    if not isinstance(event, Row):
        return event
    values = {
        told.get(name, name): "true" if name in told and value.strip() == "1" else value
        for name, value in event.values.items()
    }
    bare = [values[one] for one in told.values() if one.startswith(f"{VOTE}{MARK}")]
    if bare and NOTHING.isdisjoint(told) and all(value.strip() == "0" for value in bare):
        values[f"{VOTE}{MARK}none"] = "true"
    return Row(event.line, values)


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
        told = read_value(raw) if raw else {}
    except Unreadable:
        return
    for question, said in told.items() if isinstance(told, dict) else ():
        for option, value in said.items() if isinstance(said, dict) else ():
            yield f"{question}{MARK}{option}", as_text(value)
