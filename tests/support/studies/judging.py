"""Small studies of pairs and ratings, and drafts of their judgments, for tests of the pages."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from annotation.authoring.actions import tasks
from annotation.models import Assignment, Candidate, Item, ItemGroup, Project, System, Task

QUERY = "How did scientists notice that Voyager 1 had left the heliosphere?"
SOURCES = (
    "[1] The plasma around the probe became forty times denser within weeks.\n\n"
    "[2] The probe was launched in 1977 and passed Jupiter and Saturn.\n\n"
    "[3] The magnetic field kept its direction, which nobody had expected."
)
TEXTS = (
    "Crossing the heliopause means leaving the bubble that the solar wind blows around the Sun. "
    "Voyager 1 noticed it in August 2012, when the plasma around it became about forty times "
    "denser within weeks. [1] The count of solar particles fell to almost nothing, and galactic "
    "cosmic rays rose. [1,4]\n\nThe direction of the magnetic field, however, hardly changed, "
    "which is why the team waited for a second sign before saying so in public. [3]",
    "Voyager 1 is the farthest object made by people. It was launched in 1977 and has visited "
    "Jupiter and Saturn. [2] Scientists say that it is now outside the heliopause and in the "
    "space between the stars. [1]\n\nIt noticed this with its instruments. There is a golden "
    "record on board with music and greetings in 55 languages. [2] Both probes will fall silent "
    "in the 2030s because their power is running out.",
)
_numbers = itertools.count(1)


def make_candidate(project: Project, text: str, topic: str, **fields: Any) -> Candidate:
    """A text under judgment, of a source of its own unless one is given."""
    number = next(_numbers)
    system = fields.pop("system", None) or System.objects.create(
        project=project, name=f"source {number}"
    )
    return Candidate.objects.create(
        project=project,
        key=f"text-{number}",
        topic=topic,
        query=QUERY,
        text=text,
        words=len(text.split()),
        system=system,
        **fields,
    )


def _begun(project: Project, kind: str, settings: Mapping[str, Any], **fields: Any) -> Task:
    by = project.owner
    task = tasks.create_task(by=by, project=project, type=kind, title="Which answer is better?")
    rules = {"redundancy": 3, "order": "fixed", "pay": "2.40", **fields}
    tasks.edit_draft(by=by, task=task, fields={**rules, "settings": settings})
    return task


def _item(task: Task, group: ItemGroup, number: int, **fields: Any) -> Item:
    return Item.objects.create(
        task=task,
        group=group,
        key=f"item-{number:03d}",
        position=number,
        question=QUERY,
        since=1,
        **fields,
    )


def make_pairs(
    project: Project,
    n: int = 3,
    *,
    sides: tuple[int, ...] = (1, -1, 1),
    texts: tuple[str, str] = TEXTS,
    sources: str = SOURCES,
    settings: Mapping[str, Any] | None = None,
    attention: bool = False,
    **fields: Any,
) -> Task:
    """A task of ``n`` pairs of one topic, published; ``sides`` in turn (-1: shown turned).

    ``attention``: the last of them has a known answer instead of slots.
    """
    task = _begun(project, "pairwise", settings or {}, **{"items_per_assignment": n, **fields})
    group = tasks.save_group(by=project.owner, task=task, key="voyager", passage=sources)
    for number in range(n):
        first, second = (make_candidate(project, text, "voyager") for text in texts)
        side = sides[number % len(sides)]
        known = {"expected": {"quality_overall": "first"}} if attention and number == n - 1 else {}
        _item(task, group, number + 1, first=first, second=second, side=side, **known)
    tasks.publish(by=project.owner, task=task)
    task.refresh_from_db()
    return task


def make_ratings(
    project: Project,
    n: int = 2,
    *,
    settings: Mapping[str, Any] | None = None,
    system: System | None = None,
    **fields: Any,
) -> Task:
    """A task of ``n`` single texts with scales, published; of one ``system`` if it is given."""
    task = _begun(project, "rating", settings or {}, **{"items_per_assignment": n, **fields})
    group = tasks.save_group(by=project.owner, task=task, key="voyager", passage=SOURCES)
    for number in range(n):
        text = make_candidate(project, TEXTS[number % 2], "voyager", system=system)
        _item(task, group, number + 1, first=text)
    tasks.publish(by=project.owner, task=task)
    task.refresh_from_db()
    return task


def stored_votes(assignment: Assignment) -> list[dict[str, str]]:
    """Of each answer in the order shown, its votes as they are stored."""
    answers = assignment.answers.order_by("order_shown").prefetch_related("choices")
    return [{choice.field: choice.code for choice in answer.choices.all()} for answer in answers]
