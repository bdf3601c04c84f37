"""The road from what people and models chose to the method: frozen rows, a hash, index arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annotation.models import System, Task
from annotation.work.snapshots import choices as collected
from annotation.work.snapshots.choices import Choice, ChoiceField
from crowdqc.errors import Conflict
from evaluation.methods.core.base import FloatArray
from evaluation.methods.replacement.method import ACCURACY, COSINE, RMSE, Beside
from evaluation.models import Snapshot
from evaluation.runs.adapters import adapter_of
from evaluation.runs.freezing.snapshots import keep_snapshot


@dataclass(frozen=True, eq=False)
class ChoicesDataset:
    """A snapshot of one field as arrays.

    ``workers`` (membership ids) and ``systems`` (system ids) are what the indices of ``data``
    stand for.
    """

    data: Beside
    workers: tuple[int, ...]
    systems: tuple[int, ...]
    field: ChoiceField


def content_hash(rows: Sequence[Choice], field: ChoiceField) -> str:
    """SHA-256 over the field and, of each row in order, item, who chose, and what."""
    digest = hashlib.sha256()
    asked = [list(field.codes), *([list(field.lines)] if field.lines else [])]
    digest.update(json.dumps(["choices", field.name, *asked]).encode() + b"\n")
    for row in rows:
        who = [row.worker_id, row.system_id, row.replicate]
        line = [f"{row.item_key}@{row.item_since}", *who, row.code, row.ordinal]
        digest.update(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def freeze_choices(task: Task, field: ChoiceField) -> Snapshot:
    """Freeze what people and models chose in a field; the same content gives the same row again.

    Raises Conflict where nobody, or no model, chose anything.
    """
    rows = collected.choices_of(task, field, adapter_of(task).counting_rows(task))
    people = [row for row in rows if row.worker_id is not None]
    models = [row for row in rows if row.worker_id is None]
    if not people or not models:
        who = "model" if people else "person"
        raise Conflict(f"No {who} has answered “{field.label}” yet, so there is nothing to test.")
    counts = {
        "came": len(people),
        "answers": len(people),
        "workers": len({row.worker_id for row in people}),
        "questions": len({row.item_id for row in people}),
        "system_answers": len(models),
        "systems": len({row.system_id for row in models}),
        "field": field.name,
        "counting": len(rows),
        "max_id": max(row.answer_id for row in rows),
        "left_out": dict.fromkeys(("uncounted", "excluded", "other_fields"), 0),
    }
    ids = [row.answer_id for row in rows]
    return keep_snapshot(task, content_hash(rows, field), ids, counts)


def reload_choices(snapshot: Snapshot, field: ChoiceField) -> list[Choice]:
    """What was frozen, read again and found to be the same; raises Conflict where it is not."""
    rows = collected.of_answers(snapshot.task, field, snapshot.answer_ids)
    if content_hash(rows, field) != snapshot.content_hash:
        raise Conflict(
            f"The answers of snapshot {snapshot.content_hash[:8]} are no longer what they were "
            "when it was taken; start a new run."
        )
    return rows


def load(snapshot: Snapshot, field: ChoiceField) -> ChoicesDataset:
    """The frozen choices as arrays; raises Conflict as ``reload_choices``."""
    rows = reload_choices(snapshot, field)
    return to_arrays(rows, field, names_of(rows))


def names_of(rows: Sequence[Choice]) -> dict[int, str]:
    """What the systems among these rows are called, by their ids (1 query)."""
    systems = {row.system_id for row in rows if row.system_id is not None}
    return {one.pk: str(one) for one in System.objects.filter(pk__in=systems)}


def to_arrays(rows: Sequence[Choice], field: ChoiceField, names: dict[int, str]) -> ChoicesDataset:
    """Rows in the order of a snapshot as arrays; ``names`` of the systems by their ids."""
    items = {pk: at for at, pk in enumerate(dict.fromkeys(row.item_id for row in rows))}
    workers = tuple(sorted({row.worker_id for row in rows if row.worker_id is not None}))
    systems = tuple(sorted({row.system_id for row in rows if row.system_id is not None}))
    worker_at = {pk: at for at, pk in enumerate(workers)}
    system_at = {pk: at for at, pk in enumerate(systems)}
    # Of checklists the lists that were given; lists agree by their cosine, +1 for yes, -1 for no,
    # which is twice the share of questions answered alike, less one.
    lists = sorted({row.code for row in rows}) if field.lines else []
    place = {code: float(at) for at, code in enumerate(lists or field.codes)}
    people = [row for row in rows if row.worker_id is not None]
    model: FloatArray = np.full((len(systems), len(items)), np.nan)
    for row in rows:
        if row.system_id is not None:
            model[system_at[row.system_id], items[row.item_id]] = _value(row, place)
    data = Beside(
        person=np.array([worker_at[row.worker_id or 0] for row in people], dtype=np.int64),
        item=np.array([items[row.item_id] for row in people], dtype=np.int64),
        value=np.array([_value(row, place) for row in people], dtype=np.float64),
        model=model,
        people=tuple(map(str, workers)),
        models=tuple(names[pk] for pk in systems),
        score=COSINE if lists else ACCURACY if field.codes else RMSE,
        labels=field.codes,
        vectors=np.array([[2.0 * int(one) - 1 for one in code] for code in lists])
        if lists
        else None,
    )
    return ChoicesDataset(data, workers, systems, field)


def _value(row: Choice, place: dict[str, float]) -> float:
    return place[row.code] if place else float(row.ordinal or 0)
