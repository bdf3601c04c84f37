"""A study of side-by-side judgments as index arrays: who judged what, shown how, on which texts.

``ShownVotes`` are judgments as workers saw them, ``Judgments`` the study around them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import (
    BadShape,
    EmptyData,
    FloatArray,
    IntArray,
    index_array,
    indices,
    refuse_unequal,
)
from evaluation.methods.core.kinds import Column, checked_column
from evaluation.methods.core.votes import Labels

MISSING = -1


def turned_back(vote: IntArray, flipped: NDArray[np.bool_], labels: int) -> IntArray:
    """Votes (n, d) as shown, for pairs as stored; ``flipped`` (n,): the one place that flips."""
    turned = flipped[:, None] & (vote != MISSING)
    return np.where(turned, labels - 1 - vote, vote)


@dataclass(frozen=True, eq=False)
class Units:
    """The unit ``of`` each pair (pairs,), any integers from 0, and what units are called."""

    of: IntArray
    noun: str

    @classmethod
    def pairs(cls, votes: ShownVotes) -> Units:
        """Make each pair a unit of its own."""
        return cls(np.arange(len(votes.pairs)), "pairs")


@dataclass(frozen=True, eq=False)
class ShownVotes:
    """Judgments (n,) of pairs on d dimensions, in displayed coordinates, as they came.

    ``vote`` (n, d) indexes ``labels``, which run from left to right and mirror each other (A, N,
    B): flipping a vote is len(labels) - 1 - vote; -1 is no answer. With an odd number of labels
    the middle one is neutral. ``worker`` and ``pair`` (n,) index names; ``flipped`` (n,) is True
    where the pair was shown the other way round than it is stored; ``position`` (n,) counts the
    worker's items from 1. Where ``sides_known`` or ``order_known`` (n,) is False, nobody recorded
    these: such votes are taken as stored and in any order, and say nothing of either.
    """

    worker: IntArray
    pair: IntArray
    flipped: NDArray[np.bool_]
    position: IntArray
    vote: IntArray
    workers: tuple[str, ...]
    pairs: tuple[str, ...]
    dimensions: tuple[str, ...]
    labels: tuple[str, ...]
    sides_known: NDArray[np.bool_]
    order_known: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.worker)

    @classmethod
    def build(
        cls,
        worker: Sequence[int] | IntArray,
        pair: Sequence[int] | IntArray,
        flipped: Sequence[bool] | NDArray[np.bool_],
        position: Sequence[int] | IntArray,
        vote: Any,
        *,
        workers: Sequence[str],
        pairs: Sequence[str],
        dimensions: Sequence[str],
        labels: Sequence[str] = ("left", "neutral", "right"),
        sides_known: NDArray[np.bool_] | None = None,
        order_known: NDArray[np.bool_] | None = None,
    ) -> ShownVotes:
        """Check the arrays. Raises EmptyData, UnknownIndex, BadShape."""
        w, p = indices(worker=(worker, workers), pair=(pair, pairs))
        turned, place, votes = np.asarray(flipped), np.asarray(position), np.asarray(vote)
        if turned.dtype != np.bool_ or not np.issubdtype(place.dtype, np.integer):
            raise BadShape("flipped must hold booleans and position whole numbers")
        if votes.shape != (len(w), len(dimensions)):
            raise BadShape(f"vote is {votes.shape}; it must be ({len(w)}, {len(dimensions)})")
        every = np.ones(len(w), dtype=bool)
        sides = every if sides_known is None else sides_known
        order = every if order_known is None else order_known
        refuse_unequal(
            worker=w, pair=p, flipped=turned, position=place, sides_known=sides, order_known=order
        )
        if not votes.size:
            raise EmptyData("there is no dimension")
        if len(labels) < 2:
            raise BadShape("there must be two labels or more")
        # MISSING is one below the first index, so a shift checks both ends at once.
        index_array("vote + 1", votes.ravel() + 1, len(labels) + 1)
        return cls(
            w,
            p,
            turned,
            place.astype(np.int64),
            votes.astype(np.int64),
            tuple(workers),
            tuple(pairs),
            tuple(dimensions),
            tuple(labels),
            sides,
            order,
        )

    def take(self, rows: IntArray | NDArray[np.bool_]) -> ShownVotes:
        """Keep only these rows; names stay."""
        return replace(
            self,
            worker=self.worker[rows],
            pair=self.pair[rows],
            flipped=self.flipped[rows],
            position=self.position[rows],
            vote=self.vote[rows],
            sides_known=self.sides_known[rows],
            order_known=self.order_known[rows],
        )

    def canonical(self) -> IntArray:
        """Votes (n, d) for the pair as stored."""
        return turned_back(self.vote, self.flipped, len(self.labels))

    def left(self) -> IntArray:
        """Return where the first text of the pair stood (n,): 1 left, -1 right, 0 not known."""
        return np.where(self.sides_known, np.where(self.flipped, -1, 1), 0)

    def side(self) -> FloatArray:
        """Return the chosen side (n, d): -1 left, 0 neutral, 1 right, NaN if unanswered."""
        found = np.sign(2.0 * self.vote - (len(self.labels) - 1))
        return np.where(self.vote == MISSING, np.nan, found)

    def first_votes(self) -> ShownVotes:
        """Keep only each worker's first vote on a pair, in either direction."""
        code = self.worker * len(self.pairs) + self.pair
        _, first = np.unique(code, return_index=True)
        return self.take(np.sort(first))

    def counts(self, dimension: int, *, rows: NDArray[np.bool_], directed: bool) -> FloatArray:
        """Votes of an item on each label, from ``rows`` (n,) of a dimension.

        Directed: items are (pair, flipped), pair first (2 * pairs, k), votes as shown. Else items
        are pairs (pairs, k) and votes canonical.
        """
        vote = (self.vote if directed else self.canonical())[:, dimension]
        item = 2 * self.pair + self.flipped if directed else self.pair
        size, items = len(self.labels), len(self.pairs) * (2 if directed else 1)
        use = rows & (vote != MISSING)
        flat = np.bincount(item[use] * size + vote[use], minlength=items * size)
        return flat.reshape(items, size).astype(np.float64)

    def as_labels(self, dimension: int) -> Labels:
        """Return one dimension as Labels.

        Items are pairs, ``label`` canonical, ``shown`` as displayed.
        """
        return self._labels(self.pair, self.pairs, self.canonical()[:, dimension], dimension)

    def directed(self, dimension: int) -> Labels:
        """Return one dimension as Labels: items are pairs in one direction, labels as displayed.

        All dimensions have the same items: the directions that occur, in the order of ``pairs``.
        """
        known, item = np.unique(2 * self.pair + self.flipped, return_inverse=True)
        names = [self.pairs[k // 2] + (" turned" if k % 2 else "") for k in known.tolist()]
        return self._labels(item, tuple(names), self.vote[:, dimension], dimension)

    def _labels(
        self, item: IntArray, items: tuple[str, ...], label: IntArray, dimension: int
    ) -> Labels:
        use = self.vote[:, dimension] != MISSING
        return Labels.build(
            self.worker[use],
            item[use],
            label[use],
            workers=self.workers,
            items=items,
            labels=self.labels,
            shown=self.vote[use, dimension],
        )


LEFT, NEUTRAL, RIGHT = 0, 1, 2
SIDES = ("left", "neutral", "right")
# The same places in canonical coordinates; as outcomes they are FIRST, TIE and SECOND.
CODES = ("first", "neutral", "second")


@dataclass(frozen=True, eq=False)
class Judgments:
    """People's judgments of pairs of candidates, and beside them those of machines.

    ``votes`` are people's, in displayed coordinates, its labels SIDES; a pair is stored once,
    whichever way it was shown. ``first`` and ``second`` (pairs,) index ``candidates``; ``topic``
    and ``system`` (candidates,) index ``topics`` and ``systems``: candidates of one system (a
    source of texts) are compared across topics. ``forced`` (d,) marks dimensions that offer no
    neutral answer. ``machine`` are the judgments of language models on the same pairs and
    dimensions, ``worker`` indexing the models; they never enter what is said of people, and may be
    neutral where that was not offered, since models are. ``groups`` maps the name of a grouping
    (origin, style) to the group of each system (systems,), -1 for none. ``counts`` are what can be
    counted in the texts (words, lists, ...) by name (candidates,), or empty where it is not known.
    ``columns`` are kinds of pairs by name.
    """

    votes: ShownVotes
    first: IntArray
    second: IntArray
    topic: IntArray
    system: IntArray
    forced: NDArray[np.bool_]
    candidates: tuple[str, ...]
    topics: tuple[str, ...]
    systems: tuple[str, ...]
    machine: ShownVotes | None = None
    groups: Mapping[str, IntArray] = field(default_factory=dict)
    counts: Mapping[str, FloatArray] = field(default_factory=dict)
    columns: Mapping[str, Column] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.votes)

    @property
    def dimensions(self) -> tuple[str, ...]:
        return self.votes.dimensions

    @classmethod
    def build(
        cls,
        votes: ShownVotes,
        first: Sequence[int] | IntArray,
        second: Sequence[int] | IntArray,
        *,
        topic: Sequence[int] | IntArray,
        system: Sequence[int] | IntArray,
        candidates: Sequence[str],
        topics: Sequence[str],
        systems: Sequence[str],
        forced: Any = None,
        machine: ShownVotes | None = None,
        groups: Mapping[str, Any] | None = None,
        counts: Mapping[str, Any] | None = None,
        columns: Mapping[str, Column] | None = None,
    ) -> Judgments:
        """Check everything. Raises EmptyData, UnknownIndex and BadShape.

        A pair has two different candidates of one topic; no person is neutral where that is not
        offered; machines judge the pairs and dimensions of the people.
        """
        a, b = indices(first=(first, candidates), second=(second, candidates))
        t, s = indices(topic=(topic, topics), system=(system, systems))
        if not len(a) == len(b) == len(votes.pairs):
            raise BadShape(
                f"first has {len(a)} entries, second {len(b)}; there are {len(votes.pairs)} pairs"
            )
        if not len(t) == len(s) == len(candidates):
            raise BadShape(
                f"topic has {len(t)} entries, system {len(s)}; there are {len(candidates)} texts"
            )
        _one_topic(a, b, t, votes.pairs)
        fixed = np.zeros(len(votes.dimensions), dtype=bool) if forced is None else forced
        fixed = np.asarray(fixed, dtype=bool)
        if fixed.shape != (len(votes.dimensions),):
            raise BadShape(f"forced is {fixed.shape}; there are {len(votes.dimensions)} dimensions")
        for some in (votes, machine):
            if some is not None:
                _same_questions(some, votes)
        _offered(votes, fixed)
        return cls(
            votes,
            a,
            b,
            t,
            s,
            fixed,
            tuple(candidates),
            tuple(topics),
            tuple(systems),
            machine,
            {name: _grouped(name, group, len(systems)) for name, group in (groups or {}).items()},
            {name: _counted(name, n, len(candidates)) for name, n in (counts or {}).items()},
            {
                name: checked_column(name, one, len(votes.pairs), "pairs")
                for name, one in (columns or {}).items()
            },
        )

    @property
    def units(self) -> Units:
        """Units that bootstrap intervals resample: topics, or pairs if all share one topic."""
        topic = self.topic[self.first]
        if len(np.unique(topic)) > 1:
            return Units(topic, "topics")
        return Units(np.arange(len(topic)), "pairs")

    def take(self, rows: IntArray | NDArray[np.bool_]) -> Judgments:
        """Keep only these of the people's judgments."""
        return replace(self, votes=self.votes.take(rows))

    def without_workers(self, workers: Sequence[int] | IntArray) -> Judgments:
        """Remove the judgments of these workers. Raises UnknownIndex, EmptyData."""
        if not len(workers):
            return self
        gone = np.zeros(len(self.votes.workers), dtype=bool)
        gone[index_array("workers", workers, len(gone))] = True
        keep = ~gone[self.votes.worker]
        if not keep.any():
            raise EmptyData("without these workers nobody judged anything")
        return self.take(keep)

    def labels(self, votes: ShownVotes, dimension: int) -> Labels:
        """``votes`` of one dimension on canonical pairs, shown as displayed.

        The labels are CODES, without the neutral one where it is not offered. Raises EmptyData
        where nobody answered.
        """
        given = votes.as_labels(dimension)
        if not self.forced[dimension]:
            return replace(given, labels=CODES)
        return replace(given, label=given.label // 2, shown=given.shown // 2, labels=CODES[::2])


def _one_topic(first: IntArray, second: IntArray, topic: IntArray, pairs: Sequence[str]) -> None:
    wrong = np.flatnonzero((first == second) | (topic[first] != topic[second]))
    if wrong.size:
        at = int(wrong[0])
        why = "compares a text with itself" if first[at] == second[at] else "crosses topics"
        raise BadShape(f"pair {pairs[at]!r} {why}")


def _same_questions(some: ShownVotes, votes: ShownVotes) -> None:
    if some.labels != SIDES:
        raise BadShape(f"the labels are {some.labels}; they must be {SIDES}")
    if some.pairs != votes.pairs or some.dimensions != votes.dimensions:
        raise BadShape("machines must be indexed on the pairs and dimensions of the people")


def _offered(votes: ShownVotes, forced: NDArray[np.bool_]) -> None:
    neutral = np.flatnonzero((votes.vote[:, forced] == NEUTRAL).any(axis=1))
    if neutral.size:
        raise BadShape(f"judgment {int(neutral[0])} is neutral where that was not offered")


def _counted(name: str, counts: Any, texts: int) -> FloatArray:
    found = np.asarray(counts, dtype=np.float64)
    if found.shape != (texts,) or not (np.isfinite(found) & (found >= 0)).all():
        raise BadShape(f"counts: {name!r} must have one count for each of {texts} texts")
    return found


def _grouped(name: str, group: Any, systems: int) -> IntArray:
    found = np.asarray(group)
    if found.shape != (systems,) or not np.issubdtype(found.dtype, np.integer):
        raise BadShape(f"groups: {name!r} must have one whole number for each of {systems} systems")
    if (found < -1).any():
        raise BadShape(f"groups: {name!r} has a number below -1, which stands for no group")
    return found.astype(np.int64)
