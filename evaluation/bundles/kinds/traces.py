"""Bundles of reviewed traces: how each was drawn, how many are alike, and every review."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

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
from evaluation.models import Run, RunFigure
from evaluation.traces import dataset
from evaluation.traces import run as trace_runs
from evaluation.traces.dataset import ReviewRow

TRACES, COUNTS = "data/traces.jsonl", "data/counts.jsonl"
SUMMARY = "data/left_out.json"


class OfTraces:
    """Reviews of people, the draws that they are of, and counts of all traces; no text."""

    given = "How traces were drawn, and what the judge said of each, is taken as it was stored."

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        figures = dict(RunFigure.objects.filter(run=run).values_list("name", "data"))
        frozen = dataset.reload_reviews(snapshot_of(run), trace_runs.frozen_of(figures))
        yield ANSWERS, jsonl(row._asdict() for row in frozen.reviews)
        yield TRACES, jsonl(figures["traces"])
        yield COUNTS, jsonl(figures["counts"])
        yield FIELD, json_bytes(figures["fields"])
        yield SUMMARY, json_bytes({"left_out": frozen.left_out})

    def recompute(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Recomputed:
        frozen = replace(
            trace_runs.frozen_of(
                {
                    "traces": read_jsonl(files[TRACES]),
                    "counts": read_jsonl(files[COUNTS]),
                    "fields": read_value(files[FIELD]),
                    "summary": read_value(files[SUMMARY]),
                }
            ),
            reviews=tuple(ReviewRow(**row) for row in read_jsonl(files[ANSWERS])),
        )
        run = as_run(recipe, frozen.hash)
        outcome = trace_runs.write(run, trace_runs.fit(run, frozen, hooks))
        return Recomputed(outcome.rows, dict(outcome.figures), frozen.hash)
