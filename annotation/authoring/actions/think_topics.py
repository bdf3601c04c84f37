"""The dimensions of a think-aloud task: a rubric, its scored samples, and the one item of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from annotation.authoring.actions.drafts import as_stored, lock_draft
from annotation.authoring.actions.items import (
    STEP,
    free_key,
    remove_group,
    save_group,
    supersede,
)
from annotation.authoring.actions.rows import (
    Change,
    Rows,
    change_listed,
    check_lengths,
    clean_listed,
    free_row_key,
    live_group,
    move_group,
)
from annotation.models import Item, ItemGroup, Task, TaskVersion, User
from annotation.records.actions.audit import record
from annotation.task_types import get_type
from crowdqc.errors import Invalid
from crowdqc.numbers import count

MAX_SAMPLES, MAX_KEY, MAX_TITLE, MAX_SCORE = 20, 80, 160, 20
MAX_TEXT, MAX_SOURCE, MAX_RUBRIC, MAX_NAME = 20_000, 100_000, 20_000, 80
LIMITS = (
    ("key", MAX_KEY),
    ("title", MAX_TITLE),
    ("text", MAX_TEXT),
    ("source", MAX_SOURCE),
    ("score", MAX_SCORE),
)
Sample = dict[str, str]
DIMENSION, SAMPLE = "dimension", "sample"  # what messages call them


def require(task: Task) -> None:
    """Invalid for a task of another type."""
    if not get_type(task.type).has_samples:
        raise Invalid(_("This type of task has no rubrics and samples."))


def clean_name(raw: str) -> str:
    """A dimension's name on one line, or Invalid."""
    name = " ".join(as_stored(raw).split())
    if len(name) > MAX_NAME:
        raise Invalid(
            _("The dimension's name is too long."),
            fields={"name": _("%(most)s characters at most.") % {"most": MAX_NAME}},
        )
    return name


def clean_rubric(raw: str) -> str:
    """A rubric as stored, or Invalid."""
    rubric = as_stored(raw).strip()
    if len(rubric) > MAX_RUBRIC:
        raise Invalid(
            _("The rubric is too long."),
            fields={"rubric": _("%(most)s characters at most.") % {"most": count(MAX_RUBRIC)}},
        )
    return rubric


def clean_samples(raw: Sequence[Mapping[str, Any]], where: str = "") -> list[Sample]:
    """Samples as stored, each with an id of its own; Invalid names the one that is wrong."""
    return clean_listed(
        raw,
        where=where or _("The dimension"),
        noun=SAMPLE,
        most=MAX_SAMPLES,
        limits=LIMITS,
        check=_check_sample,
    )


def _check_sample(one: Sample, where: str) -> None:
    check_lengths(one, where, LIMITS)
    if one["score"] and not is_score(one["score"]):
        raise Invalid(
            _("%(where)s: %(score)s is no score.") % {"where": where, "score": repr(one["score"])},
            fields={"score": _("A number.")},
        )


def is_score(raw: str) -> bool:
    """Whether a text is a finite number, as 3 or 2.5."""
    try:
        return math.isfinite(float(raw))
    except ValueError:
        return False


# Dimensions ------------------------------------------------------------------------------------


def _settle(task: Task, draft: TaskVersion, group: ItemGroup, position: int) -> None:
    """See that a dimension has its one item, which is called like it."""
    item = group.items.in_version(draft.number).first()
    if item is None:
        Item.objects.create(
            task=task,
            group=group,
            key=group.key,
            position=position,
            question=group.title,
            since=draft.number,
        )
    elif item.question != group.title:
        supersede(item, draft, question=group.title)


@transaction.atomic
def save_dimension(
    *,
    by: User,
    task: Task,
    group: ItemGroup | None = None,
    name: str | None = None,
    rubric: str | None = None,
    samples: Sequence[Mapping[str, Any]] | None = None,
) -> ItemGroup:
    """Add a dimension, or change the name, the rubric or the samples of one, with its item.

    A published dimension is replaced in the draft: its answers stay with the version that asked
    for them. Invalid names the field.
    """
    require(task)
    content: dict[str, Any] = {}
    if name is not None:
        content["title"] = clean_name(name)
    if rubric is not None:
        content["passage"] = clean_rubric(rubric)
    if samples is not None:
        content["passages"] = clean_samples(samples)
    if group is None:
        draft = lock_draft(task, by=by)
        made = save_group(by=by, task=task, key=free_key(task.groups, "dimension-{}"), **content)
        _settle(task, draft, made, _next(task))
        return made
    if all(getattr(group, field) == value for field, value in content.items()):
        return group
    draft = lock_draft(task, by=by)
    live = live_group(task, group.key, DIMENSION)  # it may have been saved meanwhile
    kept = {"title": live.title, "passage": live.passage, "passages": live.passages}
    made = save_group(by=by, task=task, group=live, look_back=live.look_back, **(kept | content))
    _settle(task, draft, made, _next(task))
    return made


def _next(task: Task) -> int:
    return (task.items.aggregate(m=Max("position"))["m"] or 0) + STEP


@transaction.atomic
def add_samples(*, by: User, task: Task, rows: Iterable[Mapping[str, Any]], name: str = "") -> int:
    """Add checked rows of a file (dimension, rubric, key, title, source, text, score).

    A sample whose dimension is new brings it along; returns how many samples are new. Samples
    that are there under their id stay as they are.
    """
    require(task)
    wanted: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        wanted.setdefault(row["dimension"], []).append(row)
    shown = task.versions.latest("number")
    there = {group.title: group for group in task.groups.in_version(shown.number)}
    new = 0
    for title, own in wanted.items():
        group = there.get(title)
        before = list(group.passages) if group else []
        keys = {one["key"] for one in before}
        fresh = [row for row in own if row["key"] not in keys]
        rubric = next((row["rubric"] for row in own if row.get("rubric")), None)
        if group is not None and group.passage:
            rubric = None
        if fresh or rubric:
            save_dimension(
                by=by, task=task, group=group, name=title, rubric=rubric, samples=[*before, *fresh]
            )
        new += len(fresh)
    if new:
        record(by=by, project=task.project, action="samples.add", on=task, file=name, new=new)
    return new


@transaction.atomic
def move_dimension(*, by: User, task: Task, group: ItemGroup, step: int) -> None:
    """Move a dimension up (-1) or down (1), and its item with it; at the end it stays."""
    draft = move_group(by=by, task=task, group=group, step=step, noun=DIMENSION)
    rows = task.groups.in_version(draft.number)
    places = dict(rows.values_list("pk", "position"))
    items = list(task.items.in_version(draft.number))
    for item in items:
        item.position = places[item.group_id]
    Item.objects.bulk_update(items, ["position"])


@transaction.atomic
def remove_dimension(*, by: User, task: Task, group: ItemGroup) -> None:
    """Take a dimension and its item out of the draft; what was said stays with older versions."""
    require(task)
    remove_group(by=by, task=task, group=group)


# Samples of one dimension ----------------------------------------------------------------------


@transaction.atomic
def change_samples(*, by: User, task: Task, key: str, change: Change) -> ItemGroup:
    """Change the samples of the dimension ``key``; two changes at once stand in line."""
    require(task)
    return change_listed(
        by=by,
        task=task,
        group=lambda: live_group(task, key, DIMENSION),
        change=change,
        clean=clean_samples,
        save=lambda group, rows: save_dimension(by=by, task=task, group=group, samples=rows),
    )


def free_sample(samples: Rows) -> str:
    """Return an unused id for a sample."""
    return free_row_key({row["key"] for row in samples}, SAMPLE[0])
