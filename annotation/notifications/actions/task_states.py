"""Telling staff of states that many actions lead to: a task has all it asks for, a budget ends."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, Sum
from django.urls import reverse

from annotation.models import Assignment, Item, Notice, Project, Task
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.notifications.actions.notices import notify, people_of

NEARLY = Decimal("0.9")
ZERO = Decimal("0.00")


def tell_complete() -> int:
    """Tell staff of each open task in which every slot is filled; returns of how many.

    A task that asks for more afterwards is told of again when that is there too.
    """
    asked = Item.objects.filter(task=OuterRef("pk"), expected__isnull=True)
    leased = Assignment.objects.filter(task=OuterRef("pk"), state=AssignmentState.LEASED)
    full = (
        Task.objects.filter(state=TaskState.OPEN)
        .filter(~Exists(asked.filter(held__lt=F("redundancy"))), ~Exists(leased))
        .annotate(wanted=Sum("items__redundancy", filter=Q(items__expected__isnull=True)))
        .filter(wanted__gt=0)
        .select_related("project", "current")
    )
    keys = {f"task.complete:{task.pk}:{task.wanted}": task for task in full}
    known = Notice.objects.filter(key__in=keys, kind="task.complete").values_list("key", flat=True)
    told = 0
    for key in keys.keys() - set(known):
        told += _complete(keys[key], key)
    return told


@transaction.atomic
def _complete(task: Any, key: str) -> bool:
    number = f"{task.wanted:,} answer{'' if task.wanted == 1 else 's'}"
    told = notify(
        to=people_of(task.project),
        kind="task.complete",
        project=task.project,
        key=key,
        text=f"“{task.current.title}” has all its {number}.",
        url=reverse("task", args=[task.project_id, task.pk]),
    )
    return bool(told)


def tell_budget(*, task: Task, project: Project) -> None:
    """Tell staff where what is approved comes near the task's or the project's budget.

    Called by what books pay, in its transaction; each budget is told of once at each step.
    """
    for holder, name, label in (
        (project, "project", "of the project"),
        (task, "task", "of a task"),
    ):
        if not holder.budget:
            continue
        spent = holder.ledger.owed().aggregate(s=Sum("amount"))["s"] or ZERO
        if spent < NEARLY * holder.budget:
            continue
        used = spent >= holder.budget
        kind = "budget.used" if used else "budget.nearly"
        money = f"{spent} of {holder.budget} {project.currency} approved"
        notify(
            to=people_of(project),
            kind=kind,
            project=project,
            key=f"{kind}:{name}:{holder.pk}:{holder.budget}",
            text=f"The budget {label} is {'used up' if used else 'nearly used'}: {money}.",
            url=reverse("ledger", args=[project.pk]),
        )
