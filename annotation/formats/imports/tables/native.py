"""Exports of annotation tools as plain tables: a row a worker and item, a column a question.

Prodigy, Argilla and doccano (JSON Lines or lists), MTurk's results with the answers of a crowd form
in a cell, and Potato (``one_hot``). Several options at once are one label: ``news + sport``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.files.reading.rows import Problem, Row
from annotation.files.reading.tables import Event, Table
from annotation.files.reading.values import as_text
from annotation.formats.imports.tables import one_hot
from crowdqc.files.json_input import Unreadable, read_json

Values = Mapping[str, str]
PREFIXES = ("Input.", "Answer.")  # of the columns of MTurk
CROWD_FORM = "taskAnswers"
STATUS, REJECTED = "AssignmentStatus", "Rejected"  # a column of MTurk, and a value of it


def unfold(table: Table) -> Table:
    """Convert a table of a known tool to one row per worker and item; others stay as they are."""
    table = one_hot.fold(table)
    if table.kind not in ("JSON", "JSONL") and not set(table.columns) >= MTURK:
        return table
    columns: list[str] = []
    return replace(table, columns=columns, events=_events(table, columns))


def _events(table: Table, columns: list[str]) -> Iterator[Event]:
    known: set[str] = set()
    for event in table.events:
        if not isinstance(event, Row):
            yield event
            continue
        if event.values.get(STATUS) == REJECTED and event.values.keys() >= MTURK:
            wrong = _("The requester rejected this assignment")
            yield Problem(event.line, STATUS, REJECTED, wrong, _("Left out."))
            continue
        read = next((read for marks, read in TOOLS if marks <= event.values.keys()), None)
        given = [event.values] if read is None else list(read(event.values))
        if not given and read in EMPTY:
            column, wrong = EMPTY[read]
            yield Problem(event.line, column, event.values[column], _(wrong), _("Left out."))
        for values in given:
            columns.extend(name for name in values if name not in known)
            known.update(values)
            yield Row(event.line, values)


def _read_prodigy(values: Values) -> Iterator[Values]:
    """Accepted options, or where there are none whether the task was accepted."""
    chosen, label = _json(values.get("accept", "")), values["answer"]
    if chosen is not None:
        label = _joined(chosen) if label == "accept" else ""
    item = values["_input_hash"] if chosen is not None else values.get("_task_hash")
    yield {
        "worker": values.get("_annotator_id") or values.get("_session_id", ""),
        "item": item or values["_input_hash"],
        "label": "" if label == "ignore" else label,
        "text": values.get("text", ""),
        "category": values.get("label", ""),
        "time": values.get("_timestamp", ""),
    }


def _read_argilla(values: Values) -> Iterator[Values]:
    """Submitted responses, by question in newer exports and by person in older ones."""
    found = _json(values["responses"])
    if not isinstance(found, dict):
        by_person = found if isinstance(found, list) else []
        found = {}
        for one in filter(_is_object, by_person):
            for name, said in dict(one.get("values") or {}).items():
                value = said.get("value") if isinstance(said, dict) else said
                found.setdefault(name, []).append({**one, "value": value})
    texts = _json(values["fields"])
    text = next(iter(texts.values()), "") if isinstance(texts, dict) else ""
    by_worker: dict[str, dict[str, str]] = {}
    for question, responses in found.items():
        for one in filter(_is_object, responses if isinstance(responses, list) else []):
            if one.get("status") in ("submitted", None):
                worker = as_text(one.get("user_id"))
                by_worker.setdefault(worker, {})[question] = _joined(one.get("value"))
    item = values.get("id") or values.get("external_id", "")
    for worker, said in by_worker.items():
        yield {"worker": worker, "item": item, "text": as_text(text), **said}


def _read_doccano(values: Values) -> Iterator[Values]:
    """Labels of whole texts; those of parts of a text say nothing of it."""
    by_worker: dict[str, list[Any]] = {}
    given = _json(values["annotations"])
    for one in filter(_is_object, given if isinstance(given, list) else []):
        if "start_offset" not in one:
            by_worker.setdefault(as_text(one.get("user")), []).append(one.get("label"))
    for worker, said in by_worker.items():
        yield {
            "worker": worker,
            "item": values["id"],
            "label": _joined(said),
            "text": values["text"],
        }


def _read_mturk(values: Values) -> Iterator[Values]:
    """Columns without the word of what they are, and a crowd form's answers as columns."""
    found: dict[str, str] = {}
    for name, value in values.items():
        bare = next((name.removeprefix(one) for one in PREFIXES if name.startswith(one)), name)
        forms = _json(value) if bare == CROWD_FORM else None
        for form in filter(_is_object, forms if isinstance(forms, list) else []):
            found |= {question: _answer(said) for question, said in form.items()}
        if not forms:
            found[bare if bare not in found else name] = value
    yield found


def _answer(said: Any) -> str:
    """Return the answer in a crowd form's data: a label, the ticked options, or a text."""
    if not isinstance(said, dict):
        return as_text(said)
    if "label" in said:
        return as_text(said["label"])
    return _joined([option for option, ticked in said.items() if ticked is True])


def _joined(said: Any) -> str:
    """Several options as one label."""
    return " + ".join(sorted(map(as_text, said))) if isinstance(said, list) else as_text(said)


def _json(cell: str) -> Any:
    try:
        return read_json(cell, any_text=True) if cell[:1] in ("[", "{") else None
    except Unreadable:
        return None


def _is_object(one: Any) -> bool:
    return isinstance(one, dict)


MTURK = {"HITId", "AssignmentId", "WorkerId"}
Reader = Callable[[Values], Iterable[Values]]
TOOLS: tuple[tuple[set[str], Reader], ...] = (
    ({"_input_hash", "answer"}, _read_prodigy),
    ({"responses", "fields"}, _read_argilla),
    ({"id", "text", "annotations"}, _read_doccano),
    (MTURK, _read_mturk),
)
# What a row lacks of which a reader takes nothing, by its column.
EMPTY: Mapping[Reader | None, tuple[str, str]] = {
    _read_argilla: ("responses", gettext_noop("It has no submitted response.")),
    _read_doccano: ("annotations", gettext_noop("It has no label of the whole text.")),
}
