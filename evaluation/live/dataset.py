"""Votes of a live evaluation as arrays, and its shares as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.models import Task
from annotation.task_types.pairwise.sides import STORED
from annotation.work.snapshots.judgments import live_votes, model_votes, system_names
from evaluation.live.judging.selectors import ORDERS, Judge
from evaluation.methods.adaptive.anytime import Votes, WinShares, win_shares
from evaluation.models import LiveEvaluation

CONFIDENCE = 0.95
Vote = tuple[int, int, float, int, int]
SCORES = dict(zip(STORED, (1.0, 0.5, 0.0), strict=True))


def shares_of(evaluation: LiveEvaluation, task: Task) -> tuple[WinShares, int]:
    """The systems' shares of people's votes so far, and how many votes they are of."""
    rows = [
        (first, second, SCORES[code], worker, prompt)
        for first, second, code, worker, prompt in live_votes(task, evaluation.dimension)
    ]
    return _fit(evaluation, rows, by_prompt=False)


def _fit(
    evaluation: LiveEvaluation, rows: Sequence[Vote], *, by_prompt: bool
) -> tuple[WinShares, int]:
    """Shares of votes (first system, second, score, worker, prompt) between those compared."""
    place = {pk: at for at, pk in enumerate(evaluation.systems)}
    own = [
        (place[first], place[second], *rest)
        for first, second, *rest in rows
        if first in place and second in place and first != second
    ]
    columns = np.array(own, dtype=np.float64).reshape(-1, 5).T
    first, second, score, worker, prompt = columns
    whole = (one.astype(np.int64) for one in (first, second, worker, prompt))
    given = Votes(next(whole), next(whole), score, next(whole), next(whole))
    found = win_shares(
        given,
        systems=len(place),
        confidence=CONFIDENCE,
        target=evaluation.half_width,
        by_prompt=by_prompt,
    )
    return found, len(own)


@dataclass(frozen=True)
class Pair:
    """What models said of one pair: the score of each judge in each order it was asked in."""

    first: int
    second: int
    prompt: int
    scores: dict[int, list[float]]


def _pairs(evaluation: LiveEvaluation, task: Task, judges: Sequence[Judge]) -> list[Pair]:
    """The pairs that models have judged, in the order of their ids."""
    ids = [judge.system_id for judge in judges if judge.system_id is not None]
    found: dict[int, Pair] = {}
    rows = model_votes(task, evaluation.dimension, ids)
    for item, first, second, code, judge, prompt in rows:
        pair = found.setdefault(item, Pair(first, second, prompt, {}))
        pair.scores.setdefault(judge, []).append(SCORES[code])
    return [found[item] for item in sorted(found)]


def _votes(pairs: Sequence[Pair], ids: Sequence[int | None]) -> list[Vote]:
    """One vote a pair that all these judges have judged in both orders: the mean of what they say.

    The two orders are one judgment, so that a leaning to a side cancels out.
    """
    known = [pk for pk in ids if pk is not None]
    if len(known) < len(ids):
        return []
    return [
        (
            pair.first,
            pair.second,
            float(np.mean([np.mean(pair.scores[pk]) for pk in known])),
            0,
            pair.prompt,
        )
        for pair in pairs
        if all(len(pair.scores.get(pk, ())) == ORDERS for pk in known)
    ]


def judges_shares(
    evaluation: LiveEvaluation, task: Task, judges: Sequence[Judge]
) -> tuple[WinShares, int, list[dict[str, Any]]]:
    """What all judges together say of the pairs they share, of how many, and a row of each."""
    pairs = _pairs(evaluation, task, judges)
    ids = [judge.system_id for judge in judges]
    together, number = _fit(evaluation, _votes(pairs, ids), by_prompt=True)
    rows = []
    for judge, pk in zip(judges, ids, strict=True):
        found, own = _fit(evaluation, _votes(pairs, [pk]), by_prompt=True)
        both = [pair.scores[pk] for pair in pairs if pk and len(pair.scores.get(pk, ())) == ORDERS]
        same = sum(one[0] == one[1] for one in both)
        rows.append(
            {
                "model": judge.label,
                "pairs": own,
                "same_both_orders": _plain(same / len(both)) if both else None,
                **_shares(evaluation, found),
            }
        )
    return together, number, rows


def _shares(evaluation: LiveEvaluation, found: WinShares) -> dict[str, Any]:
    """Shares and intervals as plain JSON, None where there is no number."""
    names = system_names(evaluation.systems)
    return {
        "half_width": _plain(found.half_width),
        "why_no_interval": found.why,
        "systems": [
            {
                "system": names[pk],
                "share": _plain(found.share[at]),
                "low": _plain(found.low[at]),
                "high": _plain(found.high[at]),
                "votes": int(found.votes[at].sum()),
            }
            for at, pk in enumerate(evaluation.systems)
        ],
    }


def look_at(evaluation: LiveEvaluation, task: Task, judges: Sequence[Judge]) -> dict[str, Any]:
    """What is kept and told of a look: whoever decides first, each model beside."""
    rows: list[dict[str, Any]] = []
    alone = evaluation.decided_by == LiveEvaluation.DecidedBy.MODELS
    if judges:
        together, number, rows = judges_shares(evaluation, task, judges)
    if alone:
        found, votes, workers = together, number, 0
    else:
        found, votes = shares_of(evaluation, task)
        workers = found.workers
    return {
        "decided_by": evaluation.decided_by,
        "votes": votes,
        "workers": workers,
        "prompts": found.prompts,
        **_shares(evaluation, found),
        "judges": rows,
    }


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)
