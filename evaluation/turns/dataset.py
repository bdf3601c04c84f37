"""From collected labels of turns to arrays: frozen rows and a content hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext

from annotation.chats.units import turn_of
from annotation.models import Task
from annotation.work.snapshots import turns as collected
from annotation.work.snapshots.labels import LabelField
from annotation.work.snapshots.turns import AskedUnit, SystemTurn, TurnVote
from crowdqc.errors import Conflict
from evaluation.methods.core.votes import Labels
from evaluation.methods.turns.method import Turns
from evaluation.models import Snapshot
from evaluation.runs.freezing.snapshots import is_unchanged, keep_snapshot


@dataclass(frozen=True, eq=False)
class TurnsDataset:
    """A snapshot of one field as arrays; ``units`` (items, units) name those of ``data``."""

    data: Turns
    workers: tuple[int, ...]
    units: tuple[tuple[int, str], ...]
    field: LabelField


def content_hash(rows: Sequence[TurnVote], field: LabelField) -> str:
    """SHA-256 over the field's options and, of each row in order, item, unit, worker and label."""
    digest = hashlib.sha256()
    digest.update(json.dumps(["turns", field.name, list(field.codes)]).encode() + b"\n")
    for row in rows:
        line = [f"{row.item_key}@{row.item_since}", row.unit, row.worker_id, row.code]
        digest.update(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def freeze_turns(task: Task, field: LabelField) -> Snapshot:
    """Freeze the labels that people gave to units; Conflict when none counts."""
    rows = collected.turn_votes(task, field)
    if not rows:
        raise Conflict(
            gettext("No label of “%(field)s” counts yet, so there is nothing to score.")
            % {"field": field.label}
        )
    ids = sorted({row.answer_id for row in rows})
    counts = {
        "answers": len(ids),
        "labels": len(rows),
        "workers": len({row.worker_id for row in rows}),
        "questions": len({row.item_id for row in rows}),
        "units": len({(row.item_id, row.unit) for row in rows}),
        "field": field.name,
        "system_answers": 0,
        "systems": 0,
        "counting": len(ids),
        "max_id": max(ids),
        "left_out": {},
    }
    return keep_snapshot(task, content_hash(rows, field), ids, counts)


@dataclass(frozen=True)
class FrozenTurns:
    """Labels of people in the order of a snapshot, what was asked, and labels of models."""

    rows: Sequence[TurnVote]
    asked: Mapping[tuple[int, str], AskedUnit]
    systems: Sequence[SystemTurn]


def load(snapshot: Snapshot, field: LabelField, good: str) -> TurnsDataset:
    """Load the frozen labels as arrays; Conflict if they changed."""
    return to_arrays(reload_turns(snapshot, field), field, good)


def reload_turns(snapshot: Snapshot, field: LabelField) -> FrozenTurns:
    """Read the frozen labels again; Conflict if they changed."""
    task = snapshot.task
    rows = collected.votes_of_answers(task, field, snapshot.answer_ids)
    if not is_unchanged(snapshot, content_hash(rows, field)):
        raise Conflict(
            gettext("The labels of this snapshot changed since it was taken; start a new run.")
        )
    items = {row.item_id for row in rows}
    asked = collected.asked_units(task.current, field.name, items)
    systems = [one for one in collected.system_turns(task, field) if one.item_id in items]
    return FrozenTurns(rows, asked, systems)


def to_arrays(frozen: FrozenTurns, field: LabelField, good: str) -> TurnsDataset:
    """Turn rows in the order of a snapshot into arrays."""
    rows, asked, systems = frozen.rows, frozen.asked, frozen.systems
    units = list(dict.fromkeys((row.item_id, row.unit) for row in rows))
    items = list(dict.fromkeys(item for item, _ in units))
    workers = sorted({row.worker_id for row in rows})
    unit_at = {unit: at for at, unit in enumerate(units)}
    worker_at = {pk: at for at, pk in enumerate(workers)}
    label_at = {code: at for at, code in enumerate(field.codes)}
    item_at = {pk: at for at, pk in enumerate(items)}
    votes = Labels.build(
        [worker_at[row.worker_id] for row in rows],
        [unit_at[row.item_id, row.unit] for row in rows],
        [label_at[row.code] for row in rows],
        workers=[str(pk) for pk in workers],
        items=[f"{item}@{unit}" for item, unit in units],
        labels=field.codes,
    )
    conversation = [item_at[item] for item, _ in units]
    # A unit that the field is not asked about any more stands where its turn does.
    about = [asked.get(unit, AskedUnit(turn_of(unit[1]), "")) for unit in units]
    kinds = tuple(dict.fromkeys(one.tool for one in about)) or ("",)
    names = list(dict.fromkeys((one.system, one.strategy) for one in systems))
    name_at = {name: at for at, name in enumerate(names)}
    machine = np.full((len(names), len(units)), -1, dtype=np.int64)
    for one in systems:
        at = unit_at.get((one.item_id, one.unit))
        if at is not None:
            machine[name_at[one.system, one.strategy], at] = label_at[one.code]
    data = Turns.build(
        votes,
        conversation,
        [one.place for one in about],
        good=label_at.get(good, len(field.codes) - 1),
        conversations=[str(pk) for pk in items],
        kind=[kinds.index(one.tool) for one in about],
        kinds=kinds,
        machine=machine,
        systems=[", ".join(filter(None, name)) for name in names],
    )
    return TurnsDataset(data, tuple(workers), tuple(units), field)
