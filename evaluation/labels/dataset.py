"""The road from collected labels to methods: frozen rows, a content hash, index arrays.

One snapshot is of one field: the same as ``snapshots`` does for texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

import numpy as np

from annotation.models import Task
from annotation.work.snapshots import labels as collected
from annotation.work.snapshots.judgments import item_metadata
from annotation.work.snapshots.labels import LabelField, LabelVote
from annotation.work.snapshots.other_fields import OtherField, other_fields
from crowdqc.errors import Conflict
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.kinds import Column, columns_of
from evaluation.methods.core.votes import Labels
from evaluation.models import Snapshot
from evaluation.runs.freezing.snapshots import is_unchanged, keep_snapshot


def content_hash(rows: Sequence[LabelVote], field: LabelField) -> str:
    """SHA-256 over the field's options and, of each row in order, item, answer key and label."""
    digest = hashlib.sha256()
    digest.update(json.dumps(["labels", field.name, list(field.codes)]).encode() + b"\n")
    for row in rows:
        line = [f"{row.item_key}@{row.item_since}", row.known, row.worker_id, row.code]
        digest.update(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def freeze_labels(task: Task, field: LabelField) -> Snapshot:
    """Freeze the labels that people chose in a field; the same content gives the same row again.

    Raises Conflict when no label counts.
    """
    found = collected.sorted_out(task, field)
    if not found.rows:
        raise Conflict(f"No label of “{field.label}” counts yet, so there is nothing to score.")
    ids = [row.answer_id for row in found.rows]
    counts = {
        "came": found.came,
        "answers": len(found.rows),
        "workers": len({row.worker_id for row in found.rows}),
        "questions": len({row.item_id for row in found.rows}),
        "known": len({row.item_id for row in found.rows if row.known}),
        "field": field.name,
        "system_answers": 0,
        "systems": 0,
        "counting": len(found.rows),
        "max_id": max(ids),
        "left_out": {
            **dict.fromkeys(("uncounted", "excluded", "other_fields"), 0),
            **found.left_out,
        },
    }
    return keep_snapshot(task, content_hash(found.rows, field), ids, counts)


def reload_labels(snapshot: Snapshot, field: LabelField) -> list[LabelVote]:
    """Read frozen labels again; raise Conflict where they are not the same any more."""
    rows = collected.of_answers(snapshot.task, field, snapshot.answer_ids)
    if not is_unchanged(snapshot, content_hash(rows, field)):
        raise Conflict(
            f"The labels of snapshot {snapshot.content_hash[:8]} are no longer what they were "
            "when it was taken; start a new run."
        )
    return rows


def load(snapshot: Snapshot, field: LabelField) -> LabelsDataset:
    """Load the frozen labels as arrays; Conflict if they changed."""
    found = to_arrays(reload_labels(snapshot, field), field)
    others = tuple(other_fields(snapshot.task, snapshot.answer_ids))
    return with_kinds(replace(found, others=others), item_metadata(snapshot.task))


def with_kinds(frozen: LabelsDataset, metadata: Mapping[int, Mapping[str, str]]) -> LabelsDataset:
    """Return the dataset with its items' metadata as columns, by which results can be split."""
    return replace(frozen, columns=columns_of([metadata.get(pk, {}) for pk in frozen.items]))


@dataclass(frozen=True, eq=False)
class LabelsDataset:
    """A snapshot of one field as arrays, and what its indices stand for.

    ``workers`` (membership ids) and ``items`` (item ids) are what the indices of ``data`` stand
    for, its labels are the options of ``field`` in their order; ``gold`` (items,) are the known
    answers among them, -1 where there is none; ``time`` (votes,) when each label was given, in
    seconds since 1970. ``others`` are what the same answers tick and mark in the task's fields of
    several options and of spans. ``columns`` are kinds of items by name.
    """

    data: Labels
    gold: IntArray
    time: FloatArray
    workers: tuple[int, ...]
    items: tuple[int, ...]
    field: LabelField
    others: tuple[OtherField, ...] = ()
    columns: dict[str, Column] = dataclass_field(default_factory=dict)


def to_arrays(rows: Sequence[LabelVote], field: LabelField) -> LabelsDataset:
    """Rows in the order of a snapshot as arrays."""
    items = list(dict.fromkeys(row.item_id for row in rows))
    workers = sorted({row.worker_id for row in rows})
    item_at = {pk: at for at, pk in enumerate(items)}
    worker_at = {pk: at for at, pk in enumerate(workers)}
    label_at = {code: at for at, code in enumerate(field.codes)}
    gold = np.full(len(items), -1, dtype=np.int64)
    for row in rows:
        if row.known:
            gold[item_at[row.item_id]] = label_at[row.known]
    data = Labels.build(
        [worker_at[row.worker_id] for row in rows],
        [item_at[row.item_id] for row in rows],
        [label_at[row.code] for row in rows],
        workers=[str(pk) for pk in workers],
        items=[str(pk) for pk in items],
        labels=field.codes,
    )
    time = np.empty(len(data))
    time[data.source] = [row.answered_at.timestamp() for row in rows]
    return LabelsDataset(data, gold, time, tuple(workers), tuple(items), field)
