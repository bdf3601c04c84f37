"""The road from ratings with explanations to the rescaling method: frozen rows, a hash, arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.work.snapshots import explanations, judgments
from annotation.work.snapshots.explanations import Explained, RatingScale
from crowdqc.errors import Conflict
from evaluation.embeddings.embeddings import text_hash
from evaluation.methods.rescaling.data import Annotations
from evaluation.models import Snapshot
from evaluation.runs.freezing.snapshots import is_unchanged, keep_snapshot

KIND = "ratings with explanations"


def scale_of(task: Task, name: str = "") -> RatingScale:
    """Return the task's scale of this name, or its first; Conflict if there is none."""
    if task.current is None:
        raise Conflict(_("The task was never published."))
    found = explanations.scales(task.current)
    if not name and found:
        return found[0]
    chosen = next((one for one in found if one.name == name), None)
    if chosen is None:
        raise Conflict(
            _("The task has no scale '%(name)s'.") % {"name": name}
            if name
            else _("The task has no scale.")
        )
    return chosen


def scale_choices(task: Task) -> list[tuple[str, str]]:
    """The scales of the version in force: name and label."""
    found = explanations.scales(task.current) if task.current is not None else []
    return [(one.name, one.label) for one in found]


def content_hash(rows: Sequence[Explained], scale: RatingScale) -> str:
    """SHA-256 over the scale and, of each row in order, item, worker, value and explanation."""
    digest = hashlib.sha256()
    points = [[one.value, one.label, one.description] for one in scale.points]
    digest.update(json.dumps([KIND, scale.name, points]).encode() + b"\n")
    for row in rows:
        line = [row.item, row.worker_id, row.value, text_hash(row.explanation)]
        digest.update(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def freeze_explanations(task: Task, scale: RatingScale) -> Snapshot:
    """Freeze the ratings and explanations on a scale; the same content returns the same snapshot.

    Raises Conflict when no rating of a person counts.
    """
    rows = explanations.explained_ratings(task, scale.name)
    if not rows:
        raise Conflict(_("No rating counts yet, so there is nothing to rescale."))
    ids = [row.answer_id for row in rows]
    counts = {
        "answers": len(rows),
        "workers": len({row.worker_id for row in rows}),
        "questions": len({row.item_id for row in rows}),
        "system_answers": 0,
        "systems": 0,
        "explained": sum(bool(row.explanation) for row in rows),
        "scale": scale.name,
        "counting": len(rows),
        "max_id": max(ids),
        "left_out": judgments.count_left_out(task),
    }
    return keep_snapshot(task, content_hash(rows, scale), ids, counts)


@dataclass(frozen=True, eq=False)
class ExplanationsDataset:
    """A snapshot as rows, and the ids that the indices of the method's arrays stand for."""

    rows: tuple[Explained, ...]
    scale: RatingScale
    workers: tuple[int, ...]
    items: tuple[int, ...]

    def annotations(self, scores: Mapping[int, float]) -> Annotations:
        """The method's arrays, with the scores f by answer; those not named have none."""
        values = [point.value for point in self.scale.points]
        worker = {pk: at for at, pk in enumerate(self.workers)}
        item = {pk: at for at, pk in enumerate(self.items)}
        label = {value: at for at, value in enumerate(values)}
        return Annotations.build(
            [worker[row.worker_id] for row in self.rows],
            [item[row.item_id] for row in self.rows],
            [label[row.value] for row in self.rows],
            np.array([scores.get(row.answer_id, np.nan) for row in self.rows]),
            workers=[str(pk) for pk in self.workers],
            items=[str(pk) for pk in self.items],
            labels=[point.label for point in self.scale.points],
            values=[float(value) for value in values],
            explained=[bool(row.explanation) for row in self.rows],
        )


def reload_explanations(snapshot: Snapshot, scale: RatingScale) -> list[Explained]:
    """The frozen rows; Conflict when they are no longer what was frozen."""
    rows = explanations.explained_ratings(snapshot.task, scale.name, snapshot.answer_ids)
    if not is_unchanged(snapshot, content_hash(rows, scale)):
        raise Conflict(
            _(
                "The ratings of snapshot %(content_hash)s are no longer what they were "
                "when it was taken; start a new run."
            )
            % {"content_hash": snapshot.content_hash[:8]}
        )
    return rows


def current_explanations(task: Task, scale: RatingScale) -> ExplanationsDataset:
    """The ratings that would be frozen now, nothing stored (previews)."""
    rows = explanations.explained_ratings(task, scale.name)
    if not rows:
        raise Conflict(_("No rating counts yet, so there is nothing to rescale."))
    return to_dataset(rows, scale)


def to_dataset(rows: Sequence[Explained], scale: RatingScale) -> ExplanationsDataset:
    """Make the dataset from rows of a snapshot, with the ids behind its indices."""
    return ExplanationsDataset(
        tuple(rows),
        scale,
        tuple(sorted({row.worker_id for row in rows})),
        tuple(sorted({row.item_id for row in rows})),
    )
