"""Samples of texts that represent human scores and sources evenly."""

from __future__ import annotations

import numpy as np

from evaluation.methods.core.base import BadParameter, BadShape, FloatArray, IntArray


def balanced_sample(
    score: FloatArray, source: IntArray, size: int, *, rng: np.random.Generator
) -> IntArray:
    """Draw texts (size,) evenly over whole human scores, and within that over sources.

    ``score`` and ``source`` (n,) are each text's human score and what it is about. Scores are
    rounded to whole points. Points take turns as long as they have texts left; a turn takes a
    text, at random, of the sources that were taken least so far. InteractEval (section 4.1) says
    that its sample represents scores and sources uniformly; how it was drawn is not published.
    Raises BadShape, BadParameter where ``size`` is not from 1 to n.
    """
    score, source = np.asarray(score, dtype=np.float64), np.asarray(source, dtype=np.int64)
    if score.shape != source.shape or score.ndim != 1 or not np.isfinite(score).all():
        raise BadShape("score and source must be finite, one each a text")
    if not 1 <= size <= len(score):
        raise BadParameter(f"size is {size!r}; it must be from 1 to {len(score)}")
    _, kind = np.unique(source, return_inverse=True)
    point = np.rint(score)
    left = [rng.permutation(np.flatnonzero(point == one)) for one in np.unique(point)]
    taken, chosen = np.zeros(kind.max() + 1, dtype=np.int64), list[int]()
    while len(chosen) < size:
        for k in rng.permutation(len(left)).tolist():
            if not len(left[k]) or len(chosen) == size:
                continue
            at = int(taken[kind[left[k]]].argmin())  # the first of a random order
            text = int(left[k][at])
            left[k] = np.delete(left[k], at)
            taken[kind[text]] += 1
            chosen.append(text)
    return np.array(chosen)
