"""Which questions of a checklist carry signal: alone, and by what is lost without them.

A question alone: Kendall's tau-b of its yes with the human score of the text. Left out: how the
rank correlation of the whole score changes. Both within each article where there are articles
enough (the unit is then the article), else over all texts with a jackknife over texts. Many
questions are tested at once, so the p-values are adjusted by Benjamini and Hochberg.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from evaluation.methods.agreement.rank_correlation import correlate
from evaluation.methods.agreement.significance import benjamini_hochberg
from evaluation.methods.checklists.correlation import jackknife_error
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.units import MEAN, RANKED, SAME, too_few

ENOUGH_ARTICLES = 5
ONE_VALUE = "every unit says the same, so no interval"
WITHIN, OVER_TEXTS = "within articles", "over all texts"
Row = dict[str, Any]


@dataclass(frozen=True)
class Tested:
    """An estimate with its t interval and two-sided p; NaN where there is none.

    ``units`` are the articles or texts it rests on, ``undefined`` those without a value;
    ``reason`` says why there is an estimate without an interval.
    """

    estimate: float
    low: float
    high: float
    p: float
    units: int
    undefined: int
    reason: str = ""


def signal_rows(
    yes: FloatArray, human: FloatArray, article: IntArray, *, answerer: int, level: float
) -> list[Row]:
    """A row a question of one answerer; empty without texts that have a human score.

    ``yes`` (texts, questions) holds 1, 0 or NaN; ``human`` (texts,) scores or NaN; ``article``
    (texts,) indices. Rows hold answerer, question, n, setting, tau, low, high, p, adjusted,
    undefined, reason, change, change_low, change_high, change_p, change_adjusted, change_reason:
    ``change`` is the correlation with all questions less the one without this question (above 0:
    it helps). Without an interval there is no p: both rest on the same error.
    """
    kept = np.isfinite(human) & np.isfinite(yes).any(axis=1)
    if kept.sum() < 3:
        return []
    yes, human = yes[kept], human[kept]
    article = np.unique(article[kept], return_inverse=True)[1].astype(np.int64)
    within = setting_of(article) == WITHIN
    rows = []
    for at in range(yes.shape[1]):
        known = np.isfinite(yes[:, at])
        alone = _tau(yes[known, at], human[known], article[known], within=within, level=level)
        change = _change(yes, at, human, article, within=within, level=level)
        rows.append(
            {
                "answerer": answerer,
                "question": at,
                "n": int(known.sum()),
                "setting": WITHIN if within else OVER_TEXTS,
                "tau": alone.estimate,
                "low": alone.low,
                "high": alone.high,
                "p": alone.p,
                "units": alone.units,
                "undefined": alone.undefined,
                "change": change.estimate,
                "change_low": change.low,
                "change_high": change.high,
                "change_p": change.p,
                "reason": alone.reason,
                "change_reason": change.reason,
            }
        )
    for p, adjusted in (("p", "adjusted"), ("change_p", "change_adjusted")):
        found = benjamini_hochberg([row[p] for row in rows])
        for row, value in zip(rows, found.tolist(), strict=True):
            row[adjusted] = value
    return rows


def setting_of(article: IntArray) -> str:
    """Within articles where at least five of them have two texts or more; else over all texts."""
    shared = (np.bincount(article) > 1).sum() if len(article) else 0
    return WITHIN if shared >= ENOUGH_ARTICLES else OVER_TEXTS


def share_of(yes: FloatArray) -> FloatArray:
    """Share of yes (texts,) of (texts, questions); NaN where nothing is answered."""
    known = np.isfinite(yes)
    n = known.sum(axis=1)
    total = np.where(known, yes, 0.0).sum(axis=1)
    return np.asarray(np.where(n > 0, total / np.maximum(n, 1), np.nan))


NOTHING = Tested(np.nan, np.nan, np.nan, np.nan, 0, 0)


def _tau(
    x: FloatArray, human: FloatArray, article: IntArray, *, within: bool, level: float
) -> Tested:
    if len(x) < 3:
        return NOTHING
    if within:
        group = np.unique(article, return_inverse=True)[1]
        found = correlate("kendall", x, human, group, groups=int(group.max()) + 1)
        return of_units(found.value, level)
    point = correlate("kendall", x, human).value
    return jackknifed(float(point[0]), left_out("kendall", x, human), level)


def _change(
    yes: FloatArray, at: int, human: FloatArray, article: IntArray, *, within: bool, level: float
) -> Tested:
    if yes.shape[1] < 2:
        return NOTHING
    both, rest = share_of(yes), share_of(np.delete(yes, at, axis=1))
    known = np.isfinite(both) & np.isfinite(rest)
    if known.sum() < 3:
        return NOTHING
    both, rest, human, article = both[known], rest[known], human[known], article[known]
    if within:
        group = np.unique(article, return_inverse=True)[1]
        one, two = (
            correlate("spearman", side, human, group, groups=int(group.max()) + 1).value
            for side in (both, rest)
        )
        return of_units(one - two, level)
    one, two = (correlate("spearman", side, human).value for side in (both, rest))
    apart = left_out("spearman", both, human) - left_out("spearman", rest, human)
    return jackknifed(float(one[0] - two[0]), apart, level)


def left_out(kind: str, x: FloatArray, y: FloatArray) -> FloatArray:
    """The correlation (n,) without each row in turn; NaN where that one is not defined."""
    n = len(x)
    group, row = np.nonzero(~np.eye(n, dtype=bool))
    return correlate(kind, x[row], y[row], group, groups=n).value


def of_units(values: FloatArray, level: float) -> Tested:
    """Mean of a value a unit, NaN ones left out and counted, tested against 0 by Student's t."""
    known = values[np.isfinite(values)]
    missing = len(values) - len(known)
    if not len(known):
        return Tested(np.nan, np.nan, np.nan, np.nan, 0, missing)
    error = float(known.std(ddof=1)) / len(known) ** 0.5 if len(known) > 1 else np.nan
    found = Tested(float(known.mean()), np.nan, np.nan, np.nan, len(known), missing)
    return _tested(found, error, level, too_few(len(known), "articles", MEAN))


def jackknifed(point: float, without: FloatArray, level: float) -> Tested:
    """A pooled value with the error that its leave-one-out values (n,) give."""
    known = without[np.isfinite(without)]
    found = Tested(point, np.nan, np.nan, np.nan, len(known), len(without) - len(known))
    if np.isnan(point) or not len(known):
        return found
    return _tested(found, jackknife_error(known), level, too_few(len(known), "texts", RANKED))


def _tested(found: Tested, error: float, level: float, few: str) -> Tested:
    """``found`` with its interval and p, or the reason (``few`` or no spread) why it has none."""
    # Where every unit says the same, nothing tells how sure it is.
    if why := few or ("" if error >= SAME else ONE_VALUE):
        return replace(found, reason=why)
    point, freedom = found.estimate, found.units - 1
    reach = float(-stdtrit(freedom, (1 - level) / 2)) * error
    p = float(2 * stdtr(freedom, -abs(point) / error))
    return replace(found, low=point - reach, high=point + reach, p=p)
