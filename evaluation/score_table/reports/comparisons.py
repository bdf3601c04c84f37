"""Comparisons scored without a database: systems ranked by who was preferred to whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from annotation.files.reading.importer import CheckedRows
from crowdqc.numbers import plural
from evaluation.methods.core.base import DataError, Table
from evaluation.methods.pairwise import method
from evaluation.methods.pairwise.boards import Boards
from evaluation.methods.pairwise.judgments import SIDES, Judgments, ShownVotes
from evaluation.pairwise.head import preferred
from evaluation.score_table.reports.text import (
    Options,
    Report,
    board,
    first_place,
    index_of,
    interval,
    number,
)

DIMENSION = "preference"


def report(checked: CheckedRows, options: Options) -> Report:
    """The board of systems as a run of the same comparisons has it, from the same seed.

    Bradley-Terry with ties, clustered by item and judge where there are enough of both. A judge's
    second comparison of the same two texts is left out. Raises DataError.
    """
    data = judgments_of(checked)
    found = method.rank_systems(data, rng=np.random.default_rng(options.seed), hooks=options.hooks)
    tables = {name: _own(table) for name, table in _tables(found).items()}
    if not len(tables["player"]):
        raise DataError(" ".join(found.notes))
    names = {name: data.systems for name in ("player", "system_a", "system_b")}
    return Report(list(_lines(data, found, tables)), tables, names)


def _tables(found: Boards) -> Mapping[str, Table]:
    systems = {"player": found.system["system"], **found.system.columns}
    del systems["system"]
    return {"player": Table(systems), "shared": found.shared, "win": found.win, "head": found.head}


def _own(table: Table) -> Table:
    """The rows of the one dimension, without the same rows over all dimensions."""
    rows = table["dimension"] == 0
    return Table(
        {name: values[rows] for name, values in table.columns.items() if name != "dimension"}
    )


def judgments_of(checked: CheckedRows) -> Judgments:
    """Comparisons of texts of different systems as judgments, in the order of their times."""
    rows = [one for one in checked.good if one["left"][0] != one["right"][0]]
    rows.sort(key=lambda one: one["at"].timestamp() if one["at"] else 0.0)
    sides = ("left", "right")
    # As a run numbers them, so that its draws are the same.
    order = dict.fromkeys(one[side][0] for one in reversed(list(checked.good)) for side in sides)
    systems = {name: at for at, name in enumerate(order)}
    texts: dict[tuple[Any, ...], int] = {}
    for one in rows:
        for side in sides:
            texts.setdefault((one["topic"], *one[side]), len(texts))
    ends = [tuple(texts[one["topic"], *one[side]] for side in sides) for one in rows]
    pairs: dict[tuple[int, ...], int] = {}
    for pair in ends:
        pairs.setdefault(tuple(sorted(pair)), len(pairs))
    judges, judge = index_of([one["judge"] for one in rows])
    topics, topic = index_of([one["topic"] for one in rows])
    votes = ShownVotes.build(
        [judge[one["judge"]] for one in rows],
        [pairs[tuple(sorted(pair))] for pair in ends],
        np.array([left > right for left, right in ends], dtype=bool),
        np.arange(1, len(rows) + 1),
        np.array([SIDES.index(one["winner"]) for one in rows])[:, None],
        workers=judges,
        pairs=[str(at) for at in range(len(pairs))],
        dimensions=(DIMENSION,),
    )
    return Judgments.build(
        votes,
        [first for first, _ in pairs],
        [second for _, second in pairs],
        topic=[topic[key[0]] for key in texts],
        system=[systems[key[1]] for key in texts],
        candidates=[str(at) for at in range(len(texts))],
        topics=topics,
        systems=list(systems),
    )


def _lines(data: Judgments, found: Boards, tables: Mapping[str, Table]) -> Iterator[str]:
    yield from _verdict(data, tables["player"])
    for head in tables["head"].rows():
        yield preferred((data.systems[head["system_a"]], data.systems[head["system_b"]]), head)
    people = data.votes.first_votes()
    judges = len(np.unique(people.worker))
    yield f"{plural(len(people), 'comparison')} by {plural(judges, 'judge')}."
    yield f"Intervals by {_of_file(found.clusters[DIMENSION])}."
    yield ""
    yield from board("Systems", _systems(data, tables["player"]))
    own = f"{DIMENSION}: "
    said = [note.removeprefix(own) for note in found.notes if note.startswith(own)]
    yield from (f"Warning: {_of_file(note)}" for note in said)


def _of_file(said: str) -> str:
    """Say what the method says, with the names that the columns of such files have."""
    for ours, theirs in (("worker", "judge"), ("topic", "item"), ("vote", "comparison")):
        said = said.replace(ours, theirs)
    return said


def _verdict(data: Judgments, table: Table) -> Iterator[str]:
    """Who is first, for each set of systems that comparisons connect."""
    parts = sorted(set(table["component"].tolist()) - {0})
    if len(parts) > 1:
        yield f"{len(parts)} sets of systems that no comparison connects: ranks are within a set."
    for part in parts:
        ranks = [
            (data.systems[row["player"]], row["rank_low"], row["rank_high"])
            for row in table.rows()
            if row["component"] == part
        ]
        yield first_place(ranks, "system")


def _systems(data: Judgments, table: Table) -> Iterator[Sequence[str]]:
    yield ("rank", "95% CI", "system", "score", "95% CI", "comparisons")
    rows = sorted(table.rows(), key=lambda row: (row["component"] or 1e9, row["rank"]))
    for row in rows:
        scored = row["component"] > 0
        yield (
            str(row["rank"]) if scored else "-",
            f"{row['rank_low']}-{row['rank_high']}" if scored and row["rank_low"] else "-",
            data.systems[row["player"]],
            number(row["estimate"]) if scored else "not scored",
            interval(row["low"], row["high"]).strip(" ()") if scored else "",
            str(row["n"]),
        )
