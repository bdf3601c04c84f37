"""A think-aloud task with people's attributes, and a model that answers each stage by the book."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

from annotation.authoring.actions import tasks
from annotation.models import Item, Membership, Project, Task
from annotation.work.actions import answers, assignments
from tests.support import factories
from tests.support.kept import kept
from tests.support.servers.llm import Body

DIMENSION = "Order"
RUBRIC = "An ordered text leads from one thought to the next; nothing stands where it does not fit."
SAMPLES = [
    {
        "key": f"sample-{n}",
        "title": f"Sample {n}",
        "text": f"Storks come back, then they nest {n}.",
        "source": f"A report on storks in village {n}.",
        "score": str(n),
    }
    for n in range(1, 5)
]
OWL = [
    "Look whether each sentence follows from the one before",
    "See that the topic is named at the start",
    "Check that pronouns point at something that was named",
]
REED = [
    "Notice words that tie sentences together",
    "Look for one thread through the whole text",
    "The end should close what the start opened",
]
THOUGHTS = [
    "Consider whether ideas progress in a logical sequence",
    "Consider whether transitions connect neighbouring sentences",
    "Consider whether the opening announces the topic",
    "Consider whether paragraphs hold one idea each",
    "Consider whether the ending returns to the opening",
]


@kept
def make_task(project: Project | None = None, *, publish: bool = True) -> Task:
    """One dimension with a rubric and four scored samples."""
    project = project or factories.make_project()
    by = project.owner
    task = tasks.create_task(by=by, project=project, type="think_aloud", title="What makes order")
    tasks.edit_draft(
        by=by,
        task=task,
        fields={
            "redundancy": 4,
            "items_per_assignment": 1,
            "order": "fixed",
            "pay": "1.00",
            "settings": {"min_attributes": 2},
        },
    )
    group = tasks.save_group(
        by=by, task=task, key="order", title=DIMENSION, passage=RUBRIC, passages=SAMPLES
    )
    if not task.items.exists():
        tasks.save_item(by=by, task=task, group=group, key="order", question=DIMENSION)
    if publish:
        tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


def think(task: Task, texts: list[str], pseudonym: str) -> Membership:
    """One person's session: these attributes, typed one by one."""
    worker = factories.make_worker(task.project, pseudonym=pseudonym)
    assert worker.user is not None
    assignment = assignments.claim_assignment(by=worker.user, task=task, worker=worker)
    assignment = assignments.open_assignment(by=worker.user, assignment=assignment)
    draft = {"attributes": [{"text": text} for text in texts]}
    drafts = {entry.item_id: draft for entry in assignment.entries.all()}
    answers.submit_assignment(
        by=worker.user, assignment=assignment, key=uuid.uuid4(), drafts=drafts
    )
    return worker


@kept
def make_thought(project: Project | None = None) -> Task:
    """The task with the sessions of two people."""
    task = make_task(project)
    think(task, OWL, "owl-01")
    think(task, REED, "reed-02")
    return task


def item_of(task: Task) -> Item:
    """Its dimension."""
    return task.items.select_related("group").get()


# A model -----------------------------------------------------------------------------------------


def stage_of(body: Body) -> str:
    """Which stage a request is about, by the form of the answer that it asks for."""
    form = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    fields = form.get("properties", {})
    if set(fields) == {"considerations"}:
        return "think_aloud"
    if set(fields) == {"components"}:
        return "components"
    if set(fields) == {"questions"}:
        return "validation"
    first = fields["c1"]
    if first.get("type") == "string":
        return "key_questions"
    held = json.dumps(first.get("items", {}))
    return "sub_questions" if "$ref" in held or "question" in held else "clusters"


def answer(body: Body) -> str:
    """Two components; every attribute sorted; two sub-questions each; the last two joined."""
    kind, said = stage_of(body), str(body["messages"][-1]["content"])
    told: Any
    if kind == "think_aloud":
        told = {"considerations": THOUGHTS}
    elif kind == "components":
        told = {"components": ["Sequence", "Opening and close"]}
    elif kind == "clusters":
        n = len(re.findall(r"^\d+\. ", said, re.MULTILINE))
        told = {"c1": [k for k in range(1, n + 1) if k % 2], "c2": [2, 4, 6][: n // 2]}
    elif kind == "key_questions":
        told = {"c1": "Does each thought follow from the last?", "c2": "Is the topic framed?"}
    elif kind == "sub_questions":
        told = {
            "c1": [
                {"question": "Does every sentence follow from the one before?", "attributes": [1]},
                {"question": "Do tying words connect the sentences?", "attributes": [3, 5]},
            ],
            "c2": [
                {"question": "Is the topic named at the start?", "attributes": [2]},
                {"question": "Does the text begin with its topic?", "attributes": [4]},
            ],
        }
    else:
        told = {
            "questions": [
                {"question": "Does every sentence follow from the one before?", "made_of": [1]},
                {"question": "Do tying words connect neighbouring sentences?", "made_of": [2]},
                {"question": "Is the topic named at the start?", "made_of": [3, 4]},
            ]
        }
    return json.dumps(told)
