"""Labels scored without a database: who is reliable, which label each item has, agreement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from annotation.files.reading.importer import CheckedRows
from crowdqc.numbers import count, plural
from evaluation.methods.core.base import IntArray, Result, Table
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels import method
from evaluation.methods.labels.verdict import Verdict, verdict
from evaluation.score_table.reports.text import (
    Options,
    Report,
    board,
    in_order,
    index_of,
    interval,
    number,
    warnings_of,
)

LABEL_COLUMNS = (
    "label",
    "true",
    "given",
    "majority",
    "dawid_skene",
    "mace",
    "glad",
    "gold",
    "mistake_from",
    "mistake_to",
    "same_label",
)
SHOWN = "dawid_skene"  # the method whose label is an item's label
GROUPS = (
    "better than guessing",
    "cannot be told from guessing",
    "always or nearly always one label",
)


def report(checked: CheckedRows, options: Options) -> Report:
    """Labels as the main run of a labels task scores them. Raises DataError, BadParameter."""
    data, gold = labels_of(checked)
    result = method.fit(
        data,
        rng=np.random.default_rng(options.seed),
        gold=gold,
        hooks=options.hooks,
        reliable=options.reliable,
        ordered=options.ordered,
    )
    names = {
        "worker": data.workers,
        "item": data.items,
        "method": method.METHODS,
        **dict.fromkeys(LABEL_COLUMNS, data.labels),
    }
    about = {"recipe": dict(result.recipe), "diagnostics": dict(result.diagnostics)}
    return Report(list(_lines(data, result)), _with_label(result), names, about)


def _with_label(result: Result) -> dict[str, Table]:
    """All tables; that of items begins with ``label``, the one that pages show."""
    item = result.estimates["item"]
    columns = {"item": item["item"], "label": item[SHOWN], **item.columns}
    return {**result.estimates, "item": Table(columns)}


def labels_of(checked: CheckedRows) -> tuple[Labels, IntArray]:
    """Labels and known answers (items,), -1 for none; in the order of a run, whose draws it has."""
    rows = sorted(checked.good, key=lambda row: (row["item"], row["worker"]))
    known = {row["item"]: row["gold"] for row in checked.good if row["gold"]}
    workers, worker = in_order({row["worker"] for row in rows})
    items, item = in_order({row["item"] for row in rows})
    labels, label = index_of([*(row["label"] for row in rows), *known.values()])
    data = Labels.build(
        [worker[row["worker"]] for row in rows],
        [item[row["item"]] for row in rows],
        [label[row["label"]] for row in rows],
        workers=workers,
        items=items,
        labels=labels,
    )
    return data, np.array([label[known[name]] if name in known else -1 for name in items])


def _lines(data: Labels, result: Result) -> Iterator[str]:
    """The verdict, then the boards."""
    tables = result.estimates
    yield from sentences(verdict(result))
    yield ""
    yield from board("Methods on known answers", _methods(tables["compare"]))
    yield from board("Workers", _workers(data, tables["worker"]))
    yield from board("Labels", _classes(data, tables["class"]))
    yield from board("Agreement", _agreement(data, tables["agreement"]))
    yield from warnings_of(result)


def sentences(found: Verdict) -> Iterator[str]:
    """Yield the verdict as sentences."""
    yield (
        f"{count(found.better)} of {plural(found.workers, 'worker')} "
        f"{verb(found.better, 'labels', 'label')} better than guessing, "
        f"{count(found.unknown)} cannot be told from guessing, "
        f"{count(found.one_label)} always or nearly always "
        f"{verb(found.one_label, 'gives', 'give')} one label."
    )
    if found.not_scored:
        yield (
            f"{plural(found.not_scored, 'worker')} {verb(found.not_scored, 'is', 'are')} not "
            f"scored: competence needs {method.FEWEST} workers who share items."
        )
    if found.reliable is not None:
        alone = "has a 95% interval that lies above the threshold"
        several = "have 95% intervals that lie above the threshold"
        yield f"{plural(found.reliable, 'worker')} {verb(found.reliable, alone, several)}."
    yield (
        f"{plural(found.items, 'item')}; {count(found.level_items)} "
        f"{verb(found.level_items, 'has', 'have')} no majority; majority and Dawid-Skene "
        f"differ on {count(found.differ)}."
    )
    if found.alpha is not None:
        bounds = interval(found.alpha_low, found.alpha_high)
        yield f"Krippendorff's alpha {number(found.alpha)}{bounds}."
    if found.known and found.tops:
        answers = plural(found.known, "known answer")
        if len(found.tops) == len(method.METHODS):
            yield f"All methods are equally often right on {answers}."
        else:
            apart = "" if found.told_apart else " (not distinguishable from the others)"
            yield f"Most often right on {answers}: {', '.join(found.tops)}{apart}."


def verb(n: int, one: str, many: str) -> str:
    """The form of a verb that agrees with a number."""
    return one if n == 1 else many


def _methods(table: Table) -> Iterator[Sequence[str]]:
    yield (
        "method",
        "right",
        "of",
        "95% CI",
        "differs from majority",
        "Brier",
        "log",
        "calibration",
        "left-out votes",
    )
    for row in table.rows():
        yield (
            method.METHODS[row["method"]],
            number(row["right"] / row["n"] if row["n"] else None),
            str(row["n"]),
            interval(row["low"], row["high"]).strip(" ()"),
            str(row["differ"]),
            number(row["brier"]),
            number(row["log_score"]),
            number(row["calibration"]),
            number(row["held_out"]),
        )


def _workers(data: Labels, table: Table) -> Iterator[Sequence[str]]:
    yield ("worker", "labels", "competence", "95% CI", "chance", "MACE", "GLAD", "group")
    scored = table["component"] > 0
    competence = np.nan_to_num(table["competence"], nan=-1.0)
    # By group before competence: among those who may be guessing, the order is chance.
    order = np.lexsort((-competence, np.where(scored, table["group"], len(GROUPS))))
    rows = table.rows()
    for at in order:
        row = rows[at]
        yield (
            data.workers[row["worker"]],
            f"{row['n']:g}",
            number(row["competence"]),
            interval(row["low"], row["high"]).strip(" ()"),
            number(row["chance"]),
            number(row["mace"]),
            number(row["glad"]),
            GROUPS[row["group"]] if row["component"] else "not scored",
        )


def _classes(data: Labels, table: Table) -> Iterator[Sequence[str]]:
    yield ("label", "prevalence", "95% CI", "share of majorities")
    for row in table.rows():
        yield (
            data.labels[row["label"]],
            number(row["prevalence"]),
            interval(row["low"], row["high"]).strip(" ()"),
            number(row["majority_share"]),
        )


def _agreement(data: Labels, table: Table) -> Iterator[Sequence[str]]:
    yield ("coefficient", "of", "value", "95% CI", "items", "")
    scopes = {"all": "all labels", "better": "workers better than guessing"}
    for row in table.rows():
        yield (
            row["coefficient"],
            scopes.get(row["scope"], f"label {data.labels[row['label']]}"),
            number(row["value"]),
            interval(row["low"], row["high"]).strip(" ()"),
            str(row["units"]),
            row["reason"],
        )
