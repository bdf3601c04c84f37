"""Who always or nearly always gives one label, whatever the item.

A worker does so where all of this holds:

1. They gave LEAST labels or more.
2. At least USUAL of them are one label.
3. An honest worker would hardly do so on these items: with probability below RARE would so many
   get that label from somebody who labels as the whole crowd does, and from somebody who is always
   right (on rare labels a good worker has few occasions for them). The number is a sum of unlike
   coin tosses, whose upper tail is at most that of as many equal ones with the same mean
   (Hoeffding 1956, "On the distribution of the number of successes in independent trials",
   theorem 5), so that the rule errs on the worker's side.
4. Their competence cannot be told from guessing (Dawid-Skene's interval): a careful worker who
   gives the rare label only where it is right stays out.

On honest simulated crowds, with as few as 1 in 20 items of the rare label, no more than RARE of
the workers were taken for such a one (``tests.studies.label_rules``).
"""

from __future__ import annotations

import numpy as np
from scipy.special import bdtrc

from evaluation.methods.competence.mace.data import summed
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.votes import Labels

LEAST = 10  # labels of a worker
USUAL = 0.95  # share of one label
RARE = 1e-4  # probability under an honest worker


def same_label(
    data: Labels,
    posterior: FloatArray,
    mistakes: FloatArray,
    *,
    low: FloatArray,
    chance: FloatArray,
) -> IntArray:
    """The label (workers,) that each always or nearly always gives, else -1.

    ``posterior`` (items, K) of the true labels, ``mistakes`` (workers, true, given) the expected
    votes; ``low`` (workers,) and ``chance`` of the competence. Without bounds nobody is named.
    """
    workers, k = len(data.workers), len(data.labels)
    votes = summed(data.worker * k + data.label, data.weight, workers * k).reshape(workers, k)
    n, top = votes.sum(axis=1), votes.argmax(axis=1)
    most = votes.max(axis=1)
    crowd = mistakes.sum(axis=0)
    crowd = crowd / np.maximum(crowd.sum(axis=1, keepdims=True), 1e-300)
    # Probability of the worker's own most frequent label on each item that they labelled.
    place = data.item, top[data.worker]
    means = [
        summed(data.worker, data.weight * chance_of[place], workers) / np.maximum(n, 1.0)
        for chance_of in (posterior @ crowd, posterior)
    ]
    mean = np.maximum(*means)
    tail = bdtrc(most - 1, np.maximum(n, 1.0).astype(np.int64), np.clip(mean, 0.0, 1.0))
    named = (n >= LEAST) & (most >= USUAL * n) & (tail < RARE)
    with np.errstate(invalid="ignore"):
        named &= low <= chance
    return np.where(named, top, -1)
