"""Bundles of labels of turns: every label of people and models, and what each unit is part of."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping

from annotation.work.snapshots.labels import LabelField
from annotation.work.snapshots.turns import AskedUnit, SystemTurn, TurnVote, turn_field
from evaluation.bundles.kinds.base import (
    ANSWERS,
    FIELD,
    Recomputed,
    Row,
    as_run,
    json_bytes,
    jsonl,
    read_jsonl,
    read_value,
    snapshot_of,
)
from evaluation.methods.core.base import Hooks
from evaluation.models import Run
from evaluation.turns import dataset
from evaluation.turns import run as turn_runs
from evaluation.turns.dataset import FrozenTurns

UNITS, MODELS = "data/units.jsonl", "data/models.jsonl"


class OfTurns:
    """Labels of units by people and models, and the turn or tool of each unit; no text."""

    given = "Which units a conversation has, and what models labelled, is taken as it was stored."

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        field = turn_field(run.task, run.params["field"])
        frozen = dataset.reload_turns(snapshot_of(run), field)
        yield ANSWERS, jsonl(row._asdict() for row in frozen.rows)
        yield (
            UNITS,
            jsonl(
                {"item": item, "unit": unit, **one._asdict()}
                for (item, unit), one in frozen.asked.items()
            ),
        )
        yield MODELS, jsonl(one._asdict() for one in frozen.systems)
        yield (
            FIELD,
            json_bytes({"name": field.name, "label": field.label, "options": field.options}),
        )

    def recompute(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Recomputed:
        told = read_value(files[FIELD])
        options = tuple((code, label) for code, label in told["options"])
        field = LabelField(told["name"], told["label"], options)
        frozen = FrozenTurns(
            [
                TurnVote(**{**row, "answered_at": dt.datetime.fromisoformat(row["answered_at"])})
                for row in read_jsonl(files[ANSWERS])
            ],
            {
                (row["item"], row["unit"]): AskedUnit(row["place"], row["tool"])
                for row in read_jsonl(files[UNITS])
            },
            [SystemTurn(**row) for row in read_jsonl(files[MODELS])],
        )
        data_hash = dataset.content_hash(frozen.rows, field)
        run = as_run(recipe, data_hash)
        arrays = dataset.to_arrays(frozen, field, recipe["params"]["good"])
        outcome = turn_runs.write(run, turn_runs.fit_turns(run, arrays, hooks))
        return Recomputed(outcome.rows, dict(outcome.figures), data_hash)
