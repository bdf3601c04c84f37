"""Labels of turns and tool calls as evaluation freezes them: one row a vote on one unit."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext

from annotation.chats.storage import UNITS, chat_of
from annotation.chats.units import CALLS, MARK, split_unit, turn_of
from annotation.models import Answer, ChoiceValue, Item, Task, TaskVersion
from annotation.task_types.labels.fields import CHOOSE_ONE
from annotation.work.snapshots.labels import LabelField, counting_rows
from crowdqc.errors import Conflict

CHUNK = 20_000


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
    """List the fields about turns or calls in which one option is chosen."""
    rows: Sequence[Mapping[str, Any]] = version.settings.get("fields", []) if version else []
    return [
        LabelField(
            row["name"],
            row["label"],
            tuple((one["value"], one["label"] or one["value"]) for one in row["options"]),
        )
        for row in rows
        if row["kind"] == CHOOSE_ONE and row.get("per")
    ]


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
    rows = ChoiceValue.objects.filter(
        field__startswith=f"{field.name}{MARK}",
        code__in=field.codes,
        answer__in=answers,
        answer__item__task=task,
    ).values_list(
        "answer_id",
        "answer__item_id",
        "answer__item__key",
        "answer__item__since",
        "answer__worker_id",
        "answer__answered_at",
        "field",
        "code",
    )
    found = [
        TurnVote(*row[:6], split_unit(row[6])[1], row[7]) for row in rows.iterator(chunk_size=CHUNK)
    ]
    first: dict[tuple[int, int, str], TurnVote] = {}
    for vote in sorted(found, key=lambda one: (one.answered_at, one.answer_id)):
        first.setdefault((vote.worker_id, vote.item_id, vote.unit), vote)
    return sorted(
        first.values(),
        key=lambda one: (one.item_key, one.item_since, place_key(one.unit), one.worker_id),
    )


def system_turns(task: Task, field: LabelField) -> list[SystemTurn]:
    """Return the labels that models gave to units, the first of each (one query)."""
    rows = (
        ChoiceValue.objects.filter(
            field__startswith=f"{field.name}{MARK}",
            code__in=field.codes,
            answer__system__isnull=False,
            answer__item__task=task,
            answer__stage=Answer.Stage.MAIN,
        )
        .order_by("answer__replicate", "answer_id")
        .values_list(
            "answer__system__name",
            "answer__system__prompt_strategy",
            "answer__item_id",
            "field",
            "code",
        )
    )
    found: dict[tuple[str, str, int, str], SystemTurn] = {}
    for name, strategy, item, stored, code in rows.iterator(chunk_size=CHUNK):
        unit = split_unit(stored)[1]
        found.setdefault((name, strategy, item, unit), SystemTurn(name, strategy, item, unit, code))
    return list(found.values())


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
    rows = version.settings.get("fields", []) if version else []
    per = next((row.get("per", "") for row in rows if row["name"] == field), "")
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
