"""Small studies of writing with sources, and drafts of their responses, for tests of the pages."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.authoring.actions import tasks
from annotation.authoring.actions.writing_topics import add_topics
from annotation.models import Assignment, Project, Task
from annotation.work.actions import answers

QUERY = "Why do storks return to the same nest every year?"
PASSAGES = (
    {
        "key": "nest-01",
        "title": "A nest that lasts",
        "text": "Storks build large nests of sticks on chimneys, church towers and poles. A nest "
        "is used for many years, and every spring the pair adds new branches, earth and "
        "grass, so that old nests may weigh more than a ton.\n\nBuilding a new one takes weeks, "
        "which are missing for breeding.",
    },
    {
        "key": "pair-02",
        "title": "Faithful to the place",
        "text": "White storks are more faithful to their nest than to their partner. The male "
        "usually arrives first and defends the nest against others; if the female of last year "
        "comes in time, they breed together again.",
    },
    {
        "key": "way-03",
        "title": "Two ways to Africa",
        "text": "Storks soar on warm air, which does not rise over the sea. They therefore fly "
        "around the Mediterranean, either by Gibraltar or by the Bosporus.",
    },
    {
        "key": "food-04",
        "title": "What they eat",
        "text": "Frogs, mice, beetles and worms are found in wet meadows near the nest.",
    },
)
SENTENCE = "Storks come back because a large nest lasts for many years [1]."
ENTRY = {
    "entry.knowledge": "2",
    "entry.expertise": "1",
    "entry.answerable": "0",
    "entry.controversial": "-1",
}
EXIT = {
    "exit.satisfaction": "1",
    "exit.sources": "4",
    "exit.own_knowledge": "1",
    "exit.omissions": "0",
}
LIMITS = {"min_words": 5, "max_words": 60, "target_words": 30}


def make_writing(
    project: Project,
    topics: int = 1,
    *,
    passages: Sequence[Mapping[str, str]] = PASSAGES,
    settings: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Task:
    """A writing task of so many topics in three styles, published; one response a bundle."""
    by = project.owner
    task = tasks.create_task(by=by, project=project, type="writing", title="Write about storks")
    rules = {
        "redundancy": 1,
        "items_per_assignment": 1,
        "order": "fixed",
        "pay": "6.00",
        "settings": {**LIMITS, **(settings or {})},
        **fields,
    }
    tasks.edit_draft(by=by, task=task, fields=rules)
    rows = [
        {"topic": f"storks-{number}", "query": QUERY, "passages": passages}
        for number in range(1, topics + 1)
    ]
    add_topics(by=by, task=task, rows=rows)
    tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


def submit(held: Assignment, text: str = SENTENCE) -> Assignment:
    """The worker's responses, all with the same text, submitted."""
    user = held.worker.user
    assert user is not None
    drafts = {entry.item_id: {"text": text, **ENTRY, **EXIT} for entry in held.entries.all()}
    return answers.submit_assignment(by=user, assignment=held, key=uuid.uuid4(), drafts=drafts)
