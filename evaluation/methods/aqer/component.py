"""AQER on one connected component: rounds, adjusted scores, resamples, the two boards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluation.methods.aqer import camps as aqer_camps
from evaluation.methods.aqer import diagnostics as aqer_diagnostics
from evaluation.methods.aqer.resample import Case, Plan, Resampled, grams_of, resample, systems_of
from evaluation.methods.aqer.rounds import Iterated, Options, iterate, prepare, score_outside
from evaluation.methods.core.adjusted import Design, two_way
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Texts
from evaluation.methods.core.boards import Board, Scores, make_board
from evaluation.methods.core.redundancy import options_for, ranking_column, redundancy_of


@dataclass(frozen=True, eq=False)
class Component:
    """Everything known about one component; its indices into the data lie in ``case``."""

    case: Case
    fit: Iterated
    outside: FloatArray
    outside_first: FloatArray
    effects: FloatArray
    workers: Board
    systems: Board
    diagnostics: dict[str, Any]


def fit_component(
    texts: Texts, select: IntArray, plan: Plan, *, rng: np.random.Generator, hooks: Hooks
) -> Component:
    """Fit the answers of one component (ascending positions in ``texts``)."""
    rows, workers, questions = prepare(texts, select)
    plan = replace(plan, options=_options_of(plan, plan.options, rows.question))
    systems = systems_of(texts, questions)
    fit = iterate(rows, plan.options, rng, hooks, plan.votes_of(select))
    case = Case(
        texts=texts,
        select=select,
        rows=rows,
        workers=workers,
        questions=questions,
        design=Design(rows.worker, rows.question, rows.n_workers, len(questions)),
        systems=systems,
        grams=grams_of(rows, systems, plan),
        plan=plan,
        hooks=hooks,
    )
    outside, outside_first = (
        score_outside(
            end,
            systems.answers.vectors,
            systems.answers.question,
            similarity=plan.options.similarity,
        )
        for end in (fit.last, fit.first)
    )
    adjusted, effects = two_way(np.stack([fit.last.scores, fit.first.scores]), case.design)
    drawn = resample(case, fit, outside, rng)
    worker_board = make_board(
        _worker_scores(case, fit, adjusted), drawn.workers, plan.rules, _without_own(case, rng)
    )
    system_scores = _system_scores(case, np.stack([outside, outside_first]), effects)
    return Component(
        case=case,
        fit=fit,
        outside=outside,
        outside_first=outside_first,
        effects=effects[0],
        workers=worker_board,
        systems=make_board(system_scores, drawn.systems, plan.rules),
        diagnostics={
            **_diagnostics(case, fit, worker_board.scores, drawn),
            "systems_ranked_by": system_scores.by,
            "redundancy": redundancy_of(
                rows.question, worker_board.scores, drawn.workers, plan.rules
            ),
        },
    )


def _options_of(plan: Plan, options: Options, question: IntArray) -> Options:
    """These options; at few answers a question only the first round where that was left open."""
    return options_for(options, question) if plan.auto_vote else options


def _without_own(case: Case, rng: np.random.Generator) -> Board | None:
    """The workers' board when nobody is compared with themself; None where ``fit`` is that one.

    With the own answer in, whoever is lucky gets the largest weight and then pulls the exemplary
    answers: equal workers would be told apart too often.
    """
    if case.plan.options.leave_one_out or not case.plan.rules.resamples:
        return None
    options = replace(case.plan.options, leave_one_out=True)
    plan = replace(case.plan, options=_options_of(case.plan, options, case.rows.question))
    quiet = Hooks(cancelled=case.hooks.cancelled)
    case = replace(case, plan=plan, hooks=quiet)
    fit = iterate(case.rows, plan.options, rng, quiet, plan.votes_of(case.select))
    adjusted, _ = two_way(np.stack([fit.last.scores, fit.first.scores]), case.design)
    outside = score_outside(
        fit.last,
        case.systems.answers.vectors,
        case.systems.answers.question,
        similarity=plan.options.similarity,
    )
    drawn = resample(case, fit, outside, rng)
    return make_board(_worker_scores(case, fit, adjusted), drawn.workers, plan.rules)


def _worker_scores(case: Case, fit: Iterated, adjusted: FloatArray) -> Scores:
    return Scores(
        n=np.bincount(case.rows.worker, minlength=case.rows.n_workers),
        score=fit.grades,
        uniterated=fit.uniterated,
        adjusted=adjusted[0],
        uniterated_adjusted=adjusted[1],
        by=ranking_column(
            case.design.question, complete=case.design.complete, asked=case.plan.rank_by
        ),
    )


def _system_scores(case: Case, outside: FloatArray, effects: FloatArray) -> Scores:
    """Means of the outside scores (2, k): raw, and with the workers' question effects taken off."""
    systems = case.systems
    ones = np.ones((2, case.design.n_questions))
    raw = systems.means(outside, ones)
    adjusted = systems.means(outside - effects[:, systems.answers.question], ones)
    return Scores(
        n=np.bincount(systems.system, minlength=len(systems.names)),
        score=raw[0],
        uniterated=raw[1],
        adjusted=adjusted[0],
        uniterated_adjusted=adjusted[1],
        by=ranking_column(case.design.question, complete=systems.complete, asked=case.plan.rank_by),
    )


def _diagnostics(case: Case, fit: Iterated, scores: Scores, drawn: Resampled) -> dict[str, Any]:
    names = [case.texts.workers[worker] for worker in case.workers]
    return {
        "workers": case.rows.n_workers,
        "questions": len(case.questions),
        "answers": len(case.rows.worker),
        "complete": case.design.complete,
        "ranked_by": scores.by,
        "rounds": fit.rounds,
        "converged": fit.converged,
        "trace": list(fit.trace),
        "resample_traces": drawn.traces,
        "resamples": case.plan.rules.resamples,
        "resamples_refitted": case.grams is not None,
        "resamples_not_converged": drawn.not_converged,
        "question_weights": "drawn" if drawn.workers.complete else "exponential",
        "swaps": aqer_diagnostics.swaps(scores.ranked_uniterated, scores.ranked, names),
        "bounds": aqer_diagnostics.bounds(fit.last.scores, case.rows),
        "clusters": aqer_diagnostics.clusters(case, fit, names),
        "camps": aqer_camps.camps(case, fit, names),
    }
