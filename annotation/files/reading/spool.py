"""A long list that does not stay in memory: written once, read as often as wanted."""

from __future__ import annotations

import pickle
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, TypeVar

T = TypeVar("T")
CHUNK = 1_000  # things that are in memory at a time
TEXT = 1_000_000  # or so many characters, where one thing says how many it has


class Spool(Sequence[T]):
    """Append and iterate; what is over ``CHUNK`` things lies compressed in a temporary file."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, given: Iterable[T] = ()) -> None:
        self._held: list[T] = []
        self._count = 0
        self._weight = 0
        self._file: IO[bytes] | None = None
        self._places: list[tuple[int, int]] = []  # offset and length of each chunk
        for one in given:
            self.append(one)

    def append(self, one: T, weight: int = 0) -> None:
        """Put one more at the end; ``weight`` are its characters, where they may be many."""
        self._held.append(one)
        self._count += 1
        self._weight += weight
        if len(self._held) >= CHUNK or self._weight >= TEXT:
            self._flush()

    def _flush(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="crowdqc-rows-")  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        data = zlib.compress(pickle.dumps(self._held, protocol=5), 1)
        offset = sum(self._places[-1]) if self._places else 0
        self._file.seek(offset)
        self._file.write(data)
        self._places.append((offset, len(data)))
        self._held, self._weight = [], 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        for offset, length in list(self._places):
            assert self._file is not None  # noqa: S101 (there is one where there are places)
            self._file.seek(offset)
            # The file has no name and no other writer, so nothing foreign is unpickled.
            yield from pickle.loads(zlib.decompress(self._file.read(length)))  # noqa: S301
        yield from list(self._held)

    def __getitem__(self, place: Any) -> Any:
        """Return entries as a list does.

        A long spool is read from its start: iterate where that matters.
        """
        return (list(self) if self._places else self._held)[place]

    def __contains__(self, one: object) -> bool:
        return any(one == other for other in self)

    def __eq__(self, other: object) -> bool:
        """Equal to a list of the same things: short ones are compared in tests."""
        if isinstance(other, Spool | list | tuple):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented
