"""Which pairs of a topic are judged when not all are: connected, and every text equally often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

Edge = tuple[int, int]

# Rounds over all topics, and how many pairs may be counted anew in all of them.
SWEEPS, BUDGET = 3, 1_200_000


def nearly_regular(texts: int, pairs: int) -> list[Edge]:
    """Choose ``pairs`` different pairs of 0..texts-1 so that each occurs equally often, within one.

    From texts - 1 pairs on they are connected. K_n falls into Hamiltonian cycles (Walecki; n odd)
    or into perfect matchings two of which in a row make a Hamiltonian cycle (the circle method of
    round-robin tournaments; n even). Taken in that order, and each cycle every second pair first,
    any beginning of the list has degrees that differ by at most one; and the first n - 1 pairs are
    a Hamiltonian cycle less one, so a path through all texts.
    """
    source = _rounds(texts) if texts % 2 == 0 else _cycles(texts)
    return list(islice(source, pairs))


def _rounds(n: int) -> Iterator[Edge]:
    """The pairs of n (even) players, round after round: player n - 1 stays, the others turn."""
    turning = n - 1
    for r in range(turning):
        yield (r, n - 1)
        for k in range(1, n // 2):
            yield ((r + k) % turning, (r - k) % turning)


def _cycles(n: int) -> Iterator[Edge]:
    """The pairs of n (odd) texts, Hamiltonian cycle after cycle, each in an even order."""
    turning = n - 1
    for r in range(turning // 2):
        zigzag = [(r + (k + 1) // 2 * (1 if k % 2 else -1)) % turning for k in range(turning)]
        cycle = [n - 1, *zigzag]
        # A matching of all but the last text, then that text's pair, then the gaps.
        steps = [*range(0, n - 2, 2), n - 2, *range(1, n - 3, 2), n - 1]
        for k in steps:
            yield (cycle[k], cycle[(k + 1) % n])


def topic_blocks(
    sizes: Sequence[int], pairs: Sequence[int], rng: np.random.Generator
) -> list[list[Edge]]:
    """For each topic, ``pairs`` pairs of its texts 0..size-1, the texts in random roles."""
    blocks = []
    for size, count in zip(sizes, pairs, strict=True):
        role = rng.permutation(size).tolist()
        blocks.append([(role[a], role[b]) for a, b in nearly_regular(size, count)])
    return blocks


def balanced_blocks(
    sources: Sequence[Sequence[int]], pairs: Sequence[int], rng: np.random.Generator
) -> list[list[Edge]]:
    """Make blocks as ``topic_blocks``, assigning roles so that sources meet about equally often.

    ``sources[t][i]`` numbers the source of text i of topic t. Two texts of a topic swap roles as
    long as that lowers the sum of squares of the meetings of every two sources over all topics:
    for a given sum, least where they are equal. Connectedness and degrees do not depend on roles.
    """
    n = 1 + max((max(row, default=0) for row in sources), default=0)
    meetings = [[0] * n for _ in range(n)]
    topics = []
    for row, count in zip(sources, pairs, strict=True):
        topic = _Roles(row, nearly_regular(len(row), count), rng.permutation(len(row)).tolist())
        topic.count(meetings, +1)
        topics.append(topic)
    # A swap counts the pairs of two roles, twice each, and is often taken back.
    tries = BUDGET / SWEEPS / (8 * max(1, sum(len(topic.edges) for topic in topics)))
    for _ in range(SWEEPS):
        turns = [topics[t] for t in rng.permutation(len(topics))]
        if not any([topic.improve(meetings, int(tries * len(topic.text)), rng) for topic in turns]):
            break
    return [topic.pairs() for topic in topics]


class _Roles:
    """A topic's fixed pairs of roles, and which text plays which."""

    def __init__(self, source: Sequence[int], edges: list[Edge], text: list[int]) -> None:
        self.source, self.edges, self.text = source, edges, text
        self.near: list[list[int]] = [[] for _ in text]
        for a, b in edges:
            self.near[a].append(b)
            self.near[b].append(a)

    def pairs(self) -> list[Edge]:
        """Return the pairs of texts, one for each edge."""
        return [(self.text[a], self.text[b]) for a, b in self.edges]

    def count(self, meetings: list[list[int]], sign: int) -> None:
        for a, b in self.edges:
            x, y = self.source[self.text[a]], self.source[self.text[b]]
            meetings[x][y] += sign
            if x != y:
                meetings[y][x] += sign

    def improve(self, meetings: list[list[int]], tries: int, rng: np.random.Generator) -> bool:
        """Try every swap of roles, or so many, and keep what helps; whether anything did."""
        size = len(self.text)
        if size * (size - 1) // 2 <= tries:
            swaps = [(a, b) for a in range(size) for b in range(a)]
        else:
            swaps = rng.integers(size, size=(tries, 2)).tolist()
        helped = False
        for a, b in swaps:
            if self.source[self.text[a]] == self.source[self.text[b]]:
                continue
            change = self._move(meetings, a, b, -1)
            self._swap(a, b)
            change += self._move(meetings, a, b, +1)
            if change < 0:
                helped = True
                continue
            self._move(meetings, a, b, -1)
            self._swap(a, b)
            self._move(meetings, a, b, +1)
        return helped

    def _swap(self, a: int, b: int) -> None:
        self.text[a], self.text[b] = self.text[b], self.text[a]

    def _move(self, meetings: list[list[int]], a: int, b: int, sign: int) -> int:
        """Add or remove the pairs of roles a and b; the change of the sum of squares."""
        change = 0
        for role, other in ((a, b), (b, a)):
            x = self.source[self.text[role]]
            for near in self.near[role]:
                if near == other:  # the pair of both stays one of the same two sources
                    continue
                y = self.source[self.text[near]]
                change += 2 * sign * meetings[x][y] + 1
                meetings[x][y] += sign
                if x != y:
                    meetings[y][x] += sign
        return change
