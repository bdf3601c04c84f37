"""What holds workers together, and neutral answers by place, against counting by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from evaluation.methods.pairwise.judgments import ShownVotes
from evaluation.methods.pairwise.method import parts_of
from evaluation.methods.pairwise.order.study import by_position


def shown(edges: list[tuple[int, int]], *, seed: int = 0) -> ShownVotes:
    """Judgments of worker on pair, with votes drawn on two dimensions."""
    rng = np.random.default_rng(seed)
    worker, pair = (np.array([edge[k] for edge in edges]) for k in (0, 1))
    position = np.array([sum(w == e[0] for e in edges[:k]) + 1 for k, w in enumerate(worker)])
    return ShownVotes.build(
        worker,
        pair,
        rng.random(len(edges)) < 0.5,
        position,
        rng.integers(0, 3, size=(len(edges), 2)),
        workers=[str(k) for k in range(int(worker.max()) + 1)],
        pairs=[str(k) for k in range(int(pair.max()) + 1)],
        dimensions=["one", "two"],
    )


def connected(nodes: list[int], links: list[tuple[int, int]]) -> bool:
    reached, waiting = {nodes[0]}, [nodes[0]]
    while waiting:
        now = waiting.pop()
        for a, b in links:
            for one, two in ((a, b), (b, a)):
                if one == now and two not in reached:
                    reached.add(two)
                    waiting.append(two)
    return len(reached) == len(nodes)


@pytest.mark.parametrize("seed", range(12))
def test_the_thinnest_link_is_the_most_shared_pairs_that_still_reach_everybody(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = sorted({(int(rng.integers(7)), int(rng.integers(12))) for _ in range(26)})
    people = shown(edges)
    for part in parts_of(people):
        own = {w for w, _ in edges} if part["workers"] == 7 else None
        if own is None:
            continue
        of = {w: {p for v, p in edges if v == w} for w in own}
        shared = {(a, b): len(of[a] & of[b]) for a, b in combinations(sorted(own), 2)}
        reach = [
            t
            for t in range(1, 13)
            if connected(sorted(own), [pair for pair, n in shared.items() if n >= t])
        ]
        assert part["link"] == max(reach)
        assert part["side"] is not None and 1 <= part["side"] <= 3


def test_parts_are_told_apart_and_somebody_alone_hangs_on_nothing() -> None:
    two = [(w, p) for w in (0, 1, 2) for p in (0, 1, 2)] + [(3, 3), (4, 3), (5, 9)]
    parts = parts_of(shown(two))
    assert [(p["workers"], p["link"], p["side"]) for p in parts] == [
        (3, 3, 1),
        (2, 1, 1),
        (1, None, None),
    ]
    assert [p["judgments"] for p in parts] == [9, 2, 1]


def test_neutral_answers_by_place_are_the_plain_shares_whichever_way_pairs_were_shown() -> None:
    people = shown([(w, p) for w in range(9) for p in range(6)], seed=4)
    rows = by_position(people, 0.95).rows()
    assert [row["position"] for row in rows] == [1, 2, 3, 4, 5, 6]
    for row in rows:
        here = people.vote[people.position == row["position"]]
        assert row["neutral"] == pytest.approx((here == 1).mean())
        assert row["low"] < row["neutral"] < row["high"] and row["workers"] == 9
    turned = ShownVotes.build(
        people.worker,
        people.pair,
        ~people.flipped,
        people.position,
        2 - people.vote,
        workers=people.workers,
        pairs=people.pairs,
        dimensions=people.dimensions,
    )
    assert by_position(turned, 0.95).rows() == rows
