"""Topics of attributes by latent Dirichlet allocation (Blei, Ng, Jordan 2003).

InteractEval fits five topics to the attributes of the combined condition and looks on which of
them the attributes of the other conditions fall (section 5.3.1). Variational Bayes as in Hoffman,
Blei and Bach (2010), all attributes in each round, several starts, the best bound kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    BadVector,
    EmptyData,
    FloatArray,
    IntArray,
)
from evaluation.methods.text.corpus import Tokens

INNER = 100


@dataclass(frozen=True, eq=False)
class Topics:
    """Topics over ``v`` words: ``weight`` (k, v) are the Dirichlet parameters of their words.

    ``alpha`` is the prior weight of a topic in an attribute; ``bound`` the evidence lower bound of
    the best start; ``converged`` whether its last round changed the bound by less than tolerance.
    """

    weight: FloatArray
    alpha: float
    bound: float
    rounds: int
    converged: bool

    @property
    def words(self) -> FloatArray:
        """(k, v) probability of each word in each topic."""
        return self.weight / self.weight.sum(axis=1, keepdims=True)

    def shares(self, counts: FloatArray) -> FloatArray:
        """(n, k) mean share of each topic in attributes with these word counts (n, v)."""
        gamma, _ = _attributes(_counts(counts, self.weight.shape[1]), self.weight, self.alpha)
        found: FloatArray = gamma / gamma.sum(axis=1, keepdims=True)
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
    tolerance: float = 1e-5,
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
    starts = [rng.gamma(100.0, 0.01, (topics, found.shape[1])) for _ in range(restarts)]
    fits = [_fit(found, start, priors, rounds, tolerance) for start in starts]
    return max(fits, key=lambda topics: topics.bound)


def _fit(
    counts: FloatArray,
    weight: FloatArray,
    priors: tuple[float, float],
    rounds: int,
    tolerance: float,
) -> Topics:
    alpha, eta = priors
    last, bound, done = -np.inf, -np.inf, 0
    for done in range(1, rounds + 1):
        gamma, expected = _attributes(counts, weight, alpha)
        bound = _bound(counts, gamma, weight, alpha, eta)
        if abs(bound - last) <= tolerance * abs(bound):
            return Topics(weight, alpha, bound, done, True)
        last = bound
        weight = eta + expected
    return Topics(weight, alpha, bound, done, False)


def _log_mean(parameters: FloatArray) -> FloatArray:
    """E[log p] under Dirichlet rows."""
    found: FloatArray = digamma(parameters) - digamma(parameters.sum(axis=1, keepdims=True))
    return found


def _attributes(
    counts: FloatArray, weight: FloatArray, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Topic parameters gamma (n, k) of the attributes, and expected word counts (k, v)."""
    words = np.exp(_log_mean(weight))
    gamma = np.ones((len(counts), len(weight)))
    for _ in range(INNER):
        before = gamma
        theta = np.exp(_log_mean(gamma))
        ratio = counts / (theta @ words + 1e-100)
        gamma = alpha + theta * (ratio @ words.T)
        if np.abs(gamma - before).mean() < 1e-4:
            break
    theta = np.exp(_log_mean(gamma))
    ratio = counts / (theta @ words + 1e-100)
    return gamma, words * (theta.T @ ratio)


def _bound(
    counts: FloatArray, gamma: FloatArray, weight: FloatArray, alpha: float, eta: float
) -> float:
    """Evidence lower bound (Hoffman et al. 2010, eq. 4)."""
    log_theta, log_words = _log_mean(gamma), _log_mean(weight)
    total = float((counts * np.log(np.exp(log_theta) @ np.exp(log_words) + 1e-100)).sum())
    for parameters, logs, prior in ((gamma, log_theta, alpha), (weight, log_words, eta)):
        rows, size = parameters.shape
        total += float(((prior - parameters) * logs + gammaln(parameters)).sum())
        total -= float(gammaln(parameters.sum(axis=1)).sum())
        total += rows * float(gammaln(size * prior) - size * gammaln(prior))
    return total


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
