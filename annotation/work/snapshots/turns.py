"""Labels of turns and tool calls as evaluation freezes them: one row a vote on one unit."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext

from annotation.chats.storage import UNITS, chat_of
from annotation.chats.units import CALLS, MARK, split_unit, turn_of
from annotation.models import Answer, ChoiceValue, Item, Task, TaskVersion
from annotation.task_types.labels.fields import CHOOSE_ONE, CHOOSE_TURN, UNSURE
from annotation.task_types.labels.rules import is_field_active
from annotation.work.snapshots.labels import LabelField, counting_rows
from crowdqc.errors import Conflict

CHUNK = 20_000
CHOSEN, BEFORE = "first", "before"  # codes of the turn that is named, and of those before it


class TurnVote(NamedTuple):
    """One worker's label of one unit of one item."""

    answer_id: int
    item_id: int
    item_key: str
    item_since: int
    worker_id: int
    answered_at: dt.datetime
    unit: str
    code: str


class SystemTurn(NamedTuple):
    """One model's label of one unit."""

    system: str
    strategy: str
    item_id: int
    unit: str
    code: str


def turn_fields(version: TaskVersion | None) -> list[LabelField]:
    """List the fields about turns or calls: one option of each, or the first that goes wrong."""
    return [
        LabelField(row["name"], row["label"], _options_of(row))
        for row in _rows(version)
        if row["kind"] == CHOOSE_TURN or (row["kind"] == CHOOSE_ONE and row.get("per"))
    ]


def _options_of(row: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    if row["kind"] == CHOOSE_TURN:
        return ((CHOSEN, row["label"]), (BEFORE, gettext("well")))
    return tuple((one["value"], one["label"] or one["value"]) for one in row["options"])


def turn_field(task: Task, name: str = "") -> LabelField:
    """Return the field about turns of this name, or the first; Conflict if there is none."""
    found = turn_fields(task.current)
    chosen = next((one for one in found if not name or one.name == name), None)
    if chosen is None:
        raise Conflict(gettext("The task asks no field with one choice about turns or calls."))
    return chosen


def turn_votes(task: Task, field: LabelField) -> list[TurnVote]:
    """Return all labels of people on units that count, in the order of a snapshot (one query)."""
    return _votes(task, field, counting_rows(task))


def votes_of_answers(task: Task, field: LabelField, ids: Collection[int]) -> list[TurnVote]:
    """Return the labels in these answers, whether or not they still count."""
    return _votes(task, field, Answer.objects.filter(pk__in=list(ids)))


def _votes(task: Task, field: LabelField, answers: Any) -> list[TurnVote]:
    columns = (
        "answer__item__key",
        "answer__item__since",
        "answer__worker_id",
        "answer__answered_at",
    )
    found = [TurnVote._make(row) for row in _unit_codes(task, field, answers, columns)]
    first: dict[tuple[int, int, str], TurnVote] = {}
    for vote in sorted(found, key=lambda one: (one.answered_at, one.answer_id)):
        first.setdefault((vote.worker_id, vote.item_id, vote.unit), vote)
    return sorted(
        first.values(),
        key=lambda one: (one.item_key, one.item_since, place_key(one.unit), one.worker_id),
    )


def system_turns(task: Task, field: LabelField) -> list[SystemTurn]:
    """Return the labels that models gave to units, the first of each."""
    answers = Answer.objects.filter(system__isnull=False, item__task=task, stage=Answer.Stage.MAIN)
    columns = (
        "answer__replicate",
        "answer__system__name",
        "answer__system__prompt_strategy",
    )
    rows = sorted(_unit_codes(task, field, answers, columns), key=lambda row: (row[2], row[0]))
    found: dict[tuple[str, str, int, str], SystemTurn] = {}
    for _answer, item, _replicate, name, strategy, unit, code in rows:
        found.setdefault((name, strategy, item, unit), SystemTurn(name, strategy, item, unit, code))
    return list(found.values())


def _unit_codes(
    task: Task, field: LabelField, answers: Any, columns: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """Yield answer, item, the columns, unit and code of each label of a unit in these answers."""
    row = next((one for one in _rows(task.current) if one["name"] == field.name), None)
    stored = ChoiceValue.objects.filter(answer__in=answers, answer__item__task=task)
    names = ("answer_id", "answer__item_id", *columns, "field", "code")
    if row is None or row["kind"] != CHOOSE_TURN:
        values = stored.filter(field__startswith=f"{field.name}{MARK}", code__in=field.codes)
        for *more, name, code in values.values_list(*names).iterator(chunk_size=CHUNK):
            yield *more, split_unit(name)[1], code
        return
    about = {field.name, *(one["field"] for one in row["ask_if"])}
    given: dict[tuple[Any, ...], dict[str, set[str]]] = {}
    for *more, name, code in stored.values_list(*names).iterator(chunk_size=CHUNK):
        held = given.setdefault(tuple(more), {})
        asked, _point, option = name.partition(".")
        if asked in about and code != "no":
            held.setdefault(asked, set()).add(option or code)
    items = {key[1] for key in given}
    units = dict(Item.objects.filter(pk__in=items).values_list("pk", f"settings__{UNITS}"))
    for key, held in given.items():
        own: list[str] = (units[key[1]] or {}).get(row["among"], [])
        for unit, code in first_turn_codes(row, held, own):
            yield *key, unit, code


def first_turn_codes(
    row: Mapping[str, Any], held: Mapping[str, Collection[str]], units: Sequence[str]
) -> list[tuple[str, str]]:
    """Return what an answer says of units: that of the turn it names, and of those before it.

    Nothing where it is unsure, or names none although it was asked; of all units that they are
    well where the field was not asked, as its conditions do not hold.
    """
    if any(UNSURE in codes for codes in held.values()):
        return []
    [chosen] = held.get(row["name"], [""])
    if chosen in units:
        at = units.index(chosen)
        return [*((unit, BEFORE) for unit in units[:at]), (chosen, CHOSEN)]
    answered = {name: frozenset(codes) for name, codes in held.items()}
    if not row["ask_if"] or is_field_active(row, answered):
        return []
    return [(unit, BEFORE) for unit in units]


def _rows(version: TaskVersion | None) -> Sequence[Mapping[str, Any]]:
    rows: Sequence[Mapping[str, Any]] = version.settings.get("fields", []) if version else []
    return rows


def place_key(unit: str) -> tuple[int, int]:
    """Sort units by turn, then by call."""
    return turn_of(unit), int(unit.partition("c")[2] or 0)


class AskedUnit(NamedTuple):
    """A unit of an item that a field is asked about: its place from 1, and a call's tool."""

    place: int
    tool: str


def asked_units(
    version: TaskVersion | None, field: str, item_ids: Collection[int]
) -> dict[tuple[int, str], AskedUnit]:
    """Return the units of items that a field is asked about, labelled or not: (item, unit)."""
    rows = [row for row in _rows(version) if row["name"] == field]
    per = next((row.get("per") or row.get("among", "") for row in rows), "")
    items = Item.objects.filter(pk__in=list(item_ids))
    tools = _tools_called(item_ids) if per == CALLS else {}
    return {
        (pk, unit): AskedUnit(place, tools.get((pk, unit), ""))
        for pk, settings in items.values_list("pk", "settings").iterator(chunk_size=CHUNK)
        for place, unit in enumerate(settings.get(UNITS, {}).get(per, ()), 1)
    }


def _tools_called(item_ids: Collection[int]) -> dict[tuple[int, str], str]:
    """Return the name of the tool of each call: (item, unit) -> name."""
    items = Item.objects.filter(pk__in=list(item_ids), chat__isnull=False).select_related("chat")
    found: dict[tuple[int, str], str] = {}
    for item in items.iterator(chunk_size=200):
        assert item.chat is not None  # noqa: S101 (filtered)
        for number, turn in chat_of(item.chat).numbered():
            for at, call in enumerate(turn.calls, 1):
                found[item.pk, f"{number}c{at}"] = call.name
    return found
