"""How the exemplary answer to one question moves over the rounds, in two dimensions (Figure 2).

The rounds of the question's component are run again and the weights kept after some of them. The
answers' unit vectors are projected on their two main directions (PCA over the answers); exemplary
answers, scaled to length 1, lie in the same plane.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.methods.aqer.grams import unit
from evaluation.methods.aqer.method import PARAMS, parts, plan_of
from evaluation.methods.aqer.rounds import (
    Round,
    iterate_weights,
    noisy_weights,
    prepare,
    vote_round,
)
from evaluation.methods.core.base import BadParameter, FloatArray, IntArray, Texts

ROUNDS = (0, 5, 10)  # whose exemplary answers are drawn, as published


@dataclass(frozen=True, eq=False)
class Movement:
    """Answers of one question and the exemplary answers of some rounds, in a plane.

    ``source`` (k,) are the answers' positions in the input, ``points`` (k, 2) where they lie and
    ``weights`` (k,) their shares of the question's vote at the end. ``rounds`` (r,) are numbers of
    rounds, the last one that of the end, ``path`` (r, 2) where the exemplary answer then lies, and
    ``nearness`` (r,) its cosine with that of the end. ``shown`` is the share of the answers'
    variance that the plane shows.
    """

    source: IntArray
    points: FloatArray
    weights: FloatArray
    rounds: tuple[int, ...]
    path: FloatArray
    nearness: FloatArray
    shown: float


def trace_question(
    texts: Texts, question: int, settings: Mapping[str, Any], *, rng: np.random.Generator
) -> Movement:
    """The movement for one question (an index of ``texts.questions``) under AQER's ``settings``.

    Raises BadParameter where fewer than two answered it, or the run began by entailment.
    """
    known = PARAMS.settings(settings)
    if known["start"] == "entailment":
        raise BadParameter("the votes of a first round by entailment are not kept")
    part = parts(texts.worker, texts.question, texts.workers, texts.questions)[1]
    if part[question] == 0:
        raise BadParameter(f"question {question} has fewer than two answers")
    rows, _, questions = prepare(texts, np.flatnonzero(part[texts.question] == part[question]))
    options = plan_of(known).fitted_to(rows.question).options
    equal = np.full(rows.n_workers, 1.0 / rows.n_workers)
    begun = noisy_weights(rows.n_workers, rng) if options.start == "noisy" else equal
    voted = [begun]

    def vote(weights: FloatArray) -> Round:
        voted.append(weights)
        return vote_round(rows, weights, options)

    first = vote_round(rows, begun, options)
    iterate_weights(vote, rows.worker, rows.n_workers, options, first=first, begun=(begun, first))
    local = int(np.searchsorted(questions, question))
    at = np.flatnonzero(rows.question == local)
    source = np.flatnonzero(texts.question == question)
    last = len(voted) - 1
    rounds = tuple(sorted({*(number for number in ROUNDS if number < last), last}))
    weights = np.stack([_shares(voted[number][rows.worker[at]]) for number in rounds])
    return _projected(texts, source, weights, rounds)


def _shares(votes: FloatArray) -> FloatArray:
    total = float(votes.sum())
    return votes / total if total > 0 else np.full(len(votes), 1.0 / len(votes))


def _projected(
    texts: Texts, source: IntArray, weights: FloatArray, rounds: tuple[int, ...]
) -> Movement:
    vectors = unit(np.asarray(texts.rows[texts.vector[source]], dtype=np.float64))
    middle = vectors.mean(axis=0)
    _, sizes, axes = np.linalg.svd(vectors - middle, full_matrices=False)
    plane = np.zeros((2, vectors.shape[1]))
    plane[: min(2, len(axes))] = axes[:2]
    largest = np.abs(plane).argmax(axis=1)
    plane *= np.where(plane[np.arange(2), largest] < 0, -1.0, 1.0)[:, None]
    exemplary = unit(weights @ vectors)
    total = float(np.square(sizes).sum())
    return Movement(
        source=texts.source[source],
        points=(vectors - middle) @ plane.T,
        weights=weights[-1],
        rounds=rounds,
        path=(exemplary - middle) @ plane.T,
        nearness=exemplary @ exemplary[-1],
        shown=float(np.square(sizes[:2]).sum()) / total if total > 0 else 1.0,
    )
