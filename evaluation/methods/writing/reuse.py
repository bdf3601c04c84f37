"""How much of a statement is copied from the passages it cites: sentence BLEU (section 4.4).

The variant of the study's published analysis: n-grams up to ``order`` (8) in lower case with 13a
tokens; the lines of a passage are the references, so n-grams are clipped at the largest count in
one line and the brevity penalty is against the line closest in length; orders longer than the
statement are left out (effective order); the k-th order without a match counts 2^-k matches
(exponential smoothing). Papineni et al. (2002); Chen and Cherry (2014), technique 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.text.corpus import Tokens, token_ids, tokens_13a
from evaluation.methods.text.metrics import ngrams
from evaluation.methods.writing.documents import cells
from evaluation.methods.writing.draws import Draws, binned, by_topic
from evaluation.methods.writing.statements import Statements

EDGES = np.arange(101.0)


def scores(statements: Statements, *, order: int) -> FloatArray:
    """BLEU (p,), 0 to 100, of each of ``statements.pairs``."""
    data, pairs = statements.data, statements.pairs
    if not len(pairs):
        return np.zeros(0)
    topic = data.topic[statements.response[pairs[:, 0]]]
    width = max(len(some) for some in data.passages)
    keys, cited = np.unique(topic * width + pairs[:, 1], return_inverse=True)
    passages = [data.passages[key // width][key % width] for key in keys.tolist()]
    used, at = np.unique(pairs[:, 0], return_inverse=True)
    written = [statements.texts[k] for k in used.tolist()]
    return bleu(written, passages, at, cited, order=order)


def bleu(
    written: Sequence[str],
    passages: Sequence[str],
    first: IntArray,
    second: IntArray,
    *,
    order: int = 8,
) -> FloatArray:
    """BLEU (p,) of text ``written[first]`` against the lines of ``passages[second]``."""
    lines = [line for passage in passages for line in passage.split("\n")]
    owner = np.repeat(np.arange(len(passages)), [passage.count("\n") + 1 for passage in passages])
    tokens = token_ids([tokens_13a(text.lower()) for text in [*written, *lines]])
    length = tokens.lengths[: len(written)][first]
    matched = np.zeros((order, len(first)))
    for k, (row, gram) in enumerate(ngrams(tokens, order)):
        matched[k] = _matches((row, gram), len(written), owner, first, second)
    total = length - np.arange(order)[:, None]
    counted = total > 0
    missing = counted & (matched == 0)
    matched = np.where(missing, 0.5 ** np.cumsum(missing, axis=0), matched)
    logs = np.log(np.where(counted, matched / np.maximum(total, 1), 1.0)).sum(axis=0)
    reference = _closest(tokens, len(written), owner, first, second)
    brevity = np.minimum(0.0, 1 - reference / np.maximum(length, 1))
    found = 100 * np.exp(brevity + logs / np.maximum(counted.sum(axis=0), 1))
    # Without one common word there is nothing to smooth.
    return np.where(missing[0] | ~counted[0], 0.0, found)


def _matches(
    grams: tuple[IntArray, IntArray],
    texts: int,
    owner: IntArray,
    first: IntArray,
    second: IntArray,
) -> FloatArray:
    """Clipped matches (p,) of one order; ``grams`` lists text and n-gram of all texts."""
    row, gram = grams
    if not len(row):
        return np.zeros(len(first))
    width = int(gram.max()) + 1
    cell, count = np.unique(row * width + gram, return_counts=True)
    row, gram = cell // width, cell % width
    line = row >= texts
    key = owner[row[line] - texts] * width + gram[line]
    known, at = np.unique(key, return_inverse=True)
    most = np.zeros(len(known), dtype=np.int64)
    np.maximum.at(most, at, count[line])
    row, gram, count = row[~line], gram[~line], count[~line]
    opens = np.searchsorted(row, np.arange(texts + 1))
    sizes = np.diff(opens)[first]
    pair = np.repeat(np.arange(len(first)), sizes)
    shift = np.repeat(opens[first] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    entry = np.arange(len(pair)) + shift
    if not len(known) or not len(entry):
        return np.zeros(len(first))
    wanted = second[pair] * width + gram[entry]
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    found = np.where(known[place] == wanted, np.minimum(most[place], count[entry]), 0)
    return np.bincount(pair, weights=found, minlength=len(first)).astype(np.float64)


def _closest(
    tokens: Tokens, texts: int, owner: IntArray, first: IntArray, second: IntArray
) -> FloatArray:
    """Length (p,) of the passage's line that is closest to the statement's, the shorter of two."""
    length, lines = tokens.lengths[:texts], tokens.lengths[texts:]
    opens = np.searchsorted(owner, np.arange(len(owner) + 1))
    sizes = (opens[second + 1] - opens[second]).astype(np.int64)
    pair = np.repeat(np.arange(len(first)), sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    own = lines[np.arange(len(pair)) + np.repeat(opens[second] - starts, sizes)]
    # Distance first, then length: one number to take the least of.
    size = int(lines.max()) + 1
    rank = np.abs(own - length[first][pair]) * size + own
    return (np.minimum.reduceat(rank, starts) % size).astype(np.float64)


def reuse(
    statements: Statements, score: FloatArray, draws: Draws, *, threshold: float, heavy: float
) -> list[dict[str, Any]]:
    """Measure how far statements reuse their sources, as rows of ``figures["reuse"]``."""
    data = statements.data
    response = statements.response[statements.pairs[:, 0]]
    bins = len(EDGES) - 1
    rows = []
    for group, style, mine in cells(data):
        own = mine[response]
        value, topic = score[own], data.topic[response[own]]
        counts = by_topic(binned(value, EDGES), topic, draws.topics, bins)
        cumulative, low, high = draws.shares(np.cumsum(counts, axis=1), counts.sum(axis=1))
        rows.append(
            {
                "group": group,
                "style": style,
                "pairs": len(value),
                "cumulative": cumulative,
                "low": low,
                "high": high,
                "mean": draws.mean(value, topic),
                "below": draws.mean((value < threshold).astype(np.float64), topic),
                "heavy": draws.mean((value >= heavy).astype(np.float64), topic),
                "median": float(np.median(value)) if len(value) else None,
            }
        )
    return rows


def largest_scores(statements: Statements, score: FloatArray) -> FloatArray:
    """The largest score (n,) of each response; NaN without citations."""
    found = np.full(len(statements.data), -1.0)
    np.maximum.at(found, statements.response[statements.pairs[:, 0]], score)
    return np.where(found < 0, np.nan, found)


def heavy_share(statements: Statements, score: FloatArray, heavy: float) -> FloatArray:
    """Share (n,) of a response's pairs that score ``heavy`` or more; NaN without citations."""
    response, size = statements.response[statements.pairs[:, 0]], len(statements.data)
    total = np.bincount(response, minlength=size)
    over = np.bincount(response, weights=score >= heavy, minlength=size)
    return np.divide(over, total, out=np.full(size, np.nan), where=total > 0)
