"""From the tables of the labels method to rows and figures, with ids and codes for indices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy
from django.db import models

from annotation.task_types.labels.fields import CHOOSE_SEVERAL
from evaluation.labels.dataset import LabelsDataset
from evaluation.methods.agreement.counts import TooFewVotes
from evaluation.methods.agreement.fields import set_agreement, span_agreement
from evaluation.methods.agreement.pairs import worker_pairs
from evaluation.methods.core.base import FloatArray, IntArray, Result, Table
from evaluation.methods.core.units import AGREEMENT, LEAST
from evaluation.methods.labels.drift import FELL, ROSE, SAME
from evaluation.methods.labels.method import (
    BETTER,
    DEPENDENT,
    FEWEST,
    LOOK_ALIKES,
    METHODS,
    ONE_LABEL,
    UNKNOWN,
)
from evaluation.methods.workers.claims import MEDIAN_GAP
from evaluation.models import ItemLabel, Run, WorkerScore
from evaluation.runs.results import look_alikes
from evaluation.runs.results.votes_used import STUDY

Row = dict[str, Any]
# How a worker stands to guessing, as rows and files name it.
STANDINGS = {BETTER: "better", UNKNOWN: "unknown", ONE_LABEL: "one_label"}
WORSE = "worse"  # the whole interval lies below chance
NOT_SCORED = "not_scored"
WITHOUT_INTERVAL = {  # by a finding of the method
    LOOK_ALIKES: "some workers give each other's labels (look-alikes)",
    DEPENDENT: "workers agree more than their quality explains",
}
TOO_FEW = f"competence needs {FEWEST} workers who share items"
MOST_PAIRS = 1000  # of workers that a run keeps
SURE = 0.9  # a posterior below is worth a look
OF_LABELS = ("mistake_from", "mistake_to", "same_label")  # indices of labels
PLAIN = (
    "chance",
    "mace",
    "mace_low",
    "mace_high",
    "glad",
    "known_n",
    "known_right",
    "known_low",
    "known_high",
    "mistake_share",
    *MEDIAN_GAP,
)
KINDS = ("kind", "kind_worker", "kind_shift")
HALVES = ("early_n", "early_agree", "late_n", "late_agree")
CHANGES = {SAME: "same", FELL: "fell", ROSE: "rose"}
BY_METHOD = ("majority", "dawid_skene", "mace", "glad")


def _code(frozen: LabelsDataset, index: int) -> str:
    """Return the label that an index stands for; "" where there is none."""
    return frozen.field.codes[index] if index >= 0 else ""


def worker_rows(frozen: LabelsDataset, result: Result) -> list[Row]:
    """Make the rows of workers, with their confusion matrix in ``extra``."""
    confusion = _confusion(frozen, result, len(frozen.field.codes))
    given = _votes(frozen, frozen.data.worker, len(frozen.workers))
    over_time = _over_time(result)
    codes = [one["code"] for one in result.diagnostics["findings"]]
    known = [WITHOUT_INTERVAL[code] for code in codes if code in WITHOUT_INTERVAL]
    missing = known[0] if known else "the run gives no interval"
    rows = []
    for row, standing in _standings(result):
        scored, reliable = standing != NOT_SCORED, row["reliable"]
        why = "" if row["low"] is not None else missing
        rows.append(
            {
                "worker_id": frozen.workers[row["worker"]],
                "dimension": "",
                "component": row["component"],
                **{
                    name: row[source] if scored else None
                    for name, source in (
                        ("estimate", "competence"),
                        ("low", "low"),
                        ("high", "high"),
                    )
                },
                "n": row["n"],
                "extra": {
                    **{name: row[name] for name in PLAIN},
                    **{name: _code(frozen, row[name]) for name in OF_LABELS},
                    "standing": standing,
                    "reliable": bool(reliable) if scored and reliable is not None else None,
                    "no_interval": why if scored else TOO_FEW,
                    "given": given[row["worker"]],
                    "over_time": over_time.get(row["worker"]),
                    "confusion": confusion.get(row["worker"]) if scored else None,
                },
            }
        )
    return rows


def _standings(result: Result) -> list[tuple[Row, str]]:
    """Return each worker's row and how they surely compare with guessing, all workers at once.

    MACE's competence begins at 0, so that chance is no bound of it.
    """
    rows = result.estimates["worker"].rows()
    by_chance = result.recipe["params"]["competence_from"] == "dawid_skene"
    found = []
    for row in rows:
        below = by_chance and row["against_chance"] < 0
        standing = WORSE if below and row["group"] == UNKNOWN else STANDINGS[row["group"]]
        found.append((row, standing if row["component"] else NOT_SCORED))
    return found


def _summary(result: Result) -> Row:
    """The method's summary, with the workers counted by how they stand."""
    told = result.estimates["summary"].rows()[0]
    sizes = Counter(standing for _, standing in _standings(result))
    return {**told, **{name: sizes[name] for name in (*STANDINGS.values(), WORSE, NOT_SCORED)}}


def _confusion(frozen: LabelsDataset, result: Result, size: int) -> dict[int, Row]:
    """Each scored worker's matrices: rows the true label, columns the given one."""
    table = result.estimates["confusion"]
    found: dict[int, Row] = {}
    # Rows come by worker, in each by the true label and then the given one.
    for at, worker in enumerate(table["worker"][:: size**2].tolist()):
        own = slice(at * size**2, (at + 1) * size**2)
        found[worker] = {
            "labels": list(frozen.field.codes),
            **{
                name: _plain(table[name][own].reshape(size, size))
                for name in ("probability", "low", "high")
            },
        }
    return found


def _plain(grid: FloatArray) -> list[list[float | None]]:
    """Rows of numbers; None where there is none."""
    return [[None if math.isnan(value) else value for value in row] for row in grid.tolist()]


def label_rows(frozen: LabelsDataset, result: Result) -> list[Row]:
    """Make the rows of items: label and posterior by Dawid-Skene, and other methods' labels."""
    votes = _votes(frozen, frozen.data.item, len(frozen.items))
    soft = _soft(frozen, result)
    rows = []
    for row in result.estimates["item"].rows():
        at = row["item"]
        said = {name: _code(frozen, row[name]) for name in BY_METHOD}
        rows.append(
            {
                "item_id": frozen.items[at],
                "dimension": frozen.field.name,
                "component": row["component"],
                "label": said["dawid_skene"],
                "posterior": soft[at].get("dawid_skene", {}),
                "entropy": row["entropy"],
                "n": row["n"],
                "extra": {
                    **said,
                    **{
                        name: row[name]
                        for name in ("posterior", "mace_posterior", "glad_posterior", "difficulty")
                    },
                    "gold": _code(frozen, row["gold"]),
                    "differ": bool(row["differ"]),
                    "votes": votes[at],
                    "soft": soft[at],
                },
            }
        )
    return rows


def _over_time(result: Result) -> dict[int, Row]:
    """Return each tested worker's two halves of labels, what changed, and blocks in order."""
    found: dict[int, Row] = {}
    for row in result.estimates["blocks"].rows():
        worker = row.pop("worker")
        found.setdefault(worker, {"blocks": []})["blocks"].append(row)
    for row in result.estimates["worker"].rows():
        if row["worker"] in found:
            told = {name: row[name] for name in HALVES}
            found[row["worker"]] |= {**told, "change": CHANGES[row["change"]]}
    return found


def _votes(frozen: LabelsDataset, of: IntArray, count: int) -> list[dict[str, int]]:
    """Votes by code of each of ``count`` items or workers; ``of`` (n,) says whose a vote is."""
    data = frozen.data
    grid = np.zeros((count, len(frozen.field.codes)), dtype=np.int64)
    np.add.at(grid, (of, data.label), data.weight.astype(np.int64))
    return [
        {code: n for code, n in zip(frozen.field.codes, row, strict=True) if n}
        for row in grid.tolist()
    ]


def _soft(frozen: LabelsDataset, result: Result) -> list[dict[str, dict[str, float]]]:
    """Each item's distribution over the labels, by method."""
    found: list[dict[str, dict[str, float]]] = [{} for _ in frozen.items]
    for row in result.estimates["posterior"].rows():
        if row["probability"] is None:
            continue
        shares = found[row["item"]].setdefault(METHODS[row["method"]], {})
        shares[_code(frozen, row["label"])] = row["probability"]
    return found


def figures(frozen: LabelsDataset, result: Result) -> Row:
    """Collect the results that belong to no single worker or item, by name."""
    tables = result.estimates
    agreement = tables["agreement"].rows()
    for row in agreement:
        row["label"] = _code(frozen, row["label"])
    compare, reliability = tables["compare"].rows(), tables["reliability"].rows()
    for row in (*compare, *reliability):
        row["method"] = METHODS[row["method"]]
    diagnostics = dict(result.diagnostics)
    # The whole field has one board, which uses every label that was frozen.
    used = [
        {"board": STUDY, "dimension": "", "used": int(frozen.data.weight.sum()), "left_out": {}}
    ]
    diagnostics.setdefault("used", used)
    return {
        "field": {
            "name": frozen.field.name,
            "label": frozen.field.label,
            "options": [list(one) for one in frozen.field.options],
        },
        "class": _classes(frozen, result),
        "agreement": agreement,
        "compare": compare,
        "reliability": reliability,
        "paired": _paired(result),
        "summary": _summary(result),
        "pooled": _pooled(frozen, result),
        "certainty": _certainty(result),
        "data": _data(frozen),
        "diagnostics": diagnostics,
        **_by_kind(frozen, result),
    }


def _by_kind(frozen: LabelsDataset, result: Result) -> Row:
    """The tables of kinds of items, where columns split them; workers by their ids."""
    found = {name: result.estimates[name].rows() for name in KINDS if name in result.estimates}
    for row in (row for name in KINDS[1:] for row in found.get(name, ())):
        row["worker"] = frozen.workers[row["worker"]]
    return found


def _classes(frozen: LabelsDataset, result: Result) -> list[Row]:
    """Prevalence of each class, and how many known answers of it Dawid-Skene labels right."""
    item = result.estimates["item"]
    rows = []
    for row in result.estimates["class"].rows():
        own = item["gold"] == row["label"]
        right = int((own & (item["dawid_skene"] == row["label"])).sum())
        rows.append(
            {
                **row,
                "label": _code(frozen, row["label"]),
                "known": int(own.sum()),
                "known_right": right,
            }
        )
    return rows


def _pooled(frozen: LabelsDataset, result: Result) -> Row:
    """Return what all workers together take for what: votes by how likely each label is true.

    ``votes`` is how many votes a row rests on.
    """
    size = len(frozen.field.codes)
    posterior = np.zeros((len(frozen.items), size))
    table = result.estimates["posterior"]
    own = table["method"] == METHODS.index("dawid_skene")
    posterior[table["item"][own], table["label"][own]] = np.nan_to_num(table["probability"][own])
    data = frozen.data
    grid = np.zeros((size, size))
    for given in range(size):
        at = data.label == given
        grid[:, given] = (posterior[data.item[at]] * data.weight[at, None]).sum(axis=0)
    votes = grid.sum(axis=1)
    with np.errstate(invalid="ignore"):
        shares = np.where(votes[:, None] > 0, grid / votes[:, None], np.nan)
    return {"probability": _plain(shares), "votes": votes.tolist()}


def _paired(result: Result) -> list[Row]:
    """Compare each method with Dawid-Skene on the same known answers, by an exact sign test.

    ``gained`` known answers are right by the method alone, ``lost`` by Dawid-Skene alone; level
    labels of the majority are left out of its line.
    """
    item = result.estimates["item"]
    known = item["gold"] >= 0
    ours = item["dawid_skene"] == item["gold"]
    rows: list[Row] = []
    for name in BY_METHOD:
        if name == "dawid_skene":
            continue
        has = known & (item[name] >= 0) & (item["dawid_skene"] >= 0)
        theirs = item[name] == item["gold"]
        gained, lost = int((has & theirs & ~ours).sum()), int((has & ours & ~theirs).sum())
        p = float(scipy.stats.binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
        rows.append({"method": name, "n": int(has.sum()), "gained": gained, "lost": lost, "p": p})
    return rows


def _certainty(result: Result) -> Row:
    """Items by how sure Dawid-Skene is, and by which methods differ."""
    item = result.estimates["item"]
    posterior = item["posterior"][~np.isnan(item["posterior"])]
    low = int((posterior < SURE).sum())
    high = int((posterior >= 0.99).sum())
    pairs = {}
    for first, second in (
        ("majority", "dawid_skene"),
        ("majority", "mace"),
        ("dawid_skene", "mace"),
    ):
        both = (item[first] >= 0) & (item[second] >= 0)
        pairs[f"{first} {second}"] = int((both & (item[first] != item[second])).sum())
    uncertain = {
        name: int((item[column] < SURE).sum())
        for name, column in (
            ("dawid_skene", "posterior"),
            ("mace", "mace_posterior"),
            ("glad", "glad_posterior"),
        )
    }
    return {
        "items": len(item),
        "low": low,
        "middle": len(posterior) - low - high,
        "high": high,
        "ties": int((item["majority"] < 0).sum()),
        "pairs": pairs,
        "uncertain": uncertain,
    }


def _data(frozen: LabelsDataset) -> Row:
    """Items with two labels or more, and pairs of labels that agreement rests on."""
    per_item = np.bincount(frozen.data.item, frozen.data.weight, minlength=len(frozen.items))
    return {
        "shared_items": int((per_item >= 2).sum()),
        "pairs": int((per_item * (per_item - 1) / 2).sum()),
        "least": int(per_item.min()),
        "most": int(per_item.max()),
    }


def recipe(run: Run, frozen: LabelsDataset, result: Result) -> Row:
    """Return all that is needed to compute the run again."""
    snapshot = run.snapshot
    return {
        "method": result.name,
        "version": result.version,
        "params": {**dict(result.recipe.get("params", {})), "field": frozen.field.name},
        "seed": run.seed,
        "snapshot": snapshot.content_hash if snapshot else "",
        "counts": dict(snapshot.counts) if snapshot else {},
    }


def beside_models(run: Run, frozen: LabelsDataset, result: Result) -> Row:
    """Return the agreement of every two workers and in other fields, and similar workers.

    And which workers agree more than their quality explains.
    """
    return {
        "pairs": _pairs(frozen),
        "other_fields": _other_fields(run, frozen),
        look_alikes.FIGURE: look_alikes.figure_of_pairs(
            result.estimates["look_alikes"],
            tested=result.diagnostics["look_alikes_tested"],
            dependent=any(one["code"] == DEPENDENT for one in result.diagnostics["findings"]),
            ids=frozen.workers,
        ),
    }


def _pairs(frozen: LabelsDataset) -> Row:
    """Cohen's kappa of two workers on the items they share, the lowest first, MOST_PAIRS of them.

    ``few`` pairs share too few items for an interval; of ``same`` pairs one always gives one label,
    or both always agree.
    """
    try:
        table = worker_pairs(frozen.data)
    except TooFewVotes:
        return {"rows": [], "n": 0, "few": 0, "same": 0}
    told = np.flatnonzero(~np.isnan(table["low"]))
    order = np.lexsort((table["second"][told], table["first"][told], table["kappa"][told]))
    shown = told[order[:MOST_PAIRS]]
    few = int((table["n"] < LEAST[AGREEMENT]).sum())
    rows = [
        {
            "workers": [frozen.workers[row["first"]], frozen.workers[row["second"]]],
            **{name: row[name] for name in ("n", "percent", "kappa", "low", "high")},
        }
        for row in Table({name: values[shown] for name, values in table.columns.items()}).rows()
    ]
    return {"rows": rows, "n": len(told), "few": few, "same": len(table) - len(told) - few}


def _other_fields(run: Run, frozen: LabelsDataset) -> list[Row]:
    """Agreement in the fields of several options and of spans, from the answers of this run."""
    rng, resamples = np.random.default_rng(run.seed), run.params["resamples"]
    found = []
    for one in frozen.others:
        rows = (
            set_agreement(one.ticked, rng=rng, resamples=resamples)
            if one.kind == CHOOSE_SEVERAL
            else span_agreement(one.marked)
        )
        numbers = [
            {name: _finite(value) for name, value in row.items()} | {"scope": one.kind}
            for row in rows
        ]
        given = sum(map(len, (one.ticked or one.marked).values()))
        found.append({"field": one.name, "label": one.label, "answers": given, "rows": numbers})
    return found


def _finite(value: Any) -> Any:
    """The same; None for a number that is not known."""
    return None if isinstance(value, float) and math.isnan(value) else value


def content(
    run: Run, frozen: LabelsDataset, result: Result
) -> tuple[Mapping[type[models.Model], list[Row]], Row]:
    """Return a run's rows by model and figures by name, over which its hash is taken."""
    rows = {WorkerScore: worker_rows(frozen, result), ItemLabel: label_rows(frozen, result)}
    told = {**figures(frozen, result), "recipe": recipe(run, frozen, result)}
    return rows, {**told, **beside_models(run, frozen, result)}
