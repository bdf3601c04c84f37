"""BLEU of every response against the others to its question, all responses at once.

Papineni et al. (2002), "BLEU: a method for automatic evaluation of machine translation". Clipping
needs, per question and n-gram, only the two largest counts among the references: a response's own
count is left out by taking the second where it holds the first. So cost is linear in the tokens.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import BadParameter, FloatArray, IntArray
from evaluation.methods.text.corpus import Tokens

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
    """For each order from 1: text and n-gram number of every occurrence."""
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
