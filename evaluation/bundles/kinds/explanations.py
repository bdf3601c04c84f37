"""Bundles of rescaled ratings: ratings with explanations, and what a model scored these."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from django.utils.translation import gettext as _

from annotation.work.snapshots.explanations import Explained, Point, RatingScale
from crowdqc.errors import Conflict
from evaluation.bundles.kinds.base import (
    ANSWERS,
    ASKED,
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
from evaluation.rescaling import calls, dataset, results
from evaluation.rescaling import run as rescaling_runs
from evaluation.rescaling.calls import GivenScore

SCORES, CALLS = "data/scores.jsonl", "data/calls.json"


class OfExplanations:
    """Ratings of one scale with their explanations, and the score that a model gave each."""

    given = "The model is not asked again: the scores of explanations are those that it gave."

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        scale = dataset.scale_of(run.task, run.params["scale"])
        rows = dataset.reload_explanations(snapshot_of(run), scale)  # refuses what was changed
        told = dict(run.figures.get(name="recipe").data["calls"])
        kept = {name: told.pop(name) for name in ("calls", "digest")}
        given = calls.given_scores(run)
        if calls.to_scores(given, {}).told != kept:
            raise Conflict(
                _("The scores that run %(number)s used are not kept, so it cannot be bundled.")
                % {"number": run.number}
            )
        yield ANSWERS, jsonl(row._asdict() for row in rows)
        yield SCORES, jsonl(one._asdict() for one in given)
        yield CALLS, json_bytes(told)
        yield ASKED, json_bytes(asdict(scale))

    def recompute(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Recomputed:
        told = read_value(files[ASKED])
        scale = RatingScale(**{**told, "points": tuple(Point(**one) for one in told["points"])})
        rows = [
            Explained(**{**row, "answered_at": dt.datetime.fromisoformat(row["answered_at"])})
            for row in read_jsonl(files[ANSWERS])
        ]
        given = [GivenScore(**row) for row in read_jsonl(files[SCORES])]
        scored = calls.to_scores(given, read_value(files[CALLS]))
        data_hash = dataset.content_hash(rows, scale)
        run = as_run(recipe, data_hash)
        done = rescaling_runs.fit(run, dataset.to_dataset(rows, scale), scored, hooks)
        written = results.write(run, done)
        return Recomputed(written.rows, dict(written.figures), data_hash)
