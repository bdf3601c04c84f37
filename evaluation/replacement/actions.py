"""Asking people about items that were drawn for them."""

from __future__ import annotations

import secrets

import numpy as np
from django.db import transaction

from annotation.authoring.actions import tasks
from annotation.models import Item, Task, User
from annotation.records.actions.audit import record
from annotation.work.snapshots import choices as collected
from crowdqc.errors import Conflict
from evaluation.methods.replacement import active
from evaluation.models import ItemDraw
from evaluation.replacement import dataset, next_items, texts

WHY = "drawn to compare people with a model"


@transaction.atomic
def ask_about_items(
    *,
    by: User,
    task: Task,
    field: str,
    system_id: int,
    wanted: int,
    way: str,
    trusted: bool = False,
    seed: int | None = None,
) -> ItemDraw:
    """Draw items for people and hand them out first; how they were drawn is kept.

    ``trusted``: what people labelled so far is a random part of all items; never after a draw that
    chose hard ones. An item that asks for fewer answers than the task gets as many as the task
    says. What an earlier draw had put first goes back into its turn. Raises Conflict and Invalid
    as ``candidates`` and ``check_wanted``.
    """
    task = (
        Task.objects.select_for_update(of=("self",))
        .select_related("project", "current")
        .get(pk=task.pk)
    )
    if texts.RUNS.fits(task):
        raise Conflict(next_items.OF_TEXTS, code="no-choice-of-texts")
    asked = collected.field_of(task, field)
    found = next_items.candidates(task, asked, system_id)
    next_items.check_wanted(found, wanted, way)
    seed = secrets.randbelow(2**31) if seed is None else seed
    chance = found.chances(wanted, way)
    free = np.flatnonzero(~found.known)
    chosen = free[active.draw(chance[free], np.random.default_rng(seed))]
    before = dataset.newest_draw(task, asked)
    made = ItemDraw.objects.create(
        task=task,
        field=asked.name,
        recipe={
            "model": found.frozen.data.models[found.at],
            "method": f"active {active.VERSION}",
            "wanted": wanted,
            "mix": next_items.WAYS[way],
            "seed": seed,
            "trusted": trusted and next_items.may_trust(task, asked),
        },
        known=[found.items[at] for at in np.flatnonzero(found.known)],
        chances={str(found.items[at]): float(chance[at]) for at in free},
        drawn=[found.items[at] for at in chosen],
        created_by=by,
    )
    first = dict.fromkeys(before.drawn if before else [], 0) | dict.fromkeys(made.drawn, 1)
    tasks.set_priorities(by=by, task=task, items=first, why=WHY)
    short = Item.objects.filter(pk__in=made.drawn, redundancy__lt=found.redundancy)
    asks = dict.fromkeys(short.values_list("pk", flat=True), found.redundancy)
    if asks:
        tasks.set_wanted(by=by, task=task, wanted=asks, why=WHY)
    record(
        by=by, project=task.project, action="items.draw", on=task, items=wanted, way=way, seed=seed
    )
    return made
