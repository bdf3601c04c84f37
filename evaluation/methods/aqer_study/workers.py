"""Every method on the same crowd: a board of workers each, held against AQER and against experts.

Table 3 of Geva et al. 2025 (section 6.1) on one's own workers: Pearson's r of each worker's score
with the mean grade that experts gave the worker's answers. Without grades there are the boards, and
how far each method orders the workers as AQER does, which says nothing about who is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from evaluation.methods.agreement.method_correlations import COLUMNS, compare_correlations
from evaluation.methods.aqer import classes
from evaluation.methods.aqer import method as aqer
from evaluation.methods.aqer.rounds import mean_by_worker
from evaluation.methods.aqer_study.curves import curves
from evaluation.methods.baselines import bag_of_words, chai, rasa, roy
from evaluation.methods.baselines.baselines import BASELINES
from evaluation.methods.core.base import (
    BadShape,
    FloatArray,
    Hooks,
    Result,
    Table,
    Texts,
    of_rows,
)
from evaluation.methods.core.inference import jackknife_spread
from evaluation.methods.core.params import Params, flag, resamples, whole_number
from evaluation.methods.core.units import ALL_SAME, CORRELATION, SAME, fisher, too_few_units
from evaluation.methods.text.corpus import TOKENIZERS, Responses

NAME, VERSION = "text_methods", "1.1"
AQER, CLASSES, CHAI, KEY = "aqer", "aqer_classes", "chai", "key"
LEVEL = 0.95
BOARD = (
    "method",
    "worker",
    "component",
    "n",
    "score",
    "low",
    "high",
    "rank",
    "rank_low",
    "rank_high",
    "reason",
)
AGAINST = ("method", "r", "low", "high", "n", "reason")
EXPERTS = (*AGAINST, "difference", "difference_low", "difference_high", "difference_reason")
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Crowd:
    """Workers' answers as vectors and as words, and what experts gave them.

    ``grade`` (n,) are grades (0-100) in the order in which the answers were given, NaN where there
    is none; ``key`` (n,) likewise the cosines with the right answers, None where nobody wrote any.
    """

    texts: Texts
    responses: Responses
    grade: FloatArray
    key: FloatArray | None = None

    def __post_init__(self) -> None:
        """Raise BadShape where the parts do not fit."""
        size = len(self.texts)
        if len(self.responses) != size or np.shape(self.grade) != (size,):
            raise BadShape(f"there are {size} answers, {len(self.responses)} responses and grades")
        if self.key is not None and np.shape(self.key) != (size,):
            raise BadShape(f"there are {size} answers and {np.shape(self.key)} cosines")


Fit = Callable[..., Result]


def _bags(crowd: Crowd, **options: Any) -> Result:
    """Bag-of-words AQER of the answers' stems (App. G)."""
    data, split = crowd.responses, TOKENIZERS["stems"]
    words = [split(data.texts[at]) for at in data.text]
    bags = bag_of_words.Bags.build(
        data.worker, data.question, words, workers=data.workers, questions=data.questions
    )
    return bag_of_words.fit(bags, **options)


def _of_texts(fit: Fit, **own: Any) -> Fit:
    return lambda crowd, **options: fit(crowd.texts, **own, **options)


def _of_words(fit: Fit) -> Fit:
    return lambda crowd, **options: fit(crowd.responses, **options)


def _chai(crowd: Crowd, **options: Any) -> Result:
    return chai.fit(chai.Dual(crowd.texts, crowd.responses), **options)


METHODS: dict[str, tuple[str, Fit]] = {
    AQER: ("AQER", _of_texts(aqer.fit)),
    "aqer_uniterated": ("AQER, first round only", _of_texts(aqer.fit, vote="mean")),
    CLASSES: ("AQER, each class of answers by itself", _of_texts(classes.fit)),
    "bag_of_words": ("AQER on bags of words, by majority", _bags),
    "rasa": ("RASA (Li and Fukumoto 2019)", _of_texts(rasa.fit)),
    CHAI: (chai.METHOD.title, _chai),
    "roy": ("Roy et al. (2016)", _of_words(roy.fit)),
    **{slug: (one.title, _of_words(one.fit)) for slug, one in BASELINES.items()},
}
TITLES = {slug: title for slug, (title, _) in METHODS.items()}
PARAMS = Params(
    NAME,
    (
        *(flag(slug, True, label=title) for slug, title in TITLES.items() if slug != AQER),
        resamples(1000, label="Resamples of the questions"),
        whole_number(
            "subsets",
            50,
            10,
            1000,
            or_zero=True,
            label="Random subsets of each size",
            help="For the curves of how many questions and workers it takes; 0 leaves them out.",
        ),
    ),
    version=VERSION,
)


def fit(
    data: Crowd, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """A board of workers by every chosen method, and the correlations of these.

    Parameters: a flag a method (AQER is always fitted; BERTScore only where ``data.responses``
    have token vectors), and ``resamples`` of the questions for the boards' intervals.

    Tables: ``board``, a row a method and worker: component, n, score (the column that ranks there:
    adjusted for the questions where boards have gaps), low, high, rank, rank_low, rank_high,
    reason (why there is no score or no interval). ``against``, a row a method but AQER: Pearson's
    r of its workers' scores with AQER's, by Fisher's interval over workers. ``experts``, a row a
    method: r with the mean grade of the worker's graded answers, and its difference from AQER's r
    on the same workers with a jackknife over workers, whose intervals hold all at once
    (Bonferroni). ``measures``: Pearson's r and Spearman's rho with the same grades and their
    differences from AQER's by BCa over workers, with Holm's p-values (Tables 3 and D1). All r are
    over the largest component. ``curves``: AQER's r by the number of questions and of workers, on
    random ``subsets`` of them. These three are empty without grades.
    ``keys``: how the cosines with right answers, and AQER's scores of the same answers, go with the
    grades, over answers and by BCa over questions (Table P2). ``answer``: AQER's score of each
    answer in the order in which the answers were given.

    Diagnostics: ``titles`` of the fitted methods, ``skipped`` and ``unsettled`` ones with the
    reason, ``graded`` answers, and of questions with several ``classes`` of answers, of those
    ``asked``, a row a class (see ``aqer.classes``). Raises TooFewWorkers, BadParameter, Cancelled.
    """
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    wanted = [slug for slug in METHODS if slug == AQER or settings[slug]]
    skipped = {}
    if data.responses.vectors is None and "bert_score" in wanted:
        wanted.remove("bert_score")
        skipped["bert_score"] = "the encoder has no token vectors"
    if CHAI in wanted and np.bincount(data.texts.question).max() > chai.MOST:
        wanted.remove(CHAI)
        skipped[CHAI] = f"a question has more than {chai.MOST} answers"
    rows: list[Row] = []
    unsettled: dict[str, str] = {}
    answer, told = np.full(len(data.texts), np.nan), {"classes": [], "asked": 0}
    for at, slug in enumerate(wanted):
        # A method alone would begin at 0 again; its steps only say that it lives.
        alive = Hooks(progress=partial(_tick, hooks, (at, len(wanted))))
        found = METHODS[slug][1](data, rng=rng, hooks=alive, resamples=settings["resamples"])
        if not found.converged:
            unsettled[slug] = "its weights did not settle"
        if slug == AQER:
            scored = found.estimates["answer"]
            answer[scored["source"]] = scored["score"]
        if slug == CLASSES:
            told = {name: found.diagnostics[name] for name in ("classes", "asked")}
        rows += _board(slug, found, unsettled.get(slug, ""))
    hooks.step("methods", len(wanted), len(wanted))
    scores = _scores(rows, wanted, len(data.texts.workers))
    grade = data.grade[data.texts.source]
    grades = mean_by_worker(grade, data.texts.worker, len(data.texts.workers))
    return PARAMS.result(
        settings,
        {
            "board": of_rows(rows, BOARD),
            "against": of_rows(_against_aqer(scores), AGAINST),
            "experts": of_rows(_against_experts(scores, grades), EXPERTS),
            "measures": _measures(scores, grades, rng),
            "keys": _key_correlations(data, answer, rng),
            "answer": Table({"score": answer}),
            "curves": curves(
                data.texts,
                grade,
                rng=rng,
                subsets=settings["subsets"],
                hooks=Hooks(progress=partial(_tick, hooks, (len(wanted), len(wanted)))),
            ),
        },
        {
            "titles": {slug: TITLES[slug] for slug in wanted},
            **told,
            "skipped": skipped,
            "unsettled": unsettled,
            "graded": int(np.isfinite(data.grade).sum()),
            "graded_workers": int(np.isfinite(grades).sum()),
        },
    )


def _tick(hooks: Hooks, at: tuple[int, int], stage: str, done: int, total: int) -> None:
    hooks.step("methods", *at)


def _board(slug: str, found: Result, unsettled: str) -> list[Row]:
    """The workers' rows of one method; without scores where it did not settle."""
    intervals = found.intervals["worker"]
    parts = {part["number"]: part for part in found.diagnostics["components"]}
    rows = []
    for at, row in enumerate(found.estimates["worker"].rows()):
        adjusted = row.get("adjusted")
        by_adjusted = (
            adjusted is not None and parts.get(row["component"], {}).get("ranked_by") == "adjusted"
        )
        ends = (
            (intervals.adjusted_low, intervals.adjusted_high)
            if by_adjusted
            else (intervals.low, intervals.high)
        )
        sure = intervals.group[at] > 0
        told = {
            "score": adjusted if by_adjusted else row["score"],
            "low": ends[0][at],
            "high": ends[1][at],
            "rank": row["rank"],
            "rank_low": int(intervals.rank_low[at]) if sure else 0,
            "rank_high": int(intervals.rank_high[at]) if sure else 0,
            "reason": intervals.reason[at],
        }
        if unsettled:
            none = {"score": np.nan, "low": np.nan, "high": np.nan, "reason": unsettled}
            told = {**none, "rank": 0, "rank_low": 0, "rank_high": 0}
        who = {"method": slug, "worker": row["worker"], "component": row["component"]}
        rows.append({**who, "n": row["n"], **told})
    return rows


def _scores(rows: list[Row], methods: list[str], size: int) -> dict[str, FloatArray]:
    """Scores (m,) of the workers of the largest component by method; NaN for all others."""
    part = np.zeros(size, dtype=np.int64)
    for row in rows:
        if row["method"] == AQER:
            part[row["worker"]] = row["component"]
    numbers = np.bincount(part)
    numbers[0] = 0
    largest = int(numbers.argmax())
    found = {slug: np.full(size, np.nan) for slug in methods}
    for row in rows:
        if part[row["worker"]] == largest and row["score"] is not None:
            found[row["method"]][row["worker"]] = row["score"]
    return found


def _against_aqer(scores: Mapping[str, FloatArray]) -> list[Row]:
    return [
        {"method": slug, **_pearson(own, scores[AQER])}
        for slug, own in scores.items()
        if slug != AQER
    ]


def _against_experts(scores: Mapping[str, FloatArray], grades: FloatArray) -> list[Row]:
    if not np.isfinite(grades).any():
        return []
    family = len(scores) - 1
    rows = []
    for slug, own in scores.items():
        gap = dict.fromkeys(EXPERTS[-4:-1], np.nan) | {"difference_reason": ""}
        if slug != AQER:
            gap = _difference(own, scores[AQER], grades, family)
        rows.append({"method": slug, **_pearson(own, grades), **gap})
    return rows


def _measures(
    scores: Mapping[str, FloatArray], grades: FloatArray, rng: np.random.Generator
) -> Table:
    if not np.isfinite(grades).any():
        return of_rows([], COLUMNS)
    return compare_correlations(scores, grades, np.arange(len(grades)), base=AQER, rng=rng)


def _key_correlations(data: Crowd, answer: FloatArray, rng: np.random.Generator) -> Table:
    """Over the graded answers whose question has a right answer; empty without any."""
    if data.key is None or not np.isfinite(data.key + data.grade).any():
        return of_rows([], COLUMNS)
    question = np.empty(len(data.texts), dtype=np.int64)
    question[data.texts.source] = data.texts.question
    grade = np.where(np.isfinite(data.key), data.grade, np.nan)
    sides = {AQER: answer, KEY: data.key}
    return compare_correlations(sides, grade, question, base=AQER, rng=rng, noun="questions")


def _pearson(one: FloatArray, other: FloatArray) -> Row:
    """Pearson's r of two scores (m,) over the workers that have both, by Fisher's interval."""
    both = np.isfinite(one) & np.isfinite(other)
    n = int(both.sum())
    row = {"r": np.nan, "low": np.nan, "high": np.nan, "n": n, "reason": ""}
    if reason := too_few_units(n, "workers", CORRELATION):
        return {**row, "reason": reason}
    r = float(_r(one[both], other[both])[0])
    if np.isnan(r):
        return {**row, "reason": "one side is the same for every worker"}
    low, high = fisher(r, n, LEVEL)
    return {**row, "r": r, "low": low, "high": high}


def _r(one: FloatArray, other: FloatArray) -> FloatArray:
    """r of all (first), and with each worker left out: (n + 1,); NaN where a side is constant."""
    one, other = one - one.mean(), other - other.mean()
    terms = np.stack([np.ones(len(one)), one, other, one**2, other**2, one * other])
    total = terms.sum(axis=1, keepdims=True)
    n, x, y, xx, yy, xy = np.concatenate([total, total - terms], axis=1)
    spread = (xx - x * x / n) * (yy - y * y / n)
    tiny = 1e-18 * max(float((one**2).sum() * (other**2).sum()), 1e-300)
    return np.where(
        spread > tiny, (xy - x * y / n) / np.sqrt(np.where(spread > tiny, spread, 1)), np.nan
    )


def _difference(one: FloatArray, base: FloatArray, grades: FloatArray, family: int) -> Row:
    """r with the grades less AQER's, on the workers whom both score, jackknifed over workers.

    The intervals of ``family`` differences hold all at once (Bonferroni).
    """
    both = np.isfinite(one) & np.isfinite(base) & np.isfinite(grades)
    n = int(both.sum())
    names = EXPERTS[-4:]

    def told(gap: float, reason: str, reach: float = np.nan) -> Row:
        return dict(zip(names, (gap, gap - reach, gap + reach, reason), strict=True))

    if reason := too_few_units(n, "workers", CORRELATION):
        return told(np.nan, reason)
    gaps = _r(one[both], grades[both]) - _r(base[both], grades[both])
    if not np.isfinite(gaps).all():
        return told(float(gaps[0]), "one side is the same for nearly every worker")
    spread = jackknife_spread(gaps[1:])
    if spread.se < SAME:
        return told(float(gaps[0]), ALL_SAME)
    return told(float(gaps[0]), "", spread.reach(LEVEL, family))


METHOD = PARAMS.as_method("Compare methods", Crowd, fit)
