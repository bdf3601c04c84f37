"""Scores of single answers from one judge: the mean of an author, and how two judges' boards agree.

AQER, appendix H, takes the mean of an author's scores. What is independent are the questions: the
answers to one are judged alike, so intervals are over questions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.methods.agreement.counts import bounds
from evaluation.methods.agreement.rank_correlation import spearman
from evaluation.methods.core.base import FloatArray, IntArray, index_array
from evaluation.methods.core.inference import mean_interval
from evaluation.methods.core.units import AGREEMENT, too_few_units

FEWEST = 5  # questions or topics from which an interval is given
FEWEST_AUTHORS = 3  # below these an order of authors says nothing
LEAST_DEFINED = 0.9  # share of the resamples in which there must be a correlation
TRIES = 2000


@dataclass(frozen=True)
class Mean:
    """An author's mean over ``n`` questions with its interval, or why there is none."""

    author: int
    estimate: float
    low: float | None
    high: float | None
    n: int
    reason: str = ""


def author_means(
    author: IntArray,
    question: IntArray,
    score: FloatArray,
    *,
    level: float = 0.95,
    noun: str = "question",
) -> list[Mean]:
    """The mean of each author (t interval over questions), those with a score alone.

    ``author``, ``question`` and ``score`` are (n,); several answers of an author to one question
    are averaged first. Below five questions no interval is given.
    """
    found = []
    for one in np.unique(author).tolist():
        own = author == one
        _, at = np.unique(question[own], return_inverse=True)
        mean = np.bincount(at, weights=score[own]) / np.bincount(at)
        n = len(mean)
        if n < FEWEST:
            said = f"{n} {noun}{'' if n == 1 else 's'}; an interval needs {FEWEST}"
            found.append(Mean(one, float(mean.mean()), None, None, n, said))
            continue
        found.append(Mean(one, *mean_interval(mean, level), n))
    return found


@dataclass(frozen=True)
class Agreement:
    """Spearman's correlation of two boards over ``authors``, with an interval over ``questions``.

    ``reason`` says why there is no correlation or no interval.
    """

    rho: float | None
    low: float | None
    high: float | None
    authors: int
    questions: int
    reason: str = ""


def boards_agree(
    author: IntArray,
    question: IntArray,
    one: FloatArray,
    two: FloatArray,
    *,
    rng: np.random.Generator,
    authors: int,
    questions: int,
    level: float = 0.95,
    resamples: int = TRIES,
) -> Agreement:
    """Correlate how two judges rank the authors of the same answers.

    ``one`` and ``two`` (n,) are their scores of answers by ``author`` (below ``authors``) to
    ``question`` (below ``questions``). Questions are resampled; both boards see the same draw.
    Where there are five questions or more, authors with fewer of them are left out: hardly any
    draw would hold them. No interval below 15 questions: from 5 and 10 .74 and .90 of intervals at
    .95 held, from 15 on .94 to .99. Boards from few questions are noisy, so that ``rho`` lies below
    what endless questions would give, and so do its bounds where that is near 1. Raises what
    ``index_array`` does.
    """
    a = index_array("author", author, authors)
    q = index_array("question", question, questions)
    sums = np.zeros((3, questions, authors))
    for place, values in enumerate((np.ones(len(a)), one, two)):
        np.add.at(sums[place], (q, a), values)
    asked = int((sums[0].sum(axis=1) > 0).sum())
    present = (sums[0] > 0).sum(axis=0) >= (FEWEST if asked >= FEWEST else 1)
    known = int(present.sum())
    if known < FEWEST_AUTHORS:
        said = f"{known} on both boards; an order needs {FEWEST_AUTHORS}"
        return Agreement(None, None, None, known, asked, said)
    sums = sums[:, sums[0].sum(axis=1) > 0][:, :, present]
    whole = _rho(sums.sum(axis=1)[:, None])[0]
    if not np.isfinite(whole):
        said = "one of the boards has all authors equal"
        return Agreement(None, None, None, known, asked, said)
    if said := too_few_units(asked, "questions", AGREEMENT):
        return Agreement(float(whole), None, None, known, asked, said)
    drawn = rng.multinomial(asked, np.full(asked, 1 / asked), size=resamples).astype(np.float64)
    rho = _rho(np.einsum("bq,kqa->kba", drawn, sums))
    good = rho[np.isfinite(rho)]
    if len(good) < LEAST_DEFINED * resamples:
        said = "too many resamples leave an author without an answer"
        return Agreement(float(whole), None, None, known, asked, said)
    low, high, said = bounds(good, asked, level, "questions")
    if said:
        return Agreement(float(whole), None, None, known, asked, said)
    return Agreement(float(whole), low, high, known, asked)


def _rho(sums: FloatArray) -> FloatArray:
    """Spearman of the means (b,) from count and two sums (3, b, authors); NaN without one."""
    count, one, two = sums
    full = (count > 0).all(axis=1)
    out = np.full(len(count), np.nan)
    rows = np.flatnonzero(full)
    if len(rows):
        means = [np.round(part[rows] / count[rows], 12) for part in (one, two)]
        group = np.repeat(np.arange(len(rows)), count.shape[1])
        out[rows] = spearman(means[0].ravel(), means[1].ravel(), group).value
    return out
