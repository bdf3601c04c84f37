"""A board: rows that compare with one another, with intervals, ranges of ranks and groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core import bootstrap
from evaluation.methods.core.base import FloatArray, IntArray, Intervals

Part = TypeVar("Part")
SCORES = ("n", "score", "uniterated", "adjusted", "uniterated_adjusted")


class Crowd(Protocol):
    """Who answered what: Responses, Texts or Bags."""

    @property
    def worker(self) -> IntArray: ...
    @property
    def question(self) -> IntArray: ...
    @property
    def source(self) -> IntArray: ...
    @property
    def workers(self) -> tuple[str, ...]: ...
    @property
    def questions(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, eq=False)
class Systems:
    """Outside answers (k,) of a component, by system.

    ``select`` are their positions among all outside answers, ``names`` the global systems (s,);
    ``system`` and ``question`` (k,) are local.
    """

    select: IntArray
    names: IntArray
    system: IntArray
    question: IntArray

    @classmethod
    def of(cls, outside: Any, questions: IntArray) -> Systems:
        """Select the systems' answers to these questions; none if ``outside`` is None."""
        if outside is None:
            return cls(*np.empty((4, 0), dtype=np.int64))
        select = np.flatnonzero(np.isin(outside.question, questions))
        names, system = np.unique(outside.worker[select], return_inverse=True)
        return cls(select, names, system, np.searchsorted(questions, outside.question[select]))

    @property
    def complete(self) -> bool:
        """Whether every system answered the same questions, equally often."""
        asked = np.unique(self.question)
        cells = np.zeros((len(self.names), len(asked)), dtype=np.int64)
        np.add.at(cells, (self.system, np.searchsorted(asked, self.question)), 1)
        return bool(np.all(cells == cells[:1]))

    @property
    def n(self) -> IntArray:
        """Answers of each system (s,)."""
        return np.bincount(self.system, minlength=len(self.names))

    def means(self, scores: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted mean (b, s) of scores (b, k) under question weights (b, q)."""
        member = scipy.sparse.csr_array(
            (np.ones(len(self.system)), (self.system, np.arange(len(self.system)))),
            shape=(len(self.names), len(self.system)),
        )
        share = weights[:, self.question]
        return (member @ (scores * share).T).T / (member @ share.T).T


@dataclass(frozen=True)
class Rules:
    """How sure a board must be: resamples, level, and answers below which nothing is said."""

    resamples: int
    level: float
    min_answers: int


def rules_of(settings: Mapping[str, Any]) -> Rules:
    """The boards' rules from settings that their Params have checked."""
    return Rules(settings["resamples"], float(settings["level"]), settings["min_answers"])


@dataclass(frozen=True, eq=False)
class Scores:
    """Point estimates of k rows and what they rest on (n answers); ``by`` names what ranks."""

    n: IntArray
    score: FloatArray
    uniterated: FloatArray
    adjusted: FloatArray
    uniterated_adjusted: FloatArray
    by: str  # "score" or "adjusted"

    @property
    def ranked(self) -> FloatArray:
        """The scores by which the board is ranked."""
        return self.adjusted if self.by == "adjusted" else self.score

    @property
    def ranked_uniterated(self) -> FloatArray:
        """The scores by which the board would be ranked without iterating."""
        return self.uniterated_adjusted if self.by == "adjusted" else self.uniterated


@dataclass(frozen=True, eq=False)
class Draws:
    """Resampled raw and adjusted scores (b, k); ``complete``: from the ordinary bootstrap."""

    score: FloatArray
    adjusted: FloatArray
    complete: bool


@dataclass(frozen=True, eq=False)
class Board:
    """Scores of one component, with their ranks and intervals."""

    scores: Scores
    rank: IntArray
    uniterated_rank: IntArray
    intervals: Intervals


def make_board(scores: Scores, draws: Draws, rules: Rules, stricter: Board | None = None) -> Board:
    """Rank the rows of a board and compute their intervals; none for rows with few answers.

    ``stricter`` is another board of the same rows: two of them are separable only where that one
    says so too, and in the same order.
    """
    k = len(scores.n)
    point = scores.ranked
    sure = np.flatnonzero((scores.n >= rules.min_answers) & np.isfinite(point))
    bounds = np.full((4, k), np.nan)
    rank_low, rank_high, group = np.zeros((3, k), dtype=np.int64)
    apart = np.zeros((k, k), dtype=bool)
    if rules.resamples and sure.size:
        n = scores.n[sure]
        for row, column in ((0, draws.score), (2, draws.adjusted)):
            bounds[row, sure], bounds[row + 1, sure] = bootstrap.percentile_interval(
                column[:, sure], n, rules.level, complete=draws.complete
            )
        ranking = draws.adjusted if scores.by == "adjusted" else draws.score
        some = bootstrap.separable(
            point[sure], ranking[:, sure], n, level=rules.level, complete=draws.complete
        )
        if stricter is not None:
            some &= _agreed(point, stricter)[np.ix_(sure, sure)]
        apart[np.ix_(sure, sure)] = some
        best, worst = bootstrap.rank_ranges(point[sure], some)
        # Rows without an interval could stand anywhere, so they lengthen the others' ranges.
        rank_low[sure] = best
        rank_high[sure] = worst + int(np.isfinite(point).sum()) - len(sure)
        group[sure] = bootstrap.groups(point[sure], some)
    return Board(
        scores=scores,
        rank=bootstrap.ranks(point),
        uniterated_rank=bootstrap.ranks(scores.ranked_uniterated),
        intervals=Intervals(
            level=rules.level,
            low=bounds[0],
            high=bounds[1],
            adjusted_low=bounds[2],
            adjusted_high=bounds[3],
            rank_low=rank_low,
            rank_high=rank_high,
            group=group,
            separable=apart,
            reason=tuple(_reason(int(count), rules) for count in scores.n),
        ),
    )


def _agreed(point: FloatArray, other: Board) -> NDArray[np.bool_]:
    """Return where the other board separates two rows (k, k) in the order of ``point``."""
    theirs = other.scores.ranked
    same: NDArray[np.bool_] = (point[:, None] > point[None, :]) == (
        theirs[:, None] > theirs[None, :]
    )
    return same & same.T & other.intervals.separable


def _reason(n: int, rules: Rules) -> str:
    if n < rules.min_answers:
        return f"{n} answer{'' if n == 1 else 's'}; an interval needs {rules.min_answers}"
    return "" if rules.resamples else "no resamples were asked for"


def place_intervals(
    parts: list[tuple[IntArray, Intervals]], size: int, missing: list[str], level: float
) -> Intervals:
    """Intervals of several boards at their rows of one table of ``size`` rows.

    ``missing`` (size,) are the reasons of rows that stand on no board. Rows of different boards
    are never separable.
    """
    out: dict[str, Any] = {
        name: np.full(size, np.nan) for name in ("low", "high", "adjusted_low", "adjusted_high")
    }
    out |= {name: np.zeros(size, dtype=np.int64) for name in ("rank_low", "rank_high", "group")}
    apart: NDArray[np.bool_] = np.zeros((size, size), dtype=bool)
    reasons = list(missing)
    for where, part in parts:
        for name, column in out.items():
            column[where] = getattr(part, name)
        apart[np.ix_(where, where)] = part.separable
        for row, reason in zip(where, part.reason, strict=True):
            reasons[row] = reason
    return Intervals(level=level, separable=apart, reason=tuple(reasons), **out)


def stack(parts: Sequence[Intervals], level: float) -> Intervals:
    """Concatenate the intervals of several boards."""
    ends = np.cumsum([0] + [len(part.low) for part in parts])
    spots = [(np.arange(ends[k], ends[k + 1]), part) for k, part in enumerate(parts)]
    return place_intervals(spots, int(ends[-1]), [""] * int(ends[-1]), level)


def why_missing(data: Crowd) -> list[str]:
    """Return for each worker (m,) the reason why a board would leave them out."""
    return [
        "nobody else answered the same questions" if n else "no answers"
        for n in np.bincount(data.worker, minlength=len(data.workers))
    ]


def unranked(data: Crowd, worker_part: IntArray) -> dict[str, list[str]]:
    """Questions and workers on no board; ``worker_part`` (m,) is 0 for these."""
    answered = np.bincount(data.question, minlength=len(data.questions))
    present = np.unique(data.worker)
    return {
        "questions_with_one_answer": [data.questions[j] for j in np.flatnonzero(answered == 1)],
        "questions_without_answers": [data.questions[j] for j in np.flatnonzero(answered == 0)],
        "workers_not_scored": [data.workers[w] for w in present if worker_part[w] == 0],
    }


def gather_columns(
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
    """Return the columns that a table shows of a board's rows, by name."""

    def score(name: str) -> Callable[[Part], Any]:
        return lambda part: getattr(board(part).scores, name)

    columns = {name: score(name) for name in SCORES}
    columns["rank"] = lambda part: board(part).rank
    columns["uniterated_rank"] = lambda part: board(part).uniterated_rank
    return columns
