"""Tasks made of another task's pairs or texts: an expert panel, a point-wise pilot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.authoring.actions.drafts import as_title, edit_draft
from annotation.authoring.actions.items import STEP
from annotation.authoring.actions.tasks import create_task, find_task_of_form
from annotation.models import (
    Item,
    ItemGroup,
    Membership,
    Task,
    TaskVersion,
    User,
)
from annotation.pairs.actions.pair_items import make_texts
from annotation.pairs.selectors import release_states, rule_of
from annotation.panels.actions import panels
from annotation.records.actions.audit import record
from annotation.records.actions.locks import serialize_claims
from annotation.task_types import get_type
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import long_date

# Four points, as in the pilot of Gienapp et al. (2025), section 3.3.1; our words.
POINTS = ("poor", "rather poor", "rather good", "good")


def _asked_pairs(
    task: Task, items: Sequence[Item], workers: Sequence[Membership]
) -> dict[tuple[int | None, int | None], Item]:
    """The pairs that ``items`` hold, each once; Invalid where they cannot go to a panel."""
    if not get_type(task.type).pairs_texts:
        raise Invalid(_("Only pairs go to a panel."))
    pairs = {(i.first_id, i.second_id): i for i in items}
    if not pairs or any(
        item.task_id != task.pk or item.second_id is None or item.expected is not None
        for item in pairs.values()
    ):
        raise Invalid(_("Choose pairs of this task."), fields={"items": _("One pair at least.")})
    if not workers:
        raise Invalid(
            _("A panel needs somebody on it."), fields={"workers": _("One person at least.")}
        )
    return pairs


@transaction.atomic
def panel_task(
    *,
    by: User,
    task: Task,
    items: Sequence[Item],
    title: str,
    panel_name: str,
    workers: Sequence[Membership],
    key: UUID | None = None,
) -> Task:
    """Create a draft in which panel members judge some pairs of ``task``, each pair once.

    The dimensions, instructions, pay and order of sides are those of the version in force; pairs
    that ``items`` holds twice (repeats) are asked once. Nothing is handed out before somebody
    publishes it; the form of a ``key`` makes one task. Raises Invalid for items that are no pairs
    of the task, or without workers.
    """
    there = find_task_of_form(by=by, project=task.project, key=key)
    if there is not None:
        return there
    pairs = _asked_pairs(task, items, workers)
    new = create_task(by=by, project=task.project, type=task.type, title=title, key=key)
    new.source = task
    new.panel = panels.get_or_create_panel(by=by, project=task.project, name=panel_name)
    panels.admit(
        by=by,
        panel=new.panel,
        workers=workers,
        why=_("to judge pairs of “%(task)s”") % {"task": title},
        tell=False,
    )
    new.save(update_fields=["source", "panel"])
    _copy_settings(new, task, by, redundancy=len(workers), items=len(pairs))
    groups = _groups(new, pairs.values())
    Item.objects.bulk_create(
        Item(
            task=new,
            group=groups[item.group_id],
            key=item.key.removesuffix("-again"),
            position=(place + 1) * STEP,
            question=item.question,
            since=1,
            first_id=item.first_id,
            second_id=item.second_id,
        )
        for place, item in enumerate(pairs.values())
    )
    record(
        by=by,
        project=task.project,
        action="panel.task",
        on=new,
        source=task.pk,
        pairs=len(pairs),
        workers=len(workers),
    )
    return new


def _copy_settings(new: Task, task: Task, by: User, *, redundancy: int, items: int) -> TaskVersion:
    """Give the new draft the wording and rules of the version in force."""
    old = task.version_or_draft()
    settings = {**old.settings, "gold_per_assignment": 0, "made": "", "left_out": []}
    if settings["sides"] == "authored":
        settings["sides"] = "balanced"
    fields: dict[str, Any] = {
        "instructions": old.instructions,
        "order": old.order,
        "pay": old.pay,
        "lease_minutes": old.lease_minutes,
        "redundancy": redundancy,
        "items_per_assignment": min(items, old.items_per_assignment),
        "settings": settings,
    }
    return edit_draft(by=by, task=new, fields=fields)


def _groups(new: Task, items: Iterable[Item]) -> dict[int, ItemGroup]:
    """Copies of the items' topics in the new task, by the id of the old one."""
    old = ItemGroup.objects.filter(pk__in={item.group_id for item in items})
    return {
        group.pk: ItemGroup.objects.create(
            task=new,
            key=group.key,
            position=group.position,
            title=group.title,
            passage=group.passage,
            category=group.category,
            since=1,
        )
        for group in old.order_by("position", "pk")
    }


@transaction.atomic
def rating_task(*, by: User, task: Task, title: str = "") -> Task:
    """Create a draft that asks for the same texts one by one, on a scale for each dimension.

    Pair by pair or one by one: a pilot of the second kind beside the first shows what pairs are
    worth. It holds the texts of the newest version that are not left out.
    """
    if not get_type(task.type).pairs_texts:
        raise Invalid(_("Only a pairwise task has texts to rate one by one."))
    old = task.versions.latest("number")
    new = create_task(
        by=by,
        project=task.project,
        type="rating",
        title=title or _("%(task)s (one by one)") % {"task": as_title(old.title, 140)},
    )
    new.source = task
    new.save(update_fields=["source"])
    scales = [
        {
            "name": row["name"],
            "label": row["label"],
            "question": "How good is the text in this?",
            "description": row["description"],
            "points": [{"value": n + 1, "label": label} for n, label in enumerate(POINTS)],
        }
        for row in old.settings["dimensions"]
    ]
    settings = {
        "scales": scales,
        "left_out": old.settings.get("left_out", []),
        **{name: old.settings[name] for name in ("show_sources", "break_after", "skippable")},
    }
    edit_draft(
        by=by,
        task=new,
        fields={
            "redundancy": old.redundancy,
            "pay": old.pay,
            "lease_minutes": old.lease_minutes,
            "settings": settings,
        },
    )
    for group in task.groups.in_version(old.number).order_by("position", "pk"):
        ItemGroup.objects.create(
            task=new,
            key=group.key,
            position=group.position,
            title=group.title,
            passage=group.passage,
            category=group.category,
            since=1,
        )
    make_texts(by=by, task=new)
    return new


def check(task: Task, version: TaskVersion) -> None:
    """Conflict where the window of the task's release is used up; says when the next one begins.

    Claims of one version stand in line from here to the end of their transaction, so that two who
    count at once cannot both take the last place.
    """
    if not rule_of(version):
        return
    serialize_claims(version)
    task.current = version
    found = release_states([task])[task.pk]
    if not found.left:
        at = timezone.localtime(found.next_at)
        raise Conflict(
            _(
                "%(every)s assignments are given out at a time, and these are taken. More "
                "come on %(day)s at %(time)s."
            )
            % {"every": found.every, "day": long_date(at, year=False), "time": f"{at:%H:%M}"},
            code="not-released",
        )
