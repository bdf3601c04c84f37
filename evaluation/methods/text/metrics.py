"""Similarity of texts: BLEU, token F1, ROUGE-L, BERTScore, for all responses of a crowd at once.

BLEU takes all references together (``text_ngrams``). The others compare two texts; a response is
then given its best (or mean) similarity to the other responses to its question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from evaluation.methods.core.base import BadParameter, FloatArray, IntArray
from evaluation.methods.text.corpus import Tokens, TokenVectors, token_ids, treebank
from evaluation.methods.text.lcs import lcs_lengths
from evaluation.methods.text.ngrams import bleu

__all__ = [
    "bert_score",
    "bleu",
    "f1",
    "pairs",
    "reduce_pairs",
    "rouge_l",
    "same_tokens",
    "text_numbers",
    "token_ids",
    "tokens",
]

tokens = treebank
# similarity(first, second) -> (p,): of the texts first[k] and second[k]; symmetric.
Similarity = Callable[[IntArray, IntArray], FloatArray]
BLOCK = 200_000  # pairs held at a time
CELLS = 20_000_000  # entries of a matrix of token similarities held at a time
REFERENCES = ("max", "mean")


def f1(texts: Tokens) -> Similarity:
    """Harmonic mean of precision and recall over the two texts' sets of tokens.

    As NLTK's ``f_measure`` (alpha .5), which App. H uses; a text without tokens has F1 0.
    """
    cells = np.unique(texts.owner * texts.size + texts.ids)
    row, token = cells // max(texts.size, 1), cells % max(texts.size, 1)
    held = csr_array(
        (np.ones(len(cells), dtype=np.int32), (row, token)), shape=(len(texts), texts.size)
    )
    sizes = np.bincount(row, minlength=len(texts))

    def similarity(first: IntArray, second: IntArray) -> FloatArray:
        common = held[first].multiply(held[second]).sum(axis=1)
        return 2.0 * common / np.maximum(sizes[first] + sizes[second], 1)

    return similarity


def rouge_l(texts: Tokens) -> Similarity:
    """F1 of the longest common subsequence: Lin (2004), "ROUGE", equations 2 to 4 with beta 1."""
    lengths = texts.lengths

    def similarity(first: IntArray, second: IntArray) -> FloatArray:
        common = lcs_lengths(texts, first, second)
        return 2.0 * common / np.maximum(lengths[first] + lengths[second], 1)

    return similarity


def same_tokens(texts: Tokens) -> Similarity:
    """1 where two texts have the same tokens in the same order, else 0."""
    number = text_numbers(texts)

    def similarity(first: IntArray, second: IntArray) -> FloatArray:
        return (number[first] == number[second]).astype(np.float64)

    return similarity


def text_numbers(texts: Tokens) -> IntArray:
    """A number (u,) per text; equal where the tokens are equal."""
    known: dict[bytes, int] = {}
    raw, start = texts.ids.tobytes(), texts.start * texts.ids.itemsize
    return np.array(
        [
            known.setdefault(raw[a:b], len(known))
            for a, b in zip(start[:-1].tolist(), start[1:].tolist(), strict=True)
        ],
        dtype=np.int64,
    )


def bert_score(vectors: TokenVectors, group: IntArray) -> Similarity:
    """F1 of greedily matched token vectors: Zhang et al. (2020), "BERTScore", section 3.

    Each token counts its best cosine in the other text; no idf weights, no rescaling. ``group``
    (u,) numbers texts that are compared together (the question): only that saves work. A text
    without tokens has similarity 0. The figure depends on ``vectors.model``.
    """
    lengths = np.diff(vectors.start)
    unit = _unit(vectors.vectors)

    def similarity(first: IntArray, second: IntArray) -> FloatArray:
        out = np.zeros(len(first))
        usable = np.flatnonzero((lengths[first] > 0) & (lengths[second] > 0))
        order = usable[np.argsort(group[first[usable]], kind="stable")]
        cuts = np.flatnonzero(np.diff(group[first[order]])) + 1
        for some in np.split(order, cuts):
            if len(some):
                out[some] = _greedy(unit, vectors.start, first[some], second[some])
        return out

    return similarity


def _unit(vectors: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(length > 0, length, 1.0)).astype(np.float32)


def _greedy(
    unit: NDArray[np.float32], start: IntArray, first: IntArray, second: IntArray
) -> FloatArray:
    """BERTScore F1 (p,) of pairs of one group, by blocks of the first texts."""
    rows, at_row = np.unique(first, return_inverse=True)
    columns, at_column = np.unique(second, return_inverse=True)
    right, right_start = _stack(unit, start, columns)
    precision = np.empty((len(rows), len(columns)))
    recall = np.empty_like(precision)
    size = np.cumsum(np.diff(start)[rows]) * len(right) // CELLS
    for block in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(size)) + 1):
        left, left_start = _stack(unit, start, rows[block])
        cosine = left @ right.T
        best = np.maximum.reduceat(cosine, right_start, axis=1)
        precision[block] = np.add.reduceat(best, left_start, axis=0)
        best = np.maximum.reduceat(cosine, left_start, axis=0)
        recall[block] = np.add.reduceat(best, right_start, axis=1)
    lengths = np.diff(start)
    p = precision[at_row, at_column] / lengths[first]
    r = recall[at_row, at_column] / lengths[second]
    return np.where(p + r > 0, 2 * p * r / np.where(p + r > 0, p + r, 1.0), 0.0)


def _stack(
    unit: NDArray[np.float32], start: IntArray, texts: IntArray
) -> tuple[NDArray[np.float32], IntArray]:
    """The token vectors of some texts under one another, and where each text starts."""
    lengths = np.diff(start)[texts]
    opens = np.concatenate([[0], np.cumsum(lengths)])
    shift = np.repeat(start[texts] - opens[:-1], lengths)
    return unit[np.arange(opens[-1]) + shift], opens[:-1]


def pairs(
    question: IntArray, votes: NDArray[np.bool_], block: int = BLOCK
) -> Iterator[tuple[IntArray, IntArray]]:
    """Blocks of row pairs (first, second) that share a question; each unordered pair once.

    ``question`` and ``votes`` are (n,). ``second`` always votes; ``first`` may not. Two rows that
    do not vote are never paired.
    """
    voting = np.flatnonzero(votes)
    voting = voting[np.argsort(question[voting], kind="stable")]
    opens = np.searchsorted(question[voting], question)
    partners = np.searchsorted(question[voting], question, side="right") - opens
    partners[voting] = np.arange(len(voting)) - opens[voting]  # only those before it
    cut = np.flatnonzero(np.diff(np.cumsum(partners) // block)) + 1
    for rows in np.split(np.arange(len(question)), cut):
        count = partners[rows]
        offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        if len(offset):
            yield np.repeat(rows, count), voting[np.repeat(opens[rows], count) + offset]


def reduce_pairs(
    similarity: Similarity,
    question: IntArray,
    votes: NDArray[np.bool_],
    *,
    text: IntArray | None = None,
    references: str = "max",
    step: Callable[[int], None] = lambda pairs: None,
) -> FloatArray:
    """Best or mean similarity (n,) of each row to the other voting rows of its question.

    ``text`` (n,) says which text each row has (by default its own); ``references`` is 'max' or
    'mean'; ``step`` is told the pairs done after each block. NaN without a reference.
    """
    if references not in REFERENCES:
        raise BadParameter(f"references is {references!r}; it must be 'max' or 'mean'")
    n = len(question)
    at = np.arange(n) if text is None else text
    best, total, count = np.full(n, -np.inf), np.zeros(n), np.zeros(n, dtype=np.int64)
    done = 0
    for first, second in pairs(question, votes):
        found = similarity(at[first], at[second])
        back = votes[first]
        for rows, values in ((first, found), (second[back], found[back])):
            np.maximum.at(best, rows, values)
            total += np.bincount(rows, weights=values, minlength=n)
            count += np.bincount(rows, minlength=n)
        done += len(first)
        step(done)
    value = best if references == "max" else total / np.maximum(count, 1)
    return np.where(count > 0, value, np.nan)
