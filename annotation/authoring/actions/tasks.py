"""A task's life: begun, published, paused, closed. Its drafts and questions are edited beside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, Sum
from django.db.models.functions import Greatest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts import quotas
from annotation.authoring.actions import drafts
from annotation.authoring.actions.drafts import clean_rules, clean_title, discard_draft, draft_of
from annotation.authoring.actions.items import (
    clean_question,
    copy_to_draft,
    default_group,
    import_items,
    remove_group,
    remove_item,
    reorder_items,
    save_group,
    save_item,
)
from annotation.authoring.actions.rewording import keep_answers
from annotation.authoring.actions.writing_topics import sync_items
from annotation.authoring.selectors.builder.known import missing_known
from annotation.authoring.selectors.cost import estimate_minutes
from annotation.authoring.selectors.rewording import Wording, asks_otherwise
from annotation.models import Item, Project, Task, TaskVersion, User
from annotation.models.tasks import TaskState
from annotation.notifications.actions.notices import notify, people_of
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from annotation.task_types import get_type
from crowdqc.errors import Conflict, Invalid
from crowdqc.numbers import count


def renew(task: Task, draft: TaskVersion) -> int:
    """Replace items by copies, where the draft asks other questions of them.

    Their answers are never pooled, so that every text wants its answers again; the old ones stay
    with the old items. Returns how many texts are asked anew.
    """
    live = list(task.items.in_version(draft.number).filter(since__lt=draft.number))
    Item.objects.filter(pk__in=[item.pk for item in live]).update(until=draft.number)
    Item.objects.bulk_create([copy_to_draft(item, draft) for item in live], batch_size=1000)
    return len(live)


__all__ = [
    "Wording",
    "clean_question",
    "clean_rules",
    "create_task",
    "default_group",
    "discard_draft",
    "draft_of",
    "edit_draft",
    "import_items",
    "move",
    "plan_pace",
    "problems",
    "publish",
    "remove_group",
    "remove_item",
    "reorder_items",
    "save_group",
    "save_item",
    "set_domain",
    "set_priorities",
    "set_priority",
    "set_wanted",
]


DOMAIN_LENGTH = 80
MOST_PER_DAY = 100_000  # assignments that are planned with
# Items about a text that was erased with its writer; nobody is asked about it again.
ERASED = Q(first__text="") | Q(second__text="")


def find_task_of_form(*, by: User, project: Project, key: UUID | None) -> Task | None:
    """Return the task that this form ``key`` created; serialises double clicks."""
    if key is None:
        return None
    lock_project(project.pk)
    return Task.objects.filter(project=project, created_by=by, form_key=key).first()


@transaction.atomic
def create_task(
    *, by: User, project: Project, type: str, title: str, key: UUID | None = None
) -> Task:
    """Create a task with its first draft; a form sent twice (``key``) returns the same task."""
    there = find_task_of_form(by=by, project=project, key=key)
    if there is not None:
        return there
    get_type(type)
    title = clean_title(title, needed=_("A task needs a title."))
    quotas.require_project_quota("tasks", project)
    task = Task.objects.create(project=project, type=type, created_by=by, form_key=key)
    _begin_version(task, title)
    record(by=by, project=project, action="task.create", on=task, type=type)
    return task


def _begin_version(task: Task, title: str) -> None:
    """Create the first draft of a task, with the usual rules of its type."""
    task_type = get_type(task.type)
    TaskVersion.objects.create(
        task=task,
        number=1,
        title=title,
        settings=task_type.clean_settings({}),
        **task_type.begins_with,
    )


def can_change_type(task: Task) -> bool:
    """Whether a task is a draft without items, so that it may become one of another type."""
    is_draft = task.state == TaskState.DRAFT and task.current_id is None
    return is_draft and not task.items.exists() and task.versions.count() == 1


@transaction.atomic
def change_type(*, by: User, task: Task, type: str) -> None:
    """Make an empty draft one of another type, with the usual rules of that type.

    Raises Conflict where it has items or was published.
    """
    task = Task.objects.select_for_update().get(pk=task.pk)
    if not can_change_type(task):
        raise Conflict(_("The task has items already: its type stays."))
    draft = task.versions.get()
    task.type = get_type(type).slug
    task.save(update_fields=["type"])
    draft.delete()
    _begin_version(task, draft.title)
    record(by=by, project=task.project, action="task.type", on=task, type=type)


@transaction.atomic
def edit_draft(*, by: User, task: Task, fields: Mapping[str, Any]) -> TaskVersion:
    """Change a draft's wording and rules; items that follow from its settings follow."""
    version = drafts.edit_draft(by=by, task=task, fields=fields)
    styled = "settings" in fields and get_type(task.type).has_styles
    if styled and version.published_at is None:
        sync_items(task, version)
    return version


def problems(task: Task, draft: TaskVersion) -> list[str]:
    """Return what must be fixed before publishing, as sentences; empty if nothing."""
    found = get_type(task.type).problems(task, draft)
    found += [f"{lack.sentence}." for lack in missing_known(task, draft)]
    if not draft.title.strip():
        found.append(_("The task has no title."))
    return found


@transaction.atomic
def publish(*, by: User, task: Task, wording: str = "") -> TaskVersion:
    """Freeze the draft and open the task with it; leases in work keep their version.

    ``wording`` says what new wordings mean, a value of Wording. Left out, reworded items are asked
    anew and reworded fields are not, but for checklists.
    """
    task = Task.objects.select_for_update().get(pk=task.pk)
    draft = task.versions.select_for_update().filter(published_at__isnull=True).first()
    if draft is None:
        raise Conflict(_("There is no draft to publish."))
    found = problems(task, draft)
    if found:
        raise Invalid(found[0], fields={"task": " ".join(found)})
    is_renewed = asks_otherwise(task, draft, wording)
    if wording == Wording.SPELLING:
        keep_answers(by=by, task=task, draft=draft)
    draft.published_at, draft.published_by = timezone.now(), by
    draft.save()
    if is_renewed:
        renew(task, draft)
    # A lower redundancy never takes away what is already held.
    asked = task.items.in_version(draft.number).filter(expected__isnull=True)
    asked = asked.exclude(ERASED)
    asked.update(redundancy=Greatest(F("held"), draft.redundancy))
    # Questions that this version no longer shows are not handed out again.
    task.items.filter(until__lte=draft.number).update(redundancy=F("held"))
    within_limit(task)
    groups = task.groups.in_version(draft.number)
    minutes = estimate_minutes(task, draft, asked, groups, count=asked.count())
    task.estimated_seconds = round(60 * minutes) or None
    task.current, task.state = draft, TaskState.OPEN
    task.save(update_fields=["current", "state", "estimated_seconds"])
    record(by=by, project=task.project, action="version.publish", on=draft, number=draft.number)
    return draft


MOVES = {
    "pause": ({TaskState.OPEN}, TaskState.PAUSED),
    "resume": ({TaskState.PAUSED}, TaskState.OPEN),
    "close": ({TaskState.OPEN, TaskState.PAUSED}, TaskState.CLOSED),
    "reopen": ({TaskState.CLOSED}, TaskState.OPEN),
}
REFUSED = {
    "pause": gettext_lazy("A task that is %(state)s cannot pause."),
    "resume": gettext_lazy("A task that is %(state)s cannot resume."),
    "close": gettext_lazy("A task that is %(state)s cannot close."),
    "reopen": gettext_lazy("A task that is %(state)s cannot reopen."),
}


@transaction.atomic
def move(*, by: User | None, task: Task, to: str) -> Task:
    """Pause, resume, close or reopen; leases in work may be finished in every state."""
    if to not in MOVES:
        raise Invalid(_("There is no such step."), fields={"to": ", ".join(MOVES)})
    task = Task.objects.select_for_update().get(pk=task.pk)
    sources, target = MOVES[to]
    if task.state == target:
        return task
    if task.state not in sources:
        raise Conflict(
            str(REFUSED[to]) % {"state": task.get_state_display().lower()},
        )
    task.state = target
    task.save(update_fields=["state"])
    record(by=by, project=task.project, action=f"task.{to}", on=task)
    if to == "close" and task.current:
        title = task.current.title
        notify(
            to=[one for one in people_of(task.project) if by is None or one.pk != by.pk],
            kind="task.closed",
            project=task.project,
            key=f"task.closed:{task.pk}:{timezone.now():%Y-%m-%d}",
            text=lambda: _("“%(task)s” was closed: nobody can start it now.") % {"task": title},
            url=reverse("task", args=[task.project_id, task.pk]),
        )
    return task


def answers_asked(task: Task) -> int:
    """Return how many answers the items of all versions ask for, known answers aside."""
    rows = task.items.filter(expected__isnull=True)
    return int(rows.aggregate(s=Sum("redundancy"))["s"] or 0)


def within_limit(task: Task) -> None:
    """Raise Conflict if the task asks for more answers than its live evaluation allows.

    The caller holds the task's row.
    """
    most = Task.objects.values_list("most_answers", flat=True).get(pk=task.pk)
    if most is not None and answers_asked(task) > most:
        raise Conflict(
            _("The task would ask for %(asked)s answers; its live evaluation allows %(most)s.")
            % {"asked": answers_asked(task), "most": most},
            code="answers-used",
        )


@transaction.atomic
def set_wanted(*, by: User | None, task: Task, wanted: Mapping[int, int], why: str = "") -> int:
    """Set how many answers items need (id -> number), never below those given or in work.

    Attention items and items of other tasks are left alone. Returns how many changed.
    """
    Task.objects.select_for_update(no_key=True).get(pk=task.pk)
    rows = (
        task.items.select_for_update(no_key=True, of=("self",))
        .filter(pk__in=wanted, expected__isnull=True)
        .exclude(ERASED)
        .order_by("pk")
    )
    changed = []
    for item in rows.only("pk", "held", "redundancy"):
        number = max(item.held, wanted[item.pk])
        if number != item.redundancy:
            item.redundancy = number
            changed.append(item)
    Item.objects.bulk_update(changed, ["redundancy"], batch_size=1000)
    within_limit(task)
    if changed:
        record(
            by=by, project=task.project, action="items.wanted", on=task, items=len(changed), why=why
        )
    return len(changed)


@transaction.atomic
def set_priority(*, by: User | None, item: Item, priority: int) -> None:
    """Hand a question out sooner (above 0) or in its turn (0)."""
    Item.objects.filter(pk=item.pk).update(priority=priority)
    record(by=by, project=item.task.project, action="item.priority", on=item, priority=priority)


@transaction.atomic
def set_priorities(*, by: User | None, task: Task, items: Mapping[int, int], why: str = "") -> int:
    """Set the priority of many items of a task (id -> priority); return how many changed."""
    rows = task.items.select_for_update(no_key=True, of=("self",)).filter(pk__in=items)
    changed = []
    for item in rows.order_by("pk").only("pk", "priority"):
        if item.priority != items[item.pk]:
            item.priority = items[item.pk]
            changed.append(item)
    Item.objects.bulk_update(changed, ["priority"], batch_size=1000)
    if changed:
        told = {"items": len(changed), "why": why}
        record(by=by, project=task.project, action="items.priority", on=task, **told)
    return len(changed)


@transaction.atomic
def plan_pace(*, by: User, task: Task, per_day: int | None) -> Task:
    """Plan with so many assignments per day, or without a plan (None)."""
    if per_day is not None and not 1 <= per_day <= MOST_PER_DAY:
        raise Invalid(
            _("A pace is 1 to %(most)s assignments a day.") % {"most": count(MOST_PER_DAY)},
            fields={"per_day": _("1 to %(most)s.") % {"most": count(MOST_PER_DAY)}},
        )
    task = Task.objects.select_for_update().get(pk=task.pk)
    if per_day != task.planned_per_day:
        before, task.planned_per_day = task.planned_per_day, per_day
        task.save(update_fields=["planned_per_day"])
        changes = {"before": before, "per_day": per_day}
        record(by=by, project=task.project, action="task.pace", on=task, **changes)
    return task


@transaction.atomic
def set_domain(*, by: User, task: Task, domain: str) -> Task:
    """Say what a task is about, or nothing; tasks of one domain share a leaderboard.

    It belongs to no version: it changes what is compared, not what anybody is asked.
    """
    name = " ".join(domain.split())
    if len(name) > DOMAIN_LENGTH:
        raise Invalid(
            _("That is too long."),
            fields={"domain": _("At most %(most)s characters.") % {"most": DOMAIN_LENGTH}},
        )
    task = Task.objects.select_for_update().get(pk=task.pk)
    if name != task.domain:
        before, task.domain = task.domain, name
        task.save(update_fields=["domain"])
        record(
            by=by, project=task.project, action="task.domain", on=task, before=before, domain=name
        )
    return task
