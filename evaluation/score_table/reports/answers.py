"""Free-text answers scored without a database: AQER with the bundled encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from annotation.files.reading.importer import CheckedRows
from crowdqc.numbers import plural
from evaluation.embeddings.embeddings import get_encoder
from evaluation.free_text.run import DEFAULT_ENCODER
from evaluation.methods.aqer import method
from evaluation.methods.core.base import Result, Texts
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


def report(checked: CheckedRows, options: Options) -> Report:
    """Answers as the main run of a free-text task scores them. Raises DataError."""
    rows = list(checked.good)
    workers, worker = index_of([row["worker_id"] for row in rows])
    questions, question = index_of([row["item_id"] for row in rows])
    texts = list(dict.fromkeys(row["answer"] for row in rows))
    place = {text: at for at, text in enumerate(texts)}
    data = Texts.build(
        [worker[row["worker_id"]] for row in rows],
        [question[row["item_id"]] for row in rows],
        get_encoder(DEFAULT_ENCODER).encode(texts),
        workers=workers,
        questions=questions,
        vector=[place[row["answer"]] for row in rows],
    )
    result = method.fit(data, rng=np.random.default_rng(options.seed), hooks=options.hooks)
    names = {"worker": data.workers, "question": data.questions}
    return Report(list(_lines(data, result)), result.estimates, names)


def _lines(data: Texts, result: Result) -> Iterator[str]:
    rows = _rows(data, result)
    for part in sorted({row["component"] for row in rows} - {0}):
        mine = [row for row in rows if row["component"] == part]
        ranks = [
            (row["name"], 0 if row["reason"] else row["rank_low"], row["rank_high"]) for row in mine
        ]
        yield first_place(ranks, "worker")
    alone = sum(row["component"] == 0 for row in rows)
    if alone:
        yield f"{plural(alone, 'worker')} without a score: nobody answered the same questions."
    yield f"{plural(len(data), 'answer')} to {plural(len(data.questions), 'question')}."
    yield ""
    yield from board("Workers", _workers(rows))
    yield from warnings_of(result)


def _rows(data: Texts, result: Result) -> list[dict[str, Any]]:
    bounds = result.intervals["worker"]
    return [
        {
            **row,
            "name": data.workers[row["worker"]],
            "low": bounds.low[at],
            "high": bounds.high[at],
            "rank_low": bounds.rank_low[at],
            "rank_high": bounds.rank_high[at],
            "group": bounds.group[at],
            "reason": bounds.reason[at],
        }
        for at, row in enumerate(result.estimates["worker"].rows())
    ]


def _workers(rows: Sequence[dict[str, Any]]) -> Iterator[Sequence[str]]:
    yield ("rank", "worker", "score", "95% CI", "ranks", "answers", "")
    for row in sorted(rows, key=lambda row: (row["component"] or 1e9, row["rank"])):
        scored, sure = row["component"] > 0, not row["reason"]
        yield (
            str(row["rank"]) if scored else "-",
            row["name"],
            number(row["score"]) if scored else "not scored",
            interval(row["low"], row["high"]).strip(" ()") if scored and sure else "-",
            f"{row['rank_low']}-{row['rank_high']}" if scored and sure else "-",
            str(row["n"]),
            row["reason"],
        )
