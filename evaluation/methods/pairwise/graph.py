"""What holds a study together: parts of the worker-pair graph, and how thin their links are."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from evaluation.methods.core.base import IntArray
from evaluation.methods.core.components import components
from evaluation.methods.pairwise.order.data import ShownVotes


def parts_of(people: ShownVotes) -> list[dict[str, int | None]]:
    """The parts of the graph that share nothing, the one with most workers first.

    ``number``, ``workers``, ``pairs``, ``judgments``; and the thinnest link: ``link`` is the
    largest number of shared pairs such that chains of workers, each sharing as many with the
    next, still reach everybody; one pair more is asked and ``side`` workers (the smaller side)
    stand apart. Both None for a part of one worker.
    """
    worker, pair = components(people.worker, people.pair, len(people.workers), len(people.pairs))
    count = int(worker.max(initial=0)) + 1
    workers, pairs = (np.bincount(number, minlength=count) for number in (worker, pair))
    n = np.bincount(worker[people.worker], minlength=count)
    tree = _widest_tree(people)
    found: list[dict[str, int | None]] = []
    for k in range(1, count):
        link, side = thinnest(tree, np.flatnonzero(worker == k))
        found.append(
            {
                "number": k,
                "workers": int(workers[k]),
                "pairs": int(pairs[k]),
                "judgments": int(n[k]),
                "link": link,
                "side": side,
            }
        )
    return found


def _widest_tree(people: ShownVotes) -> csr_array:
    """A spanning forest of the workers (w, w) whose edges, shared pairs, are as many as can be."""
    known = np.unique(people.worker * len(people.pairs) + people.pair)
    met = coo_array(
        (np.ones(len(known)), (known // len(people.pairs), known % len(people.pairs))),
        shape=(len(people.workers), len(people.pairs)),
    ).tocsr()
    shared = coo_array(met @ met.T)
    apart = shared.row != shared.col
    most = float(shared.data.max(initial=0.0)) + 1
    # The tree of least cost is the one of most shared pairs; a cost of 0 would be no edge.
    cost = coo_array(
        (most - shared.data[apart], (shared.row[apart], shared.col[apart])), shape=shared.shape
    )
    tree = coo_array(minimum_spanning_tree(cost.tocsr()))
    return coo_array((most - tree.data, (tree.row, tree.col)), shape=tree.shape).tocsr()


def thinnest(tree: csr_array, members: IntArray) -> tuple[int | None, int | None]:
    """The least edge of a tree (w, w) among ``members``, and how many it parts from the rest."""
    own = coo_array(tree[members][:, members])
    if not own.nnz:
        return None, None
    least = int(own.data.argmin())
    rest = np.arange(own.nnz) != least
    _, label = connected_components(
        coo_array((own.data[rest], (own.row[rest], own.col[rest])), shape=own.shape),
        directed=False,
    )
    size = int((label == label[own.row[least]]).sum())
    return int(own.data[least]), min(size, len(members) - size)
