"""A small pairwise study written for these tests: answers on tea by six sources, two dimensions.

The sources differ in merit, so that an order is there to be found; judges are of three kinds:
careful, guessing, and always left.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from django.db.models import F
from django.utils import timezone

from annotation.authoring.actions import tasks
from annotation.models import (
    Answer,
    Assignment,
    AssignmentItem,
    Candidate,
    ChoiceValue,
    Item,
    Membership,
    Project,
    System,
    Task,
)
from annotation.models.assignments import AssignmentState
from annotation.task_types.pairwise.sides import ORDINALS, to_canonical
from tests.support import factories
from tests.support.kept import kept

SOURCES = (
    ("model-a", "essay"),
    ("model-a", "list"),
    ("model-b", "essay"),
    ("people", "essay"),
    ("people", "list"),
    ("model-b", "list"),
)
MERITS = (1.2, 0.8, 0.3, 0.0, -0.6, -1.1)
DIMENSIONS = (
    {"name": "clarity", "label": "Clarity", "question": "Which one is clearer?", "neutral": True},
    {"name": "overall", "label": "Overall", "question": "Which is better?", "neutral": False},
)


def make_texts(
    project: object, topics: int = 4, sources: int = 6, *, varied: bool = False
) -> list[Candidate]:
    """A text a topic and source; ``varied``: of different lengths, every third with a list."""
    made, rng = [], np.random.default_rng(9)
    for topic in range(topics):
        for number in range(sources):
            origin, style = SOURCES[number]
            system, _ = System.objects.get_or_create(
                project=project, name=origin, prompt_strategy=style
            )
            text = f"Tea number {topic} is best drunk warm, says source {number}. " * 3
            if varied:
                text += "It is poured slowly. " * int(rng.integers(1, 12))
                text += "\n- leaves\n- water" if rng.random() < 0.3 else ""
            made.append(
                Candidate.objects.create(
                    project=project,
                    key=f"t{topic}-s{number}",
                    topic=f"tea-{topic}",
                    text=text,
                    query=f"How is tea {topic} made?",
                    style=style,
                    origin=origin,
                    system=system,
                    words=len(text.split()),
                )
            )
    return made


@kept
def make_task(
    *,
    topics: int = 4,
    sources: int = 6,
    redundancy: int = 5,
    project: Project | None = None,
    varied: bool = False,
) -> Task:
    """A published study of every pair of a topic; nobody has judged yet."""
    project = project or factories.make_project(also_manager=True)
    task = tasks.create_task(
        by=project.owner, project=project, type="pairwise", title="Which tea text is better?"
    )
    tasks.edit_draft(
        by=project.owner,
        task=task,
        fields={
            "redundancy": redundancy,
            "items_per_assignment": 6,
            "pay": "1.20",
            "settings": {"dimensions": [dict(row) for row in DIMENSIONS]},
        },
    )
    texts = make_texts(project, topics, sources, varied=varied)
    position = 0
    for topic in sorted({text.topic for text in texts}):
        inside = sorted((text for text in texts if text.topic == topic), key=lambda t: t.pk)
        group = tasks.save_group(
            by=project.owner,
            task=task,
            key=topic,
            title=inside[0].query,
            passage=f"[1] A source on {topic}.",
        )
        for i, first in enumerate(inside):
            for second in inside[i + 1 :]:
                position += 10
                Item.objects.create(
                    task=task,
                    group=group,
                    key=f"{first.key}_{second.key}",
                    position=position,
                    question=first.query,
                    since=1,
                    first=first,
                    second=second,
                )
    tasks.publish(by=project.owner, task=task)
    task.refresh_from_db()
    return task


@kept
def make_judged(
    *, workers: int = 12, seed: int = 1, task: Task | None = None, **study: Any
) -> Task:
    """The same study with every slot filled; the last two workers guess or vote always left.

    ``study``: of ``make_task``, where there is no task yet.
    """
    task = task or make_task(**study)
    rng = np.random.default_rng(seed)
    people = [factories.make_worker(project=task.project) for _ in range(workers)]
    items = list(task.items.select_related("first", "second"))
    assert task.current is not None
    plan: dict[int, list[Item]] = {}
    for at, item in enumerate(items):
        for k in range(task.current.redundancy):
            plan.setdefault((at + k) % workers, []).append(item)
    for number, held in plan.items():
        kind = "left" if number == workers - 1 else "guess" if number == workers - 2 else "careful"
        judge(task, people[number], held, kind, rng)
    Item.objects.filter(task=task).update(held=F("redundancy"))
    return task


def merit(text: Candidate) -> float:
    return MERITS[SOURCES.index((text.origin, text.style))]


@kept
def make_fragile() -> tuple[Task, Membership]:
    """A study whose first is so by one worker alone, and that worker; nobody is shown turned.

    Ten workers prefer source 0 to source 1 in 21 votes of 40; the eleventh prefers source 1 on all
    four topics. All prefer both to source 2.
    """
    task = make_task(topics=4, sources=3, redundancy=11, varied=True)
    people = [factories.make_worker(project=task.project) for _ in range(11)]
    items = list(task.items.select_related("first", "second"))
    for number, worker in enumerate(people):

        def prefers(item: Item, number: int = number) -> bool:
            assert item.first is not None and item.second is not None
            if item.second.key.endswith("s2"):
                return True
            topic = int(item.first.topic[-1])
            return number < 10 and ((number + topic) % 2 == 0 or (number, topic) == (0, 1))

        judge(task, worker, items, prefers, _NeverTurned())
    Item.objects.filter(task=task).update(held=F("redundancy"))
    return task, people[-1]


class _NeverTurned:
    """Draws that turn no pair round."""

    def random(self) -> float:
        return 0.99


def _vote(
    item: Item, flipped: bool, kind: str | Callable[[Item], bool], rng: Any, neutral: bool
) -> str:
    """The side that is chosen; ``kind`` may say itself whether the first is."""
    assert item.first is not None and item.second is not None
    if not isinstance(kind, str):
        return "left" if kind(item) != flipped else "right"
    if kind == "left":
        return "left"
    if kind == "guess":
        return str(rng.choice(["left", "right"]))
    gap = merit(item.first) - merit(item.second)
    chance = 1 / (1 + np.exp(-2.5 * gap))
    if neutral and rng.random() < 0.15:
        return "neutral"
    first_wins = rng.random() < chance
    return "left" if first_wins != flipped else "right"


def judge(
    task: Task,
    worker: Membership,
    items: Sequence[Item],
    kind: str | Callable[[Item], bool],
    rng: Any,
) -> None:
    """One worker's assignment of these items, submitted."""
    now = timezone.now() - dt.timedelta(hours=2)
    assignment = Assignment.objects.create(
        task=task,
        version=task.current,
        worker=worker,
        state=AssignmentState.SUBMITTED,
        pay="1.20",
        leased_at=now,
        opened_at=now,
        expires_at=now + dt.timedelta(hours=1),
        submitted_at=now + dt.timedelta(minutes=20),
    )
    entries, answers, votes = [], [], []
    for position, item in enumerate(items):
        flipped = bool(rng.random() < 0.5)
        entries.append(
            AssignmentItem(assignment=assignment, item=item, position=position, flipped=flipped)
        )
        answer = Answer(
            version=task.current,
            item=item,
            assignment=assignment,
            worker=worker,
            order_shown=position,
            flipped=flipped,
            answered_at=now + dt.timedelta(minutes=position + 1),
        )
        answers.append(answer)
        for row in DIMENSIONS:
            side = _vote(item, flipped, kind, rng, bool(row["neutral"]))
            code = to_canonical(side, flipped=flipped)
            votes.append(
                ChoiceValue(
                    answer=answer, field=str(row["name"]), code=code, ordinal=ORDINALS[code]
                )
            )
    AssignmentItem.objects.bulk_create(entries)
    Answer.objects.bulk_create(answers)
    ChoiceValue.objects.bulk_create(votes)


@kept
def make_rated(*, topics: int = 4, raters: int = 5, seed: int = 2) -> Task:
    """The same texts rated one by one from 1 to 5 by five people, the better sources higher."""
    project = factories.make_project(also_manager=True)
    task = tasks.create_task(by=project.owner, project=project, type="rating", title="How good?")
    tasks.edit_draft(by=project.owner, task=task, fields={"redundancy": raters})
    group = tasks.save_group(by=project.owner, task=task, key="all", title="Tea")
    texts = make_texts(project, topics)
    Item.objects.bulk_create(
        Item(
            task=task,
            group=group,
            key=text.key,
            position=k,
            question=text.query,
            since=1,
            first=text,
        )
        for k, text in enumerate(texts)
    )
    tasks.publish(by=project.owner, task=task)
    task.refresh_from_db()
    rng, now = np.random.default_rng(seed), timezone.now()
    for _ in range(raters):
        worker = factories.make_worker(project=project)
        assignment = Assignment.objects.create(
            task=task,
            version=task.current,
            worker=worker,
            state=AssignmentState.SUBMITTED,
            pay="1.00",
            leased_at=now,
            expires_at=now,
            submitted_at=now,
        )
        answers, ratings = [], []
        for position, item in enumerate(task.items.select_related("first")):
            assert item.first is not None
            answer = Answer(
                version=task.current,
                item=item,
                assignment=assignment,
                worker=worker,
                order_shown=position,
                answered_at=now,
            )
            answers.append(answer)
            value = int(np.clip(round(3 + 1.2 * merit(item.first) + rng.normal(0, 0.8)), 1, 5))
            ratings.append(
                ChoiceValue(answer=answer, field="quality_overall", code=str(value), ordinal=value)
            )
        Answer.objects.bulk_create(answers)
        ChoiceValue.objects.bulk_create(ratings)
    return task
