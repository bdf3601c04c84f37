"""Telling staff of states that many actions lead to: a task has all it asks for, a budget ends."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, Sum
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Assignment, Item, LedgerEntry, Notice, Project, Task
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.notifications.actions.notices import notify, people_of
from crowdqc.numbers import plural

NEARLY = Decimal("0.9")
ZERO = Decimal("0.00")


def tell_complete() -> int:
    """Notify staff of open tasks in which every slot is filled; return of how many tasks.

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
    told = notify(
        to=people_of(task.project),
        kind="task.complete",
        project=task.project,
        key=key,
        text=lambda: (
            _("“%(title)s” has all its %(answers)s.")
            % {"title": task.current.title, "answers": plural(task.wanted, "answer")}
        ),
        url=reverse("task", args=[task.project_id, task.pk]),
    )
    return bool(told)


def tell_budget(*, task: Task, project: Project) -> None:
    """Notify staff when the cost comes close to the task's or the project's budget.

    Called by what books pay, in its transaction; each budget is told of once at each step.
    """
    holders: tuple[tuple[Any, str, tuple[str, str]], ...] = (
        (
            project,
            "project",
            (
                gettext_noop("The budget of the project is used up: %(approved)s."),
                gettext_noop("The budget of the project is nearly used: %(approved)s."),
            ),
        ),
        (
            task,
            "task",
            (
                gettext_noop("The budget of a task is used up: %(approved)s."),
                gettext_noop("The budget of a task is nearly used: %(approved)s."),
            ),
        ),
    )
    for holder, name, sentences in holders:
        if not holder.budget:
            continue
        spent = LedgerEntry.objects.cost_of(holder)
        if spent < NEARLY * holder.budget:
            continue
        used = spent >= holder.budget
        kind = "budget.used" if used else "budget.nearly"
        notify(
            to=people_of(project),
            kind=kind,
            project=project,
            key=f"{kind}:{name}:{holder.pk}:{holder.budget}",
            text=partial(_budget_words, sentences[not used], spent, holder.budget, project),
            url=reverse("ledger", args=[project.pk]),
        )


def _budget_words(sentence: str, spent: Decimal, budget: Decimal, project: Project) -> str:
    approved = _("%(spent)s of %(budget)s %(currency)s spent") % {
        "spent": spent,
        "budget": budget,
        "currency": project.currency,
    }
    return _(sentence) % {"approved": approved}
