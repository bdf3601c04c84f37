"""What a reader should know before trusting a board: swaps by iterating, clusters, bounds, camps.

Bounds are equations 6 and 8 of the paper: how far a synthetic exemplary answer may be from the
truth. Camps are two answers that the crowd holds: then AQER may follow the wrong one. AQER assumes
that errors are independent, so that two answers resemble each other only through the truth:
similarity_il = s_i s_l. Workers who share a wrong answer ("I don't know", a copied text) resemble
each other more than that. Let W_1 and W_2 be the mean similarities within two groups of workers and
B that between them. Then B / sqrt(W_1 W_2) estimates the cosine of the two groups' answers had each
endless members: 1 if both are after one truth, less if not (Spearman's correction for attenuation).
The groups are looked for in one half of the questions and tested in the other. Where W of the group
that does not hold the truth is the larger, the ranking is upside down (App. F1); without a truth
nobody can say which group that is, so both are named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evaluation.methods.aqer.grams import Block, Rows
from evaluation.methods.aqer.resample import Case, Replicates, replicate
from evaluation.methods.aqer.rounds import Iterated
from evaluation.methods.core.base import BadParameter, FloatArray, IntArray
from evaluation.methods.core.bootstrap import ranks
from evaluation.methods.core.inference import jackknife_spread


@dataclass(frozen=True)
class Bound:
    """1 - cosine(SEA, truth) for ``workers`` of mean quality ``quality``.

    ``expected`` is eq. 6, ``worst`` eq. 8, which holds with probability 1 - ``delta``. An error of
    1 means no better than an unrelated answer, so a ``worst`` above 1 is ``vacuous``.
    """

    workers: int
    quality: float
    delta: float
    expected: float
    worst: float
    vacuous: bool


def sea_error(quality: float, workers: int) -> float:
    """Return eq. 6: the expected error 1 - cosine(SEA, truth).

    ``quality`` is the mean cosine of answers with the truth.
    """
    shared = math.sqrt(quality**2 + (1 - quality**2) / workers)
    return 1 - quality / shared


def worst_sea_error(quality: float, workers: int, delta: float = 0.05) -> float:
    """Return eq. 8: the bound on 1 - cosine(SEA, truth) that holds with probability 1 - delta."""
    lowered = quality - math.sqrt(math.log(2 / delta) / (2 * workers))
    return 1 - math.sqrt(workers) * lowered / math.sqrt((workers - 1) * lowered**2 + 1)


def bound(quality: float, workers: int, delta: float = 0.05) -> Bound:
    """Return expected and worst-case error, and whether the latter is informative.

    Raises BadParameter for a quality outside -1..1, no workers, or delta outside 0..1.
    """
    if not -1 <= quality <= 1:
        raise BadParameter(f"quality is {quality}; a mean cosine lies in -1..1")
    if workers < 1:
        raise BadParameter(f"workers is {workers}; it must be 1 or more")
    if not 0 < delta < 1:
        raise BadParameter(f"delta is {delta}; it must lie between 0 and 1")
    worst = worst_sea_error(quality, workers, delta)
    return Bound(workers, quality, delta, sea_error(quality, workers), worst, worst > 1)


MOST = 20  # of a kind that are listed; the counts are of all
TALL_LIMIT = 2e8  # pairs of answers compared anew when looking for near-identical ones
TOO_MANY = {"found": None, "reason": "too many answers to compare with each other"}
SMALLEST = 3  # answers that make a cluster


def swaps(before: FloatArray, after: FloatArray, names: list[str]) -> dict[str, Any]:
    """List the pairs of workers whose order iterating reversed, clearest first.

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
    """Return eq. 6 and 8 for the median number of answers and the mean score.

    The truth is unknown, so the mean cosine with the SEA stands in for the mean cosine with the
    truth; it flatters, since every answer is part of its SEA. Says why where there is none.
    """
    workers = int(np.median(np.diff(rows.starts)))
    quality = float(np.nanmean(scores))
    if not -1 <= quality <= 1:
        return {"workers": workers, "quality": quality, "reason": "the score is not a cosine"}
    return asdict(bound(quality, workers, delta))


def clusters(case: Case, fit: Iterated, names: list[str]) -> dict[str, Any]:
    """Find questions where many answers say nearly the same, such as "I don't know".

    The cluster of a question is the answer with the most others at cosine >= near_identical,
    together with these; it is told where it has at least 3 answers and cluster_share of all. It
    may as well be the right answer: the share of the weight and the mean scores tell which
    (``low_weighted``: it holds less than half of its share of the weight and scores below the
    others, as "I don't know" does), and ``without`` how the ranking by raw score would move
    without the question. A cluster that the rounds come to follow has most of the weight; what
    tells that case is ``camps``.
    """
    if case.rows.tall_pairs > TALL_LIMIT:
        return dict(TOO_MANY)
    found = [item for block in case.rows.blocks for item in _clusters_of(case, fit, block)]
    found.sort(key=lambda item: (-item["share_of_answers"], item["question"]))
    listed = found[:MOST]
    moves = _moves_without(case, fit, [item["question"] for item in listed], names)
    for item, moved in zip(listed, moves, strict=True):
        item["question"] = case.texts.questions[case.questions[item["question"]]]
        item["without"] = moved
    return {"found": len(found), "listed": listed}


def _clusters_of(case: Case, fit: Iterated, block: Block) -> Iterator[dict[str, Any]]:
    """The largest cluster of each question of a block that has one to be told."""
    near = block.cosines() >= case.plan.near_identical
    spots = block.rows.T
    np.einsum("kmm->km", near)[:] = case.rows.present[spots]
    sizes = near.sum(axis=2)
    least = max(SMALLEST, case.plan.cluster_share * spots.shape[1])
    for k in np.flatnonzero(sizes.max(axis=1) >= least):
        centre = int(np.argmax(sizes[k]))
        members = np.flatnonzero(near[k, centre])
        yield _cluster(case, fit, int(block.question[k]), centre, members)


def _cluster(case: Case, fit: Iterated, j: int, centre: int, members: IntArray) -> dict[str, Any]:
    """Describe a cluster of local question j; ``source`` is the answer at its centre."""
    rows = case.rows
    start, stop = int(rows.starts[j]), int(rows.starts[j + 1])
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


def _moves_without(
    case: Case, fit: Iterated, left_out: list[int], names: list[str]
) -> list[dict[str, Any]]:
    """Say how the ranking by raw score would move without each of these local questions."""
    if not left_out:
        return []
    weights = np.ones((len(left_out), len(case.questions)))
    weights[np.arange(len(left_out)), left_out] = 0.0
    grades = np.empty((len(left_out), case.rows.n_workers))

    def keep(chunk: slice, result: Replicates) -> None:
        grades[chunk] = result.grades

    replicate(case.rows, weights, case.plan.options, each=keep, hooks=case.hooks, stage="checks")
    return [_moves(fit.grades, row, names) for row in grades]


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


SMALLEST_CAMP = 3  # workers in a camp
MOST_WORKERS = 2000  # among whom camps are looked for: each split compares all of them
FEWEST = 8  # questions, below which halves say nothing
TOO_MANY_WORKERS = "too many workers to compare with each other"
TOO_FEW_FOR_CAMPS = f"it needs {2 * SMALLEST_CAMP} workers and {FEWEST} questions"
APART = 0.7  # told where the consensuses' cosine surely lies below this
SURE = 0.95  # level of the interval whose upper end is told


def camps(case: Case, fit: Iterated[Any], names: list[str]) -> dict[str, Any]:
    """Find two groups of workers with different common answers; returns JSON with the evidence.

    ``found`` is None where it cannot be told, with the ``reason``. ``consensus_cosine`` and the
    ``upper`` end of its interval come from the questions not used to find the groups. Where found,
    each of both ``groups`` has its workers, mean similarity ``within``, share of the answers and
    of the weight. ``between`` is the mean similarity of answers of different groups.
    """
    m, q = case.rows.n_workers, len(case.questions)
    if case.rows.tall_pairs > TALL_LIMIT:
        return dict(TOO_MANY)
    if m > MOST_WORKERS:
        return {"found": None, "reason": TOO_MANY_WORKERS}
    if q < FEWEST or m < 2 * SMALLEST_CAMP:
        return {"found": None, "reason": TOO_FEW_FOR_CAMPS}
    group = _split(*_similarity(case.rows))
    if group is None:
        return {"found": False}
    sums, pairs = _by_question(case.rows, group)
    value, upper = _disattenuated(sums, pairs)
    if not upper < APART:
        return {"found": False, "consensus_cosine": value, "upper": upper}
    within = sums.sum(axis=0) / pairs.sum(axis=0)
    answers = np.bincount(case.rows.worker, minlength=m)
    return {
        "found": True,
        "consensus_cosine": value,
        "upper": upper,
        "between": float(within[2]),
        "groups": [
            {
                "workers": [names[i] for i in np.flatnonzero(group == side)],
                "within": float(within[side]),
                "share_of_answers": float(answers[group == side].sum() / answers.sum()),
                "share_of_weight": float(fit.voted[group == side].sum()),
            }
            for side in (0, 1)
        ],
    }


def _similarity(rows: Rows) -> tuple[FloatArray, FloatArray]:
    """Sum over even questions of different workers' cosines (m, m), and of how many it is."""
    total, count = np.zeros((2, rows.n_workers, rows.n_workers))
    for block in rows.blocks:
        even = block.question % 2 == 0
        workers = rows.worker[block.rows.T[even]]
        at = (workers[:, :, None], workers[:, None, :])
        np.add.at(total, at, block.cosines()[even])
        np.add.at(count, at, 1.0)
    return total, count


def _split(total: FloatArray, count: FloatArray) -> IntArray | None:
    """0 or 1 for each worker (m,): the split with the smallest consensus cosine on this half.

    Splits are cuts of the workers' order in the second direction of their similarity, what one
    truth explains having been taken off.
    """
    known = (count > 0).astype(np.float64)
    np.fill_diagonal(known, 0.0)
    mean = known * total / np.maximum(count, 1)
    single = _one_truth(mean, known)
    residual = mean - known * np.outer(single, single)
    order = np.argsort(np.linalg.eigh(residual)[1][:, -1], kind="stable")
    cuts = np.arange(SMALLEST_CAMP, len(order) - SMALLEST_CAMP + 1)
    weight, summed = (_at_cuts(one[np.ix_(order, order)])[cuts - 1] for one in (known, mean))
    usable = np.all(weight > 0, axis=1)
    within = summed / np.where(weight > 0, weight, 1.0)
    usable &= np.all(within[:, :2] > 0, axis=1)
    product = np.where(usable, within[:, 0] * within[:, 1], 1.0)
    value = np.where(usable, within[:, 2] / np.sqrt(product), 1.0)
    if not value.min(initial=1.0) < 1:
        return None
    group = np.zeros(len(order), dtype=np.int64)
    group[order[cuts[np.argmin(value)] :]] = 1
    return group


def _at_cuts(pairs: FloatArray) -> FloatArray:
    """Sums of pairs (m, m) within the first 1..m, within the rest, and between both (m, 3)."""
    first = np.diag(pairs.cumsum(axis=0).cumsum(axis=1))
    between = pairs.sum(axis=1).cumsum() - first
    return np.stack([first, pairs.sum() - first - 2 * between, between], axis=1)


def _one_truth(mean: FloatArray, known: FloatArray, rounds: int = 200) -> FloatArray:
    """s (m,) such that s s' comes closest to the known similarities (m, m) of different workers.

    Damped least squares, a worker at a time given the others.
    """
    s = np.full(len(mean), np.sqrt(max(mean.sum() / max(known.sum(), 1.0), 1e-12)))
    for _ in range(rounds):
        following = (mean @ s) / np.maximum(known @ s**2, 1e-12)
        s, moved = (s + following) / 2, float(np.abs(following - s).max())
        if moved < 1e-9:
            break
    return s


def _by_question(rows: Rows, group: IntArray) -> tuple[FloatArray, FloatArray]:
    """Sums of similarities and numbers of pairs at odd questions: within 0, within 1, between."""
    sums, pairs = np.zeros((2, (len(rows.starts) - 1) // 2, 3))
    for block in rows.blocks:
        odd = block.question % 2 == 1
        at = block.question[odd] // 2
        side = np.eye(2)[group[rows.worker[block.rows.T[odd]]]]
        of_sides = side.swapaxes(1, 2) @ block.cosines()[odd] @ side
        counts = side.sum(axis=1)
        sums[at] = of_sides[:, [0, 1, 0], [0, 1, 1]]
        pairs[at, :2] = counts * (counts - 1)
        pairs[at, 2] = counts[:, 0] * counts[:, 1]
    return sums, pairs


def _disattenuated(sums: FloatArray, pairs: FloatArray) -> tuple[float, float]:
    """B / sqrt(W_1 W_2) and the upper end of its interval, by the jackknife over questions."""
    total, count = sums.sum(axis=0), pairs.sum(axis=0)
    if np.any(count - pairs <= 0) or np.any(total[:2] - sums[:, :2] <= 0):
        return 1.0, 1.0
    left = (total - sums) / (count - pairs)
    values = left[:, 2] / np.sqrt(left[:, 0] * left[:, 1])
    mean = total / count
    value = float(mean[2] / np.sqrt(mean[0] * mean[1]))
    return value, value + jackknife_spread(values, pairs.sum(axis=1), noun="questions").reach(SURE)
