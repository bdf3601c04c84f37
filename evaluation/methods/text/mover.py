"""MoverScore: how little a text's tokens must move to become those of a reference.

Zhao, Peyrard, Liu, Gao, Meyer and Eger, "MoverScore: Text Generation Evaluating with Contextualized
Embeddings and Earth Mover Distance" (EMNLP 2019), section 3, with unigrams, as the authors' second
version has it: tokens of the last layer, scaled to length 1, weighted by inverse document
frequency; parts of words and punctuation weigh nothing.
"""

from __future__ import annotations

import math
import string
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from evaluation.methods.core.base import BadShape, BadVector, FloatArray

PART = "##"  # begins a token that goes on a word
PUNCTUATION = frozenset(string.punctuation)


def inverse_frequencies(documents: Sequence[Sequence[str]]) -> Mapping[str, float]:
    """Log((n + 1) / (c + 1)) of a token in c of n documents; one in none has log(n + 1)."""
    n = len(documents)
    counts = Counter(token for tokens in documents for token in set(tokens))
    found: dict[str, float] = defaultdict(lambda: math.log(n + 1))
    found.update({token: math.log((n + 1) / (c + 1)) for token, c in counts.items()})
    return found


def token_weights(tokens: Sequence[str], frequencies: Mapping[str, float]) -> FloatArray:
    """Return the weights (t,) of a text's tokens; 0 for punctuation and word pieces."""
    return np.array(
        [0.0 if PART in one or one in PUNCTUATION else frequencies[one] for one in tokens]
    )


def mover_score(
    first: FloatArray, first_weight: FloatArray, second: FloatArray, second_weight: FloatArray
) -> float:
    """1 less the earth mover's distance of two texts' tokens; NaN where one weighs nothing.

    ``first`` (a, d) and ``second`` (b, d) are unit vectors, ``*_weight`` their weights, which are
    scaled to a sum of 1. Distances are Euclidean. Raises BadShape, BadVector.
    """
    if first.ndim != 2 or second.ndim != 2 or first.shape[1:] != second.shape[1:]:
        raise BadShape("token vectors are (tokens, width), of one width")
    if (len(first), len(second)) != (len(first_weight), len(second_weight)):
        raise BadShape("there must be one weight a token")
    weights = [np.asarray(one, dtype=np.float64) for one in (first_weight, second_weight)]
    if any(not np.isfinite(one).all() or (one < 0).any() for one in weights):
        raise BadVector("a weight is negative or not finite")
    if not all(one.sum() > 0 for one in weights):
        return float("nan")
    kept = [one > 0 for one in weights]
    mass = [one[keep] / one.sum() for one, keep in zip(weights, kept, strict=True)]
    apart = first[kept[0]][:, None, :] - second[kept[1]][None, :, :]
    distance = np.sqrt(np.square(apart, dtype=np.float64).sum(axis=2))
    return 1.0 - _least_cost(distance, *mass)


def _least_cost(distance: FloatArray, first: FloatArray, second: FloatArray) -> float:
    """The cheapest flow (a, b) of mass ``first`` (a,) to ``second`` (b,), by linear programming."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, kron, vstack

    a, b = distance.shape
    leaves = kron(eye_array(a), np.ones((1, b)))
    comes = kron(np.ones((1, a)), eye_array(b))
    # The last row follows from the others, since both sides sum to 1.
    rows = csr_array(vstack([leaves, comes]))[:-1]
    found = linprog(
        distance.ravel(),
        A_eq=rows,
        b_eq=np.concatenate([first, second])[:-1],
        bounds=(0, None),
        method="highs",
    )
    if not found.success:
        raise BadVector(f"the transport problem has no solution: {found.message}")
    return float(found.fun)
