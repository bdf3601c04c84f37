"""AQER's rounds on the answers' vectors: Algorithm 1 of the paper, one pass over them a round.

Per question j the synthetic exemplary answer is SEA_j = sum_i w_i x_ij over unit vectors x_ij; an
answer's score is s_ij = cosine(x_ij, SEA_j); a worker's grade is the mean of their scores, min-max
normalised over workers, and w = grade / sum(grade). No unit-length copy of the vectors is made:
the inverse lengths ride on the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import (
    SMALL,
    BadParameter,
    BadShape,
    BadVector,
    FloatArray,
    Hooks,
    IntArray,
    Texts,
)

FLAT = 1e-12  # a range of grades below this says nothing: equal weights


@dataclass(frozen=True)
class Options:
    """AQER's parameters (section 4.3, App. B and C of the paper), by name.

    ``vote`` 'weighted_mean' iterates; 'mean' stops at the equal vote ("no iteration"). ``start``
    'entailment' needs a vote for each answer (App. B1) beside these options. What is left out is
    as published; what a run takes by itself stands in ``aqer.DEFAULTS``.
    """

    leave_one_out: bool = False
    similarity: str = "cosine"
    start: str = "equal"
    max_rounds: int = 100
    tolerance: float = 1e-6
    vote: str = "weighted_mean"

    def __post_init__(self) -> None:
        if self.vote not in ("weighted_mean", "mean"):
            raise BadParameter(f"vote is {self.vote!r}; it must be 'weighted_mean' or 'mean'")
        if self.vote == "mean" and self.start != "equal":
            raise BadParameter(
                f"vote 'mean' is the equal vote; start {self.start!r} contradicts it"
            )
        if self.similarity not in ("cosine", "neg_euclidean"):
            raise BadParameter(
                f"similarity is {self.similarity!r}; it must be 'cosine' or 'neg_euclidean'"
            )
        if self.start not in ("equal", "noisy", "entailment"):
            raise BadParameter(
                f"start is {self.start!r}; it must be 'equal', 'noisy' or 'entailment'"
            )
        if self.max_rounds < 1:
            raise BadParameter(f"max_rounds is {self.max_rounds}; it must be 1 or more")
        if not self.tolerance > 0:
            raise BadParameter(f"tolerance is {self.tolerance}; it must be above 0")

    def recipe(self) -> dict[str, Any]:
        """The parameters as JSON."""
        return asdict(self)


PUBLISHED = Options(
    leave_one_out=False,
    similarity="cosine",
    start="equal",
    max_rounds=100,
    tolerance=1e-6,
    vote="weighted_mean",
)  # as the paper ran it, whatever the defaults are


@dataclass(frozen=True, eq=False)
class Rows:
    """Answers of one component, ready for rounds.

    ``worker`` (n,) is local (0..n_workers-1), ``starts`` (q+1,) bounds each question's rows,
    ``question`` (n,) is local. Row k's vector is ``matrix[index[k]]``, or ``matrix[k]`` where
    ``index`` is None; ``inverse`` (n,) is one over its length, 0 for a zero vector.
    """

    worker: IntArray
    question: IntArray
    starts: IntArray
    matrix: NDArray[np.floating[Any]]
    index: IntArray | None
    inverse: FloatArray
    n_workers: int

    def block(self, start: int, stop: int) -> NDArray[np.floating[Any]]:
        """The vectors of rows start..stop (a view where they lie in order)."""
        if self.index is None:
            return self.matrix[start:stop]
        return self.matrix[self.index[start:stop]]

    @property
    def present(self) -> FloatArray:
        """1 where the answer's vector has a direction, 0 where it is the zero vector."""
        return (self.inverse > 0).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Round:
    """One vote: the SEAs (q, d), their squared lengths, the votes cast, and each answer's score."""

    sea: NDArray[np.floating[Any]]
    squared: FloatArray
    total: FloatArray
    scores: FloatArray


class ScoredRound(Protocol):
    """A round of any kind of vote: it has a score for each answer (n,)."""

    @property
    def scores(self) -> FloatArray: ...


Vote = TypeVar("Vote", bound=ScoredRound)


@dataclass(frozen=True, eq=False)
class Iterated(Generic[Vote]):
    """The end of the rounds.

    ``grades`` (m,) are raw means of ``last.scores``, ``normalised`` their min-max, ``weights``
    the votes that follow from them; ``first`` and ``uniterated`` are the round of equal votes.
    ``trace`` is the RMSE between the weights of two rounds, a value a round.
    """

    grades: FloatArray
    normalised: FloatArray
    weights: FloatArray
    voted: FloatArray
    uniterated: FloatArray
    first: Vote
    last: Vote
    rounds: int
    converged: bool
    trace: tuple[float, ...]


def prepare(texts: Texts, select: IntArray | None = None) -> tuple[Rows, IntArray, IntArray]:
    """Rows of the selected answers (all by default; ascending), local workers and questions.

    Returns the rows and the global indices of their workers (m,) and questions (q,).
    """
    chosen = np.arange(len(texts)) if select is None else select
    workers, worker = np.unique(texts.worker[chosen], return_inverse=True)
    questions, question = np.unique(texts.question[chosen], return_inverse=True)
    starts = np.searchsorted(question, np.arange(len(questions) + 1))
    rows = texts.vector[chosen]
    lengths = texts.norms[rows]
    with np.errstate(divide="ignore"):
        inverse = np.where(lengths > 0, 1.0 / lengths, 0.0)
    matrix: NDArray[np.floating[Any]] = texts.vectors
    index: IntArray | None = rows
    if len(rows) * matrix.shape[1] <= SMALL:
        matrix, index = matrix[rows].astype(np.float64), None
    elif np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
        matrix, index = matrix[rows[0] : rows[0] + len(rows)], None
    ready = Rows(worker, question, starts, matrix, index, inverse, len(workers))
    return ready, workers, questions


def compare(
    towards: FloatArray, squared: FloatArray, total: FloatArray, present: FloatArray, how: str
) -> FloatArray:
    """Similarity of unit answers to a vote, from dot products alone; broadcasts.

    ``towards`` = x . S, ``squared`` = |S|^2 and ``total`` = sum of the votes, where S is the sum
    of weighted vectors. A vote that cancels out has no direction: its cosine is 0.
    """
    if how == "cosine":
        usable = squared > (1e-9 * total) ** 2
        length = np.sqrt(np.where(usable, squared, 1.0))
        return np.where(usable, np.clip(towards / length, -1.0, 1.0), 0.0)
    mean = np.where(total > 0, total, 1.0)
    distance = present - 2 * towards / mean + squared / mean**2
    return -np.sqrt(np.maximum(distance, 0.0))


def vote_round(rows: Rows, weights: FloatArray, options: Options) -> Round:
    """One round: every question's SEA under these weights (m,), and every answer's score."""
    return cast_answers(rows, weights[rows.worker], options)


def cast_answers(rows: Rows, own: FloatArray, options: Options) -> Round:
    """One round with a vote for each answer: ``own`` (n,), not negative.

    Where the votes of all who answered a question are 0, they are equal (the limit of shrinking
    equal weights). With leave-one-out an answer is compared with the others' vote; an answer
    without others scores NaN.
    """
    total = np.add.reduceat(own, rows.starts[:-1])
    if np.any(total <= 0):
        own = np.where(total[rows.question] <= 0, 1.0, own)
        total = np.add.reduceat(own, rows.starts[:-1])
    dtype = rows.matrix.dtype
    votes = (own * rows.inverse).astype(dtype)
    sea = np.empty((len(total), rows.matrix.shape[1]), dtype=dtype)
    towards = np.empty(len(own), dtype=dtype)
    bounds = rows.starts.tolist()
    for j, (start, stop) in enumerate(pairwise(bounds)):
        block = rows.block(start, stop)
        np.dot(votes[start:stop], block, out=sea[j])
        np.dot(block, sea[j], out=towards[start:stop])
    toward = towards.astype(np.float64) * rows.inverse
    squared = np.einsum("ij,ij->i", sea, sea).astype(np.float64)
    unscored = Round(sea, squared, total, toward)
    return replace(unscored, scores=_scored(rows, own, unscored, options))


def _scored(rows: Rows, own: FloatArray, vote: Round, options: Options) -> FloatArray:
    """Similarities from the votes' sums; ``vote.scores`` still holds x . SEA."""
    present, towards = rows.present, vote.scores
    length, votes = vote.squared[rows.question], vote.total[rows.question]
    if not options.leave_one_out:
        return compare(towards, length, votes, present, options.similarity)
    others = votes - own
    length = np.maximum(length - 2 * own * towards + own**2 * present, 0.0)
    scores = compare(towards - own * present, length, others, present, options.similarity)
    for row in np.flatnonzero(others <= FLAT):
        scores[row] = _against_equal_others(rows, int(row), options)
    return scores


def _against_equal_others(rows: Rows, row: int, options: Options) -> float:
    """Score of a row against the equal vote of the others at its question; NaN without others."""
    start, stop = rows.starts[rows.question[row]], rows.starts[rows.question[row] + 1]
    others = np.setdiff1d(np.arange(start, stop), [row])
    if not others.size:
        return float("nan")
    block = rows.block(int(start), int(stop)) * rows.inverse[start:stop, None]
    sea = block[others - start].sum(axis=0)
    value = compare(
        np.array(block[row - start] @ sea),
        np.array(sea @ sea),
        np.array(float(others.size)),
        rows.present[row],
        options.similarity,
    )
    return float(value)


def grade(scores: FloatArray, worker: IntArray, n_workers: int) -> FloatArray:
    """Mean score of each worker over their answers that have one; NaN for a worker with none."""
    valid = np.isfinite(scores)
    count = np.bincount(worker[valid], minlength=n_workers)
    summed = np.bincount(worker[valid], weights=scores[valid], minlength=n_workers)
    return np.where(count > 0, summed / np.maximum(count, 1), np.nan)


def normalise(grades: FloatArray) -> FloatArray:
    """Min-max over workers with a grade, on the last axis; all ones where the range is flat."""
    low = np.nanmin(grades, axis=-1, keepdims=True)
    spread = np.nanmax(grades, axis=-1, keepdims=True) - low
    flat = spread < FLAT
    scaled = np.where(flat, 1.0, (grades - low) / np.where(flat, 1.0, spread))
    return np.where(np.isnan(grades), np.nan, scaled)


def to_weights(normalised: FloatArray) -> FloatArray:
    """Votes that sum to 1 on the last axis, proportional to the normalised grades."""
    filled = np.nan_to_num(normalised, nan=0.0)
    return filled / filled.sum(axis=-1, keepdims=True)


def noisy_weights(n_workers: int, rng: np.random.Generator) -> FloatArray:
    """Equal votes perturbed by up to 10 % each (App. B2 b)."""
    weights = 1.0 + rng.uniform(-0.1, 0.1, n_workers)
    return weights / weights.sum()


def iterate(
    rows: Rows,
    options: Options,
    rng: np.random.Generator,
    hooks: Hooks | None = None,
    start_votes: FloatArray | None = None,
) -> Iterated[Round]:
    """Vote, score and re-weight until RMSE(w, w_prev) < tolerance or max_rounds (section 4.3.4).

    ``start_votes`` (n,) are the answers' votes in the first round of start 'entailment'. Raises
    BadParameter where these are missing or not asked for, BadVector where one is no vote.
    """
    equal = np.full(rows.n_workers, 1.0 / rows.n_workers)
    first = vote_round(rows, equal, options)
    begun: tuple[FloatArray, Round] = (equal, first)
    if (start_votes is not None) != (options.start == "entailment"):
        raise BadParameter("start 'entailment' and start_votes need each other")
    if start_votes is not None:
        votes = _checked_votes(start_votes, len(rows.worker))
        shares = np.bincount(rows.worker, weights=votes, minlength=rows.n_workers)
        begun = (to_weights(shares.astype(np.float64)), cast_answers(rows, votes, options))
    elif options.start == "noisy":
        noisy = noisy_weights(rows.n_workers, rng)
        begun = (noisy, vote_round(rows, noisy, options))
    return iterate_weights(
        lambda weights: vote_round(rows, weights, options),
        rows.worker,
        rows.n_workers,
        options,
        first=first,
        begun=begun,
        hooks=hooks,
    )


def iterate_weights(
    vote: Callable[[FloatArray], Vote],
    worker: IntArray,
    n_workers: int,
    options: Options,
    *,
    first: Vote,
    begun: tuple[FloatArray, Vote],
    hooks: Hooks | None = None,
) -> Iterated[Vote]:
    """The iterative part (section 4.2) over any kind of vote.

    ``vote`` turns weights (m,) into a round; ``worker`` (n,) says whose the answers are. ``first``
    is the round of equal votes, ``begun`` the weights and the round to start from.
    """
    hooks = hooks or Hooks()
    voted, last = begun
    trace: list[float] = []
    while True:
        grades = grade(last.scores, worker, n_workers)
        normalised = normalise(grades)
        weights = to_weights(normalised) if options.vote == "weighted_mean" else voted
        trace.append(float(np.sqrt(np.mean((weights - voted) ** 2))))
        if hooks.change is not None:
            hooks.change(trace[-1])
        hooks.step("rounds", len(trace), options.max_rounds)
        if trace[-1] < options.tolerance or len(trace) >= options.max_rounds:
            break
        voted, last = weights, vote(weights)
    return Iterated(
        grades=grades,
        normalised=normalised,
        weights=weights,
        voted=voted,
        uniterated=grade(first.scores, worker, n_workers),
        first=first,
        last=last,
        rounds=len(trace),
        converged=trace[-1] < options.tolerance,
        trace=tuple(trace),
    )


def _checked_votes(votes: FloatArray, n: int) -> FloatArray:
    found = np.asarray(votes, dtype=np.float64)
    if found.shape != (n,):
        raise BadShape(f"start_votes has shape {found.shape}; it needs one for each of {n} answers")
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if wrong.size:
        at = int(wrong[0])
        raise BadVector(f"start_votes[{at}] is {found[at]}; a vote is a number from 0")
    return found if found.sum() > 0 else np.ones(n)


def score_outside(
    end: Round,
    vectors: NDArray[np.floating[Any]],
    question: Sequence[int] | IntArray,
    *,
    similarity: str = "cosine",
) -> FloatArray:
    """Scores of answers that did not vote, against the SEAs of a round (section 4.5).

    ``vectors`` (k, d) are theirs, ``question`` (k,) indexes the SEAs. Raises BadShape where the
    widths differ.
    """
    if vectors.shape[1] != end.sea.shape[1]:
        raise BadShape(
            f"outside vectors are {vectors.shape[1]} wide, the workers' {end.sea.shape[1]}"
        )
    at = np.asarray(question)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)).astype(np.float64)
    with np.errstate(divide="ignore"):
        inverse = np.where(lengths > 0, 1.0 / lengths, 0.0)
    towards = np.einsum("ij,ij->i", vectors, end.sea[at]).astype(np.float64) * inverse
    present = (inverse > 0).astype(np.float64)
    return compare(towards, end.squared[at], end.total[at], present, similarity)
