"""AQER on each connected component, put together into tables.

A component has its rounds, adjusted scores, resamples and two boards; the tables have a row a
worker, answer, question and system.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.aqer import diagnostics as aqer_camps
from evaluation.methods.aqer import diagnostics as aqer_diagnostics
from evaluation.methods.aqer.items import item_rest_correlations
from evaluation.methods.aqer.resample import (
    Case,
    Plan,
    Resampled,
    affordable,
    outside_of,
    outside_scores,
    resample,
)
from evaluation.methods.aqer.rounds import Iterated, iterate, prepare
from evaluation.methods.core.adjusted import Design, two_way
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Intervals, Table, Texts
from evaluation.methods.core.boards import (
    Board,
    Scores,
    Systems,
    board_columns,
    gather_columns,
    make_board,
    place_intervals,
    stack,
    unranked,
    why_missing,
)
from evaluation.methods.core.redundancy import ranking_column, redundancy_of


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
    plan = plan.fitted_to(rows.question)
    systems = Systems.of(texts.outside, questions)
    others = outside_of(rows, texts, systems)
    fit = iterate(rows, plan.options, rng, hooks, plan.votes_of(select))
    case = Case(
        texts=texts,
        select=select,
        rows=rows,
        workers=workers,
        questions=questions,
        design=Design(rows.worker, rows.question, rows.n_workers, len(questions)),
        systems=systems,
        outside=others,
        refit=affordable(rows, plan),
        plan=plan,
        hooks=hooks,
    )
    outside, outside_first = (
        outside_scores(others, end, plan.options) for end in (fit.last, fit.first)
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


def _without_own(case: Case, rng: np.random.Generator) -> Board | None:
    """The workers' board when nobody is compared with themself; None where ``fit`` is that one.

    With the own answer in, whoever is lucky gets the largest weight and then pulls the exemplary
    answers: equal workers would be told apart too often.
    """
    if case.plan.options.leave_one_out or not case.plan.rules.resamples:
        return None
    options = replace(case.plan.options, leave_one_out=True)
    plan = replace(case.plan, options=options).fitted_to(case.rows.question)
    quiet = case.hooks.quiet()
    case = replace(case, plan=plan, hooks=quiet)
    fit = iterate(case.rows, plan.options, rng, quiet, plan.votes_of(case.select))
    adjusted, _ = two_way(np.stack([fit.last.scores, fit.first.scores]), case.design)
    outside = outside_scores(case.outside, fit.last, plan.options)
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
    adjusted = systems.means(outside - effects[:, systems.question], ones)
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
        "resamples_refitted": case.refit,
        "resamples_not_converged": drawn.not_converged,
        "question_weights": "drawn" if drawn.workers.complete else "exponential",
        "swaps": aqer_diagnostics.swaps(scores.ranked_uniterated, scores.ranked, names),
        "bounds": aqer_diagnostics.bounds(fit.last.scores, case.rows),
        "clusters": aqer_diagnostics.clusters(case, fit, names),
        "camps": aqer_camps.camps(case, fit, names),
    }


BEST_BONUS = 0.1  # of the normalised worker score, added when choosing the best answer


def tables(
    data: Texts, fitted: list[Component], level: float
) -> tuple[dict[str, Table], dict[str, Intervals]]:
    """Make the tables of estimates and intervals of a fit (described at ``aqer.fit``)."""
    boards = [(part.case.workers, part.workers.intervals) for part in fitted]
    estimates = {
        "worker": _workers(data, fitted),
        "answer": _answers(data, fitted),
        "question": _questions(data, fitted),
    }
    intervals = {"worker": place_intervals(boards, len(data.workers), why_missing(data), level)}
    if data.outside is not None:
        estimates["system"] = _systems(fitted)
        estimates["system_answer"] = _system_answers(data.outside, fitted)
        intervals["system"] = stack([part.systems.intervals for part in fitted], level)
    return estimates, intervals


def diagnostics(data: Texts, fitted: list[Component], worker_part: IntArray) -> dict[str, Any]:
    """Return the diagnostics of each component, and what was left out."""
    return {
        "components": [
            {"number": k, "name": f"Component {k} of {len(fitted)}", **part.diagnostics}
            for k, part in enumerate(fitted, start=1)
        ],
        **unranked(data, worker_part),
    }


def _workers(data: Texts, fitted: list[Component]) -> Table:
    size = len(data.workers)
    columns: dict[str, Callable[[Component], Any]] = board_columns(lambda part: part.workers)
    columns["normalised"] = lambda part: part.fit.normalised
    columns["weight"] = lambda part: part.fit.weights
    rows = gather_columns(size, fitted, lambda part: part.case.workers, columns)
    return Table({"worker": np.arange(size), **rows})


def _systems(fitted: list[Component]) -> Table:
    ends = np.cumsum([0] + [len(part.case.systems.names) for part in fitted])
    spans = {id(part): np.arange(ends[k], ends[k + 1]) for k, part in enumerate(fitted)}
    columns: dict[str, Callable[[Component], Any]] = board_columns(lambda part: part.systems)
    columns["system"] = lambda part: part.case.systems.names
    return Table(gather_columns(int(ends[-1]), fitted, lambda part: spans[id(part)], columns))


def _answers(data: Texts, fitted: list[Component]) -> Table:
    size = len(data)
    found = gather_columns(
        size,
        fitted,
        lambda part: part.case.select,
        {
            "score": lambda part: part.fit.last.scores,
            "uniterated": lambda part: part.fit.first.scores,
            "trust": lambda part: part.fit.normalised[part.case.rows.worker],
        },
    )
    trusted = found["score"] + BEST_BONUS * found.pop("trust")
    rank, best = _ranked(found["score"], data.question)
    return Table(
        {
            "source": data.source,
            "worker": data.worker,
            "question": data.question,
            **found,
            "rank": rank,
            "best": best,
            "best_trusted": _ranked(trusted, data.question)[1],
        }
    )


def _ranked(score: FloatArray, question: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
    """Rank of each answer (n,) at its question, as ``ranks`` gives it, and which is the best.

    Of equal answers (to 12 digits) the first is best; without a score the rank is 0.
    """
    known = np.flatnonzero(np.isfinite(score))
    order = known[np.lexsort((-np.round(score[known], 12), question[known]))]
    at = np.arange(len(order))
    opens = np.diff(question[order], prepend=-1) > 0
    below = opens | (np.diff(np.round(score[order], 12), prepend=np.nan) != 0)
    first, tied = (np.maximum.accumulate(np.where(one, at, 0)) for one in (opens, below))
    rank, best = np.zeros(len(score), dtype=np.int64), np.zeros(len(score), dtype=bool)
    rank[order] = 1 + tied - first
    best[order[opens]] = True
    return rank, best


def _questions(data: Texts, fitted: list[Component]) -> Table:
    def mean(part: Component, values: Any) -> Any:
        at = part.case.rows.question
        return np.bincount(at, weights=values) / np.bincount(at)

    def spread(part: Component) -> Any:
        scores = part.fit.last.scores
        off = scores - mean(part, scores)[part.case.rows.question]
        return np.sqrt(mean(part, off**2))

    def item_rest(part: Component) -> Any:
        rows = part.case.rows
        return item_rest_correlations(
            part.fit.last.scores, rows.worker, rows.question, len(part.case.questions)
        )

    size = len(data.questions)
    columns: dict[str, Callable[[Component], Any]] = {
        "score": lambda part: mean(part, part.fit.last.scores),
        "spread": spread,
        "agreement": lambda part: np.sqrt(part.fit.last.squared) / part.fit.last.total,
        "effect": lambda part: part.effects,
        "item_rest_correlation": item_rest,
    }
    found = gather_columns(size, fitted, lambda part: part.case.questions, columns)
    count = np.bincount(data.question, minlength=size)
    return Table({"question": np.arange(size), "n": count, **found})


def _system_answers(outside: Texts, fitted: list[Component]) -> Table:
    columns: dict[str, Callable[[Component], Any]] = {
        "score": lambda part: part.outside,
        "uniterated": lambda part: part.outside_first,
    }
    found = gather_columns(len(outside), fitted, lambda part: part.case.systems.select, columns)
    return Table(
        {
            "source": outside.source,
            "system": outside.worker,
            "question": outside.question,
            **found,
        }
    )
