"""What a reader should know before trusting a board: swaps by iterating, clusters, bounds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from evaluation.methods.aqer import bounds as aqer_bounds
from evaluation.methods.aqer.gram import Replicates, replicate
from evaluation.methods.aqer.resample import Case
from evaluation.methods.aqer.rounds import Iterated, Rows, grade, iterate, prepare
from evaluation.methods.core.base import FloatArray
from evaluation.methods.core.bootstrap import ranks

MOST = 20  # of a kind that are listed; the counts are of all
GRAM_LIMIT = 2e8  # pairs of answers compared when looking for near-identical ones
SMALLEST = 3  # answers that make a cluster


def swaps(before: FloatArray, after: FloatArray, names: list[str]) -> dict[str, Any]:
    """Pairs of workers whose order the iterating turned round, the clearest first.

    A pair counts where ``before`` (un-iterated) and ``after`` (iterated) order it strictly the
    other way. Clearness is the product of both differences.
    """
    known = np.flatnonzero(np.isfinite(before) & np.isfinite(after))
    x, y = before[known], after[known]
    product = (x[:, None] - x[None, :]) * (y[:, None] - y[None, :])
    first, second = np.nonzero(np.triu(product < -1e-18, k=1))
    order = np.argsort(product[first, second], kind="stable")[:MOST]
    rank_before, rank_after = ranks(before), ranks(after)
    listed = []
    for k in order:
        a, b = int(known[first[k]]), int(known[second[k]])
        up, down = (a, b) if after[a] > after[b] else (b, a)
        listed.append(
            {
                "up": names[up],
                "down": names[down],
                "up_ranks": [int(rank_before[up]), int(rank_after[up])],
                "down_ranks": [int(rank_before[down]), int(rank_after[down])],
            }
        )
    pairs = len(known) * (len(known) - 1) // 2
    return {"pairs": pairs, "swapped": len(first), "listed": listed}


def bounds(scores: FloatArray, rows: Rows, delta: float = 0.05) -> dict[str, Any]:
    """Eq. 6 and 8 at the median number of answers a question and the mean score.

    The truth is unknown, so the mean cosine with the SEA stands in for the mean cosine with the
    truth; it flatters, since every answer is part of its SEA. Says why where there is none.
    """
    workers = int(np.median(np.diff(rows.starts)))
    quality = float(np.nanmean(scores))
    if not -1 <= quality <= 1:
        return {"workers": workers, "quality": quality, "reason": "the score is not a cosine"}
    return asdict(aqer_bounds.bound(quality, workers, delta))


def clusters(case: Case, fit: Iterated, names: list[str]) -> dict[str, Any]:
    """Questions where many answers say nearly the same, such as "I don't know".

    The cluster of a question is the answer with the most others at cosine >= near_identical,
    together with these; it is told where it has at least 3 answers and cluster_share of all. It
    may as well be the right answer: the share of the weight and the mean scores tell which
    (``low_weighted``: it holds less than half of its share of the weight and scores below the
    others, as "I don't know" does), and ``without`` how the ranking by raw score would move
    without the question. A cluster that the rounds come to follow has most of the weight; what
    tells that case is ``camps``.
    """
    sizes = np.diff(case.rows.starts).astype(np.float64)
    if case.grams is None and float((sizes**2).sum()) > GRAM_LIMIT:
        return {"found": None, "reason": "too many answers to compare with each other"}
    found = [item for j in range(len(sizes)) if (item := _cluster(case, fit, j)) is not None]
    found.sort(key=lambda item: (-item["share_of_answers"], item["question"]))
    listed = found[:MOST]
    moves = _without(case, fit, [item["question"] for item in listed], names)
    for item, moved in zip(listed, moves, strict=True):
        item["question"] = case.texts.questions[case.questions[item["question"]]]
        item["without"] = moved
    return {"found": len(found), "listed": listed}


def _cluster(case: Case, fit: Iterated, j: int) -> dict[str, Any] | None:
    """The largest cluster of local question j; ``source`` is the answer at its centre."""
    rows = case.rows
    start, stop = int(rows.starts[j]), int(rows.starts[j + 1])
    if case.grams is not None:
        gram = case.grams[j].gram
    else:
        unit = rows.block(start, stop) * rows.inverse[start:stop, None]
        gram = unit @ unit.T
    near = gram >= case.plan.near_identical
    centre = int(np.argmax(near.sum(axis=1)))
    members = np.flatnonzero(near[centre])
    if len(members) < max(SMALLEST, case.plan.cluster_share * (stop - start)):
        return None
    votes = fit.voted[rows.worker[start:stop]]
    scores = fit.last.scores[start:stop]
    others = np.delete(scores, members)
    weight = float(votes[members].sum() / votes.sum()) if votes.sum() > 0 else 0.0
    low = 2 * weight < len(members) / (stop - start)
    return {
        "question": j,
        "source": int(case.texts.source[case.select[start + centre]]),
        "size": len(members),
        "of": stop - start,
        "share_of_answers": len(members) / (stop - start),
        "share_of_weight": weight,
        "low_weighted": bool(low and others.size and scores[members].mean() < others.mean()),
        "mean_score": float(scores[members].mean()),
        "mean_score_of_others": float(others.mean()) if others.size else None,
    }


def _without(
    case: Case, fit: Iterated, left_out: list[int], names: list[str]
) -> list[dict[str, Any]]:
    """How the ranking by raw score would move without each of these local questions."""
    if not left_out:
        return []
    if case.grams is None:
        return [_moves(fit.grades, _refit(case, j), names) for j in left_out]
    weights = np.ones((len(left_out), len(case.grams)))
    weights[np.arange(len(left_out)), left_out] = 0.0
    grades = np.empty((len(left_out), case.rows.n_workers))

    def keep(chunk: slice, result: Replicates) -> None:
        grades[chunk] = result.grades

    options = case.plan.options
    replicate(case.rows, case.grams, weights, options, each=keep, hooks=case.hooks, stage="checks")
    return [_moves(fit.grades, row, names) for row in grades]


def _refit(case: Case, question: int) -> FloatArray:
    kept = case.rows.question != question
    smaller, _, _ = prepare(case.texts, case.select[kept])
    rng = np.random.default_rng(0)  # only a noisy start would draw from it
    votes = case.plan.votes_of(case.select[kept])
    ended = iterate(smaller, case.plan.options, rng, case.hooks, votes)
    return grade(ended.last.scores, case.rows.worker[kept], case.rows.n_workers)


def _moves(before: FloatArray, after: FloatArray, names: list[str]) -> dict[str, Any]:
    """Rank moves among the workers who have a score both times."""
    known = np.flatnonzero(np.isfinite(before) & np.isfinite(after))
    was, becomes = ranks(before[known]), ranks(after[known])
    moved = np.flatnonzero(was != becomes)
    order = moved[np.argsort(-np.abs(was - becomes)[moved], kind="stable")][:MOST]
    return {
        "moved": len(moved),
        "largest_move": int(np.abs(was - becomes).max(initial=0)),
        "listed": [
            {"worker": names[known[k]], "rank": int(was[k]), "without": int(becomes[k])}
            for k in order
        ],
    }
