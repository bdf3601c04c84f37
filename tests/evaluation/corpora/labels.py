"""A small labels task written for these tests: is a claim supported by its source.

Workers are of three kinds: careful, guessing, and one who always gives the same label.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db.models import Count
from django.utils import timezone

from annotation.authoring.actions import tasks
from annotation.formats.actions.system_answers import SystemAnswer, store_system_answers
from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    ChoiceValue,
    Item,
    Membership,
    Project,
    Task,
)
from annotation.models.assignments import AssignmentState
from annotation.task_types import Values
from tests.support import factories
from tests.support.kept import kept

FIELD = "verdict"
OPTIONS = (
    ("supported", "Supported"),
    ("contradicted", "Contradicted"),
    ("not_in_source", "Not in source"),
)
CODES = tuple(code for code, _ in OPTIONS)
FIELDS: tuple[dict[str, Any], ...] = (
    {
        "name": FIELD,
        "label": "Verdict",
        "question": "Is the claim supported?",
        "kind": "choose_one",
        "unsure": True,
        "options": [{"value": code, "label": label} for code, label in OPTIONS],
    },
    {
        "name": "tone",
        "label": "Tone",
        "question": "How does it sound?",
        "kind": "choose_one",
        "required": False,
        "options": [{"value": "calm", "label": "Calm"}, {"value": "loud", "label": "Loud"}],
    },
)


@kept
def make_task(
    *,
    items: int = 40,
    known: int = 0,
    redundancy: int = 5,
    project: Project | None = None,
    further: Sequence[dict[str, Any]] = (),
    **rules: Any,
) -> Task:
    """A published task of claims, the first ``known`` with a known answer; nobody has answered.

    ``further`` are fields behind the two that it has, ``rules`` those of its version.
    """
    project = project or factories.make_project(also_manager=True)
    by = project.owner
    task = tasks.create_task(by=by, project=project, type="labels", title="Is the claim supported?")
    fields = {
        "redundancy": redundancy,
        "pay": "1.20",
        **rules,
        "settings": {"fields": [dict(row) for row in (*FIELDS, *further)]},
    }
    tasks.edit_draft(by=by, task=task, fields=fields)
    group = tasks.save_group(by=by, task=task, key="all", title="Claims")
    Item.objects.bulk_create(
        Item(
            task=task,
            group=group,
            key=f"c-{number:03d}",
            position=number,
            question=f"Claim number {number} holds for every tea.",
            since=1,
            redundancy=0 if number < known else redundancy,
            expected={FIELD: truth(number)} if number < known else None,
        )
        for number in range(items)
    )
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


def truth(number: int) -> str:
    """The label that the number-th claim deserves."""
    return CODES[(2 * number + number // 5) % 3]


@kept
def make_labelled(
    *,
    items: int = 40,
    known: int = 8,
    workers: int = 10,
    guessing: int = 2,
    per_item: int = 0,
    seed: int = 1,
    task: Task | None = None,
) -> Task:
    """The same with labels of everybody: the last worker always gives the first label, the
    ``guessing`` before guess, and the others are right four times in five. ``per_item``: how many
    label each claim, if not three in four."""
    task = task or make_task(items=items, known=known)
    rng = np.random.default_rng(seed)
    people = [factories.make_worker(project=task.project) for _ in range(workers)]
    found = list(task.items.order_by("position"))
    for number, person in enumerate(people):
        kind = "same" if number == workers - 1 else "careful"
        if workers - 1 - guessing <= number < workers - 1:
            kind = "guess"
        # Three in four of the claims, so that items have different numbers of labels; or a ring.
        own = [
            item
            for at, item in enumerate(found)
            if ((3 * at + number) % workers < per_item if per_item else (at + number) % 4)
        ]
        add_labels(task, person, [(item, _label(item, kind, rng)) for item in own])
    return task


def _label(item: Item, kind: str, rng: np.random.Generator) -> str:
    if kind == "same":
        return CODES[0]
    if kind == "guess":
        return str(rng.choice(CODES))
    right = truth(item.position)
    return right if rng.random() < 0.8 else str(rng.choice([c for c in CODES if c != right]))


def add_labels(
    task: Task, worker: Membership, given: Sequence[tuple[Item, str]], *, hours_ago: float = 2
) -> list[Answer]:
    """A submitted assignment of the worker; as the worker's page stores it."""
    now = timezone.now() - dt.timedelta(hours=hours_ago)
    assignment = Assignment.objects.create(
        task=task,
        version=task.current,
        worker=worker,
        state=AssignmentState.SUBMITTED,
        pay="1.20",
        leased_at=now,
        opened_at=now,
        expires_at=now + dt.timedelta(hours=1),
        submitted_at=now + dt.timedelta(seconds=9 * len(given)),
    )
    AssignmentItem.objects.bulk_create(
        AssignmentItem(assignment=assignment, item=item, position=at)
        for at, (item, _) in enumerate(given)
    )
    answers = Answer.objects.bulk_create(
        Answer(
            version=task.current,
            item=item,
            assignment=assignment,
            worker=worker,
            order_shown=at,
            counts=item.expected is None,
            uncounted_reason="" if item.expected is None else "an item whose answer is known",
            answered_at=now + dt.timedelta(seconds=9 * at),
        )
        for at, (item, _) in enumerate(given)
    )
    ChoiceValue.objects.bulk_create(
        ChoiceValue(
            answer=answer,
            field=FIELD,
            code=code,
            ordinal=CODES.index(code) if code in CODES else None,
        )
        for answer, (_, code) in zip(answers, given, strict=True)
        if code
    )
    return answers


def hold_slots(task: Task) -> None:
    """Let answers hold slots of their items, as those of the work page do."""
    for item in task.items.annotate(n=Count("answers")):
        Item.objects.filter(pk=item.pk).update(held=min(item.n, item.redundancy))


def add_model(
    task: Task, name: str, *, right: float, items: int | None = None, seed: int = 1
) -> None:
    """A model's labels of the first items (all), of which about this share is right."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in task.items.order_by("position")[:items]:
        true = CODES.index(truth(item.position))
        said = true if rng.random() < right else (true + 1 + int(rng.integers(2))) % 3
        rows.append(SystemAnswer(item.pk, Values(choices=[(FIELD, CODES[said], said)])))
    store_system_answers(by=task.project.owner, task=task, system=(name, "labels@1"), rows=rows)


@kept
def make_compared(*, items: int = 160, seen: int = 120) -> Task:
    """Labels of 8 people on the first ``seen`` items, and three models: one as good as they are,
    one that is not, and one whose labels are too few to tell."""
    task = make_labelled(items=items, known=0, workers=8, guessing=0)
    late = Item.objects.filter(task=task).order_by("position")[seen:]
    Answer.objects.filter(item__in=late).delete()
    add_model(task, "Alder", right=0.95, seed=1)
    add_model(task, "Birch", right=0.35, seed=2)
    add_model(task, "Cedar", right=0.72, items=70, seed=3)
    return task


def add_copy(task: Task) -> None:
    """A model that answers as one worker does, in every field."""
    rows: dict[int, list[tuple[str, str, int | None]]] = {}
    who = Answer.objects.filter(item__task=task, worker__isnull=False).earliest("pk").worker
    for one in ChoiceValue.objects.filter(answer__item__task=task, answer__worker=who):
        rows.setdefault(one.answer.item_id, []).append((one.field, one.code, one.ordinal))
    given = [SystemAnswer(item, Values(choices=said)) for item, said in rows.items()]
    store_system_answers(by=task.project.owner, task=task, system=("Copy", "votes@1"), rows=given)
