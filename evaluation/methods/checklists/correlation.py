"""How well a metric follows human scores: within each article, or over all texts at once.

Jeong et al., "InteractEval" (2024), eq. (2): the sample-level correlation is taken over the texts
(systems) of one article and averaged over articles. An article where one side is constant has no
correlation: it is left out and counted, and the mean that takes it for 0 is shown beside. The
pooled correlation over all texts is another thing, since articles differ in level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from evaluation.methods.agreement.rank_correlation import (
    KINDS,
    Correlations,
    check_sides,
    correlate,
)
from evaluation.methods.core.base import BadParameter, FloatArray


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
    check_level(level)
    group, articles = _numbered(metric, human, article)
    found = correlate(kind, metric, human, group, groups=articles)
    values = found.value[found.defined]
    low, high = mean_interval(values, level)
    estimate = float(values.mean()) if len(values) else np.nan
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
    """One correlation of all texts (n,), whatever their article. Arguments as sample_level."""
    check_level(level)
    group, articles = _numbered(metric, human, article)
    found = correlate(kind, metric, human)
    estimate = float(found.value[0])
    n = len(group)
    reason = "; ".join(found.undefined())
    if reason or articles < 3:
        words = reason or "fewer than 3 articles, so no interval"
        return Pooled(estimate, np.nan, np.nan, n, articles, words)
    kept = group[None, :] != np.arange(articles)[:, None]
    without, row = np.nonzero(kept)
    left = correlate(
        kind, np.asarray(metric)[row], np.asarray(human)[row], without, groups=articles
    )
    if not left.defined.all():
        return Pooled(estimate, np.nan, np.nan, n, articles, "rests on one article")
    error = jackknife_error(left.value)
    reach = float(-stdtrit(articles - 1, (1 - level) / 2)) * error
    return Pooled(
        estimate, max(estimate - reach, -1.0), min(estimate + reach, 1.0), n, articles, ""
    )


LEAST = 5  # articles, below which an interval over articles says nothing
SAMPLE_LEVEL, POOLED = "sample-level", "pooled"


def correlation_rows(
    scores: Any, human: Any, article: Any, level: float = 0.95
) -> list[dict[str, Any]]:
    """Every kind of correlation in both settings, a row each; NaN where one is not defined.

    ``scores``, ``human`` and ``article`` (n,) have a row a text. Rows hold kind, setting
    ('sample-level', eq. 2, or 'pooled'), estimate, low, high, as_zero, articles, undefined and n.
    There is no interval under LEAST articles with a correlation. Raises as ``sample_level``.
    """
    rows = []
    none = float("nan")
    for kind in KINDS:
        s = sample_level(scores, human, article, kind=kind, level=level)
        p = pooled(scores, human, article, kind=kind, level=level)
        low, high = (max(s.low, -1.0), min(s.high, 1.0))
        if s.articles - s.undefined < LEAST:
            low = high = none
        far = (p.low, p.high) if p.articles >= LEAST else (none, none)
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
            }
        )
    return rows


def jackknife_error(left_out: FloatArray) -> float:
    """Standard error from estimates (k,) that each leave out one of k units (Efron 1982, 3.2)."""
    k = len(left_out)
    return float(np.sqrt((k - 1) / k * ((left_out - left_out.mean()) ** 2).sum()))


def mean_interval(values: FloatArray, level: float) -> tuple[float, float]:
    """t interval of the mean of values (k,); NaN for fewer than two."""
    k = len(values)
    if k < 2:
        return np.nan, np.nan
    reach = float(-stdtrit(k - 1, (1 - level) / 2)) * float(values.std(ddof=1)) / k**0.5
    return float(values.mean()) - reach, float(values.mean()) + reach


def check_level(level: float) -> None:
    """Raise BadParameter unless 0 < level < 1."""
    if not 0 < level < 1:
        raise BadParameter(f"level is {level!r}; it must lie between 0 and 1")


def _numbered(metric: Any, human: Any, article: Any) -> tuple[NDArray[np.int64], int]:
    """Articles that occur, numbered from 0 without gaps; checks everything."""
    sides = check_sides(metric, human, article)
    names, group = np.unique(sides.group, return_inverse=True)
    return group.astype(np.int64), len(names)
