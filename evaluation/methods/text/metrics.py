"""Similarity of texts: BLEU, token F1, ROUGE-L, BERTScore, for all responses of a crowd at once.

BLEU takes all references together. The others compare two texts; a response is
then given its best (or mean) similarity to the other responses to its question.

Longest common subsequences of many pairs are found at once, 64 tokens to a machine word: Hyyrö
(2004), "Bit-parallel LCS-length computation revisited". One row of the dynamic programme is
a bit vector V; a token with match mask M turns it into (V + (V & M)) | (V & ~M), and the length
is the number of zeros at the end. Each step handles one token of every pair.

BLEU: Papineni et al. (2002), "BLEU: a method for automatic evaluation of machine translation",
of every response against the others to its question. Clipping
needs, per question and n-gram, only the two largest counts among the references: a response's own
count is left out by taking the second where it holds the first. So cost is linear in the tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core.base import BadParameter, FloatArray, IntArray
from evaluation.methods.text.corpus import Tokens, TokenVectors

SMOOTHINGS = ("none", "epsilon", "add_one", "nist")
EPSILON = 0.1


def bleu(
    tokens: Tokens,
    question: IntArray,
    votes: NDArray[np.bool_],
    *,
    order: int = 4,
    smoothing: str = "none",
) -> FloatArray:
    """Sentence BLEU (n,) of each response against all other voting responses to its question.

    ``tokens`` are n texts; ``question`` and ``votes`` are (n,); a response that does not vote is
    scored and is nobody's reference. Orders 1 to ``order`` weigh the same; the brevity penalty is
    against the reference closest in length (the shorter of two). ``smoothing`` is NLTK's method 0
    ('none'), 1 ('epsilon': a count of 0 becomes 0.1), 2 ('add_one', from order 2 on) or 3
    ('nist': the k-th count of 0 becomes 2^-k), after Chen and Cherry (2014). Without a common
    word the score is 0; without a reference NaN. Raises BadParameter.
    """
    if smoothing not in SMOOTHINGS:
        raise BadParameter(f"smoothing is {smoothing!r}; it must be one of {', '.join(SMOOTHINGS)}")
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise BadParameter(f"order is {order!r}; it must be a whole number from 1")
    lengths = tokens.lengths
    matched = np.empty((order, len(tokens)))
    total = np.empty_like(matched)
    for k, (row, gram) in enumerate(ngrams(tokens, order)):
        matched[k] = clipped(row, gram, question, votes)
        total[k] = np.maximum(lengths - k, 1)
    reference = closest_length(lengths, question, votes)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(_precision(matched, total, smoothing)).mean(axis=0)
        brevity = np.exp(np.minimum(0.0, 1 - reference / lengths))
        out = np.where(matched[0] > 0, brevity * np.exp(logs), 0.0)
    return np.where(np.isfinite(reference), out, np.nan)


def _precision(matched: FloatArray, total: FloatArray, smoothing: str) -> FloatArray:
    if smoothing == "epsilon":
        matched = np.where(matched == 0, EPSILON, matched)
    elif smoothing == "add_one":
        later = (np.arange(len(matched)) > 0)[:, None]
        matched, total = matched + later, total + later
    elif smoothing == "nist":
        missing = matched == 0
        matched = np.where(missing, 0.5 ** np.cumsum(missing, axis=0), matched)
    return matched / total


def ngrams(tokens: Tokens, order: int) -> list[tuple[IntArray, IntArray]]:
    """Return text and n-gram number of every occurrence, for each order from 1."""
    end = np.repeat(tokens.start[1:], tokens.lengths)
    at, row, gram = np.arange(len(tokens.ids)), tokens.owner, tokens.ids
    out = [(row, gram)]
    for k in range(1, order):
        keep = at + k < end[at]
        at = at[keep]
        pair = gram[keep] * tokens.size + tokens.ids[at + k]
        gram = np.unique(pair, return_inverse=True)[1]
        out.append((row[at], gram))
    return out


def clipped(
    row: IntArray, gram: IntArray, question: IntArray, votes: NDArray[np.bool_]
) -> FloatArray:
    """Matched n-grams of each row (n,): its counts, cut at the largest of any other reference.

    ``row`` and ``gram`` list occurrences; ``question`` and ``votes`` are (n,).
    """
    out = np.zeros(len(question))
    if not len(row):
        return out
    width = int(gram.max()) + 1
    cell, count = np.unique(row * width + gram, return_counts=True)
    row, gram = cell // width, cell % width
    key = np.unique(question[row] * width + gram, return_inverse=True)[1]
    first, second = np.zeros((2, int(key.max()) + 1), dtype=np.int64)
    voting = np.flatnonzero(votes[row])
    order = voting[np.lexsort((-count[voting], key[voting]))]
    opens = np.diff(key[order], prepend=-1) != 0
    first[key[order[opens]]] = count[order[opens]]
    follows = np.flatnonzero(~opens)
    follows = follows[opens[follows - 1]]
    second[key[order[follows]]] = count[order[follows]]
    cap = first[key]
    holders = order[opens]
    cap[holders] = second[key[holders]]
    out += np.bincount(row, weights=np.minimum(count, cap), minlength=len(out))
    return out


def closest_length(lengths: IntArray, question: IntArray, votes: NDArray[np.bool_]) -> FloatArray:
    """Length (n,) of the other reference closest in length, the shorter of two; NaN without."""
    if not votes.any():
        return np.full(len(lengths), np.nan)
    width = int(lengths.max()) + 1
    key = question * width + lengths
    sorted_keys = np.sort(key[votes])
    left = np.searchsorted(sorted_keys, key)
    right = np.searchsorted(sorted_keys, key, side="right")
    found = np.full(len(lengths), np.nan)
    # The response itself is one of those of its length, so the next longer lies behind them all.
    for place, same in ((right, False), (left - 1, False), (left, True)):
        inside = (place >= 0) & (place < len(sorted_keys))
        other = sorted_keys[np.where(inside, place, 0)]
        good = inside & (other // width == question)
        if same:
            good &= right - left > votes
        length = (other % width).astype(np.float64)
        nearer = ~(np.abs(found - lengths) < np.abs(length - lengths))
        found = np.where(good & nearer, length, found)
    return found


Words = NDArray[np.uint64]
WORD = 64


def lcs_lengths(tokens: Tokens, first: IntArray, second: IntArray) -> IntArray:
    """Length (p,) of the longest common subsequence of the texts first[k] and second[k]."""
    lengths = tokens.lengths
    swap = lengths[first] < lengths[second]
    long, short = np.where(swap, second, first), np.where(swap, first, second)
    out = np.zeros(len(first), dtype=np.int64)
    width = -(-lengths[long] // WORD)
    for words in np.unique(width[lengths[short] > 0]):
        some = np.flatnonzero((width == words) & (lengths[short] > 0))
        some = some[np.argsort(-lengths[short[some]], kind="stable")]
        out[some] = _of_width(tokens, long[some], short[some], int(words))
    return out


def _of_width(tokens: Tokens, long: IntArray, short: IntArray, words: int) -> IntArray:
    """Pairs whose longer text fits ``words`` machine words, by falling length of the shorter."""
    keys, masks = _masks(tokens, np.unique(long), words)
    state = np.full((words, len(long)), ~np.uint64(0))
    base, start, steps = long * tokens.size, tokens.start[short], tokens.lengths[short]
    live = np.searchsorted(-steps, -np.arange(int(steps[0])))  # pairs with more than k tokens
    for k, count in enumerate(live):
        wanted = base[:count] + tokens.ids[start[:count] + k]
        place = np.searchsorted(keys, wanted)
        place[keys[np.minimum(place, len(keys) - 1)] != wanted] = len(keys)  # the row of zeros
        _advance(state[:, :count], masks[place])
    ones = np.bitwise_count(state).sum(axis=0, dtype=np.int64)
    return words * WORD - ones


def _advance(state: Words, masks: Words) -> None:
    """Take one token for every pair: ``state`` (words, p) in place, ``masks`` (p, words)."""
    carry: Words | None = None
    for word, row in enumerate(state):
        hit = row & masks[:, word]
        added = row + hit  # wraps round: what falls out is carried into the next word
        if word + 1 < len(state) or carry is not None:
            over = added < row
            if carry is not None:
                added += carry
                over |= added < carry
            carry = over.astype(np.uint64)
        state[word] = added | (row & ~hit)


def _masks(tokens: Tokens, rows: IntArray, words: int) -> tuple[IntArray, Words]:
    """Sorted keys row * size + token, and where the token stands in the row (one row more: 0)."""
    part = tokens.take(rows)
    place = np.arange(len(part.ids)) - np.repeat(part.start[:-1], part.lengths)
    keys, at = np.unique(rows[part.owner] * tokens.size + part.ids, return_inverse=True)
    masks = np.zeros((len(keys) + 1, words), dtype=np.uint64)
    bits = np.left_shift(np.uint64(1), (place % WORD).astype(np.uint64))
    np.bitwise_or.at(masks, (at, place // WORD), bits)
    return keys, masks


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
    held = scipy.sparse.csr_array(
        (np.ones(len(cells), dtype=np.int32), (row, token)), shape=(len(texts), texts.size)
    )
    sizes = np.bincount(row, minlength=len(texts))

    def similarity(first: IntArray, second: IntArray) -> FloatArray:
        common = held[first].multiply(held[second]).sum(axis=1)
        return 2.0 * common / np.maximum(sizes[first] + sizes[second], 1)

    return similarity


def gleu(texts: Tokens, order: int = 4) -> Similarity:
    """GLEU of two texts: their common n-grams of up to ``order`` over the longer one's.

    Wu et al. (2016), "Google's neural machine translation system": the lesser of precision and
    recall, so that it is the same both ways. 0 of texts without tokens.
    """
    held = []
    for row, gram in ngrams(texts, order):
        width = int(gram.max(initial=0)) + 1
        cells, count = np.unique(row * width + gram, return_counts=True)
        shape = (len(texts), width)
        held.append(scipy.sparse.csr_array((count, (cells // width, cells % width)), shape=shape))
    counts = scipy.sparse.csr_array(scipy.sparse.hstack(held))
    sizes = counts.sum(axis=1)

    def similarity(first: IntArray, second: IntArray) -> FloatArray:
        common = counts[first].minimum(counts[second]).sum(axis=1)
        return common / np.maximum(np.maximum(sizes[first], sizes[second]), 1)

    return similarity


def rouge_l(texts: Tokens) -> Similarity:
    """F1 of the longest common subsequence: Lin (2004), "ROUGE", equations 2 to 4 with beta 1."""
    lengths = texts.lengths

    def similarity(first: IntArray, second: IntArray) -> FloatArray:
        common = lcs_lengths(texts, first, second)
        return 2.0 * common / np.maximum(lengths[first] + lengths[second], 1)

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
    """Return the best or mean similarity (n,) of each row to its question's other voting rows.

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
