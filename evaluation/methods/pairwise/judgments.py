"""A study of side-by-side judgments as index arrays: who judged what, shown how, on which texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import BadShape, EmptyData, IntArray, index_array
from evaluation.methods.core.votes import Labels
from evaluation.methods.pairwise.order.data import MISSING, ShownVotes, Units

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
    (origin, style) to the group of each system (systems,), -1 for none.
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
    ) -> Judgments:
        """Check everything. Raises EmptyData, UnknownIndex and BadShape.

        A pair has two different candidates of one topic; no person is neutral where that is not
        offered; machines judge the pairs and dimensions of the people.
        """
        a = index_array("first", first, len(candidates))
        b = index_array("second", second, len(candidates))
        t, s = index_array("topic", topic, len(topics)), index_array("system", system, len(systems))
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
        )

    @property
    def units(self) -> Units:
        """What intervals draw anew: topics; the pairs, where all are of one topic."""
        topic = self.topic[self.first]
        if len(np.unique(topic)) > 1:
            return Units(topic, "topics")
        return Units(np.arange(len(topic)), "pairs")

    def take(self, rows: IntArray | NDArray[np.bool_]) -> Judgments:
        """The same study with these of the people's judgments only."""
        return replace(self, votes=self.votes.take(rows))

    def without(self, workers: Sequence[int] | IntArray) -> Judgments:
        """The same study without the judgments of these workers. Raises UnknownIndex, EmptyData."""
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


def _grouped(name: str, group: Any, systems: int) -> IntArray:
    found = np.asarray(group)
    if found.shape != (systems,) or not np.issubdtype(found.dtype, np.integer):
        raise BadShape(f"groups: {name!r} must have one whole number for each of {systems} systems")
    if (found < -1).any():
        raise BadShape(f"groups: {name!r} has a number below -1, which stands for no group")
    return found.astype(np.int64)


__all__ = ["CODES", "LEFT", "MISSING", "NEUTRAL", "RIGHT", "SIDES", "Judgments"]
