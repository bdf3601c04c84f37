"""Several files in one ZIP, written as a stream, with a manifest.json over all of them."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

MANIFEST = "manifest.json"
HELD = 1 << 16  # bytes that are gathered before they are handed on
Part = str | bytes


class Sink(io.RawIOBase):
    """A file that hands out what was written to it, piece by piece, and keeps none of it."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = self.at = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self.parts.append(piece)
        self.size += len(piece)
        self.at += len(piece)
        return len(piece)

    def drain(self) -> bytes:
        """Return what was written since the last call."""
        piece = b"".join(self.parts)
        self.parts, self.size = [], 0
        return piece


def zip_with_manifest(
    files: Iterable[tuple[str, Iterable[Part]]],
    manifest: Callable[[dict[str, str]], Mapping[str, Any]],
) -> Iterator[bytes]:
    """Write ``files`` as a ZIP in pieces; the last file is a manifest made from their SHA-256.

    Dates are fixed, so that the same content gives the same bytes.
    """
    sink, digests = Sink(), dict[str, str]()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, parts in files:
            digest = hashlib.sha256()
            with archive.open(_entry(name), "w", force_zip64=True) as handle:
                for part in parts:
                    data = part.encode() if isinstance(part, str) else part
                    digest.update(data)
                    handle.write(data)
                    if sink.size >= HELD:
                        yield sink.drain()
            digests[name] = digest.hexdigest()
        text = json.dumps(manifest(digests), ensure_ascii=False, indent=2, sort_keys=True)
        archive.writestr(_entry(MANIFEST), text + "\n")
    yield sink.drain()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry
