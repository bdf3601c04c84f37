"""Comparisons scored without a database: systems ranked by who was preferred to whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from annotation.files.reading.importer import CheckedRows
from crowdqc.numbers import plural
from evaluation.methods.bradley_terry import method
from evaluation.methods.core.base import Result, Table
from evaluation.methods.core.votes import FIRST, SECOND, TIE, Pairs
from evaluation.score_table.reports.text import (
    Options,
    Report,
    board,
    first_place,
    index_of,
    interval,
    number,
    warnings_of,
)

OUTCOMES = {"left": FIRST, "neutral": TIE, "right": SECOND}
NO_CLUSTERS = (
    "Intervals take these judges as they are: fewer than {least} say too little of other judges."
)


def report(checked: CheckedRows, options: Options) -> Report:
    """Bradley-Terry with ties over all comparisons, clustered by judge where there are enough.

    A judge's second comparison of the same two texts is left out, as in runs. Raises DataError.
    """
    data = pairs_of(checked)
    clustered = len(data.judges) >= method.FEWEST_JUDGES
    result = method.fit(
        data,
        rng=np.random.default_rng(options.seed),
        hooks=options.hooks,
        cluster="judge" if clustered else "none",
    )
    names = {"player": data.players}
    lines = list(_lines(data, result, clustered))
    return Report(lines, result.estimates, names)


def pairs_of(checked: CheckedRows) -> Pairs:
    """The first comparison of each judge, item and two texts."""
    first = {
        (one["judge"], one["topic"], *sorted((one["left"], one["right"]))): one
        for one in reversed(list(checked.good))
        if one["left"][0] != one["right"][0]
    }
    rows = list(first.values())
    players, player = index_of([one[side][0] for one in rows for side in ("left", "right")])
    judges, judge = index_of([one["judge"] for one in rows])
    return Pairs.build(
        [player[one["left"][0]] for one in rows],
        [player[one["right"][0]] for one in rows],
        [OUTCOMES[one["winner"]] for one in rows],
        players=players,
        left=np.ones(len(rows), dtype=np.int64),
        judge=[judge[one["judge"]] for one in rows],
        judges=judges,
    )


def _lines(data: Pairs, result: Result, clustered: bool) -> Iterator[str]:
    table = result.estimates["player"]
    yield from _verdict(data, table)
    votes, judges = plural(round(data.weight.sum()), "comparison"), len(data.judges)
    yield f"{votes} by {plural(judges, 'judge')}."
    if not clustered:
        yield NO_CLUSTERS.format(least=method.FEWEST_JUDGES)
    yield ""
    yield from board("Systems", _systems(data, table))
    yield from warnings_of(result)


def _verdict(data: Pairs, table: Table) -> Iterator[str]:
    """Who is first, for each set of systems that comparisons connect."""
    parts = sorted(set(table["component"].tolist()) - {0})
    if len(parts) > 1:
        yield f"{len(parts)} sets of systems that no comparison connects: ranks are within a set."
    for part in parts:
        ranks = [
            (data.players[row["player"]], row["rank_low"], row["rank_high"])
            for row in table.rows()
            if row["component"] == part
        ]
        yield first_place(ranks, "system")


def _systems(data: Pairs, table: Table) -> Iterator[Sequence[str]]:
    yield ("rank", "95% CI", "system", "score", "95% CI", "comparisons")
    rows = sorted(table.rows(), key=lambda row: (row["component"] or 1e9, row["rank"]))
    for row in rows:
        scored = row["component"] > 0
        yield (
            str(row["rank"]) if scored else "-",
            f"{row['rank_low']}-{row['rank_high']}" if scored and row["rank_low"] else "-",
            data.players[row["player"]],
            number(row["estimate"]) if scored else "not scored",
            interval(row["low"], row["high"]).strip(" ()") if scored else "",
            str(row["n"]),
        )
