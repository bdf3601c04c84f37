"""Runs of models on the pairs of a live evaluation: started, settled, and cancelled at its end.

All of it is part of transactions that hold the evaluation's row. Money is granted to a run before
it is queued, taken off what people can claim, and no call of the run may pass it (``llm.ledger``);
what it left goes back once the run has ended and nothing of it is in flight. So what people and
models cost together cannot pass the budget, whoever is killed when.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from decimal import ROUND_DOWN, Decimal
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.authoring.actions import tasks
from annotation.models import Task, User
from annotation.records.actions.locks import serialize_spending
from annotation.work.selectors.spending import claimed_pay
from crowdqc.errors import Conflict, DomainError
from evaluation.live.judging import selectors
from evaluation.live.judging.selectors import ACTIVE, Judge
from evaluation.llm import estimate, ledger
from evaluation.llm_runs import start as starting
from evaluation.llm_runs.judging import pairs
from evaluation.models import (
    CallState,
    LanguageModel,
    LiveEvaluation,
    LiveJudging,
    LLMCall,
    Run,
)
from evaluation.runs import engine as runs

logger = logging.getLogger(__name__)
WORK, MONEY, REST = "work", "money", "rest"
PAIRS_A_RUN = 100  # asked about in both orders


def settle(evaluation: LiveEvaluation, task: Task) -> None:
    """Book the cost of ended runs, and release the rest of their reserves."""
    rows = LiveJudging.objects.filter(evaluation=evaluation, cost__isnull=True)
    settled = False
    for row in rows.exclude(run__state__in=ACTIVE).select_related("run"):
        model = LanguageModel.objects.get(pk=row.run.params["model"])
        ledger.sweep(model.endpoint_id)
        flying = LLMCall.objects.filter(uses__run=row.run_id, state=CallState.SENT)
        if flying.exists():
            continue  # until its answer has come, or its lease has run out
        row.cost = ledger.spent_by(row.run_id, row.run.created_at)
        row.save(update_fields=["cost"])
        settled = True
    if settled:
        _limit_people(evaluation, task)


def _limit_people(evaluation: LiveEvaluation, task: Task) -> None:
    """Let people claim what models leave of the budget."""
    if evaluation.budget is None or evaluation.state != LiveEvaluation.State.OPEN:
        return
    left = max(Decimal(), evaluation.budget - selectors.money_of(evaluation))
    Task.objects.filter(pk=task.pk).update(most_pay=left)


def start_due(evaluation: LiveEvaluation, task: Task) -> str:
    """Start a run for every free judge that has pairs to judge.

    Returns how things stand with them, the first that holds of any: WORK (a run is queued or in
    work), MONEY (no money is left for pairs that wait), REST (pairs wait for a judge that cannot be
    asked at the moment), or "" where nothing waits.
    """
    found = {_start(evaluation, task, one) for one in selectors.judges_of(evaluation, task)}
    return next((one for one in (WORK, MONEY, REST) if one in found), "")


def _start(evaluation: LiveEvaluation, task: Task, judge: Judge) -> str:
    if selectors.is_working(evaluation, judge):
        return WORK
    waiting = selectors.pairs_to_judge(evaluation, task, judge)[:PAIRS_A_RUN]
    if not waiting:
        return ""
    if selectors.problem_of(evaluation, judge):
        return REST
    try:
        granted = _grant(evaluation, task, judge, waiting)
        if granted is None:
            return MONEY
        items, most = granted
        limits: dict[str, Any] = {"items": items}
        if most is not None:
            limits["cost"] = str(most)
        run = runs.start(
            by=evaluation.opened_by,
            task=task,
            method=pairs.SLUG,
            params=judge.params,
            trigger=runs.LIVE,
            lane=starting.lane_of(pairs.JUDGE_PAIRS, judge.params),
            limits=limits,
        )
    except DomainError as problem:  # a run of the same model by hand, an archived model ...
        logger.info("task %s, %s: %s", task.pk, judge.label, problem.message)
        return REST
    LiveJudging.objects.create(evaluation=evaluation, run=run, granted=most)
    _limit_people(evaluation, task)
    return WORK


def _grant(
    evaluation: LiveEvaluation, task: Task, judge: Judge, waiting: Sequence[int]
) -> tuple[list[int], Decimal | None] | None:
    """The pairs that the money allows to be asked about, and the most that may cost.

    None where it allows none. Answers that are there already cost nothing.
    """
    items = list(waiting)
    if evaluation.budget is None:
        return items, None
    serialize_spending(task)
    room = evaluation.budget - claimed_pay(task) - selectors.money_of(evaluation)
    while items:
        most = _highest_cost(task, judge, items)
        if most <= room:
            return items, most
        fit = int((len(items) * room / most).to_integral_value(ROUND_DOWN))
        items = items[: min(len(items) - 1, max(0, fit))]
    return None


def _highest_cost(task: Task, judge: Judge, items: Sequence[int]) -> Decimal:
    plan = pairs.plan(task, judge.params, items)
    found = estimate.preview(plan.model, plan.asks, task.project_id)
    if found.at_most is None and found.calls > found.cached:
        raise Conflict(_("The price of %(judge)s is not known.") % {"judge": judge.label})
    return found.at_most or Decimal()


def cancel_all(evaluation: LiveEvaluation, by: User) -> None:
    """Stop the runs of judges; what is in flight is still settled."""
    for row in Run.objects.filter(live_judging__evaluation=evaluation, state__in=ACTIVE):
        runs.cancel(by=by, run=row)


def settle_ended() -> None:
    """Book the cost of runs that were still in work when their evaluation ended."""
    rows = LiveJudging.objects.filter(
        cost__isnull=True, evaluation__state=LiveEvaluation.State.ENDED
    )
    for pk in set(rows.values_list("evaluation", flat=True)):
        with transaction.atomic():
            evaluation = LiveEvaluation.objects.select_for_update().get(pk=pk)
            settle(evaluation, evaluation.task)


def forbid_people(task: Task, by: User) -> None:
    """Stop collecting judgments of people, so that models alone judge."""
    ids = task.items.filter(expected__isnull=True).values_list("pk", flat=True)
    tasks.set_wanted(by=by, task=task, wanted=dict.fromkeys(ids, 0), why="judged by models alone")
    Task.objects.filter(pk=task.pk).update(most_answers=0)
