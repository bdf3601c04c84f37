"""From a judge's scores to rows: of answers or texts, and of the workers and systems behind them.

Boards of answers to questions are made as those of the baselines (means, and question-adjusted
scores where not everybody answered the same), so that they stand beside AQER's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.models import Candidate
from annotation.work.snapshots.answers import AnswerText
from evaluation.methods.baselines import baseline_boards
from evaluation.methods.baselines.baseline_boards import Ratings
from evaluation.methods.core.base import Intervals, Result, TooFewWorkers
from evaluation.methods.core.params import Params
from evaluation.methods.rescaling.point_scores import Mean, author_means
from evaluation.methods.text.corpus import Responses
from evaluation.models import AnswerScore, CandidateScore, SystemScore, WorkerScore

NAME, VERSION = "judge_points", "1.0"
ONE_SCORE = "one score; a judge is asked once"
NO_RANKS = "no ranks: no question was answered by two workers"
Row = dict[str, Any]
Rows = dict[Any, list[Row]]


@dataclass(frozen=True)
class Point:
    """A score from 0 to 100 and the call that gave it; ``defaulted``: no number was named."""

    score: float
    call: int
    defaulted: bool = False

    def extra(self) -> Row:
        """Details stored with the score: its call, and whether it was a default."""
        return {"defaulted": self.defaulted, "call": self.call, "no_interval": ONE_SCORE}


def answer_boards(
    given: Sequence[tuple[AnswerText, Point]], *, resamples: int, rng: np.random.Generator
) -> tuple[Rows, list[str]]:
    """Make the rows of answers, workers and systems from a model's scores, with messages."""
    rows: Rows = {
        AnswerScore: [
            {"answer_id": row.answer_id, "estimate": point.score, "n": 1, "extra": point.extra()}
            for row, point in given
        ],
    }
    people = [(row, point) for row, point in given if row.worker_id is not None]
    models = [(row, point) for row, point in given if row.worker_id is None]
    try:
        boards, notes = _compared(people, models, resamples, rng)
    except TooFewWorkers:
        boards, notes = _alone(people, models), [NO_RANKS]
    return {**rows, **boards}, notes


Given = Sequence[tuple[AnswerText, Point]]


def _compared(
    people: Given, models: Given, resamples: int, rng: np.random.Generator
) -> tuple[Rows, list[str]]:
    """Boards with ranks, where workers share questions; raises TooFewWorkers where none do."""
    if not people:
        raise TooFewWorkers("no worker has answered")
    questions = sorted({row.item_id for row, _ in people})
    known = set(questions)
    beside = [(row, point) for row, point in models if row.item_id in known]
    workers = sorted({row.worker_id or 0 for row, _ in people})
    systems = sorted({row.system_id or 0 for row, _ in beside})
    outside = _responses(beside, "system_id", systems, questions) if beside else None
    data = _responses(people, "worker_id", workers, questions, outside)
    scores = [np.array([point.score for _, point in part]) for part in (people, beside)]
    ratings = Ratings(
        scores[0][data.source], scores[1][outside.source] if outside is not None else np.empty(0)
    )
    options = Params(NAME, baseline_boards.COMMON, version=VERSION)
    settings = options.settings({"resamples": resamples})
    result = baseline_boards.result(options, data, ratings, settings=settings, rng=rng)
    parts = result.diagnostics["components"]
    by, systems_by = (
        {part["number"]: part[name] for part in parts}
        for name in ("ranked_by", "systems_ranked_by")
    )
    told = _share_defaulted(given=[*people, *beside])
    rows: Rows = {
        WorkerScore: _board(result, "worker", workers, by, told),
        SystemScore: _board(result, "system", systems, systems_by, told) if beside else [],
    }
    left = len(models) - len(beside)
    notes = [f"{left} answers of systems are to questions that no worker answered."] if left else []
    return rows, notes


def _responses(
    given: Given,
    name: str,
    authors: list[int],
    questions: list[int],
    outside: Responses | None = None,
) -> Responses:
    return Responses.build(
        [authors.index(getattr(row, name)) for row, _ in given],
        [questions.index(row.item_id) for row, _ in given],
        [row.text for row, _ in given],
        workers=[str(pk) for pk in authors],
        questions=[str(pk) for pk in questions],
        outside=outside,
        repeats=name == "system_id",
    )


def _share_defaulted(given: Given) -> dict[tuple[str, int], int]:
    """(worker or system, id) -> how many of its scores are the middle for want of a number."""
    found: dict[tuple[str, int], int] = {}
    for row, point in given:
        of = ("worker", row.worker_id) if row.worker_id is not None else ("system", row.system_id)
        key = of[0], of[1] or 0
        found[key] = found.get(key, 0) + point.defaulted
    return found


def _board(
    result: Result,
    kind: str,
    ids: Sequence[int],
    by: dict[int, str],
    defaulted: dict[tuple[str, int], int],
) -> list[Row]:
    """Rows of a board; ``by`` names the column that ranks, by component."""
    intervals = result.intervals[kind]
    made = []
    for at, row in enumerate(result.estimates[kind].rows()):
        adjusted = by.get(row["component"], "score")
        made.append(
            {
                f"{kind}_id": ids[row[kind]],
                "component": row["component"],
                "n": row["n"],
                **_ranked(row, intervals, at, adjusted == "adjusted"),
            }
        )
        made[-1]["extra"]["defaulted"] = defaulted.get((kind, ids[row[kind]]), 0)
    return made


def _ranked(row: Row, intervals: Intervals, at: int, adjusted: bool) -> Row:
    name = "adjusted" if adjusted else "score"
    low = (intervals.adjusted_low if adjusted else intervals.low)[at]
    high = (intervals.adjusted_high if adjusted else intervals.high)[at]
    sure = bool(intervals.group[at])
    return {
        "estimate": row[name],
        "low": _number(low),
        "high": _number(high),
        "rank_low": int(intervals.rank_low[at]) if sure else None,
        "rank_high": int(intervals.rank_high[at]) if sure else None,
        "group": int(intervals.group[at]) if sure else None,
        "extra": {"by": name, "raw": row["score"], "no_interval": intervals.reason[at]},
    }


def _number(value: Any) -> float | None:
    number = float(value)
    return number if np.isfinite(number) else None


def _alone(people: Given, models: Given) -> Rows:
    """Means without ranks: nothing ties one author's questions to another's."""
    return {
        WorkerScore: list(_means("worker", [(r.worker_id or 0, r.item_id, p) for r, p in people])),
        SystemScore: list(_means("system", [(r.system_id or 0, r.item_id, p) for r, p in models])),
    }


def _means(
    kind: str, given: Sequence[tuple[int, Any, Point]], dimension: str = "", noun: str = "question"
) -> Iterable[Row]:
    if not given:
        return
    authors = sorted({author for author, _, _ in given})
    units = sorted({unit for _, unit, _ in given})
    found = author_means(
        np.array([authors.index(author) for author, _, _ in given]),
        np.array([units.index(unit) for _, unit, _ in given]),
        np.array([point.score for *_, point in given]),
        noun=noun,
    )
    for one in found:
        pk = authors[one.author]
        lost = sum(point.defaulted for author, _, point in given if author == pk)
        yield {f"{kind}_id": pk, "dimension": dimension, **_mean(one, lost)}


def _mean(one: Mean, defaulted: int) -> Row:
    return {
        "component": 1,
        "estimate": one.estimate,
        "low": one.low,
        "high": one.high,
        "n": one.n,
        "extra": {
            "by": "score",
            "raw": one.estimate,
            "no_interval": one.reason,
            "defaulted": defaulted,
        },
    }


def candidate_boards(given: Sequence[tuple[Candidate, str, Point]]) -> tuple[Rows, list[str]]:
    """Make the rows of texts by dimension, and of their systems as means over topics.

    The dimension "" of a system is the mean over all dimensions.
    """
    texts = [
        {
            "candidate_id": text.pk,
            "dimension": dimension,
            "component": 1,
            "estimate": point.score,
            "n": 1,
            "extra": point.extra(),
        }
        for text, dimension, point in given
    ]
    systems: list[Row] = []
    for dimension in ("", *dict.fromkeys(name for _, name, _ in given)):
        own = [
            (text.system_id, text.topic, point)
            for text, name, point in given
            if dimension in ("", name)
        ]
        systems += _means("system", own, dimension, "topic")
    return {CandidateScore: texts, SystemScore: systems}, []
