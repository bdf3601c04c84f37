"""Who always or nearly always gives one label, whatever the item.

A worker does so where all of this holds:

1. They gave LEAST labels or more.
2. At least USUAL of them are one label.
3. An honest worker would hardly do so on these items: with probability below RARE would so many
   get that label from somebody who labels as the whole crowd does, from somebody who is always
   right (on rare labels a good worker has few occasions for them), and from somebody who always
   gives the majority's label (where guessers give a rare label often, the model takes it for more
   frequent than it is, and honest workers for people of one label). The number is a sum of unlike
   coin tosses, whose upper tail is at most that of as many equal ones with the same mean
   (Hoeffding 1956, "On the distribution of the number of successes in independent trials",
   theorem 5), so that the rule errs on the worker's side.
4. Their competence cannot be told from guessing (Dawid-Skene's interval): a careful worker who
   gives the rare label only where it is right stays out.

In simulated crowds (``tests.studies.label_rules``, ADR 24): at most .0014 of honest workers were
named, where 1 in 10 or 20 items is of a rare label, none elsewhere; up to .033 of guessers with
strong preferences. Of those who always give one label .57 to .95 were named from 25 labels on where
labels are about as frequent, .4 to .6 where one is rare or workers gave unlike numbers of labels,
and next to none with few labels.
"""

from __future__ import annotations

import numpy as np
import scipy

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
        for chance_of in (posterior @ crowd, posterior, _majority(data))
    ]
    mean = np.max(means, axis=0)
    tail = scipy.special.bdtrc(
        most - 1, np.maximum(n, 1.0).astype(np.int64), np.clip(mean, 0.0, 1.0)
    )
    named = (n >= LEAST) & (most >= USUAL * n) & (tail < RARE)
    with np.errstate(invalid="ignore"):
        named &= low <= chance
    return np.where(named, top, -1)


def _majority(data: Labels) -> FloatArray:
    """Chance (items, K) that each label is the majority's, level ones being drawn from."""
    items, k = len(data.items), len(data.labels)
    votes = summed(data.item * k + data.label, data.weight, items * k).reshape(items, k)
    top = votes >= votes.max(axis=1, keepdims=True)
    found: FloatArray = top / top.sum(axis=1, keepdims=True)
    return found
