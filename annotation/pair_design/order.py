"""The order in which pairs are handed out: every stretch of the list a like mixture.

Any assignment takes a stretch of the list (see ``ring``). Two groupings are to be mixed in it. The
``strict`` one recurs in a fixed circle, or evenly spaced where its groups differ in size; pairs are
then put into these places so that groups of the ``loose`` one stand as far apart as they can. A
repeat stands half the list behind its pair: an assignment then rarely holds both.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.pair_design.graph import IntArray

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
FAR = 1e9
# How long swaps are looked for: rounds, partners of one place, and partners in all.
PASSES, SWAPS, TRIALS = 6, 60, 20_000


@dataclass(frozen=True, eq=False)
class Places:
    """The list before pairs are put into it: a strict group for each place, and what is repeated.

    ``group`` (l,); ``partner`` (l,): of a pair that is judged again the place of the repeat, of a
    repeat the place of the pair, else -1.
    """

    group: IntArray
    partner: IntArray

    @property
    def late(self) -> BoolArray:
        """Whether a place is that of a repeat (l,)."""
        return (self.partner >= 0) & (self.partner < np.arange(len(self.partner)))

    def with_repeat(self, place: int) -> list[int]:
        """Return the place, and that of its repeat if it has one."""
        partner = int(self.partner[place])
        return [place] if partner < 0 else [place, partner]


def arrange(
    strict: IntArray, loose: IntArray, again: BoolArray, bundle: int, rng: np.random.Generator
) -> tuple[IntArray, BoolArray]:
    """Order n pairs, and repeats of the pairs marked in ``again`` (n,), so that groups are spread.

    ``strict`` and ``loose`` (n,) number each pair's groups, ``bundle`` is the stretch in which no
    group should come twice. Returns for each place of the list, l = n + repeats of them, the pair
    (l,) and whether it is the repeat (l,).
    """
    places = _places(strict, again, rng)
    order = _fill(strict, loose, again, places, bundle=bundle, rng=rng)
    _mend(order, loose, places, bundle, rng)
    return order, places.late


def crowded(order: IntArray, group: IntArray, bundle: int) -> int:
    """Count the places in ``order`` (l,) where a group comes again too soon.

    ``group`` (n,) numbers the groups of pairs. Wanted are ``bundle`` places, or as many as there
    are for each pair of the group if it has too many.
    """
    here = group[order]
    crowd = _Crowd(here.tolist(), _wanted(np.bincount(here), bundle))
    return sum(crowd.lack(place) > 0 for place in range(len(order)))


def _places(strict: IntArray, again: BoolArray, rng: np.random.Generator) -> Places:
    """Groups in turn, each with its repeats half its places behind their pairs."""
    n = int(strict.max()) + 1
    repeats = np.bincount(strict[again], minlength=n)
    group = _sequence(np.bincount(strict, minlength=n) + repeats, rng)
    partner = np.full(len(group), -1, dtype=np.int64)
    rows = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    for own, count in zip(rows, repeats.tolist(), strict=True):
        half = len(own) // 2
        early = ((np.arange(count) + 0.5) * half / max(1, count)).astype(np.int64)
        partner[own[early]] = own[early + half]
        partner[own[early + half]] = own[early]
    return Places(group, partner)


def _sequence(sizes: IntArray, rng: np.random.Generator) -> IntArray:
    """Groups (l,) in turn: in a fixed circle where sizes allow it, else evenly spaced each."""
    order = rng.permutation(len(sizes))
    if sizes.max() - sizes.min() <= 1:  # any stretch up to their number holds each once at most
        circle = order[np.argsort(-sizes[order], kind="stable")]
        return np.resize(circle, int(sizes.sum())).astype(np.int64)
    # Phases a golden section apart keep small groups from meeting at the same places.
    phase = np.empty(len(sizes))
    phase[order] = np.arange(1, len(sizes) + 1) * (5**0.5 - 1) / 2 % 1
    group = np.repeat(np.arange(len(sizes)), sizes)
    turn = np.concatenate([np.arange(size) for size in sizes.tolist()])
    return group[np.argsort((turn + phase[group]) / sizes[group], kind="stable")]


def _fill(
    strict: IntArray,
    loose: IntArray,
    again: BoolArray,
    places: Places,
    *,
    bundle: int,
    rng: np.random.Generator,
) -> IntArray:
    """A pair for each place (l,), of its group and judged again or not as the place wants."""
    n = int(loose.max()) + 1
    left = np.zeros((2, int(strict.max()) + 1, n), dtype=np.int64)
    stock: dict[tuple[int, int, int], list[int]] = {}
    for p in rng.permutation(len(strict)).tolist():
        cell = (int(again[p]), int(strict[p]), int(loose[p]))
        left[cell] += 1
        stock.setdefault(cell, []).append(p)
    entries = np.bincount(loose, minlength=n) + np.bincount(loose[again], minlength=n)
    spacing = _Spacing(entries, bundle, rng)
    order = np.full(len(places.group), -1, dtype=np.int64)
    turns = zip(places.group.tolist(), places.partner.tolist(), strict=True)
    for place, (group, partner) in enumerate(turns):
        if order[place] >= 0:  # the repeat of a pair that stands already
            spacing.put(int(loose[order[place]]), place, -1)
            continue
        kind = int(partner >= 0)
        which = spacing.choose(place, partner, left[kind, group] > 0)
        order[place] = stock[kind, group, which].pop()
        left[kind, group, which] -= 1
        if kind:
            order[partner] = order[place]
        spacing.put(which, place, partner)
    return order


def _wanted(entries: IntArray, bundle: int) -> FloatArray:
    """Return how far apart pairs of each group should be: a bundle, or evenly spread."""
    return np.minimum(bundle, entries.sum() / np.maximum(1, entries))


class _Spacing:
    """Where each group stood last and stands next, while the list is filled from its beginning."""

    def __init__(self, entries: IntArray, bundle: int, rng: np.random.Generator) -> None:
        self.length = int(entries.sum())
        self.wanted = _wanted(entries, bundle)
        self.rate = entries / self.length
        self.used = 1e-6 * rng.random(len(entries))  # breaks ties
        self.last = np.full(len(entries), -FAR)
        self.begin = np.full(len(entries), FAR)
        self.next = np.full(len(entries), FAR)
        self.latest = np.full(len(entries), -FAR)
        self.booked: list[list[int]] = [[] for _ in entries]

    def choose(self, place: int, later: int, free: BoolArray) -> int:
        """The group for a place (and for ``later``, if not -1): far from itself, and due most."""
        near = np.minimum(place - self.last, self.next - place)
        near = np.minimum(near, self.begin + self.length - place)
        if later >= 0:
            near = np.minimum(near, np.abs(later - self.latest))
            near = np.minimum(near, self.begin + self.length - later)
        due = (place + 1) * self.rate - self.used
        score = due - 1e3 * np.maximum(0, 1 - near / self.wanted)
        return int(np.where(free, score, -np.inf).argmax())

    def put(self, group: int, place: int, later: int) -> None:
        if later >= 0:
            heapq.heappush(self.booked[group], later)
            self.latest[group] = max(self.latest[group], later)
        elif self.booked[group] and self.booked[group][0] == place:
            heapq.heappop(self.booked[group])
        self.next[group] = self.booked[group][0] if self.booked[group] else FAR
        self.last[group] = place
        self.begin[group] = min(self.begin[group], place)
        self.used[group] += 1


def _mend(
    order: IntArray, loose: IntArray, places: Places, bundle: int, rng: np.random.Generator
) -> None:
    """Swap pairs of one strict group where a loose one stands too near itself, if none suffers."""
    here = loose[order]
    crowd = _Crowd(here.tolist(), _wanted(np.bincount(here), bundle))
    double, late = places.partner >= 0, places.late
    kind = np.where(late, -1, 2 * places.group + double)
    members = {k: np.flatnonzero(kind == k) for k in np.unique(kind).tolist()}
    tried = 0
    for _ in range(PASSES):
        bad = [place for place in range(len(order)) if crowd.lack(place) > 0]
        if not bad:
            return
        for place in bad:
            early = int(places.partner[place]) if late[place] else place
            others = members[int(kind[early])]
            some = others[rng.permutation(len(others))[:SWAPS]].tolist()
            other = _better(crowd, places, early, some)
            if other >= 0:
                for a, b in zip(places.with_repeat(early), places.with_repeat(other), strict=True):
                    order[a], order[b] = order[b], order[a]
            tried += some.index(other) + 1 if other >= 0 else len(some)
            if tried > TRIALS:
                return


def _better(crowd: _Crowd, places: Places, place: int, others: Sequence[int]) -> int:
    """Swap with the first of the others where that adds no crowding: that place, or -1."""
    here = places.with_repeat(place)
    for other in others:
        if crowd.group[other] == crowd.group[place]:
            continue
        there = places.with_repeat(other)
        before = sum(map(crowd.lack, here + there))
        crowd.swap(here, there)
        if sum(map(crowd.lack, here + there)) <= before + 1e-9:
            return other
        crowd.swap(here, there)
    return -1


class _Crowd:
    """How near each place's group stands to itself on the ring."""

    def __init__(self, group: list[int], wanted: FloatArray) -> None:
        self.group, self.wanted = group, wanted.tolist()

    def swap(self, here: Sequence[int], there: Sequence[int]) -> None:
        """Exchange the groups at these places."""
        for a, b in zip(here, there, strict=True):
            self.group[a], self.group[b] = self.group[b], self.group[a]

    def lack(self, place: int) -> float:
        """Return how much nearer than wanted the nearest pair of the same group is, 0 to 1."""
        own, n = self.group[place], len(self.group)
        wanted = self.wanted[own]
        for step in range(1, min(int(np.ceil(wanted)), n)):
            if self.group[(place + step) % n] == own or self.group[place - step] == own:
                return max(0.0, 1 - step / wanted)
        return 0.0
