"""Responses as texts: who answered what in which words, and texts as arrays of token ids.

Stems are Porter's (1980, "An algorithm for suffix stripping").
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import (
    BadShape,
    BadVector,
    IntArray,
    UnknownIndex,
    by_question,
    index_array,
    indices,
    refuse_duplicates,
    refuse_unequal,
)

FUNCTION_WORDS = frozenset(
    """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his
    himself she her hers herself it its itself they them their theirs themselves this that these
    those who whom whose which what when where why how a an the and or nor but if then else than
    because as until while of at by for with about against between into through during before
    after above below to from up down in out on off over under again further once here there all
    any both each few more most other some such no not only own same so too very am is are was
    were be been being have has had having do does did doing can could will would shall should
    may might must just now also s t d m ll re ve don doesn didn isn aren wasn weren won
    """.split()
)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The Porter stem of a word in lower case; words of one or two letters stay as they are."""
    import snowballstemmer  # its tables of all languages take 3 MB of every process

    # A stemmer keeps the word that it works on, so no two threads may share one.
    return word if len(word) <= 2 else str(snowballstemmer.stemmer("porter").stemWord(word))


Tokenizer = Callable[[str], list[str]]


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """Unit vectors of the tokens of u texts: text k has rows start[k] to start[k + 1].

    ``start`` (u + 1,), ``vectors`` (t, d); ``model`` names what made them.
    """

    start: IntArray
    vectors: NDArray[np.floating[Any]]
    model: str

    def __post_init__(self) -> None:
        """Raise BadShape or BadVector where the arrays do not fit."""
        start, vectors = self.start, self.vectors
        if vectors.ndim != 2 or start.ndim != 1 or not len(start):
            raise BadShape("token vectors are (tokens, width), with one start a text and the end")
        if start[0] != 0 or start[-1] != len(vectors) or (np.diff(start) < 0).any():
            raise BadShape(f"start does not cut the {len(vectors)} token vectors into texts")
        if not np.isfinite(vectors).all():
            raise BadVector("a token vector has an entry that is not finite")


@dataclass(frozen=True, eq=False)
class Responses:
    """Free-text responses as texts, sorted by question, then worker.

    ``worker``, ``question`` and ``text`` are (n,) and index ``workers`` (names), ``questions``
    (names) and ``texts`` (strings; equal responses may share one). ``source`` (n,) is each
    response's position in the arrays it was built from. ``vectors`` are the token vectors of
    ``texts``, which only BERTScore needs. ``outside`` are responses that are scored but are never
    a reference (systems): other Responses on the same questions, whose "workers" are the systems.
    """

    worker: IntArray
    question: IntArray
    text: IntArray
    source: IntArray
    texts: tuple[str, ...]
    workers: tuple[str, ...]
    questions: tuple[str, ...]
    vectors: TokenVectors | None = None
    outside: Responses | None = None

    def __len__(self) -> int:
        return len(self.worker)

    @classmethod
    def build(
        cls,
        worker: Sequence[int] | IntArray,
        question: Sequence[int] | IntArray,
        texts: Sequence[str],
        *,
        workers: Sequence[str],
        questions: Sequence[str],
        text: Sequence[int] | IntArray | None = None,
        vectors: TokenVectors | None = None,
        outside: Responses | None = None,
        repeats: bool = False,
    ) -> Responses:
        """Check index arrays (n,) and sort them; ``text`` defaults to 0..n-1.

        ``repeats`` allows several responses of one author to one question, which only outside
        responses may have. Raises EmptyData, UnknownIndex, BadShape, DuplicateAnswer.
        """
        w, q = indices(worker=(worker, workers), question=(question, questions))
        t = index_array("text", np.arange(len(w)) if text is None else text, len(texts))
        refuse_unequal(worker=w, question=q, text=t)
        if vectors is not None and len(vectors.start) != len(texts) + 1:
            raise BadShape(f"{len(vectors.start) - 1} texts have token vectors, of {len(texts)}")
        if outside is not None and outside.questions != tuple(questions):
            raise UnknownIndex("the outside responses are indexed on other questions")
        order = by_question(w, q)
        w, q, t = w[order], q[order], t[order]
        if not repeats:
            refuse_duplicates(w, q, workers, questions)
        return cls(w, q, t, order, tuple(texts), tuple(workers), tuple(questions), vectors, outside)


@dataclass(frozen=True, eq=False)
class Tokens:
    """Texts as token ids: text k is ids[start[k]:start[k + 1]]; every id is below ``size``."""

    start: IntArray
    ids: IntArray
    size: int

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def lengths(self) -> IntArray:
        """Number of tokens in each text (u,)."""
        return np.diff(self.start)

    @property
    def owner(self) -> IntArray:
        """The text of each token (t,)."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, rows: IntArray) -> Tokens:
        """Return the texts ``rows`` (n,) in that order; repeats are allowed."""
        lengths = self.lengths[rows]
        start = np.concatenate([[0], np.cumsum(lengths)])
        shift = np.repeat(self.start[rows] - start[:-1], lengths)
        return Tokens(start, self.ids[np.arange(start[-1]) + shift], self.size)


def token_ids(lists: Sequence[Sequence[str]]) -> Tokens:
    """Number the tokens of u texts, in order of first sight."""
    known: dict[str, int] = {}
    ids = [known.setdefault(token, len(known)) for tokens in lists for token in tokens]
    start = np.cumsum([0] + [len(tokens) for tokens in lists])
    return Tokens(start.astype(np.int64), np.array(ids, dtype=np.int64), len(known))


# The Penn Treebank's rules as NLTK's word_tokenize has them, in order.
_RULES = [
    (re.compile(pattern), put)
    for pattern, put in (
        (r"([«“‘„]|[`]+)", r" \1 "),
        (r'^"', "``"),
        (r"(``)", r" \1 "),
        (r"([ (\[{<])(\"|'{2})", r"\1 `` "),
        (r"(?i)(?<!\w)(')(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", r"\1 "),
        (r"([^.])(\.)([\])}>\"'»”’ ]*+)\s*$", r"\1 \2 \3 "),
        (r"([:,])([^\d])", r" \1 \2"),
        (r"([:,])$", r" \1 "),
        (r"\.{2,}", r" \g<0> "),
        (r"[;@#$%&]", r" \g<0> "),
        (r"[\u2012-\u2015]", r" \g<0> "),
        (r"([^.])(\.)([\])}>\"']*)\s*$", r"\1 \2\3 "),
        (r"[?!]", r" \g<0> "),
        (r"([^'])' ", r"\1 ' "),
        (r"[*]", r" \g<0> "),
        (r"[\]\[(){}<>]", r" \g<0> "),
        (r"--", " -- "),
        (r"^|$", " "),
        (r"([»”’])", r" \1 "),
        (r"''|\"", " '' "),
        (r"\s+", " "),
        (r"([^' ])('[sSmMdD]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        (r"(?i)\b(can)(not)\b", r" \1 \2 "),
        (r"(?i)\b(d)('ye)\b", r" \1 \2 "),
        (r"(?i)\b(gim)(me)\b", r" \1 \2 "),
        (r"(?i)\b(gon)(na)\b", r" \1 \2 "),
        (r"(?i)\b(got)(ta)\b", r" \1 \2 "),
        (r"(?i)\b(lem)(me)\b", r" \1 \2 "),
        (r"(?i)\b(more)('n)\b", r" \1 \2 "),
        (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
        (r"(?i) ('t)(is)\b", r" \1 \2 "),
        (r"(?i) ('t)(was)\b", r" \1 \2 "),
    )
]


def treebank(text: str) -> list[str]:
    """Words and signs of a text, case kept, split as NLTK's word_tokenize splits a line."""
    for pattern, put in _RULES:
        text = pattern.sub(put, text)
    return text.split()


def treebank_lower(text: str) -> list[str]:
    """Tokenise a text as the Penn Treebank does, in lower case."""
    return treebank(text.lower())


# sacrebleu's 13a (mteval-v13a): signs apart, but full stops and commas only away from digits.
_13A = (
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


def tokens_13a(text: str) -> list[str]:
    """Words and signs, cased, as sacrebleu's default tokenizer has them."""
    line = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    line = html.unescape(line) if "&" in line else line
    return [token for stretch in line.split() for token in _apart(stretch)]


@lru_cache(maxsize=200_000)
def _apart(stretch: str) -> tuple[str, ...]:
    """13a's tokens of a text without spaces: no rule looks past one."""
    line = f" {stretch} "
    for pattern, put in _13A:
        line = pattern.sub(put, line)
    return tuple(line.split())


def words(text: str) -> list[str]:
    """Runs of letters and digits in lower case; signs are left out."""
    return re.findall(r"\w+", text.lower())


def stems(text: str) -> list[str]:
    """Porter stems of the words that are not function words."""
    return [stem(word) for word in words(text) if word not in FUNCTION_WORDS]


TOKENIZERS: dict[str, Tokenizer] = {
    "treebank": treebank,
    "treebank_lower": treebank_lower,
    "words": words,
    "stems": stems,
}
