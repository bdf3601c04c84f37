"""The draft of a task: begun from what is published, changed field by field, or thrown away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Task, TaskVersion, User
from annotation.models.tasks import TaskState
from annotation.records.actions.audit import record
from annotation.task_types import get_type
from annotation.task_types.base import whole_number
from crowdqc import money
from crowdqc.errors import Conflict, Invalid, Missing
from crowdqc.numbers import count

MAX_TITLE = 160
MOST_PAY = 10_000
RULES = {  # field: default, least, most
    "redundancy": (5, 1, 500),
    "items_per_assignment": (8, 1, 500),
    "lease_minutes": (45, 1, 1440),
    "min_seconds": (0, 0, 14_400),
    "expected_minutes": (0, 0, 1440),
}


def draft_of(task: Task, *, by: User) -> TaskVersion:
    """Return the draft of a task; if there is none, start one from the published version."""
    draft = task.versions.filter(published_at__isnull=True).first()
    if draft:
        return draft
    with transaction.atomic():
        locked = (
            Task.objects.select_for_update(of=("self",)).select_related("current").get(pk=task.pk)
        )
        draft = locked.versions.filter(published_at__isnull=True).first()
        if draft:
            return draft
        if locked.state == TaskState.CLOSED:
            raise Conflict(_("The task is closed; what it asked stays as it was."))
        source = locked.current
        if source is None:  # cannot be: a task is born with a draft
            raise Missing(_("The task has no version."))
        draft = TaskVersion.objects.get(pk=source.pk)
        draft.pk, draft._state.adding = None, True
        draft.number, draft.published_at, draft.published_by = source.number + 1, None, None
        draft.save(force_insert=True)
        record(by=by, project=task.project, action="version.begin", on=draft, number=draft.number)
        return draft


def lock_draft(task: Task, *, by: User) -> TaskVersion:
    """The draft, locked and marked as just saved; two tabs stand in line, publishing waits."""
    draft = draft_of(task, by=by)
    draft = TaskVersion.objects.select_for_update().get(pk=draft.pk)
    if draft.published_at:
        raise Conflict(_("The draft was published meanwhile. Reload the page."))
    draft.updated_at = timezone.now()
    TaskVersion.objects.filter(pk=draft.pk).update(updated_at=draft.updated_at)
    return draft


def as_stored(text: str) -> str:
    """Normalise line ends to LF and remove NUL, for storing a text."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")


def clean_title(raw: Any, *, needed: str = "") -> str:
    """Check a title and return it as stored; Invalid if it is too long.

    ``needed``: the sentence that refuses an empty one, where it is refused.
    """
    title = as_stored(str(raw)).strip()
    if needed and not title:
        raise Invalid(
            needed,
            fields={"title": _("Write a title.")},
        )
    if len(title) > MAX_TITLE:
        raise Invalid(
            _("The title has %(title)s characters; %(most)s is the most.")
            % {"title": count(len(title)), "most": MAX_TITLE},
            fields={
                "title": _("%(most)s characters at most; this has %(title)s.")
                % {"most": MAX_TITLE, "title": count(len(title))}
            },
        )
    return title


def as_title(text: str, most: int = MAX_TITLE) -> str:
    """Make a title from a text, cut to ``most`` characters with “…”."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def clean_rules(
    raw: Mapping[str, Any], task_type: Any, previous: Mapping[str, Any]
) -> dict[str, Any]:
    """The cleaned fields of a draft; only fields present in ``raw`` are changed."""
    clean: dict[str, Any] = {}
    if "title" in raw:
        clean["title"] = clean_title(raw["title"], needed=_("A task needs a title."))
    for name, limit in (("instructions", 20_000), ("bonus_note", 300)):
        if name in raw:
            if len(str(raw[name])) > limit:
                raise Invalid(
                    _("%(name)s is too long.") % {"name": name},
                    fields={name: _("%(most)s characters at most.") % {"most": count(limit)}},
                )
            clean[name] = as_stored(str(raw[name]))
    if "order" in raw:
        if raw["order"] not in TaskVersion.Order.values:
            raise Invalid(_("There is no such order."), fields={"order": _("fixed or random.")})
        clean["order"] = raw["order"]
    for name, (default, low, high) in RULES.items():
        if name in raw:
            clean[name] = whole_number(raw, name, default, low, high)
    if "pay" in raw:
        clean["pay"] = money.parse_amount(raw["pay"], field="pay", high=MOST_PAY)
    if "settings" in raw:
        clean["settings"] = task_type.clean_settings({**previous, **raw["settings"]})
    return clean


@transaction.atomic
def edit_draft(*, by: User, task: Task, fields: Mapping[str, Any]) -> TaskVersion:
    """Change the draft's wording and rules (begun from the published version if there is none).

    Fields that say what stands there already change nothing and begin no version.
    """
    shown = task.versions.order_by("-number").first()
    if shown is None:  # cannot be: a task is born with a draft
        raise Missing(_("The task has no version."))
    clean = clean_rules(fields, get_type(task.type), shown.settings)
    if all(getattr(shown, name) == value for name, value in clean.items()):
        return shown
    draft = lock_draft(task, by=by)
    for name, value in clean.items():
        setattr(draft, name, value)
    draft.save()
    return draft


@transaction.atomic
def discard_draft(*, by: User, task: Task) -> None:
    """Throw the changes since the published version away."""
    draft = task.versions.select_for_update().filter(published_at__isnull=True).first()
    if draft is None or task.current_id is None:
        raise Conflict(_("There is no draft over a published version."))
    task.items.filter(since=draft.number).delete()
    task.items.filter(until=draft.number).update(until=None)
    task.groups.filter(since=draft.number).delete()
    task.groups.filter(until=draft.number).update(until=None)
    record(by=by, project=task.project, action="version.discard", on=draft, number=draft.number)
    draft.delete()
