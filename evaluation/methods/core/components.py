"""Connected parts of a bipartite graph: only what is connected by shared questions compares."""

from __future__ import annotations

import numpy as np
import scipy

from evaluation.methods.core.base import IntArray, TooFewWorkers


def components(
    left: IntArray, right: IntArray, n_left: int, n_right: int
) -> tuple[IntArray, IntArray]:
    """Number the connected components of edges left[k] -- right[k] from 1, largest first.

    Size counts the left side (workers); ties go to the smallest left index. Nodes without an edge
    get 0. Returns the numbers of the left (n_left,) and right (n_right,) nodes.
    """
    size = n_left + n_right
    ones = np.ones(len(left), dtype=np.int8)
    graph = scipy.sparse.coo_array((ones, (left, n_left + right)), shape=(size, size))
    _, label = scipy.sparse.csgraph.connected_components(graph, directed=False)
    touched = np.zeros(size, dtype=bool)
    touched[left] = True
    touched[n_left + right] = True
    number = np.zeros(size, dtype=np.int64)
    lefts = np.flatnonzero(touched[:n_left])
    found, first, count = np.unique(label[lefts], return_index=True, return_counts=True)
    order = np.lexsort((lefts[first], -count))
    # One table from label to number: a pass for each component would be quadratic in a forest.
    place = np.zeros(int(label.max(initial=0)) + 1, dtype=np.int64)
    place[found[order]] = np.arange(1, len(order) + 1)
    number[touched] = place[label[touched]]
    return number[:n_left], number[n_left:]


def answer_parts(
    worker: IntArray, question: IntArray, n_workers: int, n_questions: int
) -> tuple[IntArray, IntArray]:
    """Component numbers of workers (m,) and questions (q,) from answers (n,).

    Questions with one answer are in no component (0), nor are workers who share none. Raises
    TooFewWorkers where no question has two answers.
    """
    shared = np.bincount(question, minlength=n_questions)[question] >= 2
    if not shared.any():
        raise TooFewWorkers("no question has answers of two workers; there is nothing to compare")
    return components(worker[shared], question[shared], n_workers, n_questions)
