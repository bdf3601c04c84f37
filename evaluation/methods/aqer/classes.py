"""AQER where a question has several right answers: each class of answers has an exemplary one.

AQER takes one answer to be right (section 2). Where people may rightly answer different things, one
average lies between them and everybody seems wrong. Here the answers to a question are parted into
classes of near answers, and an answer is scored against the average of its own class. Nothing tells
a class of right answers from one of the same wrong answer, which is then scored as right.

Classes are found in the tree of average linkage of cosines, from the top: a set is cut in two
where both parts have ``SMALLEST`` answers or more, are alike within (mean cosine ``ALIKE``) and
apart from each other: B / sqrt(W1 W2) below ``APART``, as for camps. What is in no set that is
alike joins the class to which it is closest on average. On Mohler's answers (87 questions, MiniLM)
33 have several classes, and in 11 of these a class has a mean grade lower by a point of 5 or more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from evaluation.methods.aqer import method as aqer
from evaluation.methods.aqer.diagnostics import APART
from evaluation.methods.aqer.grams import unit
from evaluation.methods.baselines.baseline_boards import COMMON, Ratings, parts, result
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Result, Texts
from evaluation.methods.core.params import COMPARED, Params

NAME, VERSION = "aqer_classes", "1.0"
SMALLEST = 3  # answers of a class
ALIKE = 0.5  # mean cosine within a class
MOST = 2000  # answers to a question, beyond which it is one class
PARAMS = Params(NAME, COMMON, version=VERSION)


def find_classes(vectors: FloatArray) -> IntArray:
    """The class (k,), from 0, of each of k answers to one question; all 0 where it has one."""
    k = len(vectors)
    labels = np.zeros(k, dtype=np.int64)
    if not 2 * SMALLEST <= k <= MOST:
        return labels
    directions = unit(np.asarray(vectors, dtype=np.float64))
    cosines = np.clip(directions @ directions.T, -1.0, 1.0)
    classes, aside = _tight_sets(cosines)
    classes = _merged(classes, cosines)
    if len(classes) < 2:
        return labels
    for number, members in enumerate(classes):
        labels[members] = number
    for one in aside:
        labels[one] = int(np.argmax([cosines[one, members].mean() for members in classes]))
    return labels


def _tight_sets(cosines: FloatArray) -> tuple[list[IntArray], list[int]]:
    """Sets of answers that are alike, from the top of the tree down, and those in none."""
    near = scipy.spatial.distance.squareform(1 - cosines, checks=False)
    tree = scipy.cluster.hierarchy.to_tree(scipy.cluster.hierarchy.linkage(near, "average"))
    found: list[IntArray] = []
    aside: list[int] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        core, strays = node, []
        while not core.is_leaf() and min(core.left.count, core.right.count) < SMALLEST:
            small, core = sorted((core.left, core.right), key=lambda one: one.count)
            strays += small.pre_order()
        halves = [] if core.is_leaf() else [core.left, core.right]
        both = [np.array(half.pre_order()) for half in halves]
        members, inside = np.array(node.pre_order()), np.array(core.pre_order())
        if halves and _are_apart(both[0], both[1], cosines):
            waiting += halves
            aside += strays
        elif _likeness(members, cosines) >= ALIKE:
            found.append(members)
        elif _likeness(inside, cosines) >= ALIKE:
            found.append(inside)
            aside += strays
        else:
            waiting += halves
            aside += strays if halves else members.tolist()
    return found, aside


def _merged(classes: list[IntArray], cosines: FloatArray) -> list[IntArray]:
    """The classes, those that are not apart in one."""
    done: list[IntArray] = []
    for members in sorted(classes, key=len, reverse=True):
        near = [at for at, one in enumerate(done) if not _are_apart(one, members, cosines)]
        if near:
            done[near[0]] = np.concatenate([done[near[0]], members])
        else:
            done.append(members)
    return done


def _are_apart(one: IntArray, other: IntArray, cosines: FloatArray) -> bool:
    within = [_likeness(part, cosines) for part in (one, other)]
    if min(within) < ALIKE:
        return False
    between = float(cosines[np.ix_(one, other)].mean())
    return between / float(np.sqrt(within[0] * within[1])) < APART


def _likeness(members: IntArray, cosines: FloatArray) -> float:
    """Mean cosine of different answers of a set; -1 of fewer than ``SMALLEST``."""
    n = len(members)
    if n < SMALLEST:
        return -1.0
    square = cosines[np.ix_(members, members)]
    return float((square.sum() - np.trace(square)) / (n * (n - 1)))


def fit(
    data: Texts, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Score workers and systems by the classes of their answers.

    Workers' weights are common to all classes; a system's answer is scored against the class that
    it is closest to. Tables as ``baseline_boards.result`` describes: whole questions are resampled,
    the answers' scores stay. Diagnostics: ``classes``, a row a class of the questions that have
    several, with ``question``, its number of ``answers`` and the ``source`` of the one closest to
    the others of it. Raises TooFewWorkers, BadParameter, Cancelled.
    """
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    parts(data)
    label = np.zeros(len(data), dtype=np.int64)
    told: list[dict[str, Any]] = []
    centres: dict[int, FloatArray] = {}
    asked, starts = np.unique(data.question, return_index=True)
    bounds = [*starts.tolist(), len(data)]
    for at, question in enumerate(asked.tolist()):
        hooks.step("classes", at, len(asked))
        rows = np.arange(bounds[at], bounds[at + 1])
        vectors = unit(np.asarray(data.rows[data.vector[rows]], dtype=np.float64))
        label[rows] = find_classes(vectors)
        if label[rows].any():
            told += _described(data, rows, label[rows], vectors)
            centres[question] = np.stack(
                [vectors[label[rows] == c].mean(axis=0) for c in range(label[rows].max() + 1)]
            )
    width = int(label.max()) + 1
    answer, system = _scores(data, label, centres, width, rng)
    return result(
        PARAMS,
        data,
        Ratings(answer, system),
        settings=settings,
        rng=rng,
        diagnostics={"classes": told, "asked": len(asked)},
    )


def _described(
    data: Texts, rows: IntArray, label: IntArray, vectors: FloatArray
) -> list[dict[str, Any]]:
    made = []
    for number in range(int(label.max()) + 1):
        own = np.flatnonzero(label == number)
        towards = vectors[own] @ vectors[own].sum(axis=0)
        made.append(
            {
                "question": int(data.question[rows[0]]),
                "answers": len(own),
                "source": int(data.source[rows[own[int(np.argmax(towards))]]]),
            }
        )
    made.sort(key=lambda row: (-row["answers"], row["source"]))
    return made


def _scores(
    data: Texts,
    label: IntArray,
    centres: dict[int, FloatArray],
    width: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Scores of the answers (n,) and of the outside ones, each class taken for a question."""
    names = [f"{question}/{number}" for question in data.questions for number in range(width)]
    outside = None
    if data.outside is not None:
        other = data.outside
        nearest = np.zeros(len(other), dtype=np.int64)
        vectors = unit(np.asarray(other.rows[other.vector], dtype=np.float64))
        for at, question in enumerate(other.question.tolist()):
            if question in centres:
                nearest[at] = int(np.argmax(unit(centres[question]) @ vectors[at]))
        outside = Texts.build(
            other.worker,
            other.question * width + nearest,
            other.rows,
            workers=other.workers,
            questions=names,
            vector=other.vector,
            repeats=True,
        )
    apart = Texts.build(
        data.worker,
        data.question * width + label,
        data.rows,
        workers=data.workers,
        questions=names,
        vector=data.vector,
        outside=outside,
    )
    found = aqer.fit(apart, rng=rng, resamples=0).estimates
    answer = np.full(len(data), np.nan)
    answer[found["answer"]["source"]] = found["answer"]["score"]
    system = np.empty(0)
    if outside is not None:
        system = np.full(len(outside), np.nan)
        system[found["system_answer"]["source"]] = found["system_answer"]["score"]
    return answer, system


METHOD = PARAMS.as_method("AQER by classes of answers", Texts, fit, internal=COMPARED)
