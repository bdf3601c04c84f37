"""A small rating task with a document, answers of two sources, and explained ratings."""

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
    Candidate,
    ChoiceValue,
    Item,
    Membership,
    Project,
    Role,
    SpanValue,
    System,
    Task,
    TextValue,
)
from annotation.models.assignments import AssignmentState
from tests.support import factories
from tests.support.kept import kept

POINTS = [
    {"value": 0, "label": "misses everything"},
    {"value": 30, "label": "misses much"},
    {"value": 70, "label": "misses a little"},
    {"value": 100, "label": "complete"},
]
SCALES = [
    {
        "name": "completeness",
        "label": "Completeness",
        "question": "How much of what the text offers does the answer hold?",
        "points": POINTS,
    },
    {
        "name": "correctness",
        "label": "Correctness",
        "question": "Is the answer right?",
        "points": [{"value": 0, "label": "wrong"}, {"value": 1, "label": "right"}],
    },
]
DOCUMENT = (
    "The lighthouse was built in 1871. Its lamp burned oil for sixty years.\n"
    "A keeper lived in the tower with his family."
)
QUESTION = "Who tended the lamp?"
SAYS = {
    0: "Nothing from the text is used, see sentence 3.",
    30: "The keeper is there, but neither the oil nor the years.",
    70: "Only the family is not mentioned.",
    100: "Everything that sentence 3 says stands in it.",
}


@kept
def make_task(items: int = 6, project: Project | None = None, **fields: Any) -> Task:
    """A published rating task of one document; nobody has rated yet."""
    project = project or factories.make_project(also_manager=True)
    task = tasks.create_task(by=project.owner, project=project, type="rating", title="How full?")
    tasks.edit_draft(
        by=project.owner, task=task, fields={"redundancy": 8, "settings": {"scales": SCALES}}
    )
    group = tasks.save_group(
        by=project.owner, task=task, key="light", title="The lighthouse", passage=DOCUMENT
    )
    add_items(
        task,
        group.pk,
        [(f"light-{k}", QUESTION, f"Answer {k}: the keeper.", "model-a") for k in range(items)],
    )
    tasks.publish(by=project.owner, task=task)
    task.refresh_from_db()
    return task


def add_items(task: Task, group_id: int, rows: Sequence[tuple[str, str, str, str]]) -> list[Item]:
    """Items of (key, question, answer, system)."""
    project = task.project
    systems = {
        name: System.objects.get_or_create(project=project, name=name)[0]
        for name in dict.fromkeys(row[3] for row in rows)
    }
    made = Candidate.objects.bulk_create(
        [
            Candidate(
                project=project,
                key=key,
                topic="t",
                query=question[:200],
                text=answer or ".",
                system=systems[name],
                words=len(answer.split()),
            )
            for key, question, answer, name in rows
        ]
    )
    return Item.objects.bulk_create(
        [
            Item(
                task=task,
                group_id=group_id,
                key=row[0],
                position=k,
                question=row[1],
                since=1,
                first=candidate,
            )
            for k, (row, candidate) in enumerate(zip(rows, made, strict=True))
        ]
    )


def add_workers(project: Project, names: Sequence[str]) -> list[Membership]:
    """Workers as an import makes them, known by an outside id."""
    return Membership.objects.bulk_create(
        [
            Membership(
                project=project, role=Role.WORKER, pseudonym=f"Rater {name}", external_id=name
            )
            for name in names
        ]
    )


def add_ratings(
    task: Task, rows: Sequence[tuple[int, Membership, int, str]], *, evidence: int = 0
) -> list[Answer]:
    """Answers of (item, worker, value, explanation), in this order; each in its own assignment."""
    now = timezone.now() - dt.timedelta(hours=1)
    assignments = Assignment.objects.bulk_create(
        [
            Assignment(
                task=task,
                version=task.current,
                worker=worker,
                state=AssignmentState.SUBMITTED,
                pay="1.00",
                leased_at=now,
                expires_at=now,
                submitted_at=now,
            )
            for _, worker, _, _ in rows
        ],
        batch_size=2000,
    )
    answers = Answer.objects.bulk_create(
        [
            Answer(
                version=task.current,
                item_id=item,
                assignment=assignment,
                worker=worker,
                order_shown=1,
                answered_at=now,
            )
            for assignment, (item, worker, _, _) in zip(assignments, rows, strict=True)
        ],
        batch_size=2000,
    )
    ChoiceValue.objects.bulk_create(
        [
            ChoiceValue(answer=answer, field="completeness", code=str(value), ordinal=value)
            for answer, (_, _, value, _) in zip(answers, rows, strict=True)
        ],
        batch_size=2000,
    )
    TextValue.objects.bulk_create(
        [
            TextValue(answer=answer, field="explanation", index=0, text=text)
            for answer, (_, _, _, text) in zip(answers, rows, strict=True)
            if text
        ],
        batch_size=2000,
    )
    if evidence:
        SpanValue.objects.bulk_create(
            [
                SpanValue(
                    answer=answer,
                    field="evidence",
                    index=0,
                    target="sentence",
                    start=evidence,
                    end=evidence,
                )
                for answer in answers
            ],
            batch_size=2000,
        )
    return answers


@kept
def make_rated(*, items: int = 12, raters: int = 4, seed: int = 3, evidence: int = 3) -> Task:
    """The task with every item rated by everybody; raters differ in how strict they are.

    The first rating of the last rater has no explanation.
    """
    task = make_task(items)
    rng = np.random.default_rng(seed)
    workers = add_workers(task.project, [str(k) for k in range(raters)])
    values = [point["value"] for point in POINTS]
    rows = []
    for number, item in enumerate(task.items.order_by("position")):
        merit = rng.normal(0, 1.2)
        for k, worker in enumerate(workers):
            at = int(np.clip(round(1.8 + merit - 0.4 * k + rng.normal(0, 0.5)), 0, 3))
            words = f"{SAYS[int(values[at])]} ({k}) Answer {number}."
            rows.append((item.pk, worker, int(values[at]), words))
    last = next(at for at in range(len(rows)) if rows[at][1] is workers[-1])
    rows[last] = (*rows[last][:3], "")
    add_ratings(task, rows, evidence=evidence)
    return task
