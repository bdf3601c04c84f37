"""AQER's components put together into tables: one row a worker, answer, question, system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.aqer.component import Component
from evaluation.methods.core.base import IntArray, Intervals, Table, Texts
from evaluation.methods.core.boards import Board, place
from evaluation.methods.core.bootstrap import ranks

BEST_BONUS = 0.1  # of the normalised worker score, added when choosing the best answer
Part = TypeVar("Part")
SCORES = ("n", "score", "uniterated", "adjusted", "uniterated_adjusted")


def tables(
    data: Texts, fitted: list[Component], level: float
) -> tuple[dict[str, Table], dict[str, Intervals]]:
    """All estimates and intervals of a fit; a result's tables are described at ``aqer.fit``."""
    boards = [(part.case.workers, part.workers.intervals) for part in fitted]
    missing = [
        "nobody else answered the same questions" if n else "no answers"
        for n in np.bincount(data.worker, minlength=len(data.workers))
    ]
    estimates = {
        "worker": _workers(data, fitted),
        "answer": _answers(data, fitted),
        "question": _questions(data, fitted),
    }
    intervals = {"worker": place(boards, len(data.workers), missing, level)}
    if data.outside is not None:
        ends = np.cumsum([0] + [len(part.case.systems.names) for part in fitted])
        stacked = [
            (np.arange(ends[k], ends[k + 1]), part.systems.intervals)
            for k, part in enumerate(fitted)
        ]
        estimates["system"] = _systems(fitted)
        estimates["system_answer"] = _system_answers(data.outside, fitted)
        intervals["system"] = place(stacked, int(ends[-1]), [""] * int(ends[-1]), level)
    return estimates, intervals


def diagnostics(data: Texts, fitted: list[Component], worker_part: IntArray) -> dict[str, Any]:
    """What to know per component, and who and what was left out."""
    answered = np.bincount(data.question, minlength=len(data.questions))
    present = np.unique(data.worker)
    return {
        "components": [
            {"number": k, "name": f"Component {k} of {len(fitted)}", **part.diagnostics}
            for k, part in enumerate(fitted, start=1)
        ],
        "questions_with_one_answer": [data.questions[j] for j in np.flatnonzero(answered == 1)],
        "questions_without_answers": [data.questions[j] for j in np.flatnonzero(answered == 0)],
        "workers_not_scored": [data.workers[w] for w in present if worker_part[w] == 0],
    }


def gather(
    size: int,
    fitted: Sequence[Part],
    where: Callable[[Part], IntArray],
    columns: dict[str, Callable[[Part], Any]],
) -> dict[str, NDArray[Any]]:
    """Columns of ``size`` rows: each component's values at its rows; NaN, or 0 for counts."""
    out: dict[str, NDArray[Any]] = {"component": np.zeros(size, dtype=np.int64)}
    for k, part in enumerate(fitted, start=1):
        rows = where(part)
        out["component"][rows] = k
        for name, value in columns.items():
            values = np.asarray(value(part))
            if name not in out:
                whole = np.issubdtype(values.dtype, np.integer)
                out[name] = np.zeros(size, np.int64) if whole else np.full(size, np.nan)
            out[name][rows] = values
    return out


def board_columns(board: Callable[[Part], Board]) -> dict[str, Callable[[Part], Any]]:
    """What a table says of the rows of a board."""

    def score(name: str) -> Callable[[Part], Any]:
        return lambda part: getattr(board(part).scores, name)

    columns = {name: score(name) for name in SCORES}
    columns["rank"] = lambda part: board(part).rank
    columns["uniterated_rank"] = lambda part: board(part).uniterated_rank
    return columns


def _workers(data: Texts, fitted: list[Component]) -> Table:
    size = len(data.workers)
    columns: dict[str, Callable[[Component], Any]] = board_columns(lambda part: part.workers)
    columns["normalised"] = lambda part: part.fit.normalised
    columns["weight"] = lambda part: part.fit.weights
    rows = gather(size, fitted, lambda part: part.case.workers, columns)
    return Table({"worker": np.arange(size), **rows})


def _systems(fitted: list[Component]) -> Table:
    ends = np.cumsum([0] + [len(part.case.systems.names) for part in fitted])
    spans = {id(part): np.arange(ends[k], ends[k + 1]) for k, part in enumerate(fitted)}
    columns: dict[str, Callable[[Component], Any]] = board_columns(lambda part: part.systems)
    columns["system"] = lambda part: part.case.systems.names
    return Table(gather(int(ends[-1]), fitted, lambda part: spans[id(part)], columns))


def _answers(data: Texts, fitted: list[Component]) -> Table:
    size = len(data)
    found = gather(
        size,
        fitted,
        lambda part: part.case.select,
        {
            "score": lambda part: part.fit.last.scores,
            "uniterated": lambda part: part.fit.first.scores,
            "trust": lambda part: part.fit.normalised[part.case.rows.worker],
        },
    )
    score, trusted = found["score"], found["score"] + BEST_BONUS * found.pop("trust")
    rank = np.zeros(size, dtype=np.int64)
    best = np.zeros((2, size), dtype=bool)
    bounds = np.searchsorted(data.question, np.arange(len(data.questions) + 1))
    for j in np.unique(data.question[found["component"] > 0]):
        block = slice(bounds[j], bounds[j + 1])
        rank[block] = ranks(score[block])
        for row, column in enumerate((score, trusted)):
            best[row, bounds[j] + int(np.nanargmax(column[block]))] = True
    return Table(
        {
            "source": data.source,
            "worker": data.worker,
            "question": data.question,
            **found,
            "rank": rank,
            "best": best[0],
            "best_trusted": best[1],
        }
    )


def _questions(data: Texts, fitted: list[Component]) -> Table:
    def mean(part: Component, values: Any) -> Any:
        at = part.case.rows.question
        return np.bincount(at, weights=values) / np.bincount(at)

    def spread(part: Component) -> Any:
        scores = part.fit.last.scores
        off = scores - mean(part, scores)[part.case.rows.question]
        return np.sqrt(mean(part, off**2))

    size = len(data.questions)
    columns: dict[str, Callable[[Component], Any]] = {
        "score": lambda part: mean(part, part.fit.last.scores),
        "spread": spread,
        "agreement": lambda part: np.sqrt(part.fit.last.squared) / part.fit.last.total,
        "effect": lambda part: part.effects,
    }
    found = gather(size, fitted, lambda part: part.case.questions, columns)
    count = np.bincount(data.question, minlength=size)
    return Table({"question": np.arange(size), "n": count, **found})


def _system_answers(outside: Texts, fitted: list[Component]) -> Table:
    columns: dict[str, Callable[[Component], Any]] = {
        "score": lambda part: part.outside,
        "uniterated": lambda part: part.outside_first,
    }
    found = gather(len(outside), fitted, lambda part: part.case.systems.select, columns)
    return Table(
        {
            "source": outside.source,
            "system": outside.worker,
            "question": outside.question,
            **found,
        }
    )
