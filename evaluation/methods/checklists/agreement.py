"""What is known of a checklist's questions: who agrees on them, and which of them carry signal.

Per question and over all of them: Krippendorff's alpha of people, with a bootstrap over articles,
and Cohen's kappa of an answerer with the people's majority. As the yardstick of a model stands
what one person reaches against the majority of the others.

Signal of a question alone: Kendall's tau-b of its yes with the human score of the text. Left out:
how the rank correlation of the whole score changes. Both within each article where there are
articles enough, else over all texts; articles are the units of both.
Many questions are tested at once, so the p-values are adjusted by Benjamini and Hochberg.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from evaluation.methods.agreement.coefficients import alpha_interval, krippendorff_alpha
from evaluation.methods.agreement.counts import bounds
from evaluation.methods.agreement.rank_correlation import correlate
from evaluation.methods.agreement.significance import benjamini_hochberg
from evaluation.methods.checklists.correlation import without_articles
from evaluation.methods.core.base import DataError, FloatArray, IntArray
from evaluation.methods.core.inference import Spread, jackknife_spread, mean_spread
from evaluation.methods.core.units import LEAST, MEAN, RANKED, SAME, too_few_units
from evaluation.methods.core.votes import Labels

ALL = -1  # the question of a row over all questions
ONE_PERSON = -1  # the answerer of a row on one person against the majority of the others
ANSWERS = ("no", "yes")
Row = dict[str, Any]


def majority_of(
    text: IntArray, question: IntArray, yes: FloatArray, texts: int, questions: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the majority's answers (texts, questions), NaN for ties, with share and count.

    ``text``, ``question`` and ``yes`` (n,) are people's answers, 0 or 1.
    """
    n = np.zeros((texts, questions), dtype=np.int64)
    total = np.zeros((texts, questions))
    np.add.at(n, (text, question), 1)
    np.add.at(total, (text, question), yes)
    share = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    most = np.where(share > 0.5, 1.0, np.where(share < 0.5, 0.0, np.nan))
    return most, share, n


def agreement_rows(
    person: IntArray,
    text: IntArray,
    question: IntArray,
    yes: FloatArray,
    article: IntArray,
    *,
    people: int,
    questions: int,
    rng: np.random.Generator,
    resamples: int,
    level: float,
) -> list[Row]:
    """Alpha of people, a row a question and one over all (question -1).

    ``person``, ``text``, ``question``, ``yes`` (n,); ``article`` (texts,) is what is resampled:
    texts of one article, and the answers about one text, are not independent. Rows hold question,
    n, shared (items that two people answered), yes_share, alpha, low, high, reason.
    """
    rows = []
    for at in (ALL, *range(questions)):
        mine = np.ones(len(text), dtype=bool) if at == ALL else question == at
        item = text[mine] * questions + question[mine]
        items, place = np.unique(item, return_inverse=True)
        row: Row = {
            "question": at,
            "n": int(mine.sum()),
            "shared": int((np.bincount(place, minlength=len(items)) > 1).sum()),
            "yes_share": float(yes[mine].mean()) if mine.any() else np.nan,
            "alpha": np.nan,
            "low": np.nan,
            "high": np.nan,
            "reason": "",
        }
        rows.append(row)
        if not mine.any():
            row["reason"] = "nobody answered it"
            continue
        votes = Labels.build(
            person[mine],
            place,
            yes[mine].astype(np.int64),
            workers=[str(k) for k in range(people)],
            items=[str(k) for k in items.tolist()],
            labels=ANSWERS,
        )
        try:
            row["alpha"] = krippendorff_alpha(votes)
            units = np.unique(article[items // questions], return_inverse=True)[1]
            found = alpha_interval(
                votes, rng=rng, resamples=resamples, confidence=level, group=units, noun="articles"
            )
            row["low"], row["high"], row["reason"] = found.low, found.high, found.reason
        except DataError as problem:
            row["reason"] = str(problem)
    return rows


def with_people_rows(
    answers: FloatArray,
    majority: FloatArray,
    article: IntArray,
    *,
    answerer: int,
    rng: np.random.Generator,
    resamples: int,
    level: float,
) -> list[Row]:
    """Agreement of one answerer with a majority, a row a question and one over all.

    ``answers`` and ``majority`` (texts, questions) hold 1, 0 or NaN. Rows hold answerer,
    question, n, same (share), kappa, low, high (bootstrap over articles) and reason.
    """
    known = np.isfinite(answers) & np.isfinite(majority)
    rows = []
    for at in (ALL, *range(answers.shape[1])):
        columns = slice(None) if at == ALL else slice(at, at + 1)
        cells = table_of(answers[:, columns], majority[:, columns], known[:, columns], article)
        row: Row = {"answerer": answerer, "question": at}
        rows.append(row | kappa_of(cells, rng=rng, resamples=resamples, level=level))
    return rows


def one_person(
    person: IntArray,
    text: IntArray,
    question: IntArray,
    yes: FloatArray,
    article: IntArray,
    *,
    questions: int,
    rng: np.random.Generator,
    resamples: int,
    level: float,
) -> list[Row]:
    """The same rows (answerer -1) for a person against the majority of the other people."""
    _, share, n = majority_of(text, question, yes, len(article), questions)
    others = n[text, question] - 1
    # Counted in whole answers: a share of them is not always exactly one half.
    ahead = 2 * (np.rint(share[text, question] * n[text, question]) - yes) - others
    usable = (others > 0) & (ahead != 0)
    rows = []
    for at in (ALL, *range(questions)):
        mine = usable & ((question == at) if at != ALL else True)
        most = (ahead[mine] > 0).astype(np.float64)
        cells = table_of(
            yes[mine, None],
            most[:, None],
            np.ones((int(mine.sum()), 1), bool),
            article[text[mine]],
        )
        row: Row = {"answerer": ONE_PERSON, "question": at}
        rows.append(row | kappa_of(cells, rng=rng, resamples=resamples, level=level))
    return rows


def table_of(first: FloatArray, second: FloatArray, known: Any, article: IntArray) -> FloatArray:
    """Counts (articles, 4) of no/no, no/yes, yes/no and yes/yes among the known cells."""
    units = np.unique(article, return_inverse=True)[1]
    size = int(units.max()) + 1 if len(units) else 0
    code = np.where(known, 2 * np.nan_to_num(first) + np.nan_to_num(second), -1).astype(np.int64)
    cells = np.zeros((size, 4))
    for k in range(4):
        np.add.at(cells[:, k], units, (code == k).sum(axis=1))
    return cells


def kappa_of(cells: FloatArray, *, rng: np.random.Generator, resamples: int, level: float) -> Row:
    """Compute Cohen's kappa and the share of equal answers from counts (units, 4).

    Cohen, "A coefficient of agreement for nominal scales" (1960).
    """
    cells = cells[cells.sum(axis=1) > 0]
    total = cells.sum(axis=0)
    n = int(total.sum())
    row: Row = {
        "n": n,
        "same": np.nan,
        "kappa": np.nan,
        "low": np.nan,
        "high": np.nan,
        "reason": "",
    }
    if not n:
        return row | {"reason": "no question has an answer of both"}
    row["same"] = float((total[0] + total[3]) / n)
    row["kappa"] = float(_kappa(total[None])[0])
    if np.isnan(row["kappa"]):
        return row | {"reason": "both give one answer throughout; kappa is not defined"}
    even = np.full(len(cells), 1 / len(cells))
    draws = _kappa(rng.multinomial(len(cells), even, size=resamples) @ cells)
    low, high, why = bounds(draws, len(cells), level, "articles", mass=cells.sum(axis=1))
    if not why and np.isnan(draws).mean() > 0.5:
        low, high, why = np.nan, np.nan, "most resamples hold one answer only, so no interval"
    return row | {"low": low, "high": high, "reason": why}


def _kappa(cells: FloatArray) -> FloatArray:
    n = cells.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = cells / n[:, None]
        same = share[:, 0] + share[:, 3]
        first, second = share[:, 2] + share[:, 3], share[:, 1] + share[:, 3]
        chance = first * second + (1 - first) * (1 - second)
        return np.asarray(np.where(chance < 1 - 1e-12, (same - chance) / (1 - chance), np.nan))


ENOUGH_ARTICLES = 5
ONE_VALUE = "every unit says the same, so no interval"
WITHIN, OVER_TEXTS = "within articles", "over all texts"


@dataclass(frozen=True)
class Tested:
    """An estimate with its t interval and two-sided p; NaN where there is none.

    ``units`` are the articles it rests on, ``undefined`` those without a value;
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
    """Choose the setting: within articles if five have two texts or more, else over all texts."""
    shared = (np.bincount(article) > 1).sum() if len(article) else 0
    return WITHIN if shared >= ENOUGH_ARTICLES else OVER_TEXTS


def share_of(yes: FloatArray) -> FloatArray:
    """Return the share of yes (texts,) among the answers (texts, questions); NaN without any."""
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
    group = np.unique(article, return_inverse=True)[1].astype(np.int64)
    if within:
        found = correlate("kendall", x, human, group, groups=int(group.max()) + 1)
        return of_units(found.value, level)
    point = correlate("kendall", x, human).value
    return jackknifed(float(point[0]), without_articles("kendall", x, human, group), group, level)


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
    group = np.unique(article, return_inverse=True)[1].astype(np.int64)
    if within:
        one, two = (
            correlate("spearman", side, human, group, groups=int(group.max()) + 1).value
            for side in (both, rest)
        )
        return of_units(one - two, level)
    one, two = (correlate("spearman", side, human).value for side in (both, rest))
    left = [without_articles("spearman", side, human, group) for side in (both, rest)]
    return jackknifed(float(one[0] - two[0]), left[0] - left[1], group, level)


def of_units(values: FloatArray, level: float) -> Tested:
    """Average a value over units, without NaN, and test it against 0 by Student's t."""
    known = values[np.isfinite(values)]
    missing = len(values) - len(known)
    if not len(known):
        return Tested(np.nan, np.nan, np.nan, np.nan, 0, missing)
    found = Tested(float(known.mean()), np.nan, np.nan, np.nan, len(known), missing)
    return _tested(found, mean_spread(known, "articles"), level, LEAST[MEAN])


def jackknifed(point: float, without: FloatArray, article: IntArray, level: float) -> Tested:
    """A pooled value over texts of ``article`` (n,), by its values ``without`` (g,) each."""
    kept = np.isfinite(without)
    found = Tested(point, np.nan, np.nan, np.nan, int(kept.sum()), int((~kept).sum()))
    if np.isnan(point):
        return found
    if few := too_few_units(len(without), "articles", RANKED):
        return replace(found, reason=few)
    spread = jackknife_spread(without[kept], np.bincount(article)[kept], noun="articles")
    return _tested(found, spread, level, LEAST[RANKED])


def _tested(found: Tested, spread: Spread, level: float, least: int) -> Tested:
    """``found`` with its interval and p, or the reason (few units or no spread) for neither."""
    # Where every unit says the same, nothing tells how sure it is.
    if why := spread.why_no_interval(least) or ("" if spread.se >= SAME else ONE_VALUE):
        return replace(found, reason=why)
    point, reach = found.estimate, spread.reach(level)
    p = float(2 * scipy.special.stdtr(spread.freedom, -abs(point) / spread.se))
    return replace(found, low=point - reach, high=point + reach, p=p)
