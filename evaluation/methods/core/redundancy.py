"""How many answers a question has, what ranks then, and what one more answer would bring.

A board's redundancy is the median number of answers to its questions. What ranks at which
redundancy was measured on real and simulated crowds: the table stands in ``aqer``, the study in
tests/studies/aqer_redundancy.py. How well the reliability holds (8 crowds of each set; true: two
halves of the questions fitted apart; foretold: ``with_one_more`` of the reliability told at r - 1):

==================================  ==  ====  ====  ========
set                                  r  true  told  foretold
==================================  ==  ====  ====  ========
summaries (SummEval)                 2  .47   .48
summaries (SummEval), raw            3  .76   .75   .73
summaries (SummEval), raw            4  .87   .85   .86
summaries (SummEval), raw            5  .92   .90   .90
answers by models, in bundles        2  .47   .44
answers by models, in bundles, raw   3  .78   .79   .70
answers by models, in bundles, raw   4  .87   .87   .88
writers and a model (CrowdRAG)       2  .39   .28
writers and a model, raw             3  .71   .61   .54
writers and a model, raw             4  .84   .80   .76
writers and a model, raw             5  .89   .88   .87
planted, hard and easy questions     2  .51   .49
planted, hard and easy, raw          3  .82   .75   .74
planted, hard and easy, raw          4  .85   .84   .86
==================================  ==  ====  ====  ========

Of the adjusted score what is told at three answers is low by up to .19 (SummEval .63 for .73), and
what is foretold for four by up to .20; from four on both are within .09.
Where workers hardly differ (Mohler's answers, true .1 to .5) it errs by up to .3. A reliable
ranking need not be right: on SummEval it is .92 where the correlation with quality is .38.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.methods.aqer.rounds import Options
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.boards import Draws, Rules, Scores
from evaluation.methods.core.bootstrap import widening_factor

FEW = 3  # below so many answers a question a board warns
ADJUSTED_FROM = 3  # answers a question from which the adjusted score may rank
ITERATED_FROM = 5  # answers a question from which the own answer may be left out of each round
RANK_BY = ("auto", "score", "adjusted")
FEWEST = 4  # workers below whom a reliability says nothing
FLAT = 1e-12  # a variance of scores below this says nothing


def answers_per_question(question: IntArray) -> IntArray:
    """Count the answers of each answered question; ``question`` (n,) is that of each answer."""
    counts = np.bincount(question)
    return counts[counts > 0]


def median_redundancy(question: IntArray) -> float:
    """The median number of answers to a question."""
    return float(np.median(answers_per_question(question)))


def ranking_column(question: IntArray, *, complete: bool, asked: str = "auto") -> str:
    """The column that ranks a board: "score" or "adjusted".

    ``question`` (n,) are the questions of the answers, ``complete`` says that all rows of the
    board answered the same. ``asked``, one of RANK_BY, is taken as it is unless it is "auto".
    """
    if asked != "auto":
        return asked
    few = median_redundancy(question) < ADJUSTED_FROM
    return "score" if complete or few else "adjusted"


def options_for(options: Options, question: IntArray) -> Options:
    """Return the options, reduced to one round where too few answers make iterating unstable.

    The worst worker gets no vote. Where the own answer is left out too, one or two others are all
    that an answer to a question of three or four is compared with, and the rounds may turn in
    circles (12 of 72 crowds at three answers); of three workers the better two always tie.
    """
    few = median_redundancy(question) < ITERATED_FROM
    if not few or not options.leave_one_out or options.start != "equal":
        return options
    return replace(options, vote="mean")


def reliability(
    point: FloatArray, draws: FloatArray, n: IntArray, *, complete: bool
) -> float | None:
    """The correlation to expect with the same workers' scores on as many other questions, 0 to 1.

    1 - (mean squared standard error) / (variance of the scores). ``point`` (k,) are the scores of
    the column that ranks, ``draws`` (b, k) its resamples, ``n`` (k,) the answers behind each row,
    ``complete`` which bootstrap drew them. None below FEWEST rows, without resamples, or where all
    score alike.
    """
    if len(point) < FEWEST or len(draws) < 2:
        return None
    spread = float(point.var(ddof=1))
    if spread <= FLAT:
        return None
    errors = draws.std(axis=0, ddof=1) * widening_factor(n, complete=complete)
    return max(0.0, 1.0 - float((errors**2).mean()) / spread)


def predicted_reliability(reliability: float, answers: float) -> float:
    """The reliability to expect when each question gets one more answer (``answers`` have it).

    Spearman and Brown's formula, where a question with r answers is as long a test as the
    r (r - 1) / 2 pairs of answers that are compared there, so that the odds of the reliability
    grow by (r + 1) / (r - 1). It assumes that the same workers write the added answers.
    """
    growth = (answers + 1) / (answers - 1)
    return growth * reliability / (1 + (growth - 1) * reliability)


def redundancy_of(question: IntArray, scores: Scores, draws: Draws, rules: Rules) -> dict[str, Any]:
    """Return a board's redundancy and reliability, and the reliability with one more answer.

    ``question`` (n,) are the questions of the answers. ``reliability`` and ``with_one_more`` are
    None, and ``reason`` says why, where they cannot be told.
    """
    counts, answers = answers_per_question(question), median_redundancy(question)
    sure = np.flatnonzero((scores.n >= rules.min_answers) & np.isfinite(scores.ranked))
    drawn = draws.adjusted if scores.by == "adjusted" else draws.score
    now = reliability(scores.ranked[sure], drawn[:, sure], scores.n[sure], complete=draws.complete)
    return {
        "answers": answers,
        "least": int(counts.min()),
        "most": int(counts.max()),
        "few": bool(answers < FEW),
        "reliability": now,
        "with_one_more": None if now is None else predicted_reliability(now, answers),
        "reason": "" if now is not None else _reason(len(sure), rules),
    }


def _reason(sure: int, rules: Rules) -> str:
    if not rules.resamples:
        return "no resamples were asked for"
    if sure < FEWEST:
        return f"{sure} workers have {rules.min_answers} answers or more; it needs {FEWEST}"
    return "all workers score alike"
