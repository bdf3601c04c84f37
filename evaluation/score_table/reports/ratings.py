"""Ratings scored without a database: agreement, and means of systems and texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from annotation.files.reading.importer import CheckedRows
from crowdqc.numbers import plural
from evaluation.methods.core.base import Result, Table
from evaluation.methods.rescaling import ratings as method
from evaluation.score_table.reports.text import (
    Options,
    Report,
    board,
    index_of,
    interval,
    number,
    warnings_of,
)


def report(checked: CheckedRows, options: Options) -> Report:
    """Ratings as the main run of a rating task scores them. Raises DataError."""
    rows = list(checked.good)
    workers, worker = index_of([row["worker"] for row in rows])
    texts, text = index_of([row["item"] for row in rows])
    about = {row["item"]: row for row in rows}
    systems, system = index_of([about[name]["system"] for name in texts])
    _, topic = index_of([about[name]["topic"] for name in texts])
    factor = checked.about["factor"]  # by which decimals are stored
    data = method.Ratings.build(
        [worker[row["worker"]] for row in rows],
        [text[row["item"]] for row in rows],
        [[row["score"] / factor] for row in rows],
        system=[system[about[name]["system"]] for name in texts],
        topic=[topic[about[name]["topic"]] for name in texts],
        workers=workers,
        texts=texts,
        systems=systems,
        scales=["score"],
    )
    result = method.fit(data, rng=np.random.default_rng(options.seed), hooks=options.hooks)
    names = {
        "worker": data.workers,
        "candidate": data.texts,
        "system": data.systems,
        "dimension": data.scales,
    }
    return Report(list(_lines(data, result)), result.estimates, names)


def _lines(data: method.Ratings, result: Result) -> Iterator[str]:
    tables = result.estimates
    for row in tables["agreement"].rows():
        if row["alpha"] is None:
            yield f"No agreement: {row['reason']}."
        else:
            bounds = interval(row["low"], row["high"]) or " (no interval)"
            yield (f"Krippendorff's alpha ({row['measurement']}) {number(row['alpha'])}{bounds}.")
            bounds = interval(row["interval_low"], row["interval_high"]) or " (no interval)"
            yield f"Krippendorff's alpha (interval) {number(row['interval_alpha'])}{bounds}."
    yield (
        f"{plural(len(data), 'rating')} of {plural(len(data.texts), 'text')} by "
        f"{plural(len(data.workers), 'worker')}."
    )
    yield ""
    if len(data.systems) > 1:
        yield from board("Systems", _means(tables["system"], data.systems))
    yield from board("Workers", _workers(data, tables["worker"]))
    yield from warnings_of(result)


def _means(table: Table, names: Sequence[str]) -> Iterator[Sequence[str]]:
    yield ("system", "mean", "95% CI", "ratings", "")
    for row in sorted(table.rows(), key=lambda row: -(row["estimate"] or 0)):
        yield (
            names[row["system"]],
            number(row["estimate"]),
            interval(row["low"], row["high"]).strip(" ()") or "-",
            str(row["n"]),
            row["no_interval"],
        )


def _workers(data: method.Ratings, table: Table) -> Iterator[Sequence[str]]:
    yield ("worker", "mean", "spread", "correlation with others", "95% CI", "ratings", "")
    for row in table.rows():
        yield (
            data.workers[row["worker"]],
            number(row["mean"]),
            number(row["spread"]),
            number(row["agreement"]),
            interval(row["low"], row["high"]).strip(" ()") or "-",
            str(row["n"]),
            row["no_interval"],
        )
