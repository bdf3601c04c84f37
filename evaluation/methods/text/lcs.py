"""Longest common subsequences of many pairs of texts at once, 64 tokens to a machine word.

Hyyrö (2004), "Bit-parallel LCS-length computation revisited": one row of the dynamic programme is
a bit vector V; a token with match mask M turns it into (V + (V & M)) | (V & ~M), and the length
is the number of zeros at the end. Each step handles one token of every pair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.core.base import IntArray
from evaluation.methods.text.corpus import Tokens

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
    """One token for every pair: ``state`` (words, p) in place, ``masks`` (p, words)."""
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
