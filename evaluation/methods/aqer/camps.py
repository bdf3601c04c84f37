"""Whether the crowd holds two answers: the condition under which AQER may follow the wrong one.

AQER assumes that errors are independent, so that two answers resemble each other only through the
truth: similarity_il = s_i s_l. Workers who share a wrong answer ("I don't know", a copied text)
resemble each other more than that. Let W_1 and W_2 be the mean similarities within two groups of
workers and B that between them. Then B / sqrt(W_1 W_2) estimates the cosine of the two groups'
answers had each endless members: 1 if both are after one truth, less if not (Spearman's correction
for attenuation). The groups are looked for in one half of the questions and tested in the other.
Where W of the group that does not hold the truth is the larger, the ranking is upside down (App.
F1); without a truth nobody can say which group that is, so both are named.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import stdtrit

from evaluation.methods.aqer.gram import Question
from evaluation.methods.aqer.resample import Case
from evaluation.methods.aqer.rounds import Iterated
from evaluation.methods.core.base import FloatArray, IntArray

SMALLEST = 3  # workers in a camp
FEWEST = 8  # questions, below which halves say nothing
APART = 0.7  # told where the consensuses' cosine surely lies below this
SURE = 0.975


def camps(case: Case, fit: Iterated[Any], names: list[str]) -> dict[str, Any]:
    """Two groups of workers whose common answers differ, with the evidence; JSON.

    ``found`` is None where it cannot be told, with the ``reason``. ``consensus_cosine`` and the
    ``upper`` end of its interval come from the questions not used to find the groups. Where found,
    each of both ``groups`` has its workers, mean similarity ``within``, share of the answers and
    of the weight. ``between`` is the mean similarity of answers of different groups.
    """
    m, q = case.rows.n_workers, len(case.questions)
    if case.grams is None:
        return {"found": None, "reason": "too many answers to compare with each other"}
    if q < FEWEST or m < 2 * SMALLEST:
        return {"found": None, "reason": f"it needs {2 * SMALLEST} workers and {FEWEST} questions"}
    group = _split(*_similarity(case.grams[0::2], m))
    if group is None:
        return {"found": False}
    sums, pairs = _by_question(case.grams[1::2], group)
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


def _similarity(questions: list[Question], m: int) -> tuple[FloatArray, FloatArray]:
    """Sum over questions of the workers' cosines (m, m), and of how many questions it is."""
    total, count = np.zeros((m, m)), np.zeros((m, m))
    for question in questions:
        at = np.ix_(question.workers, question.workers)
        total[at] += question.gram
        count[at] += 1.0
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
    best, found = 1.0, None
    for cut in range(SMALLEST, len(order) - SMALLEST + 1):
        side = np.zeros((len(order), 2))
        side[order[:cut], 0] = side[order[cut:], 1] = 1.0
        weight = side.T @ known @ side
        if np.any(weight <= 0):
            continue
        within = (side.T @ mean @ side) / weight
        if within[0, 0] <= 0 or within[1, 1] <= 0:
            continue
        value = within[0, 1] / np.sqrt(within[0, 0] * within[1, 1])
        if value < best:
            best, found = value, side[:, 1].astype(np.int64)
    return found


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


def _by_question(questions: list[Question], group: IntArray) -> tuple[FloatArray, FloatArray]:
    """Sums of similarities and numbers of pairs (q, 3): within 0, within 1, between."""
    sums, pairs = np.zeros((len(questions), 3)), np.zeros((len(questions), 3))
    for j, question in enumerate(questions):
        side = group[question.workers]
        off = question.gram - np.diag(np.diag(question.gram))
        for column, (a, b) in enumerate(((0, 0), (1, 1), (0, 1))):
            first, second = side == a, side == b
            sums[j, column] = off[np.ix_(first, second)].sum()
            count = int(first.sum()) * int(second.sum())
            pairs[j, column] = count - (int(first.sum()) if a == b else 0)
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
    n = len(values)
    error = float(np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum()))
    return value, value + float(stdtrit(n - 1, SURE)) * error
