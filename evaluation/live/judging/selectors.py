"""What models were asked in a live evaluation, what is left for them, and what it costs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext

from annotation.models import Answer, Item, System, Task
from annotation.work.snapshots.judgments import counting_rows
from crowdqc.money import round_money
from evaluation.llm import estimate
from evaluation.llm.ask import SUBJECT
from evaluation.llm.wording import unpriced
from evaluation.llm_runs.judging import pairs
from evaluation.models import (
    CallState,
    CallUse,
    LanguageModel,
    LiveEvaluation,
    LiveJudging,
    RunState,
)

ACTIVE = (RunState.QUEUED, RunState.RUNNING)
ORDERS = len(pairs.ORDERS)
CENT = Decimal("0.01")
FAILED_ENDS = 3  # runs of a judge that failed one after another, after which it rests
REST = dt.timedelta(minutes=10)


@dataclass(frozen=True)
class Judge:
    """A model that judges: the options of its runs, and the name under which its votes stand."""

    model: LanguageModel
    params: dict[str, Any]
    name: tuple[str, str]
    system_id: int | None  # None before its first vote

    @property
    def label(self) -> str:
        """Name of the judge on pages."""
        return self.model.name


def judges_of(evaluation: LiveEvaluation, task: Task) -> list[Judge]:
    """The models that judge, in the order in which they were named; one query each for names."""
    found = LanguageModel.objects.filter(pk__in=evaluation.judges).select_related(
        "endpoint__project"
    )
    models = {one.pk: one for one in found}
    judges = []
    for pk in (one for one in evaluation.judges if one in models):
        params = {**pairs.DEFAULTS, "model": pk}
        model = models[pk]
        name = pairs.name_of_judge(task, model, params)
        system = System.objects.filter(
            project=task.project_id, name=name[0], prompt_strategy=name[1]
        )
        judges.append(Judge(model, params, name, system.values_list("pk", flat=True).first()))
    return judges


def models_of(task: Task) -> list[tuple[int, str]]:
    """The project's models that can judge: id and name."""
    rows = LanguageModel.objects.usable(task.project_id, LanguageModel.Use.CHAT)
    return [(one.pk, f"{one.name} ({one.endpoint.name})") for one in rows]


def money_of(evaluation: LiveEvaluation) -> Decimal:
    """Return what models have cost and hold in reserve, rounded up to cents."""
    rows = LiveJudging.objects.filter(evaluation=evaluation)
    total = rows.aggregate(s=Sum(Coalesce("cost", "granted")))["s"] or Decimal()
    return round_money(total, up=True)


def in_work(evaluation: LiveEvaluation) -> int:
    """Count the judges' runs whose cost is not booked yet."""
    return LiveJudging.objects.filter(evaluation=evaluation, cost__isnull=True).count()


def votes_by(judges: Sequence[Judge], task: Task) -> list[int]:
    """Count the answers of each judge in the task."""
    ids = [judge.system_id for judge in judges]
    rows = Answer.objects.filter(item__task=task, system__in=[pk for pk in ids if pk])
    found = dict(rows.values_list("system").annotate(n=Count("pk")).order_by())
    return [found.get(pk, 0) for pk in ids]


def pairs_to_judge(evaluation: LiveEvaluation, task: Task, judge: Judge) -> list[int]:
    """Return the ids of pairs that a judge still has to judge in some order.

    Beside people a model judges what people have judged: it is held against them on the same
    pairs, and costs nothing where they need few.
    """
    if task.current is None:
        return []
    rows = task.items.in_version(task.current.number)
    rows = rows.filter(expected__isnull=True, second__isnull=False)
    if evaluation.decided_by == LiveEvaluation.DecidedBy.PEOPLE:
        judged = counting_rows(task).filter(worker__isnull=False, item=OuterRef("pk"))
        rows = rows.filter(Exists(judged))
    through = _failed_pairs(evaluation, judge) | _judged(task, judge)
    ids = rows.order_by("pk").values_list("pk", flat=True)
    return [pk for pk in ids if pk not in through]


def _failed_pairs(evaluation: LiveEvaluation, judge: Judge) -> set[int]:
    """The pairs about which a run that came to its end asked in vain."""
    rows = CallUse.objects.filter(
        run__live_judging__evaluation=evaluation,
        run__state=RunState.DONE,
        run__params__model=judge.model.pk,
        call__state=CallState.FAILED,
    )
    found = (SUBJECT.match(subject) for subject in rows.values_list("subject", flat=True))
    return {int(one[2]) for one in found if one is not None}


def _judged(task: Task, judge: Judge) -> set[int]:
    if judge.system_id is None:
        return set()
    rows = Answer.objects.filter(item__task=task, system=judge.system_id, replicate__lt=ORDERS)
    whole = rows.values("item_id").annotate(n=Count("pk")).filter(n=ORDERS).order_by()
    return set(whole.values_list("item_id", flat=True))


def problem_of(evaluation: LiveEvaluation, judge: Judge) -> str:
    """Return why a judge cannot be asked now, as a sentence; "" if it can."""
    found = estimate.blocking(judge.model)
    if not found and evaluation.budget is not None and unpriced(judge.model):
        found = [
            gettext("The price of %(judge)s is not known, so the budget cannot be kept.")
            % {"judge": judge.label}
        ]
    return found[0] if found else _resting(evaluation, judge)


def _resting(evaluation: LiveEvaluation, judge: Judge) -> str:
    rows = LiveJudging.objects.filter(
        evaluation=evaluation,
        cost__isnull=False,
        run__params__model=judge.model.pk,
    ).order_by("-pk")
    last = list(rows.values_list("run__state", "run__error", "run__finished_at")[:FAILED_ENDS])
    if len(last) < FAILED_ENDS or any(state != RunState.FAILED for state, _, _ in last):
        return ""
    _, error, at = last[0]
    return "" if at is None or timezone.now() - at > REST else error


def is_working(evaluation: LiveEvaluation, judge: Judge) -> bool:
    """Whether a run of the judge is queued, in work, or not settled."""
    return LiveJudging.objects.filter(
        evaluation=evaluation, cost__isnull=True, run__params__model=judge.model.pk
    ).exists()


def judged_by_all(evaluation: LiveEvaluation, task: Task, judges: Sequence[Judge]) -> int:
    """Count the pairs that every judge has judged in both orders."""
    if not judges or any(judge.system_id is None for judge in judges):
        return 0
    rows = Answer.objects.filter(
        item__task=task,
        system__in=[judge.system_id for judge in judges],
        replicate__lt=ORDERS,
        counts=True,
    )
    whole = rows.values("item_id").annotate(n=Count("pk")).filter(n=ORDERS * len(judges))
    return whole.order_by().count()


def pairs_in(task: Task) -> int:
    """Count the pairs of the task."""
    rows = Item.objects.filter(task=task, expected__isnull=True, second__isnull=False)
    return rows.filter(first__isnull=False).exclude(first=F("second")).count()
