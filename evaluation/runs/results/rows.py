"""From a method's Result to rows: all of a run's rows at once, or none, and a hash over them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db import models, transaction
from django.utils import timezone

from annotation.work.snapshots import answers
from crowdqc.numbers import power_of_ten
from evaluation.embeddings.devices import HALF
from evaluation.methods.core.base import Intervals, Result
from evaluation.models import (
    AnswerScore,
    ItemScore,
    Run,
    RunFigure,
    RunState,
    Snapshot,
    SystemScore,
    WorkerScore,
)
from evaluation.runs.freezing.snapshots import AnswersDataset
from evaluation.runs.progress import Superseded
from evaluation.runs.results import figures, votes_used

BATCH = 2000
HALF_WORDS = "half; cosines differ from those in single precision by less than .001"
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has found before anything is written."""

    snapshot: Snapshot
    frozen: AnswersDataset
    encoder: str  # its identity
    result: Result
    entailment: str = ""  # that of the model which judged entailment


@dataclass(frozen=True)
class Outcome:
    """What a run leaves: its rows by model and its figures by name; the hash is over both.

    ``beside`` are figures that are evidence beside the result, and no part of it.
    """

    rows: Mapping[type[models.Model], Sequence[Row]]
    figures: Mapping[str, Any]
    beside: Mapping[str, Any] = field(default_factory=dict)


def make_recipe(run: Run, method: str, version: str) -> Row:
    """What gives the same numbers again: the method, its options and seed, and what was frozen."""
    return {
        "method": method,
        "version": version,
        "params": dict(run.params),
        "seed": run.seed,
        "snapshot": run.snapshot.content_hash if run.snapshot else "",
        "counts": dict(run.snapshot.counts) if run.snapshot else {},
    }


def write(run: Run, done: Computed) -> Outcome:
    """The rows and figures of a converged run."""
    frozen = done.frozen
    declined = answers.declined([*frozen.answer_ids, *frozen.system_answer_ids])
    rows, told = content(run, done, declined)
    # What the log says of the workers, and how short answers are, is evidence beside the scores,
    # no part of the result.
    beside = {
        "log": figures.log_figure(frozen, declined),
        "short_answers": figures.short_answers(frozen),
    }
    return Outcome(rows, told, beside)


def content(
    run: Run, done: Computed, declined: set[int]
) -> tuple[dict[type[models.Model], list[Row]], Row]:
    """A run's rows by model and its figures by name: what its hash is over. Reads no database."""
    frozen, result = done.frozen, done.result
    rows: dict[type[models.Model], list[Row]] = {
        WorkerScore: worker_rows(frozen, result),
        SystemScore: system_rows(frozen, result),
        AnswerScore: answer_rows(frozen, result),
        ItemScore: item_rows(frozen, result, declined),
    }
    told = figures.figures(frozen, result, rows[WorkerScore], rows[SystemScore])
    told["left_out"].update(done.snapshot.counts["left_out"])
    told["recipe"] = recipe(run, done)
    return rows, told


def store(run: Run, outcome: Outcome, progress: list[Row]) -> None:
    """Store a run's rows and figures and close it, in a transaction that holds the run."""
    told = {**outcome.figures, **outcome.beside}
    votes = votes_used.figure(run, told)
    if votes is not None:  # says what was left out, and is no part of the result
        told[votes_used.FIGURE] = votes
    for model, content in outcome.rows.items():
        made: list[models.Model] = [model(run=run, **row) for row in content]
        model._default_manager.bulk_create(made, batch_size=BATCH)
    RunFigure.objects.bulk_create(
        RunFigure(run=run, name=name, data=data) for name, data in told.items()
    )
    Run.objects.filter(pk=run.pk).update(
        state=RunState.DONE,
        progress=progress,
        finished_at=timezone.now(),
        result_hash=result_hash(outcome.rows, outcome.figures),
        error="",
    )


def recipe(run: Run, done: Computed) -> Row:
    """Return all that is needed to compute the run again."""
    names = ("came", "answers", "workers", "questions", "system_answers", "systems")
    return {
        "method": done.result.name,
        "version": done.result.version,
        "encoder": done.encoder,
        "params": dict(done.result.recipe["params"]),
        "seed": run.seed,
        "snapshot": done.snapshot.content_hash,
        "counts": {
            name: done.snapshot.counts[name] for name in names if name in done.snapshot.counts
        },
        **({"entailment": done.entailment} if done.entailment else {}),
        **({"precision": HALF_WORDS} if done.encoder.endswith(HALF) else {}),
        # Of whom and of which tasks, where that is a choice of the run.
        **{name: run.params[name] for name in ("panel", "also") if run.params.get(name)},
    }


def write_failure(run: Run, result: Result) -> None:
    """Keep what shows why a run failed: its convergence line, and no score."""
    with transaction.atomic():
        lock_run(run)
        RunFigure.objects.update_or_create(
            run=run, name="convergence", defaults={"data": figures.convergence(result)}
        )


def lock_run(run: Run) -> None:
    """Lock the run and see that this process still owns it."""
    mine = Run.objects.select_for_update().filter(
        pk=run.pk, state=RunState.RUNNING, started_at=run.started_at
    )
    if not mine.exists():
        raise Superseded(f"run {run.number} is no longer worked on here")


def why_not_converged(result: Result) -> str:
    """The reason of a failed run, in words."""
    worst = max(
        (part for part in result.diagnostics["components"] if not part["converged"]),
        key=lambda part: part["trace"][-1],
    )
    return (
        f"Did not converge: after {worst['rounds']} rounds the weights still change by "
        f"{power_of_ten(worst['trace'][-1])} a round."
    )


def result_hash(rows: Mapping[type, Iterable[Row]], told: Mapping[str, Any]) -> str:
    """SHA-256 over every row and figure as canonical JSON; floats by their shortest digits."""
    digest = hashlib.sha256()
    for model, content in rows.items():
        for row in content:
            line = json.dumps([model.__name__, row], sort_keys=True, allow_nan=False)
            digest.update(line.encode() + b"\n")
    digest.update(json.dumps(told, sort_keys=True, allow_nan=False).encode())
    return digest.hexdigest()


def _number(value: Any) -> float | None:
    number = float(value)
    return number if np.isfinite(number) else None


def ranked(row: Row, intervals: Intervals, at: int, by: str, unsure: int) -> Row:
    """A row of a board from row ``at`` of a table; ``by`` is the column that ranks there.

    Ranges of ranks are among the rows that have an interval; ``unsure`` is how many have none.
    """
    adjusted = by == "adjusted"
    low, high = (
        (intervals.adjusted_low, intervals.adjusted_high)
        if adjusted
        else (intervals.low, intervals.high)
    )
    sure = int(intervals.group[at]) > 0
    return {
        "component": row["component"],
        "estimate": row["adjusted" if adjusted else "score"],
        "low": _number(low[at]),
        "high": _number(high[at]),
        "n": row["n"],
        "rank_low": int(intervals.rank_low[at]) if sure else None,
        "rank_high": int(intervals.rank_high[at]) - unsure if sure else None,
        "group": int(intervals.group[at]) if sure else None,
        "extra": {
            "by": by,
            "raw": row["score"],
            "raw_low": _number(intervals.low[at]),
            "raw_high": _number(intervals.high[at]),
            "adjusted": row["adjusted"],
            "uniterated": row["uniterated_adjusted" if adjusted else "uniterated"],
            "uniterated_raw": row["uniterated"],
            "rank": row["rank"] or None,
            "uniterated_rank": row["uniterated_rank"] or None,
            "no_interval": intervals.reason[at],
        },
    }


def count_unsure(rows: list[Row], intervals: Intervals) -> Counter[int]:
    """Scored rows without an interval, by component."""
    return Counter(
        row["component"]
        for at, row in enumerate(rows)
        if row["component"] and row["score"] is not None and not intervals.group[at]
    )


def worker_rows(frozen: AnswersDataset, result: Result) -> list[Row]:
    """A row a worker; one who shares no question with anybody has no estimate but a reason."""
    table, intervals = result.estimates["worker"].rows(), result.intervals["worker"]
    unsure = count_unsure(table, intervals)
    given = np.bincount(frozen.worker, minlength=len(frozen.workers))
    rows = []
    for at, row in enumerate(table):
        part = row["component"]
        by = result.diagnostics["components"][part - 1]["ranked_by"] if part else "score"
        made = ranked(row, intervals, at, by, unsure[part])
        made["worker_id"] = frozen.workers[row["worker"]]
        made["n"] = int(given[at])
        made["extra"].update(scored=row["n"], normalised=row["normalised"], weight=row["weight"])
        rows.append(made)
    return rows


def system_rows(frozen: AnswersDataset, result: Result) -> list[Row]:
    """A row a system and component."""
    if "system" not in result.estimates:
        return []
    table, intervals = result.estimates["system"].rows(), result.intervals["system"]
    unsure = count_unsure(table, intervals)
    parts = result.diagnostics["components"]
    rows = []
    for at, row in enumerate(table):
        by = parts[row["component"] - 1]["systems_ranked_by"]
        made = ranked(row, intervals, at, by, unsure[row["component"]])
        made["system_id"] = frozen.systems[row["system"]]
        rows.append(made)
    return rows


def answer_rows(frozen: AnswersDataset, result: Result) -> list[Row]:
    """A row an answer, workers' and then systems', in the order of the snapshot."""
    asked = np.bincount(frozen.question, minlength=len(frozen.items))
    people = [
        {
            "answer_id": frozen.answer_ids[row["source"]],
            "component": row["component"],
            "estimate": row["score"],
            "n": int(asked[row["question"]]),
            "extra": {
                "uniterated": row["uniterated"],
                "rank": row["rank"] or None,
                "best": row["best"],
                "best_trusted": row["best_trusted"],
            },
        }
        for row in result.estimates["answer"].rows()
    ]
    if "system_answer" not in result.estimates:
        return people
    systems = [
        {
            "answer_id": frozen.system_answer_ids[row["source"]],
            "component": row["component"],
            "estimate": row["score"],
            "n": int(asked[row["question"]]),
            "extra": {"uniterated": row["uniterated"]},
        }
        for row in result.estimates["system_answer"].rows()
    ]
    return people + systems


def item_rows(frozen: AnswersDataset, result: Result, declined: set[int]) -> list[Row]:
    """A row a question: mean closeness, agreement, and its best answer (App. I of the paper)."""
    table = result.estimates["answer"]
    best = {
        int(question): frozen.answer_ids[source]
        for question, source, is_best in zip(
            table["question"], table["source"], table["best"], strict=True
        )
        if is_best
    }
    unknown = Counter(
        int(question)
        for question, answer in zip(frozen.question, frozen.answer_ids, strict=True)
        if answer in declined
    )
    systems = Counter(frozen.system_question.tolist())
    return [
        {
            "item_id": frozen.items[row["question"]],
            "component": row["component"],
            "estimate": row["score"],
            "n": row["n"],
            "best_answer_id": best.get(row["question"]),
            "extra": {
                "spread": row["spread"],
                "agreement": row["agreement"],
                "effect": row["effect"],
                "declined": unknown[row["question"]],
                "system_answers": systems[row["question"]],
                "item_rest_correlation": row["item_rest_correlation"],
            },
        }
        for row in result.estimates["question"].rows()
    ]
