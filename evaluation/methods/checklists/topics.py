"""Topics of attributes by latent Dirichlet allocation (Blei, Ng, Jordan 2003).

InteractEval fits five topics to the attributes of the combined condition and looks on which of
them the attributes of the other conditions fall (section 5.3.1). scikit-learn fits them by
variational Bayes (Hoffman, Blei and Bach 2010), all attributes in each round; of several starts
the best bound is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    BadVector,
    EmptyData,
    FloatArray,
    IntArray,
)
from evaluation.methods.text.corpus import Tokens

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
        """(k, v) probability of each word in each topic."""
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
