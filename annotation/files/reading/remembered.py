"""What was read of the same cells before: most rows of a large file say the same few things."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from annotation.files.reading.importer import Reader
from annotation.files.reading.rows import Row

T = TypeVar("T")
MOST = 10_000  # different cells that are remembered at a time


class Remembered(Generic[T]):
    """``read`` of a row, which reads no more than the fields ``names``, once for the same cells.

    What it refuses is read each time, so that every such row is noted. What it gives is shared by
    rows, and must not be changed.
    """

    def __init__(
        self, reader: Reader, names: Sequence[str], read: Callable[..., T] | None = None
    ) -> None:
        self._columns = [reader.mapping[name] for name in names if name in reader.mapping]
        self._read = read
        self._found: dict[tuple[Any, ...], T] = {}

    def known(self, row: Row) -> T | None:
        """Return what was read of the same cells before, if it is remembered."""
        cell = row.values.get
        return self._found.get(tuple([cell(column) for column in self._columns]))

    def remember(self, row: Row, made: T) -> None:
        """Keep what was read of a row for others with the same cells."""
        cell = row.values.get
        if len(self._found) >= MOST:
            self._found.clear()
        self._found[tuple([cell(column) for column in self._columns])] = made

    def __call__(self, row: Row, *more: Hashable) -> T:
        """Return what ``read(row, *more)`` gives, from memory if it was read before.

        Raises Refused.
        """
        cell = row.values.get
        key = (*[cell(column) for column in self._columns], *more)
        try:
            return self._found[key]
        except KeyError:
            assert self._read is not None  # noqa: S101 (without it only ``known`` is asked)
            made = self._read(row, *more)
        if len(self._found) >= MOST:
            self._found.clear()
        self._found[key] = made
        return made
