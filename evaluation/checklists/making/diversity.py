"""Runs on attributes: frozen, turned into vectors, compared by condition (InteractEval, 4.3.3)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext, gettext_noop

from annotation.models import Item, Task
from annotation.work.snapshots.attributes import AttributeRow, counting_attributes
from crowdqc.errors import Conflict
from crowdqc.numbers import plural
from evaluation.checklists.making import pipeline
from evaluation.embeddings.embeddings import get_encoder
from evaluation.embeddings.vectors import vectors_of
from evaluation.methods.checklists import attribute_diversity
from evaluation.methods.checklists.attribute_diversity import Attributes
from evaluation.methods.core.base import Hooks, Result
from evaluation.methods.registry import get_method
from evaluation.models import Run, Snapshot
from evaluation.runs.freezing.options import freeze
from evaluation.runs.freezing.snapshots import is_unchanged, keep_snapshot
from evaluation.runs.progress import EMBEDDINGS, SNAPSHOT, Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import RunType

SLUG = attribute_diversity.NAME
COMPARING = gettext_noop("Comparing conditions")
ENCODER = "minilm"
FIGURE = "diversity"


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has found before anything is written."""

    encoder: str  # its identity
    result: Result


def _rows(task: Task) -> list[AttributeRow]:
    excluded = set(task.exclusions.in_force().values_list("worker_id", flat=True))
    return [row for row in counting_attributes(task) if row.worker_id not in excluded]


def _hash(rows: Sequence[AttributeRow]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        line = [row.item_id, row.worker_id, row.system_id, row[4], row.text]
        digest.update(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def freeze_attributes(task: Task) -> Snapshot:
    """Freeze the counting attributes as a snapshot; Conflict if there are none."""
    rows = _rows(task)
    if not rows:
        raise Conflict(gettext("There are no attributes yet."))
    ids = sorted({row.answer_id for row in rows})
    people = {row.answer_id for row in rows if row.worker_id is not None}
    counts = {
        "answers": len(people),
        "workers": len({row.worker_id for row in rows} - {None}),
        "questions": len({row.item_id for row in rows}),
        "attributes": len(rows),
        "system_answers": len(ids) - len(people),
        "systems": len({row.system_id for row in rows} - {None}),
        "counting": len(ids),
        "max_id": max(ids),
        "left_out": {},
    }
    return keep_snapshot(task, _hash(rows), ids, counts)


def load(snapshot: Snapshot) -> list[AttributeRow]:
    """Read the frozen attributes again; Conflict if they changed."""
    wanted = set(snapshot.answer_ids)
    rows = [row for row in counting_attributes(snapshot.task) if row.answer_id in wanted]
    if not is_unchanged(snapshot, _hash(rows)):
        raise Conflict(
            gettext(
                "The attributes of snapshot %(content_hash)s are no longer what they were "
                "when it was taken; start a new run."
            )
            % {"content_hash": snapshot.content_hash[:8]}
        )
    return rows


def compute(run: Run, steps: Recorder) -> Computed:
    """Freeze the attributes, embed them and compare their diversity."""
    steps.begin(SNAPSHOT)
    snapshot = freeze(run, freeze_attributes)
    rows = load(snapshot)
    steps.set_words(sub=snapshot.content_hash[:8], mono=True, count=plural(len(rows), "attribute"))
    texts = list(dict.fromkeys(row.text for row in rows))
    steps.begin(EMBEDDINGS, total=len(texts), sub="opening the encoder")
    encoder = get_encoder(ENCODER)
    embedded = vectors_of(texts, encoder, advance=lambda done, cached: steps.advance(done))
    steps.begin(COMPARING)
    place = {text: at for at, text in enumerate(texts)}
    data = _data(rows, embedded.matrix[[place[row.text] for row in rows]])
    result = get_method(run.method).fit(
        data,
        rng=np.random.default_rng(run.seed),
        hooks=Hooks(progress=steps.stage),
        **run.params,
    )
    return Computed(encoder.identity, result)


def _data(rows: Sequence[AttributeRow], matrix: Any) -> Attributes:
    items = list(dict.fromkeys(row.item_id for row in rows))
    names = pipeline.author_names(list(rows))
    keys = list(dict.fromkeys((row.worker_id, row.system_id) for row in rows))
    titles = {
        item.pk: pipeline.subject_of(item).dimension
        for item in Item.objects.filter(pk__in=items).select_related("group")
    }
    return Attributes.build(
        [row.text for row in rows],
        np.asarray(matrix, dtype=np.float64),
        [items.index(row.item_id) for row in rows],
        [keys.index((row.worker_id, row.system_id)) for row in rows],
        dimensions=[titles[pk] for pk in items],
        authors=[names[key] for key in keys],
        model=[system is not None for _, system in keys],
    )


def write(run: Run, done: Computed) -> Outcome:
    """The figures of a run."""
    told = {
        FIGURE: done.result.diagnostics,
        "recipe": {
            "method": done.result.name,
            "version": done.result.version,
            "encoder": done.encoder,
            "params": dict(run.params),
            "seed": run.seed,
            "snapshot": run.snapshot.content_hash if run.snapshot else "",
            "counts": dict(run.snapshot.counts) if run.snapshot else {},
        },
    }
    return Outcome({}, told)


RUNS = RunType(
    attribute_diversity.METHOD,
    ("attributes",),
    "think-alouds",
    (SNAPSHOT, EMBEDDINGS, COMPARING),
    compute,
    write,
)
