"""Votes of a live evaluation as arrays, and its shares as rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from annotation.models import Task
from annotation.task_types.pairwise.sides import STORED
from annotation.work.snapshots.judgments import live_votes, system_names
from evaluation.methods.adaptive.anytime import Votes, WinShares, win_shares
from evaluation.models import LiveEvaluation

CONFIDENCE = 0.95
SCORES = dict(zip(STORED, (1.0, 0.5, 0.0), strict=True))


def shares_of(evaluation: LiveEvaluation, task: Task) -> tuple[WinShares, int]:
    """The systems' shares of the votes so far, and how many votes they are of."""
    place = {pk: at for at, pk in enumerate(evaluation.systems)}
    rows = [
        (place[first], place[second], SCORES[code], worker, prompt)
        for first, second, code, worker, prompt in live_votes(task, evaluation.dimension)
        if first in place and second in place and first != second
    ]
    columns = np.array(rows, dtype=np.float64).reshape(-1, 5).T
    first, second, score, worker, prompt = columns
    whole = (one.astype(np.int64) for one in (first, second, worker, prompt))
    given = Votes(next(whole), next(whole), score, next(whole), next(whole))
    found = win_shares(
        given,
        systems=len(place),
        confidence=CONFIDENCE,
        target=evaluation.half_width,
    )
    return found, len(rows)


def as_rows(evaluation: LiveEvaluation, found: WinShares, votes: int) -> dict[str, Any]:
    """What is kept and told of a look: plain JSON, None where there is no number."""
    names = system_names(evaluation.systems)
    return {
        "votes": votes,
        "workers": found.workers,
        "prompts": found.prompts,
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


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)
