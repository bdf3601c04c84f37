"""Roy et al.: a response is worth what the sequences it shares with others are worth.

Roy, Dandapat, Nagesh and Narahari (2016), "Wisdom of Students: A Consistent Automatic Short
Answer Grading Technique", ICON, in the form AQER is compared with (Geva et al. 2025, App. H):
stemmed words without function words, and ordered sequences of at most two of them (words may lie
between). Neither text gives the weights; here a sequence that at least two responses hold counts
its length times the number of responses that hold it, and the best response to a question has 1.
The method cannot score outside responses: they get BLEU1 against its best response (App. H).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.baselines.baseline_boards import (
    COMMON,
    Ratings,
    best_rows,
    parts,
    result,
    trust_of,
)
from evaluation.methods.baselines.baselines import Rows
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Result
from evaluation.methods.core.params import COMPARED, Params, whole_number
from evaluation.methods.text.corpus import Responses, Tokens
from evaluation.methods.text.metrics import bleu

NAME, VERSION = "roy", "1.0"
MAX_LENGTH = 5
PARAMS = Params(
    NAME,
    (*COMMON, whole_number("max_length", 2, 1, MAX_LENGTH), whole_number("min_support", 2, 1)),
    version=VERSION,
)


def sequence_scores(
    texts: Tokens, question: IntArray, *, max_length: int = 2, min_support: int = 2
) -> FloatArray:
    """Score (n,) of each of n texts among those of its question (n,), between 0 and 1.

    Sequences are mined level by level: only what ``min_support`` texts hold is made longer
    (Agrawal and Srikant 1995, "Mining sequential patterns").
    """
    raw = np.zeros(len(texts))
    row, gram, end = _earliest(
        texts.owner, texts.ids, np.arange(len(texts.ids)) - texts.start[texts.owner]
    )
    for length in range(1, max_length + 1):
        if not len(row):
            break
        width = int(gram.max()) + 1
        place = np.unique(question[row] * width + gram, return_inverse=True)[1]
        support = np.bincount(place)[place]
        shared = support >= min_support
        row, gram, end, support = row[shared], gram[shared], end[shared], support[shared]
        raw += length * np.bincount(row, weights=support, minlength=len(raw))
        if length < max_length:
            row, gram, end = _longer(texts, row, gram, end)
    best = np.zeros(int(question.max()) + 1)
    np.maximum.at(best, question, raw)
    return raw / np.where(best > 0, best, 1.0)[question]


def _longer(
    texts: Tokens, row: IntArray, gram: IntArray, end: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Every sequence with each later word of its text behind it."""
    more = texts.lengths[row] - end - 1
    which = np.repeat(np.arange(len(row)), more)
    step = np.arange(more.sum()) - np.repeat(np.cumsum(more) - more, more)
    at = end[which] + 1 + step
    word = texts.ids[texts.start[row[which]] + at]
    _, longer = np.unique(gram[which] * texts.size + word, return_inverse=True)
    return _earliest(row[which], longer, at)


def _earliest(row: IntArray, gram: IntArray, end: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Each sequence of a text once, where it ends first: what can follow there can follow."""
    order = np.lexsort((end, gram, row))
    row, gram, end = row[order], gram[order], end[order]
    new = (np.diff(row, prepend=-1) != 0) | (np.diff(gram, prepend=-1) != 0)
    return row[new], gram[new], end[new]


def fit(
    data: Responses, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Score responses, workers, systems and choose best responses.

    Parameters: ``max_length`` of a sequence (1 to 5; cost grows fast), ``min_support`` responses
    that hold it, and the boards' ``resamples``, ``level``, ``min_answers``. Tables as
    ``baseline_boards.result`` describes. Raises TooFewWorkers, BadParameter, Cancelled.
    """
    settings = PARAMS.settings(params)
    parts(data)
    hooks, rows = hooks or Hooks(), Rows.of(data)
    hooks.step("sequences", 0, 1)
    stems = rows.tokens("stems")
    answer = sequence_scores(
        stems.take(data.text),
        data.question,
        max_length=settings["max_length"],
        min_support=settings["min_support"],
    )
    hooks.step("sequences", 1, 1)
    system = np.empty(0)
    if data.outside is not None:
        system = outside_scores(
            rows, answer, trust_of(data.worker, answer), rows.tokens("treebank")
        )
    return result(PARAMS, data, Ratings(answer, system), settings=settings, rng=rng)


def outside_scores(rows: Rows, answer: FloatArray, trust: FloatArray, texts: Tokens) -> FloatArray:
    """BLEU1 (s,) of the outside rows against the best scored response to their question.

    ``answer`` and ``trust`` are the scores of the rows that vote, which come first, and of their
    authors; ``texts`` are the tokens of ``rows.texts``. NaN where nobody answered the question.
    """
    best: NDArray[np.bool_] = np.zeros(len(rows.question), dtype=bool)
    best[best_rows(rows.question[: len(answer)], answer, trust)] = True
    keep = np.flatnonzero(best | ~rows.votes)
    some = texts.take(rows.text[keep])
    return bleu(some, rows.question[keep], best[keep], order=1)[~best[keep]]


METHOD = PARAMS.as_method("Roy et al. (2016)", Responses, fit, internal=COMPARED)
