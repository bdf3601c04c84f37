"""Rounds of a large crowd a few items at a time, so that posteriors never leave the cache.

A round waits for memory, not for arithmetic. Made for all items at once, the posteriors of 500,000
votes in 20 restarts are 17 MB that are written, read and written again, and then read out of order
to be added up by strategy. Made piece by piece, they are added up while they are at hand, and
forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.methods.competence.mace.data import Votes, absent_weight, expected_labels
from evaluation.methods.core.base import FloatArray, IntArray

PIECE = 320_000  # bytes of posteriors that stay in the cache beside what they are made of
LARGE = 4  # pieces from which a crowd is cut
LARGEST = {8: 600.0, 4: 80.0}  # exp of more than about 700 (88 in single precision) overflows
CUT, STEEP = "_cut", "_steep"  # where Votes keep their pieces, and that weights were too large


@dataclass(frozen=True, eq=False)
class Piece:
    """The votes of some items that follow each other: rows ``items`` and ``cells`` of Votes.

    ``cell_item`` counts from the first of its items, ``cell_place`` is as in Votes.
    """

    items: slice
    cells: slice
    matrix: scipy.sparse.csr_array
    per_item: scipy.sparse.csr_array
    cell_item: IntArray
    cell_place: IntArray


def single_piece(votes: Votes) -> Piece:
    """Return all items as one piece."""
    return Piece(
        slice(0, len(votes.absent)),
        slice(0, len(votes.cell_item)),
        votes.matrix,
        votes.per_item,
        votes.cell_item,
        votes.cell_place,
    )


def pieces(votes: Votes, cells: int) -> list[Piece]:
    """Split the items into pieces of at most ``cells`` cells; cached on ``votes``."""
    kept: list[Piece]
    size, kept = votes.__dict__.get(CUT, (0, []))
    if size != cells:
        kept = [_piece(votes, *ends) for ends in _ends(votes, cells)]
        votes.__dict__[CUT] = cells, kept
    return kept


def _ends(votes: Votes, cells: int) -> Iterator[tuple[int, int]]:
    """The first item of each piece, and the one after its last."""
    begins = np.searchsorted(votes.cell_item, np.arange(len(votes.absent) + 1))
    first = 0
    while first < len(votes.absent):
        after = int(np.searchsorted(begins, begins[first] + cells, side="right")) - 1
        after = max(after, first + 1)
        yield first, after
        first = after


def _piece(votes: Votes, first: int, after: int) -> Piece:
    low, high = (int(at) for at in np.searchsorted(votes.cell_item, (first, after)))
    return Piece(
        slice(first, after),
        slice(low, high),
        votes.matrix[low:high],
        votes.per_item[first:after, low:high].tocsr(),
        votes.cell_item[low:high] - first,
        votes.cell_place[low:high],
    )


def normalise(
    piece: Piece, weight: FloatArray, rest: FloatArray, prevalence: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Make log weights of cells posteriors in place; the sums over labels, and 1 / these (i, R).

    ``rest`` (i, R) is the weight of the labels that an item did not get.
    """
    np.exp(weight, out=weight)
    if prevalence is not None:
        weight *= np.take(prevalence, piece.cell_place, axis=0)
    total = piece.per_item @ weight
    total += rest
    inverse = 1.0 / total
    weight *= np.take(inverse, piece.cell_item, axis=0)
    return total, inverse


def in_pieces(
    votes: Votes, ratio: FloatArray, prevalence: FloatArray | None
) -> tuple[FloatArray, FloatArray | None] | None:
    """Run the E-step piece by piece, for large crowds; None if it must run at once.

    Returns expected right votes (u, R) of each strategy, and expected items of each label.

    Sums are those of ``e_step`` and ``expected`` to the last bit. None for a crowd that is not
    ``LARGE``, and for one with a weight too large for its exponential, from its first such round
    on: ``e_step`` shifts such weights.
    """
    size, restarts = len(votes.cell_item), ratio.shape[1]
    if size * restarts * ratio.itemsize <= LARGE * PIECE or STEEP in votes.__dict__:
        return None
    log, right = np.log1p(ratio), np.zeros(ratio.shape, dtype=ratio.dtype)
    rest = absent_weight(votes, prevalence)
    posterior = missing = np.empty((0, restarts), dtype=ratio.dtype)
    if prevalence is not None:
        posterior = np.empty((size, restarts), dtype=ratio.dtype)
        missing = np.empty((len(votes.absent), restarts), dtype=ratio.dtype)
    for piece in pieces(votes, max(1, PIECE // (restarts * ratio.itemsize))):
        weight = piece.matrix @ log
        if weight.max(initial=0.0) > LARGEST[weight.itemsize]:
            votes.__dict__[STEEP] = True
            return None
        _, inverse = normalise(piece, weight, rest[piece.items], prevalence)
        _add_transposed(piece.matrix, weight, right)
        if prevalence is not None:
            posterior[piece.cells], missing[piece.items] = weight, inverse
    if prevalence is None:
        return right, None
    return right, expected_labels(votes, prevalence, posterior, missing)


def _add_transposed(matrix: scipy.sparse.csr_array, values: FloatArray, found: FloatArray) -> None:
    """Add the transposed matrix (n, m) times values (n, R) to ``found`` (m, R).

    SciPy's own product has no public form that adds to what is there, and a new table for every
    piece would cost more than the product.
    """
    rows, columns = matrix.shape
    # Named here, as importing it would load scipy.sparse in every process.
    scipy.sparse._sparsetools.csc_matvecs(
        columns,
        rows,
        values.shape[1],
        matrix.indptr,
        matrix.indices,
        matrix.data,
        values.reshape(-1),
        found.reshape(-1),
    )
