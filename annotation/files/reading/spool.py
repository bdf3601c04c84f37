"""A long list that does not stay in memory: written once, read as often as wanted."""

from __future__ import annotations

import datetime as dt
import io
import pickle
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, TypeVar

T = TypeVar("T")
CHUNK = 1_000  # things that are in memory at a time
TEXT = 1_000_000  # or so many characters, where one thing says how many it has


PLAIN = {("datetime", name): getattr(dt, name) for name in ("datetime", "date", "timezone")}
PLAIN["datetime", "timedelta"] = dt.timedelta


class _PlainReader(pickle.Unpickler):
    """Reads numbers, texts, moments and lists, dictionaries and tuples of them; nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class of moments. Raises UnpicklingError for others."""
        if (module, name) not in PLAIN:
            raise pickle.UnpicklingError(f"{module}.{name} is no plain value.")
        return PLAIN[module, name]


def is_plain(spool: Spool[Any]) -> bool:
    """Whether all that a spool holds can be read by ``Spool.of_chunks``."""
    try:
        for data in spool.chunks():
            _PlainReader(io.BytesIO(zlib.decompress(data))).load()
    except pickle.UnpicklingError:
        return False
    return True


class Spool(Sequence[T]):
    """Append and iterate; what is over ``CHUNK`` things lies compressed in a temporary file."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, given: Iterable[T] = ()) -> None:
        self._held: list[T] = []
        self._count = 0
        self._weight = 0
        self._file: IO[bytes] | None = None
        self._places: list[tuple[int, int]] = []  # offset and length of each chunk
        # The file has no name and no other writer, so nothing foreign is unpickled.
        self._reader: type[pickle.Unpickler] = pickle.Unpickler
        for one in given:
            self.append(one)

    def append(self, one: T, weight: int = 0) -> None:
        """Put one more at the end; ``weight`` are its characters, where they may be many."""
        self._held.append(one)
        self._count += 1
        self._weight += weight
        if len(self._held) >= CHUNK or self._weight >= TEXT:
            self._flush()

    @classmethod
    def of_chunks(cls, chunks: Iterable[bytes], count: int) -> Spool[T]:
        """The spool whose ``chunks`` were stored, and which held ``count`` plain values."""
        made = cls()
        for data in chunks:
            made._write(data)
        made._count, made._reader = count, _PlainReader
        return made

    def _flush(self) -> None:
        self._write(self._packed())
        self._held, self._weight = [], 0

    def _write(self, data: bytes) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="crowdqc-rows-")  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        offset = sum(self._places[-1]) if self._places else 0
        self._file.seek(offset)
        self._file.write(data)
        self._places.append((offset, len(data)))

    def _packed(self) -> bytes:
        return zlib.compress(pickle.dumps(self._held, protocol=5), 1)

    def chunks(self) -> Iterator[bytes]:
        """The entries a chunk at a time, compressed, for ``of_chunks``."""
        yield from self._stored()
        if self._held:
            yield self._packed()

    def _stored(self) -> Iterator[bytes]:
        for offset, length in list(self._places):
            assert self._file is not None  # noqa: S101 (there is one where there are places)
            self._file.seek(offset)
            yield self._file.read(length)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        for data in self._stored():
            yield from self._reader(io.BytesIO(zlib.decompress(data))).load()
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
