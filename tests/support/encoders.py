"""A sentence model that needs no libraries to be loaded, for tests of what is done with vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.embeddings import embeddings
from evaluation.embeddings.embeddings import Progress, Vectors, unit_rows


class WordVectors:
    """The sum of a fixed vector for each word."""

    cacheable, identity, dim = True, "words@1", 32

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit vectors (n, dim) in the order of ``texts``."""
        found = [sum(map(self._vector, text.lower().split()), np.zeros(self.dim)) for text in texts]
        if progress is not None:
            progress(len(texts), len(texts))
        return unit_rows(np.array(found, dtype=np.float32).reshape(len(texts), self.dim))

    def _vector(self, word: str) -> NDArray[np.float64]:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4])
        return np.random.default_rng(seed).normal(size=self.dim)


@pytest.fixture
def word_vectors(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Such vectors where ``minilm`` is asked for: loading that takes seconds in each process."""
    monkeypatch.setitem(embeddings.ENCODERS, "minilm", lambda threads: WordVectors())
    embeddings._kept_encoder.cache_clear()
    yield
    embeddings._kept_encoder.cache_clear()
