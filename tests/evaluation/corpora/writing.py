"""A small writing study written for these tests: queries on bees, ten passages each, two styles.

People cite from the top of the ranking and take words over; the model cites more and writes anew.
Logs tell how each person's text came about; one of them pastes from outside.
"""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import numpy as np
from django.utils import timezone

from annotation.authoring.actions import tasks
from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    ChoiceValue,
    EventBatch,
    EventStream,
    Item,
    Membership,
    Project,
    SpanValue,
    System,
    Task,
    TextValue,
)
from annotation.models.assignments import AssignmentState
from annotation.task_types.writing.citations import parse
from annotation.task_types.writing.type import ENTRY_TEMPLATE, EXIT_TEMPLATE, STYLES, citation_spans
from tests.support import factories
from tests.support.kept import kept

PASSAGES = 10
WORDS = (
    "bees gather nectar from many flowers and carry pollen home where workers turn it into honey "
    "during warm days the hive grows and scouts look for water while guards watch the entrance in "
    "autumn fewer eggs are laid and winter bees live longer because they rest near the queen"
).split()
OUTSIDE = (
    "The following essay was prepared elsewhere and copied into this page in one piece, with every "
    "sentence finished long before the passages were opened by anybody at all."
)


def passage(topic: int, rank: int) -> str:
    """A passage with words of its own."""
    rng = np.random.default_rng(100 * topic + rank)
    return " ".join(rng.choice(WORDS, 40)).capitalize() + f" in source {topic} {rank}."


@kept
def make_task(*, topics: int = 6, project: Project | None = None, styles: int = 2) -> Task:
    """A published writing task of every topic in every style; nobody has written yet."""
    project = project or factories.make_project(also_manager=True)
    task = tasks.create_task(
        by=project.owner, project=project, type="writing", title="What do bees do?"
    )
    tasks.edit_draft(
        by=project.owner,
        task=task,
        fields={
            "redundancy": 2,
            "items_per_assignment": 1,
            "pay": "3.00",
            "settings": {
                "styles": [dict(row) for row in STYLES[:styles]],
                "min_words": 5,
                "max_words": 500,
                "target_words": 60,
                "entry": [dict(row) for row in ENTRY_TEMPLATE],
                "exit": [dict(row) for row in EXIT_TEMPLATE],
            },
        },
    )
    for topic in range(topics):
        group = tasks.save_group(
            by=project.owner,
            task=task,
            key=f"bees-{topic}",
            title=f"How do bees live, part {topic}?",
            passages=[
                {"key": f"d{topic}-{k}", "title": f"Source {k}", "text": passage(topic, k)}
                for k in range(1, PASSAGES + 1)
            ],
        )
        for style in STYLES[:styles]:
            Item.objects.create(
                task=task,
                group=group,
                key=f"bees-{topic}-{style['name']}",
                position=topic,
                question=f"How do bees live, part {topic}?",
                since=1,
                redundancy=2,
                settings={"style": style["name"], "passages": PASSAGES},
            )
    tasks.publish(by=project.owner, task=task)
    task.refresh_from_db()
    return task


def text_of(item: Item, author: int, *, machine: bool) -> str:
    """A response: statements with citations, half of them taken over where a person writes."""
    rng = np.random.default_rng(hash((item.pk, author)) % 2**32)
    topic = int(item.group.key.rpartition("-")[2])
    weight = np.linspace(2.0, 0.4 if not machine else 1.2, PASSAGES)
    ranks = rng.choice(PASSAGES, 7 if machine else 4, replace=False, p=weight / weight.sum()) + 1
    parts = []
    for number, rank in enumerate(sorted(int(r) for r in ranks)):
        words = passage(topic, rank).split()[5:17] if number % 2 and not machine else []
        words = words or list(rng.choice(WORDS, 14))
        parts.append(f"{' '.join(words).capitalize()} [{rank}].")
    return " ".join(parts)


@kept
def make_written(*, workers: int = 6, task: Task | None = None, models: bool = True) -> Task:
    """The same task with a response of two people (and a model) to every item."""
    task = task or make_task()
    people = [factories.make_worker(project=task.project) for _ in range(workers)]
    for at, item in enumerate(task.items.select_related("group").order_by("pk")):
        for turn in range(2):
            number = (at + turn) % workers
            text = text_of(item, number, machine=False)
            respond(task, item, people[number], text, outside=number == 0)
        if models:
            respond_as_model(task, item, text_of(item, 99, machine=True))
    Item.objects.filter(task=task).update(held=2)
    return task


def respond(
    task: Task,
    item: Item,
    worker: Membership,
    text: str,
    *,
    outside: bool = False,
    log: bool = True,
    said: int = 3,
) -> Answer:
    """A person's submitted response with its forms and, unless told otherwise, its log."""
    now, version = timezone.now() - dt.timedelta(hours=2), task.current
    assert version is not None
    assignment = Assignment.objects.create(
        task=task,
        version=version,
        worker=worker,
        state=AssignmentState.SUBMITTED,
        pay="3.00",
        leased_at=now,
        opened_at=now,
        expires_at=now + dt.timedelta(hours=1),
        submitted_at=now + dt.timedelta(minutes=20),
    )
    AssignmentItem.objects.create(assignment=assignment, item=item, position=0)
    if outside:
        text = f"{text} {OUTSIDE}"
    answer = Answer.objects.create(
        version=version,
        item=item,
        assignment=assignment,
        worker=worker,
        order_shown=0,
        answered_at=now + dt.timedelta(minutes=20),
    )
    _store(answer, text)
    level = 1 + (worker.pk + item.pk) % said
    for field in ("entry.knowledge", "entry.expertise"):
        ChoiceValue.objects.create(answer=answer, field=field, code=str(level), ordinal=level)
    if log:
        _log(assignment, item, text, outside)
    return answer


def respond_as_model(task: Task, item: Item, text: str, name: str = "model-a") -> Answer:
    """A model's response of the same shape."""
    version = task.current
    assert version is not None
    system, _ = System.objects.get_or_create(project=task.project, name=name)
    answer = Answer.objects.create(
        version=version, item=item, system=system, answered_at=timezone.now()
    )
    _store(answer, text)
    return answer


def _store(answer: Answer, text: str) -> None:
    TextValue.objects.create(answer=answer, field="answer", index=0, text=text)
    SpanValue.objects.bulk_create(
        SpanValue(answer=answer, field=field, index=index, target=target, start=start, end=end)
        for field, index, target, start, end in citation_spans(parse(text), 1)
    )


def _log(assignment: Assignment, item: Item, text: str, outside: bool) -> None:
    """Runs of keys with corrections on the way; what was pasted from outside comes at the end."""
    rng = np.random.default_rng(item.pk)
    target, now, events = f"item-{item.pk}", 1000, []
    typed = text.removesuffix(OUTSIDE) if outside else text

    def add(**event: Any) -> None:
        events.append(event)

    add(method="open", time=0, target="window")
    add(method="show", time=10, target=target, delta=[10, 0, 0, ""])
    add(method="passage", time=500, target="window", name="open", comment="1")
    add(method="passage", time=30_000, target="window", name="close", comment="1")
    now, position = 31_000, 0
    for start in range(0, len(typed), 12):
        chunk = typed[start : start + 12]
        gaps = [0, *(int(g) for g in rng.integers(60, 400, len(chunk) - 1))]
        add(
            method="input",
            time=now,
            target=target,
            name="run",
            ms=gaps,
            keys=len(chunk),
            delta=[now, position, 0, chunk],
        )
        now, position = now + sum(gaps) + 700, position + len(chunk)
        if start % 48 == 0:  # a slip, taken back
            add(
                method="input",
                time=now,
                target=target,
                name="run",
                ms=[0],
                keys=1,
                delta=[now, position, 0, "x"],
            )
            add(
                method="input",
                time=now + 300,
                target=target,
                name="run",
                ms=[0],
                keys=1,
                delta=[now + 300, position, 1, ""],
            )
            now += 900
    if outside:
        add(method="paste", time=now, target=target, comment="outside", length=len(OUTSIDE))
        add(
            method="input",
            time=now + 5,
            target=target,
            name="insertFromPaste",
            comment="outside",
            delta=[now + 5, position, 0, OUTSIDE],
        )
    stream = EventStream.objects.create(
        assignment=assignment, key=uuid.uuid4(), next_seq=len(events), stored_bytes=40 * len(events)
    )
    EventBatch.objects.create(stream=stream, first_seq=0, last_seq=len(events) - 1, events=events)
