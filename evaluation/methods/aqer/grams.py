"""What the rounds need of the answers' vectors: how alike the answers to each question are.

With K the cosines of one question's answers (its Gram matrix) and w their votes, an answer's dot
product with the exemplary answer is (K w)_i and the exemplary answer's squared length w' K w. So
the vectors are read once, question by question, and need not stay. A question with more than
``TALL`` times as many answers as the vectors are wide keeps its vectors, which are smaller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import (
    BadShape,
    BadVector,
    EmptyData,
    FloatArray,
    IntArray,
    VectorRows,
    refuse_unequal,
)

Floats = NDArray[np.floating[Any]]
Piece = tuple[IntArray, IntArray, Floats]  # workers (c,), questions (c,), vectors (c, d)
TALL = 2
ANSWERS = 16_384  # in a block, so that its arrays stay in the cache
NUMBERS = 2_000_000  # cosines in a block at most, unless one question has more
AT_ONCE = 2048  # answers whose vectors are compared at once
EXACT = 64  # answers a question up to which sums are in double precision: few votes may cancel


@dataclass(frozen=True, eq=False)
class Block:
    """Questions (k,) with m answers each; ``first`` (k,) is the row of each one's first answer.

    ``alike`` (k, m, m) are cosines of different answers, 0 on the diagonal. A tall block is one
    question: ``alike`` (1, m, d) are its vectors and ``inverse`` (1, m) one over their lengths.
    """

    question: IntArray
    first: IntArray
    alike: Floats
    inverse: FloatArray | None = None

    @property
    def rows(self) -> IntArray:
        """The rows of the answers (m, k)."""
        return self.first + np.arange(self.alike.shape[1])[:, None]

    def towards(self, own: FloatArray) -> FloatArray:
        """Return each answer's dot product with the sum of the others' weighted unit vectors.

        ``own`` and the result are (m, k, b): answers, questions, weightings.
        """
        cast = own.swapaxes(0, 1)
        if self.inverse is None:
            exact = np.float64 if self.alike.shape[1] <= EXACT else self.alike.dtype
            alike = self.alike.astype(exact, copy=False)
            found: Any = alike @ cast.astype(exact, copy=False)
            return found.astype(np.float64, copy=False).swapaxes(0, 1)
        inverse, vectors = self.inverse[0, :, None], self.alike[0]
        votes = (cast[0] * inverse).astype(vectors.dtype)
        found = (vectors @ (vectors.T @ votes)).astype(np.float64) * inverse
        return (found - cast[0] * (inverse > 0))[:, None]

    def cosines(self) -> Floats:
        """Cosines of different answers (k, m, m), 0 on the diagonal."""
        if self.inverse is None:
            return self.alike
        return _cosines(self.alike, self.inverse)

    @property
    def work(self) -> float:
        """Number of multiplications in one round."""
        return float(self.alike.size * (1 if self.inverse is None else 2))


@dataclass(frozen=True, eq=False)
class Rows:
    """Answers (n,) of one component, sorted by question, ready for rounds.

    ``worker`` (n,) is local (0..n_workers-1; int32), ``starts`` (q+1,) bounds each
    question's rows, ``present`` (n,) is False for a zero vector. ``vectors`` (u, d), which may
    lie elsewhere, and ``index`` (n,), each row's vector, are None where they cannot be read again.
    """

    worker: IntArray
    starts: IntArray
    present: NDArray[np.bool_]
    blocks: tuple[Block, ...]
    n_workers: int
    vectors: VectorRows | None = None
    index: IntArray | None = None

    @cached_property
    def question(self) -> IntArray:
        """Return each row's local question (n,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def work(self) -> float:
        """Number of multiplications in one round."""
        return sum(block.work for block in self.blocks)

    @property
    def tall_pairs(self) -> float:
        """Pairs of answers of which no cosine is kept."""
        return float(sum(b.alike.shape[1] ** 2 for b in self.blocks if b.inverse is not None))


def stream(pieces: Iterable[Piece], n_workers: int, folder: Path | None = None) -> Rows:
    """Rows from pieces in the order of questions; none of the vectors need stay in memory.

    A piece holds answers of whole questions. Questions are numbered as they come, whatever their
    numbers are; the rows keep the order of the answers. With a ``folder`` the cosines are memory
    maps of a file in it, which the caller removes. Raises BadShape where lengths differ, questions
    are not in order or a worker is unknown; BadVector; EmptyData.
    """
    workers: list[Any] = []  # int32: half the memory
    sizes: list[IntArray] = []

    def whole() -> Iterator[tuple[IntArray, Floats]]:
        last = -1
        for worker, question, vectors in pieces:
            refuse_unequal(worker=worker, question=question, vectors=vectors)
            if not len(question):
                continue
            if not 0 <= worker.min() <= worker.max() < n_workers:
                raise BadShape(f"a worker is not in 0..{n_workers - 1}")
            key = question.astype(np.int64) * n_workers + worker
            if question[0] <= last or np.any(np.diff(key) <= 0):
                raise BadShape(
                    "pieces must hold whole questions in ascending order, and the workers of a "
                    "question in ascending order, each once"
                )
            last = int(question[-1])
            found = np.diff(np.flatnonzero(np.diff(question, prepend=-1, append=last + 1)))
            workers.append(worker.astype(np.int32))
            sizes.append(found)
            ends = np.concatenate([[0], np.cumsum(found)])
            for part in parts_of(found):
                yield found[part], vectors[ends[part.start] : ends[part.stop]]

    blocks, present = build(whole(), folder)
    if not sizes:
        raise EmptyData("there are no answers to score")
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return Rows(np.concatenate(workers), starts, present, blocks, n_workers)


def build(
    pieces: Iterable[tuple[IntArray, Floats]], folder: Path | None = None
) -> tuple[tuple[Block, ...], NDArray[np.bool_]]:
    """Blocks, and which answers (n,) have a direction, from answers a question and vectors."""
    done: list[Block] = []
    waiting: dict[int, list[Block]] = {}
    present: list[NDArray[np.bool_]] = []
    questions = rows = 0
    with ExitStack() as stack:
        file = None if folder is None else stack.enter_context((folder / "alike").open("wb"))
        for sizes, vectors in pieces:
            here = np.empty(len(vectors), dtype=bool)
            starts = np.cumsum(sizes) - sizes
            for m in np.unique(sizes).tolist():
                which = np.flatnonzero(sizes == m)
                tall = m > TALL * vectors.shape[1]
                for some in np.split(which, len(which)) if tall else [which]:
                    alike, inverse = _block_matrix(vectors, starts[some], m, tall=tall)
                    here[starts[some][:, None] + np.arange(m)] = inverse > 0
                    first = rows + starts[some]
                    block = Block(questions + some, first, alike, inverse if tall else None)
                    same = waiting.setdefault(m, [])
                    same.append(block)
                    count = sum(len(one.first) for one in same)
                    if tall or count * m >= ANSWERS or count * m**2 >= NUMBERS:
                        done.append(_joined(waiting.pop(m), file))
            present.append(here)
            questions, rows = questions + len(sizes), rows + len(vectors)
        done.extend(_joined(same, file) for same in waiting.values())
    return tuple(done), np.concatenate([np.empty(0, dtype=bool), *present])


def parts_of(sizes: IntArray) -> Iterator[slice]:
    """Yield ranges of questions whose vectors fit the cache; ``sizes`` (q,) count their answers."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = int(ends[start] - sizes[start])
        stop = max(start + 1, int(np.searchsorted(ends, before + AT_ONCE, side="right")))
        yield slice(start, stop)
        start = stop


def gather(vectors: VectorRows, index: IntArray, dtype: type[np.floating[Any]]) -> Floats:
    """Read the rows ``index`` as a matrix, without a copy if they are consecutive."""
    if np.all(np.diff(index) == 1):
        return vectors[index[0] : index[-1] + 1].astype(dtype, copy=False)
    return vectors[index].astype(dtype, copy=False)


def unit(vectors: Floats) -> FloatArray:
    """Scale vectors (k, d) to length 1; zero vectors stay zero."""
    exact = vectors.astype(np.float64, copy=False)
    return exact * _inverse(np.einsum("ij,ij->i", exact, exact))[:, None]


def _block_matrix(
    vectors: Floats, starts: IntArray, m: int, *, tall: bool
) -> tuple[Floats, FloatArray]:
    """What a block keeps of questions of m answers each, and one over the lengths (k, m)."""
    if tall:
        answers = vectors[None, starts[0] : starts[0] + m]
        return answers, _inverse(np.einsum("kmd,kmd->km", answers, answers))
    if len(starts) * m == len(vectors):
        answers = vectors.reshape(len(starts), m, -1)
    else:
        answers = vectors[starts[:, None] + np.arange(m)]
    alike = answers @ answers.swapaxes(1, 2)
    inverse = _inverse(np.einsum("kmm->km", alike))
    return _scaled(alike, inverse), inverse


def _cosines(vectors: Floats, inverse: FloatArray) -> Floats:
    """Cosines of different answers (k, m, m) from vectors (k, m, d), 0 on the diagonal."""
    return _scaled(vectors @ vectors.swapaxes(1, 2), inverse)


def _scaled(alike: Floats, inverse: FloatArray) -> Floats:
    alike *= inverse[:, :, None].astype(alike.dtype)
    alike *= inverse[:, None, :].astype(alike.dtype)
    np.einsum("kmm->km", alike)[:] = 0
    return alike


def _inverse(squared: Floats) -> FloatArray:
    """Return one over the lengths; 0 for zero vectors."""
    if not np.all(np.isfinite(squared)):
        raise BadVector("a vector has an entry that is not finite, or is too long")
    lengths = np.sqrt(squared.astype(np.float64))
    return np.where(lengths > 0, 1.0 / np.where(lengths > 0, lengths, 1.0), 0.0)


def _joined(same: list[Block], file: BinaryIO | None) -> Block:
    """Blocks of questions with equally many answers as one, in the file where there is one."""
    alike = same[0].alike if len(same) == 1 else np.concatenate([one.alike for one in same])
    if file is not None:
        offset = file.tell()
        alike.tofile(file)
        file.flush()
        alike = np.memmap(file.name, alike.dtype, "r", offset, alike.shape)
    question = np.concatenate([one.question for one in same])
    first = np.concatenate([one.first for one in same])
    return Block(question, first, alike, same[0].inverse)
