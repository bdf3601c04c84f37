"""Prompts with a text of each system, added to a task that may be open: every pair is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from annotation.authoring.actions.drafts import as_title, lock_draft
from annotation.authoring.actions.items import STEP
from annotation.authoring.actions.tasks import within_limit
from annotation.models import Candidate, Item, ItemGroup, Project, Task, TaskVersion, User
from annotation.pairs.actions.pair_items import require
from annotation.records.actions.locks import lock_project
from annotation.task_types.rendering import words_in
from crowdqc.errors import Conflict

BATCH = 2000


@dataclass(frozen=True)
class Prompt:
    """A prompt under its key, and what each system (by id) made of it."""

    key: str
    question: str
    texts: Mapping[int, str]


@transaction.atomic
def add_prompts(
    *, by: User, task: Task, prompts: Sequence[Prompt], asks_people: bool = True
) -> int:
    """Make every pair of a prompt's texts an item of the version in force; how many pairs.

    They are handed out from the end of the transaction on, where people are asked. A task that was
    never published gets them in its draft. Raises Conflict where a prompt's key is there already,
    or where the task would ask for more answers than its limit.
    """
    require(task, paired=True)
    # In this order, as everybody who publishes or takes texts in.
    rows = Task.objects.select_for_update(no_key=True, of=("self",)).select_related("current")
    task = rows.get(pk=task.pk)
    project = lock_project(task.project_id)
    version = task.current or lock_draft(task, by=by)
    there = task.groups.filter(until__isnull=True, key__in=[one.key for one in prompts])
    taken = there.values_list("key", flat=True).first()
    if taken is not None:
        raise Conflict(
            _("Prompt %(taken)s is in the task already.") % {"taken": taken},
            fields={"prompt": taken},
        )
    groups = _groups(task, version, prompts)
    texts = _texts(project, task, prompts)
    items = _items(task, version, prompts, groups, texts)
    if not asks_people:
        for item in items:
            item.redundancy = 0
    Item.objects.bulk_create(items, batch_size=BATCH)
    within_limit(task)
    return len(items)


def _groups(task: Task, version: TaskVersion, prompts: Sequence[Prompt]) -> dict[str, int]:
    last = task.groups.aggregate(m=Max("position"))["m"] or 0
    made = ItemGroup.objects.bulk_create(
        [
            ItemGroup(
                task=task,
                key=one.key,
                position=last + STEP * (number + 1),
                since=version.number,
                title=as_title(one.question),
            )
            for number, one in enumerate(prompts)
        ],
        batch_size=BATCH,
    )
    return {group.key: group.pk for group in made}


def _texts(
    project: Project, task: Task, prompts: Sequence[Prompt]
) -> dict[tuple[str, int], Candidate]:
    """The texts by prompt and system; their keys name the task, so that no other's are meant."""
    made = Candidate.objects.bulk_create(
        [
            Candidate(
                project=project,
                key=f"live-{task.pk}-{one.key}-{system}",
                topic=one.key,
                query=one.question,
                text=text,
                system_id=system,
                words=words_in(text),
            )
            for one in prompts
            for system, text in sorted(one.texts.items())
        ],
        batch_size=BATCH,
    )
    return {(text.topic, text.system_id): text for text in made}


def _items(
    task: Task,
    version: TaskVersion,
    prompts: Sequence[Prompt],
    groups: Mapping[str, int],
    texts: Mapping[tuple[str, int], Candidate],
) -> list[Item]:
    last = task.items.aggregate(m=Max("position"))["m"] or 0
    found = []
    for one in prompts:
        own = sorted(texts[one.key, system].pk for system in one.texts)
        for first, second in combinations(own, 2):
            last += STEP
            found.append(
                Item(
                    task=task,
                    group_id=groups[one.key],
                    key=f"{one.key[:40]}-{first}-{second}",
                    position=last,
                    question=one.question,
                    since=version.number,
                    first_id=first,
                    second_id=second,
                    redundancy=version.redundancy,
                )
            )
    return found
