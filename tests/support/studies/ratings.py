"""Small studies of answers beside their documents, and ratings of them, for tests."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from annotation.authoring.actions import drafts, tasks
from annotation.models import Assignment, Project, Task
from annotation.pairs.actions import rating_documents
from annotation.task_types.rating.type import COMPLETENESS
from annotation.work.actions import answers

DOCUMENT = (
    "The harbour of Lemmer froze on 3 January. Dr. Visser measured 3.5 cm of ice at 8 a.m. that "
    "day.\nBy Friday the ferry had stopped. “We wait for the south wind,” said the captain. "
    "Two fishermen walked home across the ice.\n\nThe wind turned on 11 January. The ferry left "
    "at noon, and nobody had been hurt."
)
QUESTION = "Why had the ferry stopped?"
ANSWERS = (
    "The harbour had frozen, so the ferry could not leave.",
    "The captain was ill.",
    "The ferry had stopped because of the ice, and it left again when the wind turned.",
)
WHY = "It names the ice but leaves out that they waited for the wind."
SETTINGS: dict[str, Any] = {
    "layout": "document",
    "scales": list(COMPLETENESS),
    "explanation": {"wanted": "required", "min_words": 5},
    "evidence": "required",
    "feedback": True,
}


def rows(documents: int = 1, per_document: int = 3) -> list[dict[str, Any]]:
    """Answers as a file brings them; every document asks one question."""
    return [
        {
            "document_id": f"doc-{d}",
            "title": "Ice",
            "document": DOCUMENT,
            "question_id": f"doc-{d}-q1",
            "question": QUESTION,
            "sentence": 3,
            "answer_id": f"doc-{d}-a{a}",
            "answer": ANSWERS[a % 3],
            "system": f"model {a}",
        }
        for d in range(1, documents + 1)
        for a in range(per_document)
    ]


def make_documents(
    project: Project,
    documents: int = 1,
    per_document: int = 3,
    *,
    settings: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Task:
    """A published task that rates answers beside their documents."""
    by = project.owner
    task = tasks.create_task(by=by, project=project, type="rating", title="How complete is it?")
    rules = {"redundancy": 3, "order": "fixed", "pay": "2.00", "items_per_assignment": 6, **fields}
    drafts.edit_draft(
        by=by, task=task, fields={**rules, "settings": {**SETTINGS, **(settings or {})}}
    )
    rating_documents.add_documents(by=by, task=task, rows=rows(documents, per_document))
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


def draft(**changes: Any) -> dict[str, Any]:
    """A complete rating as the page sends it."""
    return {
        "r-completeness": "70",
        "r-correctness": "1",
        "explanation": WHY,
        "evidence": "1, 4",
        **changes,
    }


def submit(held: Assignment, **changes: Any) -> Assignment:
    """Submit every rating of an assignment."""
    given = {item: draft(**changes) for item in held.entries.values_list("item", flat=True)}
    return answers.submit_assignment(
        by=held.worker.user, assignment=held, key=uuid.uuid4(), drafts=given
    )
