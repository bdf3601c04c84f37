"""The demo's think-aloud and checklist tasks: made, and filled by people and invented models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotation.authoring.actions import tasks
from annotation.demo import checklist
from annotation.formats.actions.imports import import_rows
from annotation.models import Candidate, Project, Task, User
from annotation.pairs.actions import checklist_items
from annotation.pairs.actions.candidates import add_candidates
from crowdqc.files.cells import csv_lines
from evaluation.checklists.filled.text_scores import import_human

if TYPE_CHECKING:
    from evaluation.demo.context import DemoContext

PEOPLE = 4  # wanted to think aloud, and to check each text
WHOSE = "Demo, two editors"  # whose scores of the texts


def make(load: DemoContext, project: Project) -> tuple[Task, Task]:
    """Load both checklist tasks with their answers; return the tasks."""
    by, data = load.people["requester"], checklist.load()
    for who in {
        *(one["author"] for one in data["attributes"] if "strategy" not in one),
        *(one["id"] for one in data["checkers"]),
    }:
        load.join(project, who)
    think, check = _think(by, project, data), _check(by, project, data)
    load.say(
        f"a think-aloud: {len(data.attributes())} attributes of people and models; a checklist of "
        f"{len(data['questions'])} questions on {check.items.count()} texts "
        f"(tasks {think.pk} and {check.pk})"
    )
    return think, check


def _think(by: User, project: Project, data: checklist.Checking) -> Task:
    """The think-aloud: one dimension with four samples, and the attributes."""
    task = tasks.create_task(by=by, project=project, type="think_aloud", title=data["think_title"])
    rules = {
        "instructions": data["think_instructions"],
        "redundancy": PEOPLE + 2,
        "pay": "2.50",
        "items_per_assignment": 1,
        "settings": {"min_attributes": 2},
    }
    tasks.edit_draft(by=by, task=task, fields=rules)
    import_rows(by=by, task=task, kind="samples", rows=data.samples(), name=checklist.FILE)
    tasks.publish(by=by, task=task)
    import_rows(by=by, task=task, kind="attributes", rows=data.attributes(), name=checklist.FILE)
    return task


def _check(by: User, project: Project, data: checklist.Checking) -> Task:
    """The checklist over eight summaries, with answers and human scores."""
    rows = data.texts()
    add_candidates(by=by, project=project, rows=rows, name=checklist.FILE)
    texts = Candidate.objects.filter(project=project, key__in=[row["key"] for row in rows])
    task = checklist_items.make_task(
        by=by,
        project=project,
        title=data["check_title"],
        dimension=data["dimension"],
        questions=data.questions(),
        version=0,
        texts=texts,
    )
    rules = {
        "instructions": data["check_instructions"],
        "redundancy": PEOPLE,
        "pay": "1.60",
        "items_per_assignment": len(rows),
    }
    tasks.edit_draft(by=by, task=task, fields=rules)
    beside = {topic["topic"]: topic["context"] for topic in data["topics"]}
    for group in task.groups.all():
        tasks.save_group(
            by=by, task=task, group=group, title=group.title, passage=beside[group.key]
        )
    tasks.publish(by=by, task=task)
    import_rows(by=by, task=task, kind="checks", rows=data.checks(), name=checklist.FILE)
    task = Task.objects.select_related("project", "current").get(pk=task.pk)
    columns = ("key", "dimension", "score")
    table = [[row[name] for name in columns] for row in data.scores()]
    content = "".join(csv_lines([columns, *table])).encode()
    import_human(by=by, task=task, content=content, file="scores.csv", name=WHOSE)
    return task
