"""What every method shares: its data as index arrays, its frozen result, its errors, its hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
# progress(stage, done, total): called often, so whoever passes it should throttle what it stores.
Progress = Callable[[str, int, int], None]
# Up to this many numbers (64 MB) a matrix is worked on in float64; above it, memory decides.
SMALL = 8_000_000


class DataError(ValueError):
    """Data that a method cannot take; the message names what is wrong."""


class EmptyData(DataError):
    """The data holds nothing to score."""


class UnknownIndex(DataError):
    """An index or a name that points at nothing."""


class BadVector(DataError):
    """A vector with an entry that is not a finite number."""


class BadShape(DataError):
    """Arrays whose shapes do not fit together."""


class TooFewWorkers(DataError):
    """Fewer than two workers share a question, so nobody can be compared."""


class DuplicateAnswer(DataError):
    """A worker with two answers to one question."""


class BadParameter(ValueError):
    """A parameter outside its range; the message names it."""


class Cancelled(Exception):
    """The run was cancelled between two steps."""


@dataclass(frozen=True)
class Hooks:
    """How a method tells its caller where it is, and learns that it should stop."""

    progress: Progress | None = None
    cancelled: Callable[[], bool] | None = None
    # change(value): the RMSE of the weights after each round of the main fit.
    change: Callable[[float], None] | None = None

    def step(self, stage: str, done: int, total: int) -> None:
        """Report progress; raise Cancelled when asked to stop."""
        if self.progress is not None:
            self.progress(stage, done, total)
        if self.cancelled is not None and self.cancelled():
            raise Cancelled(f"cancelled at {stage}, {done} of {total}")

    def quiet(self) -> Hooks:
        """Return hooks without progress, for a part that can only be cancelled."""
        return Hooks(cancelled=self.cancelled)


class VectorRows(Protocol):
    """Vectors (u, d): a matrix, or rows that are read from elsewhere when they are asked for."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def ndim(self) -> int: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> NDArray[Any]: ...

    def __array__(self) -> NDArray[Any]: ...


@dataclass(frozen=True, eq=False)
class Texts:
    """Free-text answers as index arrays, sorted by question, then worker.

    ``worker``, ``question`` and ``vector`` are (n,) and index ``workers`` (names), ``questions``
    (names) and the rows of ``vectors`` (u, d); answers with one text may share a row. ``source``
    (n,) is each answer's position in the arrays it was built from: scatter with it to go back.
    ``outside`` are answers that are scored but never vote (systems): another Texts on the same
    questions, whose "workers" are the systems. Build with :meth:`build`, which checks everything
    but vectors that lie elsewhere: these are checked as they are read.
    """

    worker: IntArray
    question: IntArray
    vector: IntArray
    source: IntArray
    rows: VectorRows
    workers: tuple[str, ...]
    questions: tuple[str, ...]
    outside: Texts | None = None

    def __len__(self) -> int:
        return len(self.worker)

    @cached_property
    def vectors(self) -> NDArray[np.floating[Any]]:
        """Return all vectors as a matrix (u, d) in memory."""
        return np.asarray(self.rows)

    @cached_property
    def norms(self) -> FloatArray:
        """The Euclidean lengths of all vectors (u,). Raises BadVector."""
        return _norms(self.vectors)

    @classmethod
    def build(
        cls,
        worker: Sequence[int] | IntArray,
        question: Sequence[int] | IntArray,
        vectors: VectorRows,
        *,
        workers: Sequence[str],
        questions: Sequence[str],
        vector: Sequence[int] | IntArray | None = None,
        outside: Texts | None = None,
        repeats: bool = False,
    ) -> Texts:
        """Check index arrays and sort them.

        ``vector`` defaults to 0..n-1. ``repeats`` allows several answers of one author to one
        question, which only outside answers may have. Raises EmptyData, UnknownIndex, BadShape,
        BadVector, DuplicateAnswer.
        """
        w, q = indices(worker=(worker, workers), question=(question, questions))
        if vectors.ndim != 2:
            raise BadShape(f"vectors has {vectors.ndim} dimensions; it must be (rows, width)")
        rows = np.arange(len(w)) if vector is None else np.asarray(vector)
        v = index_array("vector", rows, len(vectors))
        refuse_unequal(worker=w, question=q, vector=v)
        if outside is not None and outside.questions != tuple(questions):
            raise UnknownIndex("the outside answers are indexed on other questions")
        order = by_question(w, q)
        w, q, v = w[order], q[order], v[order]
        if not repeats:
            refuse_duplicates(w, q, workers, questions)
        texts = cls(
            worker=w,
            question=q,
            vector=v,
            source=order,
            rows=vectors,
            workers=tuple(workers),
            questions=tuple(questions),
            outside=outside,
        )
        if isinstance(vectors, np.ndarray):
            _ = texts.norms  # refuses what is not finite
        return texts


def index_array(name: str, values: Any, size: int) -> IntArray:
    """Check integers (n,) that index ``size`` names; ``name`` is used in errors.

    Raises BadShape, EmptyData, UnknownIndex.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise BadShape(f"{name} has {array.ndim} dimensions; it must have one")
    if array.size == 0:
        raise EmptyData(f"{name} is empty: there are no answers to score")
    if not np.issubdtype(array.dtype, np.integer):
        raise BadShape(f"{name} holds {array.dtype}; it must hold integers")
    wrong = np.flatnonzero((array < 0) | (array >= size))
    if wrong.size:
        at = int(wrong[0])
        raise UnknownIndex(f"{name}[{at}] is {array[at]}, but there are only {size} ({name})")
    return array.astype(np.int64)


def indices(**given: tuple[Any, Sequence[str]]) -> list[IntArray]:
    """Check index arrays, given by name with the names they index.

    Raises as ``index_array``.
    """
    return [index_array(name, values, len(names)) for name, (values, names) in given.items()]


def refuse_unequal(**arrays: Any) -> None:
    """Raise BadShape unless these, by name, have one length."""
    sizes = [(name, len(one)) for name, one in arrays.items()]
    if len({size for _, size in sizes}) > 1:
        (first, entries), *others = sizes
        said = "".join(f", {name} {size}" for name, size in others)
        raise BadShape(f"{first} has {entries} entries{said}; all must agree")


def check_within(name: str, value: float) -> None:
    """Raise BadParameter unless 0 < value < 1."""
    if not 0 < value < 1:
        raise BadParameter(f"{name} is {value!r}; it must lie between 0 and 1")


def look_up(name: str, values: Sequence[str], names: Sequence[str]) -> IntArray:
    """The place of each value among ``names``; raises UnknownIndex, and DataError on a repeat."""
    positions = {value: position for position, value in enumerate(names)}
    if len(positions) != len(names):
        raise DataError(f"a {name} is listed twice among the names")
    unknown = next((value for value in values if value not in positions), None)
    if unknown is not None:
        raise UnknownIndex(f"{name} {unknown!r} is not among the {len(names)} known names")
    return np.array([positions[value] for value in values], dtype=np.int64)


def by_question(worker: IntArray, question: IntArray) -> IntArray:
    """Positions sorted by question, then worker; ties as they came."""
    step = np.diff(question)
    if np.all((step > 0) | ((step == 0) & (np.diff(worker) >= 0))):
        return np.arange(len(worker))
    return np.lexsort((worker, question))


def refuse_duplicates(
    worker: IntArray, question: IntArray, workers: Sequence[str], questions: Sequence[str]
) -> None:
    """Raise DuplicateAnswer where a worker answered twice; rows (n,) sorted ``by_question``."""
    twice = np.flatnonzero((np.diff(worker) == 0) & (np.diff(question) == 0))
    if twice.size:
        at = int(twice[0])
        raise DuplicateAnswer(
            f"worker {workers[worker[at]]!r} has two answers to question "
            f"{questions[question[at]]!r}; keep the one that counts"
        )


def _norms(vectors: NDArray[np.floating[Any]]) -> FloatArray:
    """Length of each row, in blocks so that a large matrix is never copied."""
    out = np.empty(len(vectors))
    for start in range(0, len(vectors), 8192):
        block = vectors[start : start + 8192]
        if vectors.size <= SMALL:
            block = block.astype(np.float64)
        out[start : start + 8192] = np.sqrt(np.einsum("ij,ij->i", block, block))
    wrong = np.flatnonzero(~np.isfinite(out))
    if wrong.size:
        raise BadVector(f"row {int(wrong[0])} of the vectors has an entry that is not finite")
    return out


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length; a row is one worker, answer, system or question."""

    columns: Mapping[str, NDArray[Any]]

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.columns[column]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def rows(self) -> list[dict[str, Any]]:
        """Plain Python rows; a number that does not exist (NaN) becomes None."""
        lists = {name: column.tolist() for name, column in self.columns.items()}
        return [
            {
                name: None if isinstance(value[i], float) and value[i] != value[i] else value[i]
                for name, value in lists.items()
            }
            for i in range(len(self))
        ]


def of_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> Table:
    """A table from rows that have these columns, in this order (those of the first row, if none).

    There may be no rows where the columns are given.
    """
    kind = None if rows else np.int64  # no rows: still fit to index with
    names = columns or list(rows[0])
    return Table({name: np.array([row[name] for row in rows], dtype=kind) for name in names})


@dataclass(frozen=True, eq=False)
class Intervals:
    """How sure a board's rows are; aligned with the rows of the estimates of the same name.

    ``low``/``high`` bound the raw score, ``adjusted_low``/``adjusted_high`` the question-adjusted
    one (NaN without an interval). ``rank_low``/``rank_high`` are the best and worst possible rank
    and ``group`` the group that cannot be separated (from 1 in each component; 0 without).
    ``separable`` (k, k) is True where two rows of one component differ. ``reason`` says in words
    why a row has no interval ("" where it has one).
    """

    level: float
    low: FloatArray
    high: FloatArray
    adjusted_low: FloatArray
    adjusted_high: FloatArray
    rank_low: IntArray
    rank_high: IntArray
    group: IntArray
    separable: NDArray[np.bool_]
    reason: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Result:
    """What a method puts out: tables of estimates, intervals, diagnostics (JSON) and the recipe."""

    name: str
    version: str
    estimates: Mapping[str, Table]
    intervals: Mapping[str, Intervals]
    diagnostics: Mapping[str, Any]
    converged: bool
    recipe: Mapping[str, Any] = field(default_factory=dict)
