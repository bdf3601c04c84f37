"""AQER's rounds: Algorithm 1 of the paper, from the cosines of the answers to each question.

Per question j the synthetic exemplary answer is SEA_j = sum_i w_i x_ij over unit vectors x_ij; an
answer's score is s_ij = cosine(x_ij, SEA_j); a worker's grade is the mean of their scores, min-max
normalised over workers, and w = grade / sum(grade).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.aqer.grams import Block, Floats, Piece, Rows, gather, parts_of, stream, unit
from evaluation.methods.core.base import (
    SMALL,
    BadParameter,
    BadShape,
    BadVector,
    FloatArray,
    Hooks,
    IntArray,
    Texts,
    VectorRows,
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
        """Return the options as a dict that can be stored as JSON."""
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
class Round:
    """One vote, or b of them (then each array has a last axis b).

    ``squared`` (q,) are the squared lengths of the exemplary answers, ``total`` (q,) the votes
    cast, ``scores`` (n,) those of the answers. Row i's vote was ``votes[at[i]]``.
    """

    rows: Rows
    votes: FloatArray
    at: NDArray[np.integer[Any]]
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

    Vectors are read in the order of questions, some thousand at a time. Returns the rows and the
    global indices of their workers (m,) and questions (q,).
    """
    chosen = np.arange(len(texts)) if select is None else select
    workers, worker = np.unique(texts.worker[chosen], return_inverse=True)
    questions, sizes = np.unique(texts.question[chosen], return_counts=True)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    index, question = texts.vector[chosen], texts.question[chosen]
    exact = len(index) * texts.rows.shape[1] <= SMALL
    dtype = np.float64 if exact else np.float32

    def pieces() -> Iterator[Piece]:
        for part in parts_of(sizes):
            here = slice(starts[part.start], starts[part.stop])
            yield worker[here], question[here], gather(texts.rows, index[here], dtype)

    rows = stream(pieces(), len(workers))
    return replace(rows, vectors=texts.rows, index=index), workers, questions


def compare(
    towards: FloatArray, squared: FloatArray, total: FloatArray, present: FloatArray, how: str
) -> FloatArray:
    """Compute the similarity of unit answers to a vote from dot products; broadcasts.

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
    """Run one round: vote on each question under weights (m,) or (m, b), then score all answers."""
    return _cast(rows, weights, rows.worker, options)


def cast_answers(rows: Rows, own: FloatArray, options: Options) -> Round:
    """Run one round in which each answer has a vote of its own: ``own`` (n,), not negative.

    Where the votes of all who answered a question are 0, they are equal (the limit of shrinking
    equal weights). With leave-one-out an answer is compared with the others' vote; an answer
    without others scores NaN.
    """
    return _cast(rows, own, np.arange(len(own)), options)


def _cast(rows: Rows, votes: FloatArray, at: NDArray[np.integer[Any]], options: Options) -> Round:
    many = votes.reshape(len(votes), -1)
    squared, total = np.empty((2, len(rows.starts) - 1, many.shape[1]))
    scores = np.empty((len(rows.worker), many.shape[1]))
    for block in rows.blocks:
        spot = block.rows
        own, present = many[at[spot]], rows.present[spot][:, :, None].astype(np.float64)
        cast = own.sum(axis=0)
        if np.any(cast <= 0):
            own = np.where(cast <= 0, 1.0, own)
            cast = own.sum(axis=0)
        towards = block.towards(own)
        length = (own * (towards + own * present)).sum(axis=0)
        squared[block.question], total[block.question] = length, cast
        scores[spot] = _scored(block, own, (towards, length, cast), present, options)
    shape = votes.shape[1:]
    return Round(
        rows,
        votes,
        at,
        squared.reshape(-1, *shape),
        total.reshape(-1, *shape),
        scores.reshape(-1, *shape),
    )


def _scored(
    block: Block,
    own: FloatArray,
    vote: tuple[FloatArray, FloatArray, FloatArray],
    present: FloatArray,
    options: Options,
) -> FloatArray:
    """Similarities (m, k, b) from the votes' sums; ``towards`` is to the others' votes alone."""
    towards, length, cast = vote
    how = options.similarity
    if not options.leave_one_out:
        return compare(towards + own * present, length, cast, present, how)
    others = cast - own
    length = np.maximum(length - own * (2 * towards + own * present), 0.0)
    scores = compare(towards, length, others, present, how)
    unheard = others <= FLAT
    if np.any(unheard):
        scores = np.where(unheard, _against_equal_others(block, present, how), scores)
    return scores


def _against_equal_others(block: Block, present: FloatArray, how: str) -> FloatArray:
    """Scores (m, k, 1) against the equal vote of the others; NaN without others."""
    if len(present) == 1:
        return np.full(present.shape, np.nan)
    towards = block.towards(np.ones(present.shape))
    length = (towards + present).sum(axis=0) - 2 * towards - present
    others = np.array(float(len(present) - 1))
    return compare(towards, np.maximum(length, 0.0), others, present, how)


def mean_by_worker(scores: FloatArray, worker: IntArray, n_workers: int) -> FloatArray:
    """Return each worker's mean score over their answers; NaN without a scored answer."""
    valid = np.isfinite(scores)
    if not np.all(valid):
        worker, scores = worker[valid], scores[valid]
    count = np.bincount(worker, minlength=n_workers)
    summed = np.bincount(worker, weights=scores, minlength=n_workers)
    return np.where(count > 0, summed / np.maximum(count, 1), np.nan)


def normalise(grades: FloatArray) -> FloatArray:
    """Scale grades to 0..1 by their range over workers (last axis); all 1 if they are equal."""
    low = np.nanmin(grades, axis=-1, keepdims=True)
    spread = np.nanmax(grades, axis=-1, keepdims=True) - low
    flat = spread < FLAT
    scaled = np.where(flat, 1.0, (grades - low) / np.where(flat, 1.0, spread))
    return np.where(np.isnan(grades), np.nan, scaled)


def to_weights(normalised: FloatArray) -> FloatArray:
    """Scale normalised grades to votes that sum to 1 on the last axis."""
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
        grades = mean_by_worker(last.scores, worker, n_workers)
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
        uniterated=mean_by_worker(first.scores, worker, n_workers),
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


@dataclass(frozen=True, eq=False)
class Outside:
    """Answers (k,) that do not vote, each at one question.

    ``cosines`` (k, n) are those with every answer to the question, ``question`` (k,) is local,
    ``present`` (k,) is 0 for a zero vector.
    """

    cosines: scipy.sparse.csr_array
    question: IntArray
    present: FloatArray

    @classmethod
    def of(
        cls,
        rows: Rows,
        vectors: VectorRows,
        question: Sequence[int] | IntArray,
        index: IntArray | None = None,
    ) -> Outside:
        """Make it of the answers' vectors, ``vectors[index]`` (k, d); no ``index``: 0..k-1.

        Both sides' vectors are read some thousand at a time. Raises BadShape where widths differ
        or the workers' vectors cannot be read again.
        """
        at = np.asarray(question, dtype=np.int64)
        place = np.arange(len(at)) if index is None else index
        if rows.vectors is None or rows.index is None:
            raise BadShape("the workers' vectors were not kept")
        if vectors.shape[1] != rows.vectors.shape[1]:
            raise BadShape(
                f"outside vectors are {vectors.shape[1]} wide, the workers' {rows.vectors.shape[1]}"
            )
        order = np.argsort(at, kind="stable")
        asked, begins = np.unique(at[order], return_index=True)
        members = np.split(order, begins[1:])
        answers = np.diff(rows.starts)[asked]
        present = np.empty(len(at))
        found: list[FloatArray] = []
        for part in parts_of(answers + [len(one) for one in members]):
            here = [np.arange(rows.starts[j], rows.starts[j + 1]) for j in asked[part]]
            voters = rows.vectors[rows.index[np.concatenate(here)]]
            together = np.concatenate(members[part])
            others = vectors[place[together]]
            present[together] = np.any(others != 0, axis=1)
            v = o = 0
            for own, theirs in zip(here, members[part], strict=True):
                towards = unit(voters[v : v + len(own)])
                found.extend(unit(others[o : o + len(theirs)]) @ towards.T)
                v, o = v + len(own), o + len(theirs)
        sizes = np.diff(rows.starts)[at[order]]
        ends = np.cumsum(sizes)
        columns = np.arange(sizes.sum()) + np.repeat(rows.starts[at[order]] - ends + sizes, sizes)
        cells = (np.concatenate([[], *found]), columns, np.concatenate([[0], ends]))
        sorted_rows = scipy.sparse.csr_array(cells, shape=(len(at), len(rows.worker)))
        return cls(scipy.sparse.csr_array(sorted_rows[np.argsort(order)]), at, present)

    def scores(self, end: Round, similarity: str) -> FloatArray:
        """Scores (k,), or (k, b), against the exemplary answers of a round."""
        own = end.votes[end.at]
        pattern = scipy.sparse.csr_array(
            (np.ones(len(self.cosines.data)), self.cosines.indices, self.cosines.indptr),
            shape=self.cosines.shape,
        )
        ones = np.ones((own.shape[0], *[1] * (own.ndim - 1)))
        towards = np.where(pattern @ own <= 0, self.cosines @ ones, self.cosines @ own)
        present = self.present.reshape(-1, *[1] * (own.ndim - 1))
        squared, total = end.squared[self.question], end.total[self.question]
        return compare(towards, squared, total, present, similarity)


def score_outside(
    end: Round,
    vectors: Floats,
    question: Sequence[int] | IntArray,
    *,
    similarity: str = "cosine",
) -> FloatArray:
    """Scores of answers that did not vote, against the SEAs of a round (section 4.5).

    ``vectors`` (k, d) are theirs, ``question`` (k,) are local. Raises BadShape where the widths
    differ.
    """
    return Outside.of(end.rows, vectors, question).scores(end, similarity)
