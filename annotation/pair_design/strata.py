"""Strata of pairs by length and origin, and which pairs are judged a second time, turned round.

CrowdRAG (section 3.2.1) stratified the questionnaires by the length of the responses, so that all
mean equal work, and the reversed pairs by length and origin.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from annotation.pair_design.graph import IntArray
from annotation.pair_design.model import UNNAMED, Text

WORK = ("short", "medium", "long")
CONTRAST = ("alike", "apart")
EPS = 1e-9


@dataclass(frozen=True, eq=False)
class ChosenPairs:
    """The pairs of a study: ``first``, ``second`` (n,) index texts, ``topic`` (n,) the topics."""

    first: IntArray
    second: IntArray
    topic: IntArray
    n_topics: int

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, eq=False)
class Strata:
    """``of`` (n,) numbers each pair's stratum, ``names`` says what they are.

    ``repeats`` (s,): how many pairs of each are judged again.
    """

    of: IntArray
    names: tuple[str, ...]
    repeats: IntArray

    @property
    def pairs(self) -> IntArray:
        """Number of pairs in each stratum (s,)."""
        return np.bincount(self.of, minlength=len(self.names))


@dataclass(frozen=True, eq=False)
class _Traits:
    """Of each pair: its origins, the words of both texts, and bands of these and of the gap."""

    origins: list[str]
    words: IntArray
    work: IntArray
    contrast: IntArray


def no_strata(pairs: int, repeats: int) -> Strata:
    """Put all pairs into one stratum without a name."""
    return Strata(np.zeros(pairs, dtype=np.int64), ("",), np.array([repeats]))


def natural_strata(texts: Sequence[Text], chosen: ChosenPairs, repeats: int) -> Strata:
    """Strata by both origins x words together (three bands) x difference in words (two).

    The bands are those of all pairs of the study; only combinations that occur are strata, and
    what all pairs have in common is not said. Each stratum gets its share of the repeats to within
    one.
    """
    traits = _traits(texts, chosen)
    parts = [traits.origins, [WORK[k] for k in traits.work], [CONTRAST[k] for k in traits.contrast]]
    telling = [part for part in parts if len(set(part)) > 1] or [[""] * len(chosen)]
    label = [", ".join(words) for words in zip(*telling, strict=True)]
    names, of = np.unique(label, return_inverse=True)
    of = of.ravel().astype(np.int64)
    return Strata(of, tuple(names.tolist()), _shares(np.bincount(of), repeats))


def equal_strata(texts: Sequence[Text], chosen: ChosenPairs, repeats: int, strata: int) -> Strata:
    """``strata`` slices of equal size to within one, of the pairs sorted by origins and lengths.

    Sorted by origins, then by band of words together, then by difference; the repeats are shared
    out so that pairs and repeats together differ by as little as can be between slices.
    """
    n = len(chosen)
    traits = _traits(texts, chosen)
    gap = _gap(texts, chosen)
    rank = np.unique(traits.origins, return_inverse=True)[1].ravel()
    order = np.lexsort((traits.words, gap, traits.work, rank))
    edges = np.round(np.linspace(0, n, strata + 1)).astype(np.int64)
    of = np.empty(n, dtype=np.int64)
    names = []
    for s in range(strata):
        inside = order[edges[s] : edges[s + 1]]
        of[inside] = s
        low, high = int(traits.words[inside].min()), int(traits.words[inside].max())
        origins = " or ".join(sorted({traits.origins[p] for p in inside.tolist()}))
        names.append(f"{s + 1} of {strata}: {origins}, {low} to {high} words")
    sizes = np.diff(edges)
    base, extra = divmod(repeats, strata)
    more = sizes == sizes.max()
    # An extra repeat goes to the smaller slices, unless they repeat all they have already.
    first = ~more if base < sizes.min() else more
    counts = np.full(strata, base, dtype=np.int64)
    counts[np.lexsort((np.arange(strata), ~first))[:extra]] += 1
    return Strata(of, tuple(names), counts)


def choose_repeats(
    chosen: ChosenPairs, strata: Strata, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Choose the pairs (n,) to repeat: ``strata.repeats`` of each stratum, spread over topics.

    Each topic gets its share of all repeats to within one, where the strata leave that open.
    """
    n, topics = len(chosen), chosen.n_topics
    total = int(strata.repeats.sum())
    cells = np.zeros((len(strata.names), topics), dtype=np.int64)
    np.add.at(cells, (strata.of, chosen.topic), 1)
    share = (np.bincount(chosen.topic, minlength=topics) * (total / n)).astype(np.float64)
    picked = np.zeros_like(cells)
    noise = EPS * rng.random(topics)
    draws = np.repeat(np.arange(len(strata.names)), strata.repeats)
    for s in rng.permutation(draws).tolist():
        want = share - picked.sum(axis=0) + noise
        picked[s, int(np.where(picked[s] < cells[s], want, -np.inf).argmax())] += 1
    _even_out(picked, cells, share)
    again = np.zeros(n, dtype=bool)
    left = picked.copy()
    for p in rng.permutation(n).tolist():
        s, t = strata.of[p], chosen.topic[p]
        if left[s, t]:
            left[s, t] -= 1
            again[p] = True
    return again


def _even_out(picked: IntArray, cells: IntArray, share: NDArray[np.float64]) -> None:
    """Move picks within strata, from topic to topic, until all have their share to within one.

    A chain of topics leads from one over its share to one under it (an augmenting path); it stops
    where the strata leave no chain.
    """
    while True:
        excess = picked.sum(axis=0) - share
        path = _chain(picked, cells, excess > 1 - EPS, excess < -1e3 * EPS) or _chain(
            picked, cells, excess > 1e3 * EPS, excess < EPS - 1
        )
        if not path:
            return
        for a, b in pairwise(path):
            s = int(np.flatnonzero((picked[:, a] > 0) & (picked[:, b] < cells[:, b]))[0])
            picked[s, a] -= 1
            picked[s, b] += 1


def _chain(
    picked: IntArray, cells: IntArray, source: NDArray[np.bool_], target: NDArray[np.bool_]
) -> list[int]:
    """The shortest chain of topics from one that is ``source`` to one that is ``target``, or [].

    Each can give a pick to the next: some stratum has one of the former and a free pair of the
    latter.
    """
    if not source.any() or not target.any():
        return []
    came = np.where(source, np.arange(len(source)), -1)
    queue = deque(np.flatnonzero(source).tolist())
    while queue:
        here = queue.popleft()
        giving = picked[:, here] > 0
        new = np.flatnonzero((picked[giving] < cells[giving]).any(axis=0) & (came < 0))
        came[new] = here
        if target[new].any():
            path = [int(new[target[new]][0])]
            while not source[path[-1]]:
                path.append(int(came[path[-1]]))
            return path[::-1]
        queue.extend(new.tolist())
    return []


def _gap(texts: Sequence[Text], chosen: ChosenPairs) -> IntArray:
    words = np.array([text.words for text in texts], dtype=np.int64)
    return np.abs(words[chosen.first] - words[chosen.second])


def _traits(texts: Sequence[Text], chosen: ChosenPairs) -> _Traits:
    words = np.array([text.words for text in texts], dtype=np.int64)
    both, gap = words[chosen.first] + words[chosen.second], _gap(texts, chosen)
    origins = [
        " + ".join(sorted((texts[a].origin or UNNAMED, texts[b].origin or UNNAMED)))
        for a, b in zip(chosen.first.tolist(), chosen.second.tolist(), strict=True)
    ]
    work = np.searchsorted(np.quantile(both, (1 / 3, 2 / 3)), both)
    contrast = np.searchsorted([np.quantile(gap, 1 / 2)], gap)
    return _Traits(origins, both, work, contrast)


def _shares(sizes: IntArray, total: int) -> IntArray:
    """``total`` shared out in proportion to ``sizes``: each its share rounded down or up."""
    exact = total * sizes / sizes.sum()
    shares = np.floor(exact + EPS).astype(np.int64)
    rest = np.argsort(shares - exact, kind="stable")[: total - shares.sum()]
    shares[rest] += 1
    return shares
