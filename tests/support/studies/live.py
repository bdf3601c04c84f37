"""A live evaluation of systems whose outputs say how good they are, and workers who read that."""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.authoring.actions import tasks
from annotation.models import Membership, Project, Task
from annotation.work.actions import answers, assignments
from crowdqc.errors import Conflict
from evaluation.live import actions as live
from evaluation.models import LiveEvaluation
from tests.support import factories

SYSTEMS = {"ash": 0.8, "birch": 0.2, "cedar": 0.5}


def make_task(
    project: Project | None = None, *, redundancy: int = 1, bundle: int = 5, pay: str = "1.00"
) -> Task:
    """A pairwise task that was never published and has no texts."""
    project = project or factories.make_project(also_manager=True)
    task = tasks.create_task(
        by=project.owner, project=project, type="pairwise", title="Which answer is better?"
    )
    tasks.edit_draft(
        by=project.owner,
        task=task,
        fields={"redundancy": redundancy, "items_per_assignment": bundle, "pay": pay},
    )
    return task


def outputs(
    prompts: int, systems: Sequence[str] = ("ash", "birch"), start: int = 0
) -> list[dict[str, str]]:
    """Rows as a client sends them."""
    return [
        {
            "prompt": f"p{number}",
            "question": f"What is number {number}?",
            "system": system,
            "text": f"{system} on {number}",
        }
        for number in range(start, start + prompts)
        for system in systems
    ]


def make_live(
    task: Task | None = None, *, systems: Sequence[str] = ("ash", "birch"), **limits: Any
) -> LiveEvaluation:
    """An open evaluation without outputs."""
    task = task or make_task()
    return live.open_evaluation(by=task.project.owner, task=task, systems=systems, **limits)


def votes_on(entries: Sequence[tuple[int, str, str]], rng: random.Random) -> dict[int, Any]:
    """Drafts for (item, left text, right text): the better system wins by chance of its merit."""
    drafts = {}
    for item, left, right in entries:
        merits = [SYSTEMS[text.split()[0]] for text in (left, right)]
        side = "left" if rng.random() < merits[0] / sum(merits) else "right"
        drafts[item] = {"d-quality_overall": side}
    return drafts


def judge(task: Task, worker: Membership, rng: random.Random) -> bool:
    """Claim and submit one assignment; False where nothing can be claimed."""
    assert worker.user is not None
    task.refresh_from_db()
    try:
        held = assignments.claim_assignment(by=worker.user, task=task, worker=worker)
    except Conflict:
        return False
    shown = []
    for entry in held.entries.select_related("item__first", "item__second"):
        first, second = entry.item.first, entry.item.second
        assert first is not None and second is not None
        pair = (second, first) if entry.flipped else (first, second)
        shown.append((entry.item_id, pair[0].text, pair[1].text))
    drafts: Mapping[int, Any] = votes_on(shown, rng)
    answers.submit_assignment(by=worker.user, assignment=held, key=uuid.uuid4(), drafts=drafts)
    return True
