"""What people and models chose in one field, item by item: labels, judgments of pairs, ratings.

A filled checklist is one choice as well: all of its answers together, one character a question.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from annotation.models import Answer, ChoiceValue, Task
from annotation.task_types import get_type
from annotation.task_types.checklist.type import list_of
from annotation.task_types.labels.fields import NOTHING, UNSURE
from annotation.task_types.pairwise.sides import NEUTRAL, STORED
from annotation.work.snapshots import checks
from annotation.work.snapshots.judgments import (
    CHUNK,
    AskedDimension,
    pooled_versions,
    version_items,
)
from crowdqc.errors import Conflict

CHECKLIST = "checklist"
COLUMNS = (
    "answer_id",
    "answer__item_id",
    "answer__item__key",
    "answer__item__since",
    "answer__worker_id",
    "answer__system_id",
    "answer__replicate",
    "answer__answered_at",
    "code",
    "ordinal",
    "answer__flipped",
)


class Choice(NamedTuple):
    """One choice of a person or of a system; ``ordinal`` is its number where it has one."""

    answer_id: int
    item_id: int
    item_key: str
    item_since: int
    worker_id: int | None
    system_id: int | None
    replicate: int
    answered_at: dt.datetime
    code: str
    ordinal: int | None
    flipped: bool = False  # whether a pair was shown turned


@dataclass(frozen=True)
class ChoiceField:
    """A field whose answers are one of ``codes``, or, where there are none, whole numbers.

    With ``lines`` it is a checklist of these questions: a code is 1 (yes) or 0 (no) for each.
    """

    name: str
    label: str
    codes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


def fields_of(task: Task) -> list[ChoiceField]:
    """Return the published version's fields with one choice each, in order."""
    if task.current is None:
        return []
    lines = tuple(name for name, _ in list_of(task.current))
    if lines:
        return [ChoiceField(CHECKLIST, f"All {len(lines)} questions of the list", lines=lines)]
    asked = version_items(task.current)
    return [ChoiceField(one.name, one.label, _codes(one)) for one in asked]


def _codes(one: AskedDimension) -> tuple[str, ...]:
    if one.points:
        return ()
    offered = tuple(code for code in one.codes if code not in (UNSURE, NOTHING))
    return offered or tuple(code for code in STORED if one.neutral or code != NEUTRAL)


def field_of(task: Task, name: str = "") -> ChoiceField:
    """Return the task's field of this name, or its first; Conflict if there is none."""
    found = fields_of(task)
    chosen = next((one for one in found if not name or one.name == name), None)
    if chosen is None:
        known = f"it has: {', '.join(one.name for one in found)}" if found else "it has none"
        raise Conflict(
            gettext("The task has no field %(name)s in which one thing is chosen; %(known)s.")
            % {"name": repr(name), "known": known}
        )
    return chosen


def choices_of(task: Task, field: ChoiceField, people: QuerySet[Answer]) -> list[Choice]:
    """Choices in the field: of people among these answers, and of every system.

    One a person and item, and one a system and item: the first. Pairs that are asked again and
    items that are checks of attention are left out.
    """
    wanted = Q(answer__in=people.filter(worker__isnull=False)) | Q(
        answer__system__isnull=False, answer__stage=Answer.Stage.MAIN
    )
    rows = _rows(task, field).filter(
        wanted, answer__version__in=_versions(task, field), answer__item__repeat=False
    )
    if get_type(task.type).judges_texts:
        rows = rows.filter(answer__item__expected__isnull=True)
    return _first_choices(_read(rows, field))


def repeats_of(task: Task, field: ChoiceField, once: Sequence[Choice]) -> list[Choice]:
    """Return further answers of systems to the items in ``once``, in the same order."""
    systems = {row.system_id for row in once if row.system_id is not None}
    there, items = {row.answer_id for row in once}, {row.item_id for row in once}
    rows = _rows(task, field).filter(
        answer__system__in=systems,
        answer__stage=Answer.Stage.MAIN,
        answer__version__in=_versions(task, field),
    )
    found = [row for row in _read(rows, field) if row.answer_id not in there]
    return sorted((row for row in found if row.item_id in items), key=_order)


def of_answers(task: Task, field: ChoiceField, answer_ids: Collection[int]) -> list[Choice]:
    """Return the choices in these answers, whether or not they still count."""
    wanted = set(answer_ids)
    return _first_choices(
        [one for one in _read(_rows(task, field), field) if one.answer_id in wanted]
    )


def _versions(task: Task, field: ChoiceField) -> list[int]:
    """Versions that ask the same as the one in force."""
    return checks.pooled_versions(task) if field.lines else pooled_versions(task)


def _rows(task: Task, field: ChoiceField) -> QuerySet[ChoiceValue]:
    names = field.lines or (field.name,)
    return ChoiceValue.objects.filter(answer__item__task=task, field__in=names)


def _read(rows: QuerySet[ChoiceValue], field: ChoiceField) -> list[Choice]:
    if field.lines:
        return _read_lists(rows, field.lines)
    rows = rows.filter(code__in=field.codes) if field.codes else rows.filter(ordinal__isnull=False)
    return [Choice(*row) for row in rows.values_list(*COLUMNS).iterator(chunk_size=CHUNK)]


def _read_lists(rows: QuerySet[ChoiceValue], lines: tuple[str, ...]) -> list[Choice]:
    """A choice an answer: one that leaves a question open is not there."""
    given: dict[int, dict[str, Choice]] = {}
    for *row, name in rows.values_list(*COLUMNS, "field").iterator(chunk_size=CHUNK):
        one = Choice(*row)
        given.setdefault(one.answer_id, {})[name] = one
    return [
        of_lines[lines[0]]._replace(
            code="".join(str(int(of_lines[name].ordinal == 1)) for name in lines), ordinal=None
        )
        for of_lines in given.values()
        if len(of_lines) == len(lines)
    ]


def _order(row: Choice) -> tuple[object, ...]:
    who = row.system_id if row.worker_id is None else row.worker_id
    when = (row.replicate, row.answered_at, row.answer_id)
    return (row.item_key, row.item_since, row.item_id, row.worker_id is None, who, *when)


def _first_choices(rows: Sequence[Choice]) -> list[Choice]:
    """The first choice of everybody on an item, in the order of a snapshot."""
    kept: dict[tuple[int, int | None, int | None], Choice] = {}
    for row in sorted(rows, key=_order):
        kept.setdefault((row.item_id, row.worker_id, row.system_id), row)
    return list(kept.values())
