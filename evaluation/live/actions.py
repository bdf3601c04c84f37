"""A live evaluation's life: opened, given outputs, looked at, and ended exactly once.

Locks: the evaluation's row, then the task's, then the project's. Whatever ends it holds the
evaluation's row, so that the state, the task, the result and what is told of it change together.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.named.actions import systems_by_name
from annotation.authoring.actions import tasks
from annotation.models import Task, User
from annotation.models.tasks import TaskState
from annotation.notifications.actions.webhooks import emit
from annotation.pairs.actions.prompts import add_prompts
from annotation.records.actions.audit import record
from annotation.records.cleaning import clean_text
from annotation.task_types import get_type
from annotation.work.snapshots.judgments import system_names, version_items, vote_counts
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import count
from evaluation.live.budget import Used, used_by
from evaluation.live.dataset import SNAPSHOT, LiveDataset, board, freeze, read
from evaluation.live.judging import actions as judging
from evaluation.live.judging.selectors import Judge, judges_of, votes_by
from evaluation.live.outputs import Rows, read_outputs
from evaluation.llm.wording import unpriced
from evaluation.llm_runs.parts import chat_model
from evaluation.methods.adaptive.anytime import VERSION
from evaluation.models import AdaptivePlan, LiveBatch, LiveEvaluation

logger = logging.getLogger(__name__)
MOST_SYSTEMS, MOST_JUDGMENTS = 12, 100_000
DEFAULT_HALF_WIDTH, LEAST_HALF_WIDTH, MOST_HALF_WIDTH = 0.05, 0.01, 0.3
DEFAULT_JUDGMENTS = 2_000
MOST_JUDGES = 5
State, Reason, DecidedBy = LiveEvaluation.State, LiveEvaluation.Reason, LiveEvaluation.DecidedBy


@dataclass(frozen=True)
class Limits:
    """What an evaluation may ask for and cost; ``budget`` None: no limit."""

    max_judgments: int
    budget: Decimal | None


@dataclass(frozen=True)
class Batch:
    """What was added; ``again``: by an earlier request under the same key."""

    prompts: int
    pairs: int
    again: bool


@transaction.atomic
def open_evaluation(
    *,
    by: User,
    task: Task,
    systems: Sequence[str],
    half_width: float = DEFAULT_HALF_WIDTH,
    max_judgments: int = DEFAULT_JUDGMENTS,
    budget: Decimal | None = None,
    dimension: str = "",
    judges: Sequence[int] = (),
    decided_by: str = DecidedBy.PEOPLE,
) -> LiveEvaluation:
    """Open it on a pairwise task, which from then on keeps to ``max_judgments`` and ``budget``.

    ``dimension`` is the one judged (the last one where empty). ``judges`` are language models (ids)
    that judge pairs in both orders beside people, or alone where ``decided_by`` says so; what they
    cost is part of the budget. Raises Invalid naming the field, and Conflict where the task has a
    live evaluation, collects adaptively, is closed, or asks for more already.
    """
    task = Task.objects.select_for_update(of=("self",)).select_related("current").get(pk=task.pk)
    if not get_type(task.type).pairs_texts:
        wanted = _("A pairwise task.")
        raise Invalid(_("Only pairwise tasks compare systems."), fields={"task": wanted})
    if LiveEvaluation.objects.filter(task=task).exists():
        raise Conflict(_("This task has a live evaluation already."), code="opened-already")
    if task.state == TaskState.CLOSED:
        raise Conflict(_("The task is closed. Reopen it first, or make another one."))
    if AdaptivePlan.objects.filter(task=task, enabled=True).exists():
        raise Conflict(_("Switch adaptive collection off first."))
    names = _names(systems)
    _check_limits(half_width, max_judgments, budget)
    _check_judges(task, judges, decided_by, budget)
    by_name = systems_by_name(task.project, [{"system": name} for name in names])
    evaluation = LiveEvaluation.objects.create(
        task=task,
        systems=[by_name[name, ""].pk for name in names],
        dimension=_dimension(task, dimension),
        judges=list(judges),
        decided_by=decided_by,
        half_width=half_width,
        max_judgments=max_judgments,
        budget=budget,
        opened_by=by,
    )
    _limit(task, max_judgments, budget)
    if decided_by == DecidedBy.MODELS and task.current is not None:
        judging.forbid_people(task, by)
    record(
        by=by,
        project=task.project,
        action="live.open",
        on=task,
        half_width=half_width,
        max_judgments=max_judgments,
        budget=None if budget is None else str(budget),
        judges=evaluation.judges,
        decided_by=str(decided_by),
    )
    return evaluation


def _limit(task: Task, max_judgments: int, budget: Decimal | None) -> None:
    task.most_answers, task.most_pay = max_judgments, budget
    task.save(update_fields=["most_answers", "most_pay"])
    tasks.within_limit(task)


def _names(systems: Sequence[str]) -> list[str]:
    names = [clean_text(name, "systems", 120) for name in systems]
    if not 2 <= len(names) <= MOST_SYSTEMS or len(set(names)) < len(names) or not all(names):
        raise Invalid(
            _("Name the systems to compare."),
            fields={
                "systems": _("2 to %(most_systems)s different names.")
                % {"most_systems": MOST_SYSTEMS}
            },
        )
    return names


def _check_limits(half_width: float, max_judgments: int, budget: Decimal | None) -> None:
    wrong = {}
    if not LEAST_HALF_WIDTH <= half_width <= MOST_HALF_WIDTH:
        wrong["half_width"] = _("%(least)s to %(most)s, as a share of votes.") % {
            "least": LEAST_HALF_WIDTH,
            "most": MOST_HALF_WIDTH,
        }
    if not 1 <= max_judgments <= MOST_JUDGMENTS:
        wrong["max_judgments"] = _("1 to %(most)s.") % {"most": count(MOST_JUDGMENTS)}
    if budget is not None and not (
        budget.is_finite() and 0 < budget <= 1_000_000 and budget == round(budget, 2)
    ):
        wrong["budget"] = _("More than 0, with two decimals at most; or nothing.")
    if wrong:
        raise Invalid(_("The limits cannot be taken."), fields=wrong)


def _check_judges(
    task: Task, judges: Sequence[int], decided_by: str, budget: Decimal | None
) -> None:
    """Raise Invalid and Conflict for judges that could never be asked as they are to be."""
    if decided_by not in DecidedBy.values:
        said = " or ".join(DecidedBy.values)
        raise Invalid(
            _("Say who decides."), fields={"decided_by": _("Use %(said)s.") % {"said": said}}
        )
    try:
        models = [chat_model(task, pk) for pk in judges]
    except Invalid as problem:
        wrong = {"judges": _("Choose models that the project has connected.")}
        raise Invalid(problem.message, fields=wrong) from problem
    names = [one.name for one in models]
    if len(models) > MOST_JUDGES or len(set(names)) < len(names):
        raise Invalid(
            _("Name the models that judge."),
            fields={
                "judges": _("%(most_judges)s different models at most.")
                % {"most_judges": MOST_JUDGES}
            },
        )
    unpriced_ones = [one.name for one in models if unpriced(one)]
    if budget is not None and unpriced_ones:
        said = _("Enter the prices of %(names)s first, or set no budget.") % {
            "names": ", ".join(unpriced_ones)
        }
        raise Invalid(
            _("A model has no price, so the budget cannot be kept."), fields={"judges": said}
        )
    if decided_by == DecidedBy.MODELS:
        if not models:
            raise Invalid(_("Name the models that judge."), fields={"judges": _("One at least.")})
        if task.items.filter(held__gt=0).exists():
            raise Conflict(_("People have judged pairs of this task. Use another task for models."))


def _dimension(task: Task, wanted: str) -> str:
    version = task.version_or_draft()
    known = [one.name for one in version_items(version)]
    if wanted and wanted not in known:
        raise Invalid(_("There is no such dimension."), fields={"dimension": ", ".join(known)})
    return wanted or known[-1]


def _lock_evaluation(task: Task) -> LiveEvaluation:
    """The task's open evaluation, locked; Conflict where there is none."""
    found = LiveEvaluation.objects.select_for_update().filter(task=task).first()
    if found is None:
        raise Conflict(_("This task has no live evaluation. Open one first."), code="not-opened")
    return found


@transaction.atomic
def add_outputs(*, by: User, task: Task, key: str, rows: Rows) -> Batch:
    """Take in outputs and ask about every pair of each prompt: all of them or none.

    ``rows`` are prompt (a key), question, system and text. The same ``key`` with the same rows
    again adds nothing and says what was added. A task that was never published is published with
    its first outputs. Raises Invalid naming row and field, and Conflict where it has ended, where
    the key was used for other rows, a prompt is there already, or the judgments would be too many.
    """
    key = clean_text(key, "key", 120)
    if not key:
        raise Invalid(
            _("The outputs need a key."), fields={"key": _("Any text that you use once.")}
        )
    evaluation = _lock_evaluation(task)
    cells = ("prompt", "question", "system", "text")
    clean = [{name: row[name].replace("\x00", "").strip() for name in cells} for row in rows]
    digest = hashlib.sha256(json.dumps(clean, sort_keys=True).encode()).hexdigest()
    before = LiveBatch.objects.filter(evaluation=evaluation, key=key).first()
    if before is not None:
        if before.digest != digest:
            raise Conflict(_("This key was used for other outputs."), code="key-used")
        return Batch(before.prompts, before.pairs, again=True)
    if evaluation.state != State.OPEN:
        raise Conflict(_("This live evaluation has ended."), code="ended")
    names = system_names(evaluation.systems)
    prompts = read_outputs(clean, {names[pk]: pk for pk in evaluation.systems})
    used = used_by(evaluation, _task_of(evaluation))
    need = len(prompts) * used.prompt
    if need > used.room:
        text = _(
            "These outputs would ask for %(need)s judgments; %(room)s of %(most)s are left, enough "
            "for %(prompts)s prompts. Nothing was added."
        )
        told = {"need": need, "room": used.room, "most": used.most, "prompts": used.prompts_left}
        raise Conflict(text % told, code="too-many-judgments")
    alone = evaluation.decided_by == DecidedBy.MODELS
    pairs = add_prompts(by=by, task=task, prompts=prompts, asks_people=not alone)
    LiveBatch.objects.create(
        evaluation=evaluation, key=key, digest=digest, prompts=len(prompts), pairs=pairs
    )
    record(
        by=by,
        project=task.project,
        action="live.outputs",
        on=task,
        prompts=len(prompts),
        pairs=pairs,
    )
    fresh = _task_of(evaluation)
    if fresh.current is None:
        tasks.publish(by=by, task=fresh)
        if alone:
            judging.forbid_people(fresh, by)
    return Batch(len(prompts), pairs, again=False)


@transaction.atomic
def raise_limits(
    *, by: User, task: Task, max_judgments: int | None = None, budget: Decimal | None = None
) -> LiveEvaluation:
    """Raise an open evaluation's limits on judgments or cost; None leaves a limit as it is.

    The intervals hold at every look, so that collecting may go on after one. The precision that
    ends it stays, since they are made for it. Raises Invalid for less than it has, and Conflict
    where it has ended.
    """
    evaluation = _lock_evaluation(task)
    if evaluation.state != State.OPEN:
        raise Conflict(_("This live evaluation has ended."), code="ended")
    old = Limits(evaluation.max_judgments, evaluation.budget)
    new = Limits(
        old.max_judgments if max_judgments is None else max_judgments,
        old.budget if budget is None else budget,
    )
    _check_limits(evaluation.half_width, new.max_judgments, new.budget)
    wrong = {}
    if new.max_judgments < old.max_judgments:
        wrong["max_judgments"] = _("At least %(least)s, as now.") % {
            "least": count(old.max_judgments)
        }
    if new.budget is not None and (old.budget is None or new.budget < old.budget):
        now = (
            _("It has none, as now.")
            if old.budget is None
            else _("At least %(least)s, as now.") % {"least": old.budget}
        )
        wrong["budget"] = now
    if wrong:
        raise Invalid(_("Limits can only be raised."), fields=wrong)
    if new == old:
        return evaluation
    evaluation.max_judgments, evaluation.budget = new.max_judgments, new.budget
    evaluation.save(update_fields=["max_judgments", "budget"])
    held = Task.objects.select_for_update(of=("self",)).get(pk=task.pk)
    held.most_answers, held.most_pay = new.max_judgments, new.budget
    held.save(update_fields=["most_answers", "most_pay"])
    record(
        by=by,
        project=task.project,
        action="live.raise",
        on=task,
        max_judgments=new.max_judgments,
        budget=None if new.budget is None else str(new.budget),
        before=[old.max_judgments, None if old.budget is None else str(old.budget)],
    )
    return evaluation


def _task_of(evaluation: LiveEvaluation) -> Task:
    return Task.objects.select_related("current", "project").get(pk=evaluation.task_id)


def check_all() -> int:
    """Look at every open evaluation, and end those that are done; how many ended.

    One that somebody else holds is left for the next time.
    """
    ended = 0
    rows = LiveEvaluation.objects.filter(state=State.OPEN).exclude(task__state=TaskState.DRAFT)
    for pk in list(rows.values_list("pk", flat=True)):
        ended += check(pk)
    judging.settle_ended()
    return ended


@transaction.atomic
def check(pk: int) -> bool:
    """Look at one evaluation where votes came, and end it where it is done; whether it ended.

    Models that judge are asked about what waits for them.
    """
    held = LiveEvaluation.objects.select_for_update(skip_locked=True)
    evaluation = held.filter(pk=pk, state=State.OPEN).first()
    if evaluation is None:
        return False
    task = _task_of(evaluation)
    if evaluation.judges:
        judging.settle(evaluation, task)
    judges = judges_of(evaluation, task)
    used = used_by(evaluation, task)
    mark = _mark(evaluation, task, judges)
    data = None
    if evaluation.seen.get("mark") != mark:
        data = _look(evaluation, task, judges, mark)
    width = evaluation.seen.get("half_width")
    if width is not None and width <= evaluation.half_width:
        reason: str | None = Reason.PRECISE
    else:
        reason = _used_up(evaluation, task, used)
    if reason is not None:
        _end(evaluation, task, reason, used, data or _look(evaluation, task, judges, mark), by=None)
    return evaluation.state == State.ENDED


def _used_up(evaluation: LiveEvaluation, task: Task, used: Used) -> str | None:
    """Name the limit that has been reached; None where people or models have something to do.

    Beside people, models that rest or have no money left hold up nothing.
    """
    alone = evaluation.decided_by == DecidedBy.MODELS
    if not alone and used.money_out:
        return Reason.BUDGET
    waits = judging.start_due(evaluation, task) if evaluation.judges else ""
    if waits == judging.WORK:
        return None
    if alone and waits == judging.MONEY:
        return Reason.BUDGET
    if alone and (waits or used.room >= used.prompt):
        return None
    return Reason.JUDGMENTS if alone or used.judgments_out else None


def _mark(evaluation: LiveEvaluation, task: Task, judges: Sequence[Judge]) -> list[Any]:
    """The running counts: they change when votes come or go, or stop counting."""
    counts = [list(row) for row in vote_counts(task, evaluation.dimension)]
    return [counts, votes_by(judges, task) if judges else []]


def _look(
    evaluation: LiveEvaluation, task: Task, judges: Sequence[Judge], mark: list[Any]
) -> LiveDataset:
    """Keep what the votes say now; these are returned."""
    data = read(evaluation, task, judges)
    evaluation.seen = {**board(data), "mark": mark}
    evaluation.seen_at = timezone.now()
    evaluation.save(update_fields=["seen", "seen_at"])
    return data


@transaction.atomic
def end(*, by: User, task: Task) -> LiveEvaluation:
    """End an evaluation by hand with its current result; an ended one is left as it is."""
    evaluation = _lock_evaluation(task)
    if evaluation.state == State.OPEN:
        fresh = _task_of(evaluation)
        if evaluation.judges:
            judging.settle(evaluation, fresh)
        judges, used = judges_of(evaluation, fresh), used_by(evaluation, fresh)
        data = _look(evaluation, fresh, judges, _mark(evaluation, fresh, judges))
        _end(evaluation, fresh, Reason.BY_HAND, used, data, by=by)
    return evaluation


def _end(
    evaluation: LiveEvaluation,
    task: Task,
    reason: str,
    used: Used,
    data: LiveDataset,
    *,
    by: User | None,
) -> None:
    """Part of a transaction that holds the evaluation: close the task, keep and tell the result.

    ``data`` are the votes of the last look, which the result names and a bundle holds.

    Assignments in work may still be submitted and are paid; runs of models are cancelled. The
    result stays as it is; its money holds the most that a cancelled run can have cost.
    """
    told = {name: value for name, value in evaluation.seen.items() if name != "mark"}
    evaluation.state, evaluation.reason = State.ENDED, reason
    evaluation.ended_at, evaluation.ended_by = timezone.now(), by
    evaluation.result = {
        **told,
        "method_version": VERSION,
        SNAPSHOT: freeze(data, task).content_hash,
        "money": str(used.money),
        "models_money": str(used.models),
        "in_work": used.leases,
    }
    evaluation.save(update_fields=["state", "reason", "ended_at", "ended_by", "result"])
    if task.state in (TaskState.OPEN, TaskState.PAUSED):
        tasks.move(by=by, task=task, to="close")
    Task.objects.filter(pk=task.pk).update(most_answers=None, most_pay=None)
    judging.cancel_all(evaluation, by or evaluation.opened_by)
    record(by=by, project=task.project, action="live.end", on=task, reason=reason)
    emit(project=task.project, event="live.ended", data=event_of(evaluation))


def event_of(evaluation: LiveEvaluation) -> dict[str, Any]:
    """Return the webhook payload that announces the end of an evaluation."""
    return {
        "evaluation": evaluation.pk,
        "task": evaluation.task_id,
        "reason": str(evaluation.reason),
        "half_width": evaluation.half_width,
        "result": evaluation.result,
    }
