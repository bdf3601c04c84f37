"""Two ways of scoring the same texts compared by how well each follows human scores.

InteractEval (4.3.2, Table 4) compares conditions by Fisher's z for independent samples. Both
correlations are of the same texts with the same human scores, so that test is too cautious where
the two scores go together; it stands here as published, and beside it the test for dependent
correlations (Meng, Rosenthal and Rubin 1992) and a bootstrap of the paired difference by article.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evaluation.methods.agreement.rank_correlation import spearman
from evaluation.methods.agreement.significance import (
    bca_correlation_difference,
    bca_mean_difference,
    benjamini_hochberg,
    fisher_z_difference,
)
from evaluation.methods.checklists.correlation import pooled, sample_level
from evaluation.methods.core.base import DataError, FloatArray, IntArray
from evaluation.methods.core.units import RESAMPLED, too_few

FEWEST = 5  # texts in common, below which nothing is compared
Row = dict[str, Any]


def compare_rows(
    scores: Sequence[FloatArray],
    human: FloatArray,
    article: IntArray,
    pairs: Sequence[tuple[int, int]],
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    level: float = 0.95,
) -> list[Row]:
    """A row for each pair of series on the texts that both scored.

    ``scores`` are arrays (texts,) with NaN where a series has none; ``human`` and ``article``
    (texts,). Rows hold first, second (indices), n, articles, the pooled Spearman correlations
    r_first, r_second and between, z and p of both tests on them (independent_z, independent_p,
    dependent_z, dependent_p), the sample-level means s_first, s_second on articles where both
    are defined, their difference with interval and p (paired bootstrap over articles, or over
    texts where fewer than 5 articles have both: setting says which), adjusted (Benjamini-Hochberg
    over the rows) and reason: why there is no comparison, or no interval.
    """
    rows = [
        _compared(scores, human, article, pair, rng=rng, resamples=resamples, level=level)
        for pair in pairs
    ]
    for p, adjusted in (
        ("p", "adjusted"),
        ("dependent_p", "dependent_adjusted"),
        ("independent_p", "independent_adjusted"),
    ):
        found = benjamini_hochberg([row[p] for row in rows]) if rows else np.zeros(0)
        for row, value in zip(rows, found.tolist(), strict=True):
            row[adjusted] = value
    return rows


def _compared(
    scores: Sequence[FloatArray],
    human: FloatArray,
    article: IntArray,
    pair: tuple[int, int],
    *,
    rng: np.random.Generator,
    resamples: int,
    level: float,
) -> Row:
    one, two = scores[pair[0]], scores[pair[1]]
    kept = np.isfinite(one) & np.isfinite(two) & np.isfinite(human)
    none = float("nan")
    row: Row = {
        "first": pair[0],
        "second": pair[1],
        "n": int(kept.sum()),
        "r_first": none,
        "r_second": none,
        "between": none,
        "independent_z": none,
        "independent_p": none,
        "dependent_z": none,
        "dependent_p": none,
        "s_first": none,
        "s_second": none,
        "difference": none,
        "low": none,
        "high": none,
        "p": none,
        "articles": 0,
        "setting": "",
        "reason": "",
    }
    if kept.sum() < FEWEST:
        return row | {"reason": f"fewer than {FEWEST} texts in common"}
    one, two, human, article = one[kept], two[kept], human[kept], article[kept]
    row |= _z_tests(one, two, human, article)
    try:
        return row | _paired(one, two, human, article, rng=rng, resamples=resamples, level=level)
    except DataError as problem:
        return row | {"reason": str(problem)}


def _z_tests(one: FloatArray, two: FloatArray, human: FloatArray, article: IntArray) -> Row:
    """Both tests on Fisher's scale, of the pooled rank correlations."""
    r = [pooled(side, human, article).estimate for side in (one, two)]
    between = float(spearman(one, two).value[0])
    row: Row = {"r_first": r[0], "r_second": r[1], "between": between}
    if not all(abs(value) < 1 for value in r):
        return row  # NaN, or a perfect correlation, has no z
    n = len(human)
    apart = fisher_z_difference(r[0], n, r[1], n)
    row |= {"independent_z": _z(apart), "independent_p": apart.p}
    if abs(between) < 1:
        same = fisher_z_difference(r[0], n, r[1], n, between=between)
        row |= {"dependent_z": _z(same), "dependent_p": same.p}
    return row


def _z(found: Any) -> float:
    """The test statistic: the difference in standard errors."""
    error = (found.high - found.low) / (2 * 1.959963984540054)
    return float(found.estimate / error) if error > 0 else float("nan")


def _paired(
    one: FloatArray,
    two: FloatArray,
    human: FloatArray,
    article: IntArray,
    *,
    rng: np.random.Generator,
    resamples: int,
    level: float,
) -> Row:
    first, second = (sample_level(side, human, article).by_article for side in (one, two))
    both = first.defined & second.defined
    row: Row = {"articles": int(both.sum())}
    if by_article := bool(both.sum() >= FEWEST):
        found = bca_mean_difference(
            first.value[both], second.value[both], rng=rng, resamples=resamples, confidence=level
        )
        row["setting"] = "by article"
    else:
        found = bca_correlation_difference(
            one, two, human, rng=rng, method="spearman", resamples=resamples, confidence=level
        )
        row["setting"] = "over all texts"
    units, noun = (row["articles"], "articles") if by_article else (len(human), "texts")
    why = too_few(units, noun, RESAMPLED) or found.reason
    none = float("nan")
    return row | {
        "s_first": found.first,
        "s_second": found.second,
        "difference": found.estimate,
        "low": none if why else found.low,
        "high": none if why else found.high,
        "p": found.p,
        "reason": why,
    }
