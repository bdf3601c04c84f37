"""A sentence model that needs no libraries to be loaded, for tests of what is done with vectors."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.embeddings import embeddings
from evaluation.embeddings.embeddings import Progress, SentenceModel, Vectors, unit_rows

# A worker knows the encoder ``parts`` where this names a file; its processes wait for that file
# after their first part.
GATE = "CROWDQC_TEST_PARTS_GATE"


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


class PartModel(SentenceModel):
    """A sentence model that says what was encoded together: other parts give other bytes.

    Padding does so a little in a real one.
    """

    identity, dim, batch = "parts@1", WordVectors.dim, 8  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__("parts", Path())
        self.parts, self.gate = 0, Path(os.environ.get(GATE, "/"))

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit vectors (n, dim) in the order of ``texts``."""
        while self.parts and not self.gate.exists():
            time.sleep(0.02)
        self.parts += 1
        words = WordVectors()
        return unit_rows(words.encode(texts) + 0.01 * words.encode(["".join(texts)])[0])


def add_part_model() -> None:
    """Let this process know the encoder ``parts``."""
    embeddings.ENCODERS["parts"] = lambda threads: PartModel()


@pytest.fixture
def word_vectors(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Such vectors where ``minilm`` is asked for: loading that takes seconds in each process."""
    monkeypatch.setitem(embeddings.ENCODERS, "minilm", lambda threads: WordVectors())
    embeddings._kept_encoder.cache_clear()
    yield
    embeddings._kept_encoder.cache_clear()
