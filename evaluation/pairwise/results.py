"""From the results of pairwise methods to rows and figures, with ids in place of indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import models

from annotation.task_types.pairwise.sides import STORED
from evaluation.methods.core.base import Result, Table
from evaluation.models import CandidateScore, ItemLabel, Run, SystemScore, WorkerScore
from evaluation.pairwise.dataset import PairsDataset, RatingsDataset

Row = dict[str, Any]
Frozen = PairsDataset | RatingsDataset
GROUPS = ("group", "group_a", "group_b")
POOLED = ""  # the dimension of rows over all dimensions together
# Tables that become rows of their own; all others become figures.
ROWS = ("worker", "system", "candidate", "label")
OF_MACHINES = ("judge", "judge_pair")  # say nothing where no model judged
SCORE = ("component", "estimate", "low", "high", "n", "rank_low", "rank_high", "group")


def ids_of(frozen: Frozen) -> dict[str, Sequence[Any]]:
    """Return the ids behind the index columns of the tables, by column."""
    if isinstance(frozen, RatingsDataset):
        return {
            "worker": frozen.workers,
            "system": frozen.sources,
            "candidate": frozen.candidates,
        }
    return {
        "worker": frozen.workers,
        "machine": frozen.machines,
        "machine_a": frozen.machines,
        "machine_b": frozen.machines,
        "system": frozen.sources,
        "system_a": frozen.sources,
        "system_b": frozen.sources,
        "candidate": frozen.candidates,
        "pair": frozen.pair_items,
        "topic": frozen.data.topics,
    }


def name_rows(frozen: Frozen, table: Table) -> list[Row]:
    """Rows of a table: dimensions by name ("" for all together), everything else by id."""
    ids = ids_of(frozen)
    rows = table.rows()
    for row in rows:
        for column, value in row.items():
            if column == "dimension" and isinstance(value, int):
                row[column] = frozen.dimensions[value] if value >= 0 else POOLED
            elif column in ids and value is not None:
                row[column] = ids[column][value] if value >= 0 else None
            elif column in GROUPS and "grouping" in row and isinstance(frozen, PairsDataset):
                row[column] = frozen.groups[row["grouping"]][value] if value >= 0 else None
    return rows


def _scored(row: Row, key: str, estimate: str = "estimate") -> Row:
    """A row of scores; what has no column of its own goes to ``extra``."""
    taken = {*SCORE, "dimension", key, estimate}
    made = {name: row.get(name) for name in SCORE if name in row}
    made |= {"estimate": row[estimate], "dimension": row["dimension"], f"{key}_id": row[key]}
    made["component"] = row.get("component", 1)
    for name in ("rank_low", "rank_high", "group"):
        made[name] = row.get(name) or None
    made["extra"] = {name: value for name, value in row.items() if name not in taken}
    return made


def worker_rows(frozen: Frozen, table: Table) -> list[Row]:
    """A row a worker and dimension; nobody without votes there.

    The score is MACE's competence, or of ratings the agreement with the others.
    """
    score = "competence" if "competence" in table.columns else "agreement"
    return [_scored(row, "worker", score) for row in name_rows(frozen, table) if row["n"]]


def system_rows(frozen: Frozen, table: Table) -> list[Row]:
    """A row a source of texts, dimension and component."""
    return [_scored(row, "system") for row in name_rows(frozen, table)]


def candidate_rows(frozen: Frozen, table: Table) -> list[Row]:
    """Make the rows of texts by dimension: merit within their topic, and grade."""
    return [_scored(row, "candidate", "merit") for row in name_rows(frozen, table)]


def label_rows(frozen: Frozen, table: Table) -> list[Row]:
    """A row a pair and dimension: the label, how probable each is, and other methods' labels."""
    return [
        {
            "item_id": row["pair"],
            "dimension": row["dimension"],
            "component": row["component"],
            "label": STORED[row["label"]],
            "posterior": {code: row[f"p_{code}"] for code in STORED},
            "entropy": row["entropy"],
            "n": row["n"],
            "extra": {
                "majority": _code(row["majority"]),
                "dawid_skene": _code(row["dawid_skene"]),
                "dawid_skene_p": row["dawid_skene_p"],
            },
        }
        for row in name_rows(frozen, table)
        if row["label"] >= 0  # without votes there is none
    ]


def _code(label: int) -> str:
    """Return the code that a label stands for; "" where there is none."""
    return STORED[label] if label >= 0 else ""


def figures(frozen: Frozen, result: Result) -> dict[str, Any]:
    """Collect the tables without rows in the database, and the diagnostics, by name."""
    machines = frozen.machines if isinstance(frozen, PairsDataset) else ()
    told: dict[str, Any] = {
        name: name_rows(frozen, table)
        for name, table in result.estimates.items()
        if name not in ROWS and (name not in OF_MACHINES or machines)
    }
    told["diagnostics"] = dict(result.diagnostics)
    return told


def recipe(run: Run, result: Result) -> Row:
    """Return all that is needed to compute the run again: method, parameters, snapshot."""
    snapshot = run.snapshot
    return {
        "method": result.name,
        "version": result.version,
        "params": dict(result.recipe.get("params", run.params)),
        "seed": run.seed,
        "snapshot": snapshot.content_hash if snapshot else "",
        "counts": dict(snapshot.counts) if snapshot else {},
        "source": run.source.result_hash if run.source else "",
    }


def content(
    run: Run, frozen: Frozen, result: Result, more: Mapping[str, Any] | None = None
) -> tuple[dict[type[models.Model], list[Row]], Row]:
    """A run's rows by model and its figures by name: what its hash is over. Reads no database."""
    tables = result.estimates
    rows: dict[type[models.Model], list[Row]] = {}
    for model, name, make in (
        (WorkerScore, "worker", worker_rows),
        (SystemScore, "system", system_rows),
        (CandidateScore, "candidate", candidate_rows),
        (ItemLabel, "label", label_rows),
    ):
        if name in tables:
            rows[model] = make(frozen, tables[name])
    told = {**figures(frozen, result), **(more or {}), "recipe": recipe(run, result)}
    return rows, told
