"""A small labels task written for these tests: is a claim supported by its source.

Workers are of three kinds: careful, guessing, and one who always gives the same label.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.utils import timezone

from annotation.authoring.actions import tasks
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
from tests.support import factories

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


def make_task(
    *, items: int = 40, known: int = 0, redundancy: int = 5, project: Project | None = None
) -> Task:
    """A published task of claims, the first ``known`` with a known answer; nobody has answered."""
    project = project or factories.make_project(also_manager=True)
    by = project.owner
    task = tasks.create_task(by=by, project=project, type="labels", title="Is the claim supported?")
    fields = {
        "redundancy": redundancy,
        "pay": "1.20",
        "settings": {"fields": [dict(row) for row in FIELDS]},
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
