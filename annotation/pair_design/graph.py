"""What is connected, and by how much: only what a chain of shared judgments links compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
MOST_NODES = 400


def comparison_components(
    first: Sequence[int] | IntArray, second: Sequence[int] | IntArray, n: int
) -> IntArray:
    """Number the connected parts of n candidates or sources compared as first[k] -- second[k].

    Returns (n,): numbers from 1, the largest part first, ties by the smallest member. A node
    without a comparison is a part of its own.
    """
    a, b = _ends(first, second, n, n)
    label = _labels(a, b, n)
    _, start, part, size = np.unique(
        label, return_index=True, return_inverse=True, return_counts=True
    )
    number = np.empty(len(size), dtype=np.int64)
    number[np.lexsort((start, -size))] = np.arange(1, len(size) + 1)
    return number[part.ravel()]


def components(
    worker: Sequence[int] | IntArray,
    item: Sequence[int] | IntArray,
    n_workers: int,
    n_items: int,
) -> tuple[IntArray, IntArray]:
    """Number the connected parts of the graph in which worker[k] judged item[k].

    Returns the numbers of the workers (n_workers,) and items (n_items,): from 1, the part with
    most workers first, ties by the smallest worker. Who judged nothing, and what nobody judged,
    gets 0. Competence compares within a part alone.
    """
    w, i = _ends(worker, item, n_workers, n_items)
    label = _labels(w, n_workers + i, n_workers + n_items)
    active = np.unique(w)
    found, start, size = np.unique(label[active], return_index=True, return_counts=True)
    number = np.zeros(n_workers + n_items, dtype=np.int64)  # by label
    number[found[np.lexsort((start, -size))]] = np.arange(1, len(found) + 1)
    # A label is the smallest member of its part; what has no edge is labelled by itself.
    part = number[label]
    return part[:n_workers], part[n_workers:]


@dataclass(frozen=True)
class Link:
    """Where a comparison graph is easiest to split.

    ``comparisons``: how many must be lost before ``side`` stands apart from the rest; 0 says that
    it does already.
    """

    comparisons: int
    side: tuple[int, ...]


def thinnest_link(
    first: Sequence[int] | IntArray, second: Sequence[int] | IntArray, n: int
) -> Link | None:
    """Find the fewest comparisons whose removal splits the n nodes, and the smaller part.

    A minimum cut of the multigraph by Stoer and Wagner (1997), for up to 400 nodes; None for
    fewer than two. Raises ValueError for more nodes or an index out of range.
    """
    if n > MOST_NODES:
        raise ValueError(f"{n} nodes; the thinnest link is sought among {MOST_NODES} at most")
    if n < 2:
        return None
    a, b = _ends(first, second, n, n)
    weight = np.zeros((n, n), dtype=np.int64)
    np.add.at(weight, (a, b), 1)
    np.add.at(weight, (b, a), 1)
    np.fill_diagonal(weight, 0)
    members = [[node] for node in range(n)]
    left = np.arange(n)
    best, side = np.iinfo(np.int64).max, [0]
    while len(left) > 1:
        before, last, cut = _phase(weight, left)
        if cut < best:
            best, side = cut, list(members[last])
        members[before] += members[last]
        weight[before] += weight[last]
        weight[:, before] += weight[:, last]
        weight[before, before] = 0
        left = left[left != last]
    if 2 * len(side) > n:
        side = sorted(set(range(n)) - set(side))
    return Link(int(best), tuple(sorted(side)))


def _phase(weight: IntArray, left: IntArray) -> tuple[int, int, int]:
    """Run one maximum adjacency search; return its last two nodes and the last one's weight."""
    pull = weight[left[0]].copy()
    waiting = np.zeros(len(weight), dtype=bool)
    waiting[left[1:]] = True
    before = last = int(left[0])
    for _ in range(len(left) - 1):
        before, last = last, int(np.where(waiting, pull, -1).argmax())
        waiting[last] = False
        cut = int(pull[last])
        pull += weight[last]
    return before, last, cut


def _ends(
    left: Sequence[int] | IntArray, right: Sequence[int] | IntArray, n_left: int, n_right: int
) -> tuple[IntArray, IntArray]:
    a, b = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"the two ends have shapes {a.shape} and {b.shape}")
    for ends, n in ((a, n_left), (b, n_right)):
        if len(ends) and not 0 <= ends.min() <= ends.max() < n:
            raise ValueError(f"an index lies outside 0..{n - 1}")
    return a, b


def _labels(a: IntArray, b: IntArray, n: int) -> IntArray:
    """Return for each of n nodes the smallest node of its connected part."""
    root = np.arange(n, dtype=np.int64)
    while True:
        x, y = root[a], root[b]
        apart = x != y
        if not apart.any():
            return root
        np.minimum.at(root, np.maximum(x, y)[apart], np.minimum(x, y)[apart])
        while (root[root] != root).any():
            root = root[root]
