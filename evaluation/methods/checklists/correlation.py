"""How well a metric follows human scores: within each article, or over all texts at once.

Chu et al., "InteractEval" (2024), eq. (2): the sample-level correlation is taken over the texts
(systems) of one article and averaged over articles. An article where one side is constant has no
correlation: it is left out and counted, and the mean that takes it for 0 is shown beside. The
pooled correlation over all texts is another thing, since articles differ in level.

Two ways of scoring the same texts are compared by how well each follows human scores. InteractEval
(4.3.2, Table 4) does so by Fisher's z for independent samples. Both
correlations are of the same texts with the same human scores, so that test is too cautious where
the two scores go together, and texts of one article are alike, so that both it and the test for
dependent correlations (Meng, Rosenthal and Rubin 1992) find too much: two scorings that follow
people equally well differ by their p in .10 to .42 of data sets. They stand here as published,
without p where articles have several texts. What is concluded from is the paired difference by
article (t; covered .94 to .97 from 5 articles on, also of uneven size).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.agreement.rank_correlation import (
    KINDS,
    Correlations,
    check_sides,
    correlate,
    spearman,
)
from evaluation.methods.agreement.significance import benjamini_hochberg, fisher_z_difference
from evaluation.methods.core.base import FloatArray, IntArray, check_within
from evaluation.methods.core.inference import (
    Spread,
    jackknife_spread,
    mean_interval,
    mean_spread,
)
from evaluation.methods.core.units import ALL_SAME, CORRELATION, LEAST, MEAN, SAME


@dataclass(frozen=True, eq=False)
class SampleLevel:
    """Mean correlation over the articles that have one; NaN where none has.

    ``low``, ``high``: t interval with the article as unit (NaN under 2 articles). ``as_zero`` is
    the mean over all articles with an undefined one taken for 0. ``undefined`` counts those;
    ``by_article`` has each one's value and reason.
    """

    estimate: float
    low: float
    high: float
    as_zero: float
    articles: int
    undefined: int
    by_article: Correlations


@dataclass(frozen=True)
class Pooled:
    """One correlation over all texts; the interval leaves out one article at a time (jackknife).

    ``estimate``, ``low`` and ``high`` are NaN where there is none; ``reason`` then says why.
    """

    estimate: float
    low: float
    high: float
    n: int
    articles: int
    reason: str


def sample_level(
    metric: Any, human: Any, article: Any, *, kind: str = "spearman", level: float = 0.95
) -> SampleLevel:
    """Eq. (2) with ``kind`` spearman, kendall (tau-b) or pearson.

    ``metric``, ``human`` and ``article`` (n,) have a row a text; ``article`` holds indices, and
    only those that occur count. Raises EmptyData, BadShape, BadVector, UnknownIndex, BadParameter.
    """
    check_within("level", level)
    group, articles = _numbered(metric, human, article)
    found = correlate(kind, metric, human, group, groups=articles)
    values = found.value[found.defined]
    estimate, low, high = mean_interval(values, level)
    return SampleLevel(
        estimate,
        low,
        high,
        float(values.sum()) / articles,
        articles,
        articles - len(values),
        found,
    )


def pooled(
    metric: Any, human: Any, article: Any, *, kind: str = "spearman", level: float = 0.95
) -> Pooled:
    """Correlate all texts (n,) at once, whatever their article; arguments as ``sample_level``."""
    check_within("level", level)
    group, articles = _numbered(metric, human, article)
    found = correlate(kind, metric, human)
    estimate = float(found.value[0])
    n = len(group)
    reason = "; ".join(found.undefined())
    if reason or articles < 3:
        words = reason or "fewer than 3 articles, so no interval"
        return Pooled(estimate, np.nan, np.nan, n, articles, words)
    without = without_articles(kind, np.asarray(metric), np.asarray(human), group)
    if not np.isfinite(without).all():
        return Pooled(estimate, np.nan, np.nan, n, articles, "rests on one article")
    spread = jackknife_spread(without, np.bincount(group), noun="articles")
    if reason := spread.why_no_interval(0):
        return Pooled(estimate, np.nan, np.nan, n, articles, reason)
    reach = spread.reach(level)
    return Pooled(
        estimate, max(estimate - reach, -1.0), min(estimate + reach, 1.0), n, articles, ""
    )


def without_articles(kind: str, x: FloatArray, y: FloatArray, group: IntArray) -> FloatArray:
    """Return the correlation (g,) without each article in turn; NaN where undefined."""
    articles = int(group.max()) + 1
    if articles < 2:
        return np.full(articles, np.nan)
    without, row = np.nonzero(group[None, :] != np.arange(articles)[:, None])
    return correlate(kind, x[row], y[row], without, groups=articles).value


SAMPLE_LEVEL, POOLED = "sample-level", "pooled"


def correlation_rows(
    scores: Any, human: Any, article: Any, level: float = 0.95
) -> list[dict[str, Any]]:
    """Return a row for every kind of correlation in both settings; NaN where it is undefined.

    ``scores``, ``human`` and ``article`` (n,) have a row a text. Rows hold kind, setting
    ('sample-level', eq. 2, or 'pooled'), estimate, low, high, as_zero, articles, undefined and n;
    those of articles ``flip_p``, of ``sign_flip_p``. There is no interval under five articles with
    a correlation. Raises as ``sample_level``.
    """
    rows = []
    none = float("nan")
    for kind in KINDS:
        s = sample_level(scores, human, article, kind=kind, level=level)
        p = pooled(scores, human, article, kind=kind, level=level)
        low, high = (max(s.low, -1.0), min(s.high, 1.0))
        if s.articles - s.undefined < LEAST[MEAN]:
            low = high = none
        far = (p.low, p.high) if p.articles >= LEAST[CORRELATION] else (none, none)
        rows.append(
            {
                "kind": kind,
                "setting": SAMPLE_LEVEL,
                "estimate": s.estimate,
                "low": low,
                "high": high,
                "as_zero": s.as_zero,
                "articles": s.articles,
                "undefined": s.undefined,
                "n": p.n,
                "flip_p": sign_flip_p(s.by_article.value[s.by_article.defined]),
            }
        )
        rows.append(
            {
                "kind": kind,
                "setting": POOLED,
                "estimate": p.estimate,
                "low": far[0],
                "high": far[1],
                "as_zero": none,
                "articles": p.articles,
                "undefined": int(np.isnan(p.estimate)),
                "n": p.n,
                "flip_p": none,
            }
        )
    return rows


MOST_FLIPPED = 30  # articles up to which all signs are tried


def sign_flip_p(values: FloatArray) -> float:
    """Two-sided p of a mean of ``values`` (n,) over all 2^n choices of their signs (Fisher 1935).

    Exact where values are symmetric about 0, also where they are few and coarse. The sums of one
    half are counted against those of the other. NaN without values and beyond 30 of them, from
    where a t interval holds.
    """
    if not 0 < len(values) <= MOST_FLIPPED:
        return float("nan")
    sums = []
    for half in (values[::2], values[1::2]):
        found = np.zeros(1)
        for value in half:
            found = np.concatenate([found - value, found + value])
        sums.append(found)
    least = abs(float(values.sum())) - SAME
    if least <= 0:
        return 1.0
    far = sums[1].size - np.searchsorted(np.sort(sums[1]), least - sums[0])
    return float(2 * far.sum() / 2 ** len(values))


def _numbered(metric: Any, human: Any, article: Any) -> tuple[NDArray[np.int64], int]:
    """Articles that occur, numbered from 0 without gaps; checks everything."""
    sides = check_sides(metric, human, article)
    names, group = np.unique(sides.group, return_inverse=True)
    return group.astype(np.int64), len(names)


FIGURES = tuple(
    "r_first r_second between independent_z independent_p dependent_z dependent_p s_first s_second "
    "difference low high p".split()
)
FEWEST = 5  # texts in common, below which nothing is compared
Row = dict[str, Any]


def compare_rows(
    scores: Sequence[FloatArray],
    human: FloatArray,
    article: IntArray,
    pairs: Sequence[tuple[int, int]],
    *,
    level: float = 0.95,
) -> list[Row]:
    """A row for each pair of series on the texts that both scored.

    ``scores`` are arrays (texts,) with NaN where a series has none; ``human`` and ``article``
    (texts,). Rows hold first, second (indices), n, articles, the pooled Spearman correlations
    r_first, r_second and between, z of both tests on them (independent_z, dependent_z) and p
    (independent_p, dependent_p; NaN where articles have several texts), the sample-level means
    s_first, s_second on articles where both are defined, their difference with interval and p
    (setting "by article": paired t), adjusted (Benjamini-Hochberg over the rows) and reason: why
    there is no comparison, or no interval and no p. Where no article has a correlation of both,
    the difference is of the pooled ones (setting "over all texts", articles left out in turn).
    """
    rows = [_compared(scores, human, article, pair, level=level) for pair in pairs]
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
    level: float,
) -> Row:
    one, two = scores[pair[0]], scores[pair[1]]
    kept = np.isfinite(one) & np.isfinite(two) & np.isfinite(human)
    row: Row = {"first": pair[0], "second": pair[1], "n": int(kept.sum())}
    row |= dict.fromkeys(FIGURES, float("nan")) | {"articles": 0, "setting": "", "reason": ""}
    if kept.sum() < FEWEST:
        return row | {"reason": f"fewer than {FEWEST} texts in common"}
    one, two, human, article = one[kept], two[kept], human[kept], article[kept]
    return row | _z_tests(one, two, human, article) | _paired(one, two, human, article, level)


def _z_tests(one: FloatArray, two: FloatArray, human: FloatArray, article: IntArray) -> Row:
    """Run both tests of the pooled rank correlations on Fisher's scale."""
    r = [pooled(side, human, article).estimate for side in (one, two)]
    between = float(spearman(one, two).value[0])
    row: Row = {"r_first": r[0], "r_second": r[1], "between": between}
    if not all(abs(value) < 1 for value in r):
        return row  # NaN, or a perfect correlation, has no z
    n = len(human)
    found = {"independent": fisher_z_difference(r[0], n, r[1], n)}
    if abs(between) < 1:
        found["dependent"] = fisher_z_difference(r[0], n, r[1], n, between=between)
    shared = len(np.unique(article)) < n
    for name, test in found.items():
        row |= {f"{name}_z": test.z, f"{name}_p": float("nan") if shared else test.p}
    return row


def _paired(
    one: FloatArray, two: FloatArray, human: FloatArray, article: IntArray, level: float
) -> Row:
    """The difference by article, or of the pooled correlations where no article has one."""
    first, second = (sample_level(side, human, article).by_article for side in (one, two))
    both = first.defined & second.defined
    row: Row = {"articles": int(both.sum())}
    if both.any():
        sides = first.value[both], second.value[both]
        spread = mean_spread(sides[0] - sides[1], "articles")
        row |= {"setting": "by article", **_tested(*sides, spread, LEAST[MEAN], level)}
        return row
    group = np.unique(article, return_inverse=True)[1].astype(np.int64)
    points = [float(spearman(side, human).value[0]) for side in (one, two)]
    if not np.isfinite(points).all():
        return row | {"reason": "one of the scores is the same in all texts"}
    left = [without_articles("spearman", side, human, group) for side in (one, two)]
    spread = jackknife_spread(left[0] - left[1], np.bincount(group), noun="articles")
    sides = np.array(points[:1]), np.array(points[1:])
    return row | {"setting": "over all texts", **_tested(*sides, spread, LEAST[CORRELATION], level)}


def _tested(first: FloatArray, second: FloatArray, spread: Spread, least: int, level: float) -> Row:
    """Means of both sides and their difference, with interval and p or the reason for neither."""
    means = float(first.mean()), float(second.mean())
    gap = means[0] - means[1]
    row: Row = {"s_first": means[0], "s_second": means[1], "difference": gap}
    if why := spread.why_no_interval(least) or ("" if spread.se >= SAME else ALL_SAME):
        return row | {"reason": why}
    reach = spread.reach(level)
    p = float(2 * scipy.special.stdtr(spread.freedom, -abs(gap) / spread.se))
    return row | {"low": gap - reach, "high": gap + reach, "p": p}
