"""Votes of a live evaluation as arrays, and its shares as rows; frozen when it ends."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext

from annotation.models import Task
from annotation.task_types.pairwise.sides import STORED
from annotation.work.snapshots.judgments import (
    LiveVote,
    live_votes,
    model_votes,
    system_names,
    votes_among,
)
from crowdqc.errors import Conflict
from evaluation.live.judging.selectors import ORDERS, Judge
from evaluation.methods.adaptive.anytime import Votes, WinShares, win_shares
from evaluation.models import LiveEvaluation, Snapshot
from evaluation.runs.freezing.snapshots import is_unchanged, keep_snapshot

CONFIDENCE = 0.95
Vote = tuple[int, int, float, int, int]
SCORES = dict(zip(STORED, (1.0, 0.5, 0.0), strict=True))
SNAPSHOT = "snapshot"  # of a result: the hash of the votes that it is of


@dataclass(frozen=True)
class LiveDataset:
    """All that a board is made of.

    ``systems`` are their ids and names in the order in which they were named, ``judges`` models'
    names and the ids under which they vote (None before the first vote).
    """

    systems: tuple[tuple[int, str], ...]
    judges: tuple[tuple[str, int | None], ...]
    dimension: str
    half_width: float
    decided_by: str
    people: tuple[LiveVote, ...]
    models: tuple[LiveVote, ...]

    @property
    def alone(self) -> bool:
        """Whether models alone decide, without people."""
        return self.decided_by == LiveEvaluation.DecidedBy.MODELS


def read(evaluation: LiveEvaluation, task: Task, judges: Sequence[Judge]) -> LiveDataset:
    """Read the current votes of an evaluation."""
    names = system_names(evaluation.systems)
    ids = [judge.system_id for judge in judges if judge.system_id is not None]
    alone = evaluation.decided_by == LiveEvaluation.DecidedBy.MODELS
    dimension = evaluation.dimension
    return LiveDataset(
        systems=tuple((pk, names[pk]) for pk in evaluation.systems),
        judges=tuple((judge.label, judge.system_id) for judge in judges),
        dimension=dimension,
        half_width=evaluation.half_width,
        decided_by=str(evaluation.decided_by),
        people=() if alone else tuple(live_votes(task, dimension)),
        models=tuple(model_votes(task, dimension, ids)) if ids else (),
    )


def content_hash(data: LiveDataset) -> str:
    """Hash the settings, systems, judges and votes of an evaluation."""
    digest = hashlib.sha256()
    asked = [data.dimension, data.half_width, data.decided_by]
    head = ["live", *asked, [pk for pk, _ in data.systems], [pk for _, pk in data.judges]]
    for line in (head, *map(list, data.people), *map(list, data.models)):
        digest.update(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def freeze(data: LiveDataset, task: Task) -> Snapshot:
    """Store the ids of these votes as a snapshot; equal votes return the same snapshot."""
    counts = {
        "answers": len(data.people),
        "workers": len({vote.worker_id for vote in data.people}),
        "questions": len({vote.item_id for vote in (*data.people, *data.models)}),
        "system_answers": len(data.models),
        "judges": [list(one) for one in data.judges],
        "left_out": {},
    }
    ids = [vote.answer_id for vote in (*data.people, *data.models)]
    return keep_snapshot(task, content_hash(data), ids, counts)


def reload(evaluation: LiveEvaluation, task: Task) -> tuple[LiveDataset, Snapshot]:
    """Read the votes behind the result of an ended evaluation.

    Raises Conflict if they changed since, or if it ended before snapshots were taken.
    """
    result = evaluation.result or {}
    found = Snapshot.objects.filter(task=task, content_hash=result.get(SNAPSHOT, "")).first()
    if found is None:
        raise Conflict(
            gettext("This live evaluation ended before its votes were kept for a bundle.")
        )
    votes = list(votes_among(task, evaluation.dimension, found.answer_ids))
    names = [row["system"] for row in result["systems"]]
    data = LiveDataset(
        systems=tuple(zip(evaluation.systems, names, strict=True)),
        judges=tuple((name, pk) for name, pk in found.counts["judges"]),
        dimension=evaluation.dimension,
        half_width=evaluation.half_width,
        decided_by=str(evaluation.decided_by),
        people=tuple(one for one in votes if one.worker_id is not None),
        models=tuple(one for one in votes if one.worker_id is None),
    )
    if not is_unchanged(found, content_hash(data)):
        raise Conflict(
            gettext("The votes of this live evaluation are no longer what they were at its end.")
        )
    return data, found


def _fit(data: LiveDataset, rows: Sequence[Vote], *, by_prompt: bool) -> tuple[WinShares, int]:
    """Shares of votes (first system, second, score, worker, prompt) between those compared."""
    place = {pk: at for at, (pk, _) in enumerate(data.systems)}
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
        target=data.half_width,
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


def _pairs(votes: Sequence[LiveVote]) -> list[Pair]:
    """The pairs that models have judged, in the order of their ids."""
    found: dict[int, Pair] = {}
    for vote in votes:
        made = Pair(vote.first_id, vote.second_id, vote.topic or 0, {})
        pair = found.setdefault(vote.item_id, made)
        pair.scores.setdefault(vote.system_id or 0, []).append(SCORES[vote.code])
    return [found[item] for item in sorted(found)]


def _votes(pairs: Sequence[Pair], ids: Sequence[int | None]) -> list[Vote]:
    """Return a vote for each pair that all these judges judged in both orders: their mean.

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


def _judges_shares(data: LiveDataset) -> tuple[WinShares, int, list[dict[str, Any]]]:
    """Return win shares of all judges on shared pairs, the number of these, and a row a judge."""
    pairs = _pairs(data.models)
    together, number = _fit(data, _votes(pairs, [pk for _, pk in data.judges]), by_prompt=True)
    rows = []
    for name, pk in data.judges:
        found, own = _fit(data, _votes(pairs, [pk]), by_prompt=True)
        both = [pair.scores[pk] for pair in pairs if pk and len(pair.scores.get(pk, ())) == ORDERS]
        same = sum(one[0] == one[1] for one in both)
        rows.append(
            {
                "model": name,
                "pairs": own,
                "same_both_orders": _plain(same / len(both)) if both else None,
                **_shares(data, found),
            }
        )
    return together, number, rows


def _shares(data: LiveDataset, found: WinShares) -> dict[str, Any]:
    """Shares and intervals as plain JSON, None where there is no number."""
    return {
        "half_width": _plain(found.half_width),
        "why_no_interval": found.why,
        "systems": [
            {
                "system": name,
                "share": _plain(found.share[at]),
                "low": _plain(found.low[at]),
                "high": _plain(found.high[at]),
                "votes": int(found.votes[at].sum()),
            }
            for at, (_, name) in enumerate(data.systems)
        ],
    }


def board(data: LiveDataset) -> dict[str, Any]:
    """Compute the board from the votes: whoever decides first, then each model. No database."""
    rows: list[dict[str, Any]] = []
    if data.judges:
        together, number, rows = _judges_shares(data)
    if data.alone:
        found, votes, workers = together, number, 0
    else:
        said = [
            (one.first_id, one.second_id, SCORES[one.code], one.worker_id or 0, one.topic or 0)
            for one in data.people
        ]
        found, votes = _fit(data, said, by_prompt=False)
        workers = found.workers
    return {
        "decided_by": data.decided_by,
        "votes": votes,
        "workers": workers,
        "prompts": found.prompts,
        **_shares(data, found),
        "judges": rows,
    }


def _plain(value: float) -> float | None:
    return None if not np.isfinite(value) else round(float(value), 6)
