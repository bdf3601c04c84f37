"""Take the example items of a template out of a draft."""

from __future__ import annotations

from django.db import transaction

from annotation.authoring.actions.drafts import lock_draft
from annotation.authoring.actions.items import remove_group
from annotation.authoring.selectors.examples import EXAMPLE, examples_of
from annotation.models import Candidate, Item, ItemGroup, MediaFile, Project, System, Task, User
from annotation.records.actions.audit import record


@transaction.atomic
def remove_examples(*, by: User, task: Task) -> int:
    """Take the example items out of the draft; returns how many. What a requester added stays.

    A passage stays where another item is about it. Texts and systems of examples that nothing else
    refers to leave the project.
    """
    draft = lock_draft(task, by=by)
    examples = examples_of(task, draft)
    number = examples.count()
    examples.filter(since=draft.number).delete()
    examples.update(until=draft.number)
    groups = task.groups.in_version(draft.number).filter(key__startswith=EXAMPLE)
    for group in groups:
        if not group.items.in_version(draft.number).exists():
            remove_group(by=by, task=task, group=group)
    _remove_unused(task.project)
    record(by=by, project=task.project, action="examples.remove", on=task, items=number)
    return number


def _remove_unused(project: Project) -> None:
    """Delete example files and texts that no task of the project has any more, and systems."""
    files = MediaFile.objects.filter(project=project, name__startswith=EXAMPLE)
    files.filter(items__isnull=True).delete()
    asked = Item.objects.filter(task__project=project)
    topics = ItemGroup.objects.filter(task__project=project, key__startswith=EXAMPLE)
    texts = Candidate.objects.filter(project=project, key__startswith=EXAMPLE)
    texts = texts.exclude(topic__in=topics.values("key"))
    texts = texts.exclude(pk__in=asked.filter(first__isnull=False).values("first"))
    texts = texts.exclude(pk__in=asked.filter(second__isnull=False).values("second"))
    systems = set(texts.values_list("system", flat=True))
    texts.delete()
    System.objects.filter(pk__in=systems, candidates=None, answers=None).delete()
