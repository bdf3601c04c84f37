"""Adaptive collection: where the next votes of a pairwise study go, and what that has saved.

Off by default. The method is ``methods.adaptive``; here it meets the counts of the database, and
what it wants becomes the number of answers that pairs ask for.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from annotation.authoring.actions import tasks
from annotation.models import Task, User
from annotation.models.tasks import TaskState
from annotation.records.actions.audit import record
from annotation.task_types.pairwise.sides import STORED
from annotation.work.snapshots import judgments
from annotation.work.snapshots.judgments import ItemRow
from crowdqc.errors import Conflict, Invalid
from evaluation.methods.adaptive.method import Plan, plan_votes
from evaluation.methods.core.base import BadParameter, DataError, FloatArray, IntArray
from evaluation.models import AdaptivePlan

logger = logging.getLogger(__name__)
TARGETS = ("label", "ranking")
SETTINGS = ("dimension", "floor", "ceiling", "certainty", "target", "budget")


@dataclass(frozen=True, eq=False)
class VoteCounts:
    """The pairs of a task with their votes so far, as arrays for the method.

    ``votes`` (p, 3) counts first, neutral, second; ``first`` and ``second`` (p,) are the sources
    of the two texts; ``leased`` (p,) is in work; ``idle`` (p,) holds a slot and tells nothing
    (answers of excluded workers, and to other dimensions). ``neutral``: whether it is offered.
    """

    items: tuple[int, ...]
    votes: FloatArray
    first: IntArray
    second: IntArray
    leased: IntArray
    idle: IntArray
    neutral: bool


def plan_of(task: Task) -> AdaptivePlan:
    """Return the task's adaptive plan, or an unsaved default."""
    found = AdaptivePlan.objects.filter(task=task).first()
    if found is not None:
        return found
    asked = judgments.version_items(task.current) if task.current is not None else []
    redundancy = task.current.redundancy if task.current is not None else 5
    return AdaptivePlan(
        task=task,
        dimension=asked[-1].name if asked else "",
        floor=max(2, redundancy // 2),
        ceiling=2 * redundancy,
    )


def count_votes(task: Task, dimension: str) -> VoteCounts:
    """The pairs of the version in force; designed repeats keep their own number of votes."""
    if task.current is None:
        raise Conflict(gettext("Publish the task first."))
    number = task.current.number
    held = dict(
        task.items.in_version(number)
        .filter(expected__isnull=True, repeat=False, second__isnull=False)
        .values_list("pk", "held")
    )
    rows: list[ItemRow] = [row for row in judgments.items(task) if row.item_id in held]
    if not rows:
        raise Conflict(gettext("The task has no pairs."))
    source = {row.candidate_id: row.system_id for row in judgments.texts(task)}
    order = {pk: k for k, pk in enumerate(sorted(set(source.values())))}
    place = {row.item_id: k for k, row in enumerate(rows)}
    votes = np.zeros((len(rows), len(STORED)))
    for item, code, n in judgments.outcome_counts(task, dimension):
        if item in place:
            votes[place[item], STORED.index(code)] = n
    in_work = judgments.count_leases(task)
    leased = np.array([in_work.get(row.item_id, 0) for row in rows], dtype=np.int64)
    slots = np.array([held[row.item_id] for row in rows], dtype=np.int64)
    given = votes.sum(axis=1).astype(np.int64)
    asked = {one.name: one for one in judgments.version_items(task.current)}
    return VoteCounts(
        items=tuple(row.item_id for row in rows),
        votes=votes,
        first=np.array([order[source[row.first_id]] for row in rows]),
        second=np.array([order[source[row.second_id]] for row in rows if row.second_id]),
        leased=leased,
        idle=np.maximum(slots - given - leased, 0),
        neutral=dimension not in asked or asked[dimension].neutral,
    )


def planned_votes(task: Task, plan: AdaptivePlan) -> tuple[VoteCounts, Plan]:
    """Return the votes so far, and how many each pair should have now; changes nothing."""
    have = count_votes(task, plan.dimension)
    return have, _plan(task, plan, have)


def _plan(task: Task, plan: AdaptivePlan, have: VoteCounts) -> Plan:
    budget = plan.budget if plan.budget is not None else uniform_budget(task, len(have.items))
    try:
        return plan_votes(
            have.votes,
            have.first,
            have.second,
            floor=plan.floor,
            ceiling=plan.ceiling,
            certainty=plan.certainty,
            budget=budget,
            target=plan.target,
            held=have.leased,
            neutral=have.neutral,
        )
    except (BadParameter, DataError) as error:
        raise Invalid(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error


def uniform_budget(task: Task, pairs: int) -> int:
    """Return the number of votes that equal redundancy would ask for."""
    return pairs * (task.current.redundancy if task.current is not None else 0)


def clean(task: Task, raw: dict[str, Any]) -> dict[str, Any]:
    """Settings of a plan; Invalid names the field."""
    names = [one.name for one in judgments.version_items(task.current)] if task.current else []
    if raw["dimension"] not in names:
        raise Invalid(
            gettext("There is no such dimension."), fields={"dimension": ", ".join(names)}
        )
    if raw["target"] not in TARGETS:
        raise Invalid(gettext("There is no such aim."), fields={"target": ", ".join(TARGETS)})
    if not 1 <= raw["floor"] <= raw["ceiling"] <= 500:
        raise Invalid(
            gettext("The most votes are fewer than the least."),
            fields={"ceiling": gettext("From the least to 500.")},
        )
    if not 0.5 < raw["certainty"] < 1:
        raise Invalid(
            gettext("The certainty is out of range."), fields={"certainty": gettext(".5 to 1.")}
        )
    if raw.get("budget") is not None and raw["budget"] < 1:
        raise Invalid(
            gettext("The budget is out of range."), fields={"budget": gettext("From 1, or empty.")}
        )
    return {name: raw.get(name) for name in SETTINGS}


def signature(plan: AdaptivePlan) -> str:
    """Hash the settings of a plan, to recognise the simulation made for them."""
    line = json.dumps([getattr(plan, name) for name in SETTINGS])
    return hashlib.sha256(line.encode()).hexdigest()[:16]


@transaction.atomic
def change(*, by: User, task: Task, raw: dict[str, Any]) -> AdaptivePlan:
    """Save a plan's settings; changed ones stay off until they are simulated."""
    fields = clean(task, raw)
    plan, _ = AdaptivePlan.objects.update_or_create(
        task=task, defaults={**fields, "changed_by": by}
    )
    if plan.enabled and plan.simulated.get("of") != signature(plan):
        plan.enabled = False
        plan.save(update_fields=["enabled"])
    record(by=by, project=task.project, action="adaptive.change", on=task, **fields)
    return plan


@transaction.atomic
def keep_simulation(*, by: User, plan: AdaptivePlan, said: dict[str, Any]) -> None:
    """Store the result of a simulation with the settings it is for."""
    plan.simulated = {**said, "of": signature(plan), "at": timezone.now().isoformat()}
    plan.save(update_fields=["simulated"])
    record(by=by, project=plan.task.project, action="adaptive.simulate", on=plan.task)


@transaction.atomic
def switch_plan(*, by: User, task: Task, on: bool) -> AdaptivePlan:
    """Switch a plan on or off. Off, every pair asks for what the version asked for again.

    Raises Conflict where these settings were not simulated, or the task is not published.
    """
    plan = AdaptivePlan.objects.select_for_update().filter(task=task).first()
    if plan is None:
        raise Conflict(gettext("Save and simulate the settings first."))
    if plan.enabled == on:
        return plan
    if on and plan.simulated.get("of") != signature(plan):
        raise Conflict(gettext("Simulate these settings before switching them on."))
    plan.enabled = on
    plan.save(update_fields=["enabled"])
    record(by=by, project=task.project, action=f"adaptive.{'on' if on else 'off'}", on=task)
    if on:
        apply(plan)
    elif task.current is not None:
        have = count_votes(task, plan.dimension)
        back = dict.fromkeys(have.items, task.current.redundancy)
        tasks.set_wanted(by=by, task=task, wanted=back, why="adaptive collection switched off")
    return plan


def apply(plan: AdaptivePlan) -> int:
    """Let every pair ask for as many votes as the method wants now; returns how many changed."""
    return _apply(plan, count_votes(plan.task, plan.dimension))


def _apply(plan: AdaptivePlan, have: VoteCounts) -> int:
    found = _plan(plan.task, plan, have)
    slots = found.wanted + have.idle
    wanted = {pk: int(n) for pk, n in zip(have.items, slots, strict=True)}
    changed = tasks.set_wanted(by=None, task=plan.task, wanted=wanted, why="adaptive collection")
    plan.planned = planning_in_words(plan.task, have, found)
    plan.planned_at = timezone.now()
    plan.save(update_fields=["planned", "planned_at"])
    return changed


def planning_in_words(task: Task, have: VoteCounts, found: Plan) -> dict[str, Any]:
    """Summarise a planning for the page: votes given, certain pairs, votes saved."""
    redundancy = task.current.redundancy if task.current is not None else 0
    given = have.votes.sum(axis=1)
    return {
        "pairs": len(have.items),
        "votes": int(given.sum()),
        "certain": int(found.certain.sum()),
        "early": int((found.certain & (given < redundancy)).sum()),
        "asked": int(found.next_votes.sum()),
        "in_work": int(have.leased.sum()),
        "beyond": int((found.wanted > redundancy).sum()),
        "budget": found.budget,
        "uniform": uniform_budget(task, len(have.items)),
        "saved": found.saved,
        "finished": found.finished,
        "histogram": np.bincount(given.astype(np.int64)).tolist(),
    }


def adapt_all() -> int:
    """Plan every open task anew whose plan is on and which got votes; returns how many."""
    done = 0
    rows = AdaptivePlan.objects.filter(enabled=True, task__state=TaskState.OPEN)
    for pk in list(rows.values_list("pk", flat=True)):
        try:
            with transaction.atomic():
                done += _adapt(pk)
        except (Invalid, Conflict) as problem:
            logger.warning("adaptive plan %s is not applied: %s", pk, problem.message)
    return done


def _adapt(pk: int) -> bool:
    """Plan one task anew where it got votes, unless it was switched off or is worked on."""
    held = AdaptivePlan.objects.select_for_update(of=("self",), skip_locked=True)
    plan = held.select_related("task__current", "task__project").filter(pk=pk, enabled=True).first()
    if plan is None:
        return False
    have = count_votes(plan.task, plan.dimension)
    if have.votes.sum() == plan.planned.get("votes"):
        return False
    _apply(plan, have)
    return True
