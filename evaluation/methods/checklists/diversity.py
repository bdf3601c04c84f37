"""How different the attributes of one think-aloud condition are (InteractEval, section 4.3.3).

Each measure is the mean similarity of all pairs of attributes: lower is more diverse. Lexical:
ROUGE-L of each with each ("self-ROUGE") and Jaccard; semantic: cosine of embedding vectors.

Topics are found by latent Dirichlet allocation (Blei, Ng, Jordan 2003). InteractEval fits five
topics to the attributes of the combined condition and looks on which of them the attributes of the
other conditions fall (section 5.3.1). scikit-learn fits them by variational Bayes (Hoffman, Blei
and Bach 2010), all attributes in each round; of several starts the best bound is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    BadVector,
    DataError,
    EmptyData,
    FloatArray,
    IntArray,
    check_within,
)
from evaluation.methods.core.inference import jackknife_spread
from evaluation.methods.core.units import SAME, SIMILARITY, too_few_units
from evaluation.methods.text.corpus import Tokens
from evaluation.methods.text.metrics import rouge_l

ALL_ALIKE = "every attribute is as like the others, so no interval"


class TooFewAttributes(DataError):
    """Fewer than two attributes have no pair to compare."""


@dataclass(frozen=True)
class MeanSimilarity:
    """Mean similarity of all pairs of ``n`` attributes, with a jackknife interval over attributes.

    ``low`` and ``high`` are NaN where ``reason`` says why there is no interval. The attributes are
    the units: those of several people count as drawn one by one.
    """

    estimate: float
    low: float
    high: float
    n: int
    reason: str = ""


def self_rouge_l(tokens: Tokens, *, level: float = 0.95) -> MeanSimilarity:
    """Mean ROUGE-L F1 of all pairs of attributes ("self-ROUGE"; text_metrics.rouge_l).

    Build ``tokens`` with text_corpus.token_ids. An attribute without tokens has similarity 0.
    Raises TooFewAttributes, BadParameter.
    """
    first, second = _pairs(len(tokens))
    return _mean(rouge_l(tokens)(first, second), len(tokens), level)


def self_jaccard(tokens: Tokens, *, level: float = 0.95) -> MeanSimilarity:
    """Mean share of common among all distinct tokens, over pairs (Jaccard 1912). As above."""
    first, second = _pairs(len(tokens))
    held = (word_counts(tokens) > 0).astype(np.float64)
    size = held.sum(axis=1)
    common = (held @ held.T)[first, second]
    union = size[first] + size[second] - common
    return _mean(common / np.maximum(union, 1), len(tokens), level)


def self_cosine(vectors: FloatArray, *, level: float = 0.95) -> MeanSimilarity:
    """Mean cosine of all pairs of embedding vectors (n, d).

    Raises TooFewAttributes, BadShape, and BadVector for a vector that is zero or not finite.
    """
    v = np.asarray(vectors, dtype=np.float64)
    if v.ndim != 2:
        raise BadShape(f"vectors has {v.ndim} dimensions; it must be (attributes, width)")
    norms = np.linalg.norm(v, axis=1)
    wrong = np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))
    if wrong.size:
        raise BadVector(f"the vector of attribute {int(wrong[0])} is zero or not finite")
    first, second = _pairs(len(v))
    unit = v / norms[:, None]
    return _mean((unit @ unit.T)[first, second], len(v), level)


@dataclass(frozen=True, eq=False)
class Spread:
    """How evenly attributes fall on topics (InteractEval, section 5.3.1, Figure 6b).

    ``share`` (k,) adds up to 1; ``sd`` is the shares' standard deviation (0: even), ``evenness``
    their entropy over log k (1: even, 0: one topic), ``empty`` the topics without an attribute,
    ``chance_sd`` the root mean square of the sd of ``n`` attributes dealt to topics at random.
    """

    share: FloatArray
    sd: float
    evenness: float
    empty: int
    n: int
    chance_sd: float


def topic_spread(topic: Sequence[int] | IntArray, topics: int) -> Spread:
    """Measure how evenly attributes are spread over ``topics``; ``topic`` (n,) is each one's topic.

    A small set looks uneven by chance alone, so compare ``sd`` with ``chance_sd``. Raises
    TooFewAttributes (none), BadShape, BadVector.
    """
    at = np.asarray(topic)
    if not at.size:
        raise TooFewAttributes("there are no attributes to spread over topics")
    if topics < 2:
        raise BadShape(f"there are {topics} topics; a spread needs two or more")
    if (
        at.ndim != 1
        or not np.issubdtype(at.dtype, np.integer)
        or at.min() < 0
        or at.max() >= topics
    ):
        raise BadVector(f"topic holds something other than integers from 0 to {topics - 1}")
    share = np.bincount(at, minlength=topics) / len(at)
    filled = share[share > 0]
    entropy = float(-(filled * np.log(filled)).sum())
    # Var of a multinomial share is (1/k) (1 - 1/k) / n.
    chance = float(np.sqrt((1 - 1 / topics) / (topics * len(at))))
    return Spread(
        share,
        float(share.std()),
        entropy / float(np.log(topics)),
        int((share == 0).sum()),
        len(at),
        chance,
    )


def _pairs(n: int) -> tuple[IntArray, IntArray]:
    if n < 2:
        raise TooFewAttributes(f"{n} attributes have no pair to compare")
    first, second = np.triu_indices(n, 1)
    return first.astype(np.int64), second.astype(np.int64)


def _mean(similarity: FloatArray, n: int, level: float) -> MeanSimilarity:
    """Mean over pairs in the order of _pairs; leaving out an attribute leaves out n - 1 pairs."""
    check_within("level", level)
    total = float(similarity.sum())
    estimate = total / len(similarity)
    few = too_few_units(n, "attributes", SIMILARITY)
    if few or n < 3:
        return MeanSimilarity(estimate, np.nan, np.nan, n, few)
    first, second = _pairs(n)
    of_each = np.bincount(first, similarity, n) + np.bincount(second, similarity, n)
    left_out = np.asarray(total - of_each, dtype=np.float64) / ((n - 1) * (n - 2) / 2)
    reach = jackknife_spread(left_out).reach(level)
    if reach < SAME:
        return MeanSimilarity(estimate, np.nan, np.nan, n, ALL_ALIKE)
    return MeanSimilarity(estimate, estimate - reach, estimate + reach, n)


SETTLED = 0.01  # change of the perplexity of a word, below which a fit has ended


@dataclass(frozen=True, eq=False)
class Topics:
    """Topics over ``v`` words, as scikit-learn's ``model`` holds them.

    ``bound`` is the evidence lower bound of the best start; ``converged`` whether it settled before
    its last round.
    """

    model: Any
    bound: float
    rounds: int
    converged: bool

    @property
    def words(self) -> FloatArray:
        """Probability of each word in each topic (k, v)."""
        weight: FloatArray = self.model.components_
        return weight / weight.sum(axis=1, keepdims=True)

    def shares(self, counts: FloatArray) -> FloatArray:
        """(n, k) mean share of each topic in attributes with these word counts (n, v)."""
        found: FloatArray = self.model.transform(_counts(counts, self.model.components_.shape[1]))
        return found

    def assign(self, counts: FloatArray) -> IntArray:
        """(n,) the topic with the largest share in each attribute."""
        return self.shares(counts).argmax(axis=1).astype(np.int64)


def word_counts(tokens: Tokens) -> FloatArray:
    """(n, v) how often each token occurs in each of n attributes."""
    cell = tokens.owner * tokens.size + tokens.ids
    counts = np.bincount(cell, minlength=len(tokens) * tokens.size)
    return counts.reshape(len(tokens), tokens.size).astype(np.float64)


def fit_topics(
    counts: FloatArray,
    topics: int = 5,
    *,
    rng: np.random.Generator,
    alpha: float | None = None,
    eta: float | None = None,
    restarts: int = 5,
    rounds: int = 200,
) -> Topics:
    """Topics of attributes with word counts (n, v).

    ``alpha`` and ``eta`` are the symmetric Dirichlet priors of topics in an attribute and of
    words in a topic (default 1 / topics). Topics have no order and no stable names: compare
    shares within one fit only. Raises EmptyData, BadShape, BadVector, BadParameter.
    """
    found = _counts(counts, None)
    for name, value, least in (
        ("topics", topics, 2),
        ("restarts", restarts, 1),
        ("rounds", rounds, 1),
    ):
        if value < least:
            raise BadParameter(f"{name} is {value!r}; it must be {least} or more")
    priors = (1 / topics if alpha is None else alpha, 1 / topics if eta is None else eta)
    if min(priors) <= 0:
        raise BadParameter("alpha and eta must be positive")
    # Here, as every process imports the methods, and loading this takes a second.
    from sklearn.decomposition import LatentDirichletAllocation

    fits = []
    for seed in rng.integers(2**31, size=restarts):
        model = LatentDirichletAllocation(
            topics,
            doc_topic_prior=priors[0],
            topic_word_prior=priors[1],
            max_iter=rounds,
            evaluate_every=1,
            perp_tol=SETTLED,
            random_state=int(seed),
        ).fit(found)
        bound = float(model.score(found))
        fits.append(Topics(model, bound, model.n_iter_, model.n_iter_ < rounds))
    return max(fits, key=lambda topics: topics.bound)


def _counts(counts: FloatArray, width: int | None) -> FloatArray:
    found = np.asarray(counts, dtype=np.float64)
    if found.ndim != 2 or (width is not None and found.shape[1] != width):
        raise BadShape(
            f"counts has shape {found.shape}; it must be (attributes, {width or 'words'})"
        )
    if not found.size:
        raise EmptyData("there are no attributes or no words")
    if not np.isfinite(found).all() or (found < 0).any():
        raise BadVector("counts holds something that is not a number from 0 on")
    return found
