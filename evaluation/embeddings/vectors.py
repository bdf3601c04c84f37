"""Vectors of texts, kept in the database by encoder and text, so that no text is encoded twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdqc.errors import Conflict
from crowdqc.numbers import plural
from evaluation.embeddings.embeddings import Encoder, text_hash
from evaluation.models import Embedding

STORED = np.dtype("<f4")
READ, BATCH = 2000, 32


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors (n, width) of n texts in their order, and where they came from."""

    matrix: NDArray[np.floating[Any]]
    cached: int
    encoded: int


_kept_only: ContextVar[bool] = ContextVar("kept_only", default=False)


@contextmanager
def kept_only() -> Iterator[None]:
    """Within it no model is asked for a vector: a text without one raises Conflict."""
    before = _kept_only.set(True)
    try:
        yield
    finally:
        _kept_only.reset(before)


# advance(done, cached): called after each batch, stored already; it may raise to stop.
Advance = Callable[[int, int], None]


def vectors_of(
    texts: Sequence[str], encoder: Encoder, *, advance: Advance | None = None
) -> Vectors:
    """Vectors of distinct texts; only those not yet stored are encoded.

    Each batch is stored as soon as it is encoded (outside any transaction of the caller's), so a
    killed run goes on where it ended. All vectors are then read back from the store: a run sees
    the same bytes whether it encoded them or found them.
    """
    step = advance or (lambda done, cached: None)
    if not encoder.cacheable:
        step(0, 0)
        matrix = encoder.encode(texts)
        step(len(texts), 0)
        return Vectors(matrix, cached=0, encoded=len(texts))
    hashes = [text_hash(text) for text in texts]
    there = _stored(encoder.identity, hashes)
    missing = [at for at, key in enumerate(hashes) if key not in there]
    if missing and _kept_only.get():
        raise Conflict(
            f"{plural(len(missing), 'text has', 'texts have')} no vectors yet: run first, then "
            "this can be foreseen."
        )
    cached = len(texts) - len(missing)
    step(cached, cached)
    # Texts of like length together: a batch costs what its longest text costs.
    missing.sort(key=lambda at: (len(texts[at]), at))
    size = getattr(encoder, "batch", BATCH)
    for start in range(0, len(missing), size):
        batch = missing[start : start + size]
        _store(encoder, [texts[at] for at in batch], [hashes[at] for at in batch])
        step(cached + start + len(batch), cached)
    return Vectors(_read(encoder.identity, hashes), cached=cached, encoded=len(missing))


def stored_vectors(identity: str, texts: Sequence[str]) -> NDArray[np.float32] | None:
    """The vectors of these texts as they are stored; None where one is missing."""
    hashes = [text_hash(text) for text in texts]
    return _read(identity, hashes) if set(hashes) == _stored(identity, hashes) else None


def _stored(identity: str, hashes: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for start in range(0, len(hashes), READ):
        rows = Embedding.objects.filter(
            encoder=identity, text_hash__in=hashes[start : start + READ]
        )
        found.update(rows.values_list("text_hash", flat=True))
    return found


def _store(encoder: Encoder, texts: Sequence[str], hashes: Sequence[str]) -> None:
    """Encode a batch and keep it; whoever stored a text first wins."""
    matrix = np.ascontiguousarray(encoder.encode(texts), dtype=STORED)
    Embedding.objects.bulk_create(
        (
            Embedding(encoder=encoder.identity, text_hash=key, vector=row.tobytes())
            for key, row in zip(hashes, matrix, strict=True)
        ),
        ignore_conflicts=True,
    )


def _read(identity: str, hashes: Sequence[str]) -> NDArray[np.float32]:
    found: dict[str, bytes] = {}
    for start in range(0, len(hashes), READ):
        rows = Embedding.objects.filter(
            encoder=identity, text_hash__in=hashes[start : start + READ]
        )
        found.update(rows.values_list("text_hash", "vector"))
    return np.stack([np.frombuffer(found[key], dtype=STORED) for key in hashes])
