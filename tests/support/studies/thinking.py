"""Small studies of thinking aloud and of checklists, and their drafts, for tests."""

from __future__ import annotations

import io
import uuid
import wave
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.authoring.actions import tasks
from annotation.authoring.actions.think_topics import save_dimension
from annotation.files.reading.recordings import read_recording
from annotation.files.stored.actions import store
from annotation.models import (
    Assignment,
    AssignmentItem,
    Candidate,
    Project,
    Recording,
    Task,
)
from annotation.pairs.actions import checklist_items
from annotation.work.actions import answers
from tests.support.studies.judging import make_candidate

RUBRIC = "**Order.** Does one sentence lead to the next?\n\n1 is a heap of facts, 5 one thread."
SOURCE = "The town opened its new library on Monday. It has 40,000 books and a garden on the roof."
SAMPLES: tuple[dict[str, str], ...] = (
    {
        "key": "s1",
        "title": "",
        "text": "A garden. Books. It is Monday.",
        "source": SOURCE,
        "score": "1",
    },
    {
        "key": "s2",
        "title": "",
        "text": "There is a library. It opened. Monday.",
        "source": SOURCE,
        "score": "2",
    },
    {
        "key": "s3",
        "title": "",
        "text": "The library opened on Monday. Books: 40,000.",
        "source": SOURCE,
        "score": "3.5",
    },
    {
        "key": "s4",
        "title": "",
        "text": "On Monday the town opened a library of 40,000 books, whose roof is a garden.",
        "source": SOURCE,
        "score": "5",
    },
)
SAID = (
    "Well, first I ask whether each sentence takes up the one before it. And I would not want it "
    "to jump around in time. 🙂 Names should stay the same all the way through."
)
ATTRIBUTES = ("Each sentence takes up the one before", "Time runs in one direction")
QUESTIONS: tuple[dict[str, Any], ...] = (
    {
        "name": "links",
        "label": "Does each sentence take up the one before it?",
        "component": "Links",
        "attributes": [
            {"text": "takes up what was said", "author": "Calm Heron", "kind": "person"}
        ],
    },
    {
        "name": "time",
        "label": "Does time run in one direction?",
        "component": "Order",
        "attributes": [],
    },
    {"name": "names", "label": "Do names stay the same?", "component": "Links", "attributes": []},
)
YES = {"c-links": "yes", "c-time": "no", "c-names": "yes"}


def make_think(
    project: Project,
    dimensions: Sequence[str] = ("Coherence",),
    *,
    settings: Mapping[str, Any] | None = None,
    publish: bool = True,
    **fields: Any,
) -> Task:
    """A think-aloud task of these dimensions with four samples each, published."""
    by = project.owner
    task = tasks.create_task(by=by, project=project, type="think_aloud", title="Think aloud")
    rules = {
        "redundancy": 2,
        "items_per_assignment": max(1, len(dimensions)),
        "order": "fixed",
        "pay": "3.00",
        "settings": {"min_attributes": 2, **(settings or {})},
        **fields,
    }
    tasks.edit_draft(by=by, task=task, fields=rules)
    for name in dimensions:
        save_dimension(by=by, task=task, name=name, rubric=RUBRIC, samples=SAMPLES)
    if publish:
        tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


def make_checklist(
    project: Project,
    texts: int = 2,
    *,
    questions: Sequence[Mapping[str, Any]] = QUESTIONS,
    publish: bool = True,
    **fields: Any,
) -> Task:
    """A checklist task over so many texts on one source, published."""
    by = project.owner
    task = checklist_items.make_task(
        by=by,
        project=project,
        title="Check summaries",
        dimension="Coherence",
        questions=questions,
        version=0,
        texts=make_texts(project, texts),
    )
    rules = {"redundancy": 2, "items_per_assignment": texts, "order": "fixed", "pay": "1.00"}
    tasks.edit_draft(by=by, task=task, fields={**rules, **fields})
    group = task.groups.get()
    tasks.save_group(by=by, task=task, group=group, title="The library", passage=SOURCE)
    if publish:
        tasks.publish(by=by, task=task)
    task.refresh_from_db()
    return task


def make_texts(project: Project, n: int) -> list[Candidate]:
    """Texts to be checked, of one topic."""
    return [
        make_candidate(project, SAMPLES[number % len(SAMPLES)]["text"], "library")
        for number in range(n)
    ]


def thought(attributes: Sequence[str] = ATTRIBUTES, said: str = "", *marked: str) -> dict[str, str]:
    """A draft: these attributes typed, and these stretches of what was ``said`` marked."""
    draft = {f"attribute-{place}": text for place, text in enumerate(attributes)}
    for place, text in enumerate(marked, len(attributes)):
        start = said.index(text)
        draft |= {f"attribute-{place}": text, f"mark-{place}": f"{start}-{start + len(text)}"}
    return draft | ({"transcript": said} if said else {})


def submit(held: Assignment, draft: Mapping[str, Any]) -> Assignment:
    """The worker's assignment submitted, each item with the same draft."""
    user = held.worker.user
    assert user is not None
    drafts = {entry.item_id: dict(draft) for entry in held.entries.all()}
    return answers.submit_assignment(by=user, assignment=held, key=uuid.uuid4(), drafts=drafts)


def make_recording(entry: AssignmentItem, seconds: float = 0.5) -> Recording:
    """A silent WAV, kept with the entry as if its worker had said nothing for so long."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(bytes(2 * round(8_000 * seconds)))
    read = read_recording(out.getvalue(), most_seconds=60)
    return Recording.objects.create(
        entry=entry,
        sha256="0" * 64,
        type=read.type,
        size=len(read.data),
        seconds=read.seconds,
        stored=store([read.data], kind="recordings"),
    )
