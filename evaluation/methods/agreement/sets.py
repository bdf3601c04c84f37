"""Agreement where a worker gives several labels to an item: distances of sets for alpha.

A set of labels is one label of ``Labels``; alpha under the distances of the sets
(``coefficients.distance_alpha``) then gives part of the agreement to sets that overlap.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from evaluation.methods.core.base import FloatArray

SAME, PART, OVERLAP = 1.0, 2 / 3, 1 / 3  # Passonneau's monotonicity


def jaccard_distance(one: Set[Any], two: Set[Any]) -> float:
    """1 - shared labels / all labels of both sets; two empty sets are the same."""
    whole = len(one | two)
    return 1.0 - len(one & two) / whole if whole else 0.0


def masi_distance(one: Set[Any], two: Set[Any]) -> float:
    """1 - Jaccard * monotonicity: 1 for equal sets, 2/3 where one holds the other, 1/3 overlap.

    0 is the same set, 1 shares nothing. Passonneau, "Measuring agreement on set-valued items
    (MASI) for semantic and pragmatic annotation" (LREC 2006), section 3. Two empty sets are the
    same; an empty one and another share nothing.
    """
    if one == two:
        return 0.0
    if not one & two:
        return 1.0
    kept = PART if one < two or two < one else OVERLAP
    return 1.0 - kept * (1.0 - jaccard_distance(one, two))


def masi_distances(sets: Sequence[Set[Any]]) -> FloatArray:
    """MASI distances (k, k) of k sets of labels."""
    found = np.zeros((len(sets), len(sets)))
    for k, one in enumerate(sets):
        for j in range(k):
            found[k, j] = found[j, k] = masi_distance(one, sets[j])
    return found
