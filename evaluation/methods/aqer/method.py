"""AQER: how good workers and language models are, from free-text answers without a key.

Geva et al., "Quality Control for Crowd Workers and for Language Models" (ISRE 2025),
doi:10.1287/isre.2023.0426. Workers vote on a synthetic exemplary answer (SEA) per question, are
scored by closeness to it, and vote again by their scores. Differences from the published code are
deliberate: vectors have unit length, missing answers are left out of means, workers who share no
question (even through others) are fitted apart, and questions that one worker alone answered say
nothing and are left out.

Defaults are what ranks best on crowds of known quality, by the number of answers a question; the
published way is ``leave_one_out=False, vote="weighted_mean", rank_by="score"``. Mean Pearson
correlation of workers' scores with their quality, workers with 5 answers or more, 60 crowds of
each set, MiniLM (largest standard error of a set .04; a mean of sets about .01):

==========================  ==  =====  =====  =====  =====  =====  =====
crowds                       r  own    own    left   left   first  first
                                in,    in,    out,   out,   left,  left,
                                raw    adj.   raw    adj.   raw    adj.
==========================  ==  =====  =====  =====  =====  =====  =====
real, at random (7 sets)     2  .25    .22    .29    .00    *.29*  -.01
real, at random (7)          3  .40    .41    .38    .39    .38    *.40*
real, at random (5)          5  .54    .55    .52    *.53*  .52    .54
real, at random (4)         10  .66    .66    .65    *.65*  .64    .64
real, questions alike (4)    2  .20    .17    .19    -.02   *.19*  -.01
real, questions alike (4)    3  .29    .30    .24    .29    .25    *.32*
real, questions alike (4)    5  .35    .41    .26    *.46*  .27    .46
real, questions alike (4)   10  .44    .58    .36    *.64*  .37    .64
simulated, at random (5)     2  .54    .43    .88    .01    *.88*  -.03
simulated, at random (5)     3  .84    .83    .96    .95    .95    *.95*
simulated, at random (5)     5  .96    .96    .99    *.99*  .98    .99
simulated, at random (5)    10  .99    .99    1.00   *1.00* .99    1.00
==========================  ==  =====  =====  =====  =====  =====  =====

``*default*`` on an incomplete board; r answers a question; adj. is question-adjusted; first is the
first round, before iterating. "Questions alike": a worker's questions are alike in difficulty.
With two answers both have the same cosine, so that nothing but noise is left once the question's
effect is taken off. Leaving out the own answer costs up to .02 on real crowds from three answers
on, and gains up to .34 on simulated ones. Below five answers only the first round counts: at three
it gains up to .03 on real crowds (and loses .05 where errors correlate, model F1), and the rounds
turned in circles in 12 of 72 crowds. The study: ``python -m tests.studies.aqer_redundancy 60``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.methods.aqer import tables as aqer_tables
from evaluation.methods.aqer.resample import Plan
from evaluation.methods.aqer.rounds import Options
from evaluation.methods.aqer.tables import Component, fit_component
from evaluation.methods.core.base import (
    BadShape,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Texts,
    TooFewWorkers,
)
from evaluation.methods.core.boards import rules_of
from evaluation.methods.core.components import answer_parts
from evaluation.methods.core.memory import board_of_workers
from evaluation.methods.core.params import (
    ANY_LEVEL,
    Params,
    choice,
    flag,
    real_number,
    resamples,
    whole_number,
)
from evaluation.methods.core.redundancy import RANK_BY

NAME, VERSION = "aqer", "1.3"


def _check_plan(settings: Mapping[str, Any]) -> None:
    plan_of(settings)


PARAMS = Params(
    NAME,
    (
        flag(
            "leave_one_out",
            True,
            label="Leave a worker's own answer out of the exemplary one",
            help="Better where few people answered a question. The paper keeps it in.",
        ),
        choice(
            "rank_by",
            "auto",
            RANK_BY,
            label="Ranked by",
            words=(
                "By the number of answers per question",
                "Raw score",
                "Question-adjusted score",
            ),
            help="Adjusted scores allow for hard questions, but need 3 answers per question.",
        ),
        choice(
            "similarity",
            "cosine",
            ("cosine", "neg_euclidean"),
            label="Similarity",
            words=("Cosine", "Negative Euclidean distance"),
            help="How the closeness of two answers is measured.",
        ),
        choice(
            "start",
            "equal",
            ("equal", "noisy", "entailment"),
            label="First round",
            words=(
                "Equal votes",
                "Equal votes, changed a little at random",
                "Entailment between answers",
            ),
            help="How the first exemplary answers are found. Entailment needs a model under "
            "“Entailment by”.",
        ),
        resamples(2000, label="Resamples of the questions"),
        choice("vote", "auto", ("auto", "weighted_mean", "mean")),
        whole_number("max_rounds", 100, 1),
        real_number("tolerance", 1e-6, above=0),
        ANY_LEVEL,
        whole_number("min_answers", 5, 2),
        real_number("near_identical", 0.95, above=0, below=1),
        real_number("cluster_share", 0.25, above=0, below=1),
    ),
    together=_check_plan,
    version=VERSION,
)
DEFAULTS = PARAMS.defaults


def fit(
    data: Texts,
    *,
    rng: np.random.Generator,
    hooks: Hooks | None = None,
    start_votes: FloatArray | None = None,
    **params: Any,
) -> Result:
    """Score workers, their answers, systems and questions.

    Parameters (defaults in DEFAULTS): ``leave_one_out`` compares an answer with the others' vote,
    as the paper does not; ``rank_by`` 'score', 'adjusted', or 'auto' by the redundancy;
    ``similarity`` 'cosine' or 'neg_euclidean'; ``vote`` 'weighted_mean', 'mean' for the equal vote
    that never iterates, or 'auto' by the redundancy; ``start`` 'equal', 'noisy' or 'entailment',
    which needs ``start_votes`` (n,), a vote for each answer in the order of ``data`` (App. B1;
    ``aqer_entailment.start_votes`` makes them); ``max_rounds``, ``tolerance`` (RMSE of the
    weights); ``resamples`` of the questions, ``level``, and ``min_answers`` for intervals;
    ``near_identical`` (cosine) and ``cluster_share`` for clusters. Resamples start from equal
    votes, whatever ``start`` is.

    Estimates: tables ``worker`` (a row a name of ``data.workers``), ``answer`` (a row an answer,
    in the order of ``data``; column ``source`` leads back to the input), ``question``, and with
    outside answers ``system`` (a row a system and component) and ``system_answer``. Intervals:
    ``worker`` and ``system``, aligned with these tables. ``component`` 0 means not scored;
    nothing is comparable across components. Workers are ``separable`` only where leaving the own
    answer out separates them too: chance gives one of equals the largest weight, and their own
    answers then pull the exemplary ones (tests/studies). ``converged`` is False if any component
    ran out of rounds. The same data, parameters and generator state give the same result.

    Raises TooFewWorkers, BadShape, BadVector, BadParameter, Cancelled.
    """
    settings = PARAMS.settings(params)
    plan, hooks = replace(plan_of(settings), start_votes=start_votes), hooks or Hooks()
    if start_votes is not None and np.shape(start_votes) != (len(data),):
        raise BadShape(
            f"start_votes has shape {np.shape(start_votes)}; it needs one for each of "
            f"{len(data)} answers"
        )
    worker_part, question_part = parts(data.worker, data.question, data.workers, data.questions)
    fitted: list[Component] = []
    for number in range(1, int(worker_part.max()) + 1):
        select = np.flatnonzero(question_part[data.question] == number)
        fitted.append(fit_component(data, select, plan, rng=rng, hooks=hooks))
    estimates, intervals = aqer_tables.tables(data, fitted, plan.rules.level)
    return PARAMS.result(
        settings,
        estimates,
        aqer_tables.diagnostics(data, fitted, worker_part),
        intervals=intervals,
        converged=all(part.fit.converged for part in fitted),
    )


def options_of(settings: Mapping[str, Any]) -> Options:
    """Return the rounds' options among AQER's settings; an "auto" vote begins as the weighted mean.

    ``Plan.fitted_to`` ends it after one round where answers are few. Raises BadParameter.
    """
    return Options(
        leave_one_out=settings["leave_one_out"],
        similarity=settings["similarity"],
        start=settings["start"],
        vote="weighted_mean" if settings["vote"] == "auto" else settings["vote"],
        max_rounds=settings["max_rounds"],
        tolerance=settings["tolerance"],
    )


def plan_of(settings: Mapping[str, Any]) -> Plan:
    """Return what AQER's settings ask of a fit. Raises BadParameter."""
    return Plan(
        options=options_of(settings),
        rules=rules_of(settings),
        near_identical=float(settings["near_identical"]),
        cluster_share=float(settings["cluster_share"]),
        rank_by=settings["rank_by"],
        auto_vote=settings["vote"] == "auto",
    )


def parts(
    worker: IntArray, question: IntArray, workers: Sequence[str], questions: Sequence[str]
) -> tuple[IntArray, IntArray]:
    """Component numbers of workers (m,) and questions (q,) from answers (n,).

    Questions with one answer are in no component (0). Raises TooFewWorkers where none has two.
    """
    if len(np.unique(worker)) < 2:
        raise TooFewWorkers("one worker alone answered; there is nobody to compare with")
    return answer_parts(worker, question, len(workers), len(questions))


METHOD = PARAMS.as_method("AQER", Texts, fit, memory=board_of_workers)
