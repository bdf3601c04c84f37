"""Baselines on the words alone: majority vote, BLEU, token F1, ROUGE-L, BERTScore.

As AQER is compared with them (Geva et al. 2025, App. H): a response is scored with all other
workers' responses to its question as references, a system's response with all of theirs. The
references are taken as equally right, so many wrong workers who agree score well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.baselines.baseline_boards import COMMON, Ratings, parts, result
from evaluation.methods.core.base import BadShape, FloatArray, Hooks, IntArray, Result
from evaluation.methods.core.params import COMPARED, Method, Param, Params, choice
from evaluation.methods.text.corpus import TOKENIZERS, Responses, Tokens, TokenVectors, token_ids
from evaluation.methods.text.metrics import (
    REFERENCES,
    SMOOTHINGS,
    Similarity,
    bert_score,
    bleu,
    f1,
    reduce_pairs,
    rouge_l,
    text_numbers,
)

VERSION = "1.0"


@dataclass(frozen=True, eq=False)
class Rows:
    """Workers' and outside responses in one: (n + s,), the workers' first; only they vote."""

    question: IntArray
    votes: NDArray[np.bool_]
    text: IntArray
    texts: tuple[str, ...]

    @classmethod
    def of(cls, data: Responses) -> Rows:
        """The rows of ``data`` and then of its outside."""
        if data.outside is None:
            return cls(data.question, np.ones(len(data), dtype=bool), data.text, data.texts)
        other = data.outside
        return cls(
            np.concatenate([data.question, other.question]),
            np.arange(len(data) + len(other)) < len(data),
            np.concatenate([data.text, other.text + len(data.texts)]),
            data.texts + other.texts,
        )

    def tokens(self, tokenizer: str) -> Tokens:
        """Tokenise the texts into ids."""
        split = TOKENIZERS[tokenizer]
        return token_ids([split(text) for text in self.texts])


Scorer = Callable[[Responses, Rows, dict[str, Any], Hooks], tuple[FloatArray, dict[str, Any]]]


def majority_scores(texts: Tokens, question: IntArray, votes: NDArray[np.bool_]) -> FloatArray:
    """Share (n,) of the other voting responses to the question with the very same tokens.

    ``texts`` are n texts, ``question`` and ``votes`` (n,). NaN without another response.
    """
    number = text_numbers(texts)
    same = np.unique(question * (int(number.max()) + 1) + number, return_inverse=True)[1]
    equal = np.bincount(same, weights=votes)[same] - votes
    others = np.bincount(question, weights=votes)[question] - votes
    return np.where(others > 0, equal / np.maximum(others, 1), np.nan)


def _majority(
    data: Responses, rows: Rows, settings: dict[str, Any], hooks: Hooks
) -> tuple[FloatArray, dict[str, Any]]:
    texts = rows.tokens(settings["tokenizer"]).take(rows.text)
    return majority_scores(texts, rows.question, rows.votes), {}


def _bleu(
    data: Responses, rows: Rows, settings: dict[str, Any], hooks: Hooks, *, order: int
) -> tuple[FloatArray, dict[str, Any]]:
    texts = rows.tokens(settings["tokenizer"]).take(rows.text)
    smoothing = settings.get("smoothing", "none")
    return bleu(texts, rows.question, rows.votes, order=order, smoothing=smoothing), {}


def _pairwise(
    data: Responses,
    rows: Rows,
    settings: dict[str, Any],
    hooks: Hooks,
    *,
    measure: Callable[[Tokens], Similarity],
) -> tuple[FloatArray, dict[str, Any]]:
    similarity = measure(rows.tokens(settings["tokenizer"]))
    return _reduce(similarity, rows, rows.text, settings, hooks), {}


def _reduce(
    similarity: Similarity, rows: Rows, text: IntArray, settings: dict[str, Any], hooks: Hooks
) -> FloatArray:
    m = np.bincount(rows.question, weights=rows.votes)
    k = np.bincount(rows.question, weights=~rows.votes)
    total = int((m * (m - 1) / 2 + m * k).sum())
    return reduce_pairs(
        similarity,
        rows.question,
        rows.votes,
        text=text,
        references=settings["references"],
        step=lambda done: hooks.step("pairs", done, total),
    )


def _bert(
    data: Responses, rows: Rows, settings: dict[str, Any], hooks: Hooks
) -> tuple[FloatArray, dict[str, Any]]:
    """A text that answers two questions has vectors once and is taken as often."""
    found = [part.vectors for part in (data, data.outside) if part is not None]
    vectors = [part for part in found if part is not None]
    if len(vectors) < len(found):
        raise BadShape("BERTScore needs the token vectors of all responses; some have none")
    if len({part.model for part in vectors}) > 1:
        raise BadShape("the outside responses' token vectors are of another model")
    if len({part.vectors.shape[1] for part in vectors}) > 1:
        raise BadShape("the outside responses' token vectors have another width")
    ends = np.cumsum([0] + [len(part.vectors) for part in vectors])
    starts = [part.start[:-1] + end for part, end in zip(vectors, ends, strict=False)]
    whole = TokenVectors(
        np.concatenate([*starts, ends[-1:]]),
        np.concatenate([part.vectors for part in vectors]),
        vectors[0].model,
    )
    text, question = rows.text, rows.question
    group = np.zeros(len(rows.texts), dtype=np.int64)
    group[text] = question
    similarity = bert_score(whole, group)
    return _reduce(similarity, rows, text, settings, hooks), {"model": whole.model}


@dataclass(frozen=True)
class Baseline:
    """One way to score a response by its words; ``own`` are the parameters it has alone."""

    slug: str
    title: str
    score: Scorer
    own: tuple[Param, ...] = ()

    @property
    def options(self) -> Params:
        """All parameters of the baseline."""
        return Params(self.slug, (*COMMON, *self.own), version=VERSION)

    def fit(
        self,
        data: Responses,
        *,
        rng: np.random.Generator,
        hooks: Hooks | None = None,
        **params: Any,
    ) -> Result:
        """Score responses, workers, systems and choose best responses.

        Parameters: ``resamples`` of the questions, ``level``, ``min_answers`` for intervals;
        ``tokenizer`` 'treebank', 'treebank_lower', 'words' or 'stems'; ``references`` 'max' (as
        published) or 'mean'; for BLEU4 ``smoothing``. Tables as described at
        ``baseline_boards.result``.

        Raises TooFewWorkers, BadShape (BERTScore without token vectors), BadParameter, Cancelled.
        """
        settings = self.options.settings(params)
        parts(data)  # says at once that there is nothing to compare
        scores, told = self.score(data, Rows.of(data), settings, hooks or Hooks())
        ratings = Ratings(scores[: len(data)], scores[len(data) :])
        return result(self.options, data, ratings, settings=settings, rng=rng, diagnostics=told)

    @property
    def method(self) -> Method:
        """The baseline as the registry of methods takes it."""
        return self.options.as_method(self.title, Responses, self.fit, internal=COMPARED)


# As App. H: NLTK's words. Whether two answers are the same should not hang on case and signs, and
# ROUGE's own tokenizer leaves both out.
_NLTK = choice("tokenizer", "treebank", tuple(TOKENIZERS))
_PLAIN = choice("tokenizer", "words", tuple(TOKENIZERS))
_REFERENCES = choice("references", "max", REFERENCES)
_SMOOTHING = choice("smoothing", "none", SMOOTHINGS)
BASELINES = {
    baseline.slug: baseline
    for baseline in (
        Baseline("majority", "Majority vote", _majority, (_PLAIN,)),
        Baseline("bleu1", "BLEU1", partial(_bleu, order=1), (_NLTK,)),
        Baseline("bleu4", "BLEU4", partial(_bleu, order=4), (_NLTK, _SMOOTHING)),
        Baseline("f1", "Token F1", partial(_pairwise, measure=f1), (_NLTK, _REFERENCES)),
        Baseline("rouge_l", "ROUGE-L", partial(_pairwise, measure=rouge_l), (_PLAIN, _REFERENCES)),
        Baseline("bert_score", "BERTScore", _bert, (_REFERENCES,)),
    )
}
METHODS = tuple(baseline.method for baseline in BASELINES.values())
