"""Vectors of texts, kept in the database by encoder and text, so that no text is encoded twice."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from numpy.typing import NDArray

from crowdqc.errors import Conflict
from crowdqc.numbers import plural
from evaluation.embeddings.embeddings import (
    ENDPOINT,
    PATH,
    TERMS,
    Encoder,
    SpellingEncoder,
    get_encoder,
    text_hash,
)
from evaluation.models import Embedding

logger = logging.getLogger(__name__)
STORED = np.dtype("<f4")
READ, BATCH = 2000, 32
Matrix = NDArray[np.floating[Any]]
Hashes = NDArray[np.bytes_]  # hexadecimal, 64 characters each


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors (n, width) of n texts in their order, and where they came from."""

    matrix: NDArray[np.floating[Any]]
    cached: int
    encoded: int


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Vectors (n, width) in the database, of which only the rows asked for are read.

    A matrix to whoever indexes it by a slice or by row numbers, or makes an array of it.
    """

    identity: str
    hashes: Hashes

    ndim = 2
    dtype = STORED

    def __len__(self) -> int:
        return len(self.hashes)

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Number of texts (one or more) and width; reads one vector."""
        return len(self), self[0:1].shape[1]

    def __getitem__(self, rows: slice | NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Read these rows (k, width); raise Conflict where one was deleted meanwhile."""
        wanted = self.hashes[rows].astype(str).tolist()
        if not wanted:
            return np.empty((0, self.shape[1]), dtype=STORED)
        found: dict[str, bytes] = {}
        different = list(dict.fromkeys(wanted))
        for start in range(0, len(different), READ):
            there = _rows_of(self.identity, different[start : start + READ])
            found.update(there.values_list("text_hash", "vector"))
        if len(found) < len(different):
            raise Conflict("Vectors of this run were deleted while it worked; start it again.")
        return np.array([np.frombuffer(found[key], dtype=STORED) for key in wanted])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        whole = np.empty(self.shape, dtype=dtype or STORED)
        for start in range(0, len(self), READ):
            whole[start : start + READ] = self[start : start + READ]
        return whole


_kept_only: ContextVar[bool] = ContextVar("kept_only", default=False)


@contextmanager
def stored_vectors_only() -> Iterator[None]:
    """Within the block, raise Conflict instead of encoding a text without a stored vector."""
    before = _kept_only.set(True)
    try:
        yield
    finally:
        _kept_only.reset(before)


def refuse_new_vectors(texts: int) -> None:
    """Raise Conflict within ``stored_vectors_only`` where this many texts need a model."""
    if texts and _kept_only.get():
        raise Conflict(
            f"{plural(texts, 'text has', 'texts have')} no vectors yet: run first, then "
            "this can be foreseen."
        )


# advance(done, cached): called after each batch, stored already; it may raise to stop.
Advance = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class StoredVectors:
    """Which of some texts have vectors: ``missing`` are the places (k,) of those that have none."""

    identity: str
    hashes: Hashes
    missing: NDArray[np.int64]

    @property
    def cached(self) -> int:
        """Number of texts that have a stored vector."""
        return len(self.hashes) - len(self.missing)


def look_up(texts: Sequence[str], identity: str) -> StoredVectors:
    """Look up the stored vectors of texts, and list the texts without one, shortest first.

    A text that is there twice is missing once. Those found count as used today. Raises Conflict
    for a missing one within ``stored_vectors_only``.
    """
    hashes = [text_hash(text) for text in texts]
    there = _stored(identity, hashes)
    first = {key: at for at, key in reversed(list(enumerate(hashes)))}
    missing = [at for key, at in first.items() if key not in there]
    refuse_new_vectors(len(missing))
    if not _kept_only.get():
        _mark_used(identity, hashes)
    # Texts of like length together: a batch costs what its longest text costs.
    missing.sort(key=lambda at: (len(texts[at]), at))
    return StoredVectors(identity, np.array(hashes, dtype="S64"), np.array(missing, dtype=np.int64))


def vectors_of(
    texts: Sequence[str], encoder: Encoder, *, advance: Advance | None = None
) -> Vectors:
    """Return the vectors of distinct texts as a matrix, encoding only those not stored."""
    if not encoder.cacheable:
        step = advance or (lambda done, cached: None)
        step(0, 0)
        if isinstance(encoder, SpellingEncoder) and encoder.inner.cacheable:
            matrix = encoder.encode_by(texts, lambda some: vectors_of(some, encoder.inner).matrix)
        else:
            matrix = encoder.encode(texts)
        step(len(texts), 0)
        return Vectors(matrix, cached=0, encoded=len(texts))
    found = look_up(texts, encoder.identity)
    rows = encode_missing(texts, encoder, found, advance=advance)
    return Vectors(np.asarray(rows), cached=found.cached, encoded=len(found.missing))


def encode_missing(
    texts: Sequence[str], encoder: Encoder, found: StoredVectors, *, advance: Advance | None = None
) -> StoredRows:
    """Encode the texts that have no stored vector; return the rows of all texts.

    Each batch is stored as soon as it is encoded (outside any transaction of the caller's), so a
    killed run goes on where it ended. All vectors are then read back from the store: a run sees
    the same bytes whether it encoded them or found them. Raises Conflict where texts are missing
    that another encoder was looked up for.
    """
    if len(found.missing) and encoder.identity != found.identity:
        raise Conflict(
            f"The run began with {found.identity}, and this worker has {encoder.identity}. Start "
            "the run again."
        )
    step = advance or (lambda done, cached: None)
    step(found.cached, found.cached)
    size = getattr(encoder, "batch", BATCH)
    for start in range(0, len(found.missing), size):
        batch = found.missing[start : start + size].tolist()
        store(found.identity, found.hashes[batch], encoder.encode([texts[at] for at in batch]))
        step(found.cached + start + len(batch), found.cached)
    return StoredRows(found.identity, found.hashes)


def store(identity: str, hashes: Hashes, matrix: Matrix) -> None:
    """Store vectors (k, width) of different texts; stored ones are kept."""
    rows = np.ascontiguousarray(matrix, dtype=STORED)
    # In one order for all, so that two transactions never wait for each other.
    order = np.argsort(hashes)
    Embedding.objects.bulk_create(
        (
            Embedding(encoder=identity, text_hash=key, vector=row.tobytes())
            for key, row in zip(hashes[order].astype(str).tolist(), rows[order], strict=True)
        ),
        ignore_conflicts=True,
    )


def stored_vectors(identity: str, texts: Sequence[str]) -> NDArray[np.float32] | None:
    """The vectors of these texts as they are stored; None where one is missing."""
    hashes = [text_hash(text) for text in texts]
    if set(hashes) != _stored(identity, hashes):
        return None
    return np.asarray(StoredRows(identity, np.array(hashes, dtype="S64")))


def vectors_of_run(
    slug: str, identity: str, texts: Sequence[str], *, load_model: bool
) -> NDArray[np.float32] | None:
    """Return the vectors that a run saw: the stored ones, or those of its encoder fitted again.

    ``slug`` is the run's encoder and ``identity`` what its recipe calls it. Only encoders that are
    fitted to the texts are run again; those with a model under them (spelling corrected first)
    where ``load_model`` allows it. None where vectors are not kept any more.
    """
    kept = stored_vectors(identity, texts)
    if kept is not None or slug.startswith((ENDPOINT, PATH)):
        return kept
    if slug not in TERMS and not load_model:
        return None
    encoder = get_encoder(slug)
    return None if encoder.cacheable else encoder.encode(texts)


def delete_unused() -> int:
    """Delete vectors that no run has read for CROWDQC_VECTOR_DAYS days; returns how many."""
    days = settings.CROWDQC_VECTOR_DAYS
    if not days:
        return 0
    limit = timezone.localdate() - dt.timedelta(days=days)
    count = 0
    while True:
        old = Embedding.objects.filter(used_on__lt=limit).values_list("pk", flat=True)[:READ]
        gone = Embedding.objects.filter(pk__in=list(old), used_on__lt=limit).delete()[0]
        count += gone
        if not gone:
            break
    if count:
        deleted = plural(count, "vector was", "vectors were")
        logger.info("%s deleted that no run has read for %s days", deleted, days)
    return count


def _rows_of(identity: str, hashes: Sequence[str]) -> QuerySet[Embedding]:
    return Embedding.objects.filter(encoder=identity, text_hash__in=hashes)


def _stored(identity: str, hashes: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for start in range(0, len(hashes), READ):
        rows = _rows_of(identity, hashes[start : start + READ])
        found.update(rows.values_list("text_hash", flat=True))
    return found


def _mark_used(identity: str, hashes: Sequence[str]) -> None:
    """Note the day; a note that is recent enough stays, as writing rewrites the vector."""
    today = timezone.localdate()
    recent = today - dt.timedelta(days=(settings.CROWDQC_VECTOR_DAYS or 300) // 10)
    for start in range(0, len(hashes), READ):
        _rows_of(identity, hashes[start : start + READ]).filter(used_on__lt=recent).update(
            used_on=today
        )
