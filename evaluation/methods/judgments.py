"""A study of side-by-side judgments as index arrays: who judged what, shown how, on which texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.base import BadShape, IntArray, index_array
from evaluation.methods.order_data import MISSING, ShownVotes

LEFT, NEUTRAL, RIGHT = 0, 1, 2
SIDES = ("left", "neutral", "right")


@dataclass(frozen=True, eq=False)
class Judgments:
    """People's judgments of pairs of candidates, and beside them those of machines.

    ``votes`` are people's, in displayed coordinates, its labels SIDES; a pair is stored once,
    whichever way it was shown. ``first`` and ``second`` (pairs,) index ``candidates``; ``topic``
    and ``system`` (candidates,) index ``topics`` and ``systems``: candidates of one system (a
    source of texts) are compared across topics. ``forced`` (d,) marks dimensions that offer no
    neutral answer. ``machine`` are the judgments of language models on the same pairs and
    dimensions, ``worker`` indexing the models; they never enter what is said of people.
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
    ) -> Judgments:
        """Check everything. Raises EmptyData, UnknownIndex and BadShape.

        A pair has two different candidates of one topic; nobody is neutral where that is not
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
                f"topic has {len(t)} entries, system {len(s)}; there are {len(candidates)} candidates"
            )
        _one_topic(a, b, t, votes.pairs)
        fixed = np.zeros(len(votes.dimensions), dtype=bool) if forced is None else forced
        fixed = np.asarray(fixed, dtype=bool)
        if fixed.shape != (len(votes.dimensions),):
            raise BadShape(f"forced is {fixed.shape}; there are {len(votes.dimensions)} dimensions")
        for some in (votes, machine):
            if some is not None:
                _same_questions(some, votes, fixed)
        return cls(
            votes, a, b, t, s, fixed, tuple(candidates), tuple(topics), tuple(systems), machine
        )


def _one_topic(first: IntArray, second: IntArray, topic: IntArray, pairs: Sequence[str]) -> None:
    wrong = np.flatnonzero((first == second) | (topic[first] != topic[second]))
    if wrong.size:
        at = int(wrong[0])
        why = "compares a text with itself" if first[at] == second[at] else "crosses topics"
        raise BadShape(f"pair {pairs[at]!r} {why}")


def _same_questions(some: ShownVotes, votes: ShownVotes, forced: NDArray[np.bool_]) -> None:
    if some.labels != SIDES:
        raise BadShape(f"the labels are {some.labels}; they must be {SIDES}")
    if some.pairs != votes.pairs or some.dimensions != votes.dimensions:
        raise BadShape("machines must be indexed on the pairs and dimensions of the people")
    neutral = np.flatnonzero((some.vote[:, forced] == NEUTRAL).any(axis=1))
    if neutral.size:
        raise BadShape(f"judgment {int(neutral[0])} is neutral where that was not offered")


__all__ = ["LEFT", "MISSING", "NEUTRAL", "RIGHT", "SIDES", "Judgments"]
