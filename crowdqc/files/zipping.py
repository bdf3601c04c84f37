"""A ZIP file made while it is sent: nothing of it is held but the piece in work."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator

PIECE = 64 * 1024


class _Pipe(io.RawIOBase):
    """What was written and not yet taken; it can neither seek nor tell, as a socket cannot."""

    def __init__(self) -> None:
        self.held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.held += data
        return len(data)

    def take(self) -> bytes:
        taken, self.held = bytes(self.held), bytearray()
        return taken


def stream(files: Iterable[tuple[str, Iterable[str | bytes]]]) -> Iterator[bytes]:
    """The pieces of a ZIP of these files (name, content in pieces)."""
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, parts in files:
            with archive.open(name, "w", force_zip64=True) as entry:
                for part in parts:
                    entry.write(part.encode() if isinstance(part, str) else part)
                    if len(pipe.held) > PIECE:
                        yield pipe.take()
    yield pipe.take()
