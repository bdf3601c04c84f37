"""Factors of texts compared, each whatever the others are, such as style against style.

CrowdRAG, section 5.2: styles are compared "independent of authorship" (Table 7, columns of both
origins) by Wilcoxon's signed rank test over topics, after Benjamini and Hochberg. Here two values
are compared within the strata that have both: in a topic where only people wrote news, news and
essays are compared by people alone, so that a difference of origins never stands for one of styles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from evaluation.methods.agreement.significance import wilcoxon_bh
from evaluation.methods.core.base import BadShape, FloatArray, IntArray, Table, of_rows
from evaluation.methods.pairwise.tables import EVERY, mean_interval

MEAN = ("factor", "value", "dimension", "grade", "se", "low", "high", "n")
TEST = (
    *("factor", "value_a", "value_b", "dimension", "n", "zero", "difference", "low", "high"),
    *("effect", "p", "adjusted", "differs", "reason"),
)
NEVER = "no topic has both, with all else equal"


@dataclass(frozen=True, eq=False)
class Factor:
    """What each text is by one attribute, and by all others that are held equal.

    Parameters
    ----------
    value
        (n,) number of the text's value; -1 where it has none.
    stratum
        (n,) number of what the other attributes say of the text together.
    """

    value: IntArray
    stratum: IntArray

    def cells(self, grade: FloatArray, topic: IntArray, topics: int) -> FloatArray:
        """Mean grade (values, strata, topics, d) of texts ``grade`` (n, d); NaN without any."""
        shape = (int(self.value.max()) + 1, int(self.stratum.max()) + 1, topics, grade.shape[1])
        total, n = np.zeros((2, *shape))
        has = self.value >= 0
        known = ~np.isnan(grade[has])
        at = self.value[has], self.stratum[has], topic[has]
        np.add.at(total, at, np.where(known, grade[has], 0.0))
        np.add.at(n, at, known)
        return _ratio(total, n)


def compare_factors(
    grade: FloatArray, topic: IntArray, factors: Sequence[Factor], *, level: float = 0.95
) -> tuple[Table, Table]:
    """Mean grade of each value of each factor, and tests of every two values.

    Parameters
    ----------
    grade
        (n, d) grade of each text on each dimension, NaN where there is none.
    topic
        (n,) number of its topic, which is the unit of intervals and tests.
    level
        Of the intervals; 1 - level is the false discovery rate over all tests.

    Returns
    -------
    MEAN
        A row a factor (its place in ``factors``), value and dimension, and with dimension EVERY
        the mean over dimensions of topics that have all: ``grade``, the mean over topics of the
        mean over strata, ``se``, ``low``, ``high`` (t), ``n`` topics.
    TEST
        A row a factor, two values and a dimension: ``difference`` a - b, the mean over topics of
        its mean over the strata that have both, with ``low`` and ``high`` (each alone), and as
        ``wilcoxon_bh`` gives them ``n`` (topics), ``zero``, ``effect``, ``p``, ``adjusted`` over
        all rows of all factors, ``differs`` and the ``reason`` where there is no test.

    Raises BadShape.
    """
    if grade.ndim != 2 or any(
        len(one) != len(grade) for f in factors for one in (topic, f.value, f.stratum)
    ):
        raise BadShape("grades, topics, values and strata must be of the same texts")
    means: list[dict[str, Any]] = []
    keys: list[dict[str, Any]] = []
    apart: list[FloatArray] = []
    topics = int(topic.max()) + 1 if len(topic) else 0
    for place, factor in enumerate(factors):
        if not (factor.value >= 0).any():
            continue
        cells = factor.cells(grade, topic, topics)
        for value, own in enumerate(cells):
            means += _means({"factor": place, "value": value}, _mean(own), level)
        for a, b in combinations(range(len(cells)), 2):
            gap = _mean(cells[a] - cells[b])
            for k in range(grade.shape[1]):
                keys.append({"factor": place, "value_a": a, "value_b": b, "dimension": k})
                apart.append(gap[~np.isnan(gap[:, k]), k])
    return of_rows(means, MEAN), of_rows(_tests(keys, apart, level), TEST)


def _ratio(total: FloatArray, n: FloatArray) -> FloatArray:
    found: FloatArray = np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0)
    return found


def _mean(values: FloatArray) -> FloatArray:
    """Mean over the first axis of what is known; NaN where nothing is."""
    known = ~np.isnan(values)
    return _ratio(np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0).astype(float))


def _means(key: dict[str, Any], grade: FloatArray, level: float) -> list[dict[str, Any]]:
    """Rows of the grades (topics, d) of one value."""
    whole = grade[~np.isnan(grade).any(axis=1)].mean(axis=1)
    rows = []
    for k in range(EVERY, grade.shape[1]):
        found = mean_interval(whole if k == EVERY else grade[:, k], level)
        rows.append({**key, "dimension": k, "grade": found.pop("mean"), **found})
    return rows


def _tests(
    keys: list[dict[str, Any]], apart: list[FloatArray], level: float
) -> list[dict[str, Any]]:
    """Rows of the differences by topic of each key, corrected over all of them."""
    known = {str(at): (gap, np.zeros(len(gap))) for at, gap in enumerate(apart) if len(gap)}
    tested = wilcoxon_bh(known, level=1 - level).rows() if known else []
    found = {int(row.pop("name")): row for row in tested}
    none = {
        **dict.fromkeys(("difference", "effect", "p", "adjusted"), np.nan),
        **{"n": 0, "zero": 0, "differs": False, "reason": NEVER},
    }
    rows = []
    for at, (key, gap) in enumerate(zip(keys, apart, strict=True)):
        span = mean_interval(gap, level)
        own = {name: np.nan if x is None else x for name, x in found.get(at, none).items()}
        rows.append({**key, **own, "low": span["low"], "high": span["high"]})
    return rows
