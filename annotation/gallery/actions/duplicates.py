"""Copies of tasks and projects as drafts: what is asked, and nothing of people or money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.accounts import quotas
from annotation.accounts.projects.actions import (
    MAX_NAME,
    change_consent_text,
    create_project,
    current_consent_text,
)
from annotation.authoring.actions.drafts import as_title
from annotation.authoring.actions.media import store_media
from annotation.authoring.actions.tasks import ERASED, find_task_of_form
from annotation.chats.storage import chat_of, keep_chat
from annotation.files.reading.media import Media
from annotation.files.stored.selectors import content
from annotation.models import (
    AuditEntry,
    Candidate,
    ChatContent,
    Item,
    ItemGroup,
    MediaFile,
    Membership,
    Project,
    Role,
    System,
    Task,
    TaskVersion,
    User,
)
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from annotation.task_types import get_type

VERSION = (
    *("instructions", "order", "redundancy", "items_per_assignment", "lease_minutes"),
    *("min_seconds", "expected_minutes", "pay", "bonus_note"),
)
GROUP = ("key", "position", "title", "passage", "passages", "category", "look_back")
ITEM = ("position", "question", "settings", "side", "repeat", "expected", "known_why")
TEXT = ("key", "topic", "query", "text", "style", "origin", "words")
# Promises to workers and what is kept of them; budget and who approves belong to one team.
PROJECT = (
    *("hourly_floor", "reply_days", "answer_days", "decide_days", "show_scores"),
    *("answer_days_kept", "second_factor"),
)
BATCH = 1000
# Texts that people wrote, or that were taken from answers: they stay in their project.
BY_PEOPLE = Q(author__isnull=False) | Q(source_answer__isnull=False)


@dataclass(frozen=True)
class Copied:
    """What a copy holds, and how many items were left out since people wrote their texts."""

    items: int
    left_out: int


@transaction.atomic
def duplicate_task(
    *, by: User, task: Task, items: bool = True, key: UUID | None = None
) -> tuple[Task, Copied]:
    """Copy a task as a draft in the same project; return it with what was copied.

    Settings, fields, instructions, pay and domain are copied and, with ``items``, texts, items and
    their known answers; never answers, workers, panels, ways in, budget, or what was paid. The form
    of a ``key`` makes one copy, however often it is sent.
    """
    there = find_task_of_form(by=by, project=task.project, key=key)
    if there is not None:
        return there, Copied(there.items.count(), 0)
    source = task.versions.latest("number")
    title = as_title(_("Copy of %(title)s") % {"title": source.title})
    return _copy_task(by, source, task.project, title, items=items, key=key)


@transaction.atomic
def duplicate_project(
    *, by: User, project: Project, key: UUID | None = None
) -> tuple[Project, Copied]:
    """Copy a project with its settings, consent text and, as drafts, its tasks.

    Members, invitations, budget, money, models and files are not copied, and neither are texts
    that people wrote, with the items about them. Who may approve alone starts at the defaults. The
    form of a ``key`` makes one copy, however often it is sent.
    """
    lock_project(project.pk)  # a second click waits
    before = AuditEntry.objects.filter(actor=by, action="project.copy", detail__key=str(key))
    there = before.select_related("project").first() if key else None
    if there is not None and there.project is not None:
        items = Item.objects.filter(task__project=there.project).count()
        return there.project, Copied(items, 0)
    manages = Membership.objects.filter(
        project=project, user=by, role=Role.MANAGER, removed_at__isnull=True
    ).exists()
    new = create_project(
        by=by,
        name=as_title(_("Copy of %(name)s") % {"name": project.name}, MAX_NAME),
        currency=project.currency,
        also_manager=manages,
    )
    for name in PROJECT:
        setattr(new, name, getattr(project, name))
    new.save(update_fields=PROJECT)
    consent, begun = current_consent_text(project), current_consent_text(new)
    terms = ("text", "retention_days", "transcription", "devices")
    if any(getattr(consent, name) != getattr(begun, name) for name in terms):
        change_consent_text(by=by, project=new, **{name: getattr(consent, name) for name in terms})
    texts = _copy_texts(new, project)
    copies = left_out = 0
    for task in project.tasks.order_by("pk"):
        source = task.versions.latest("number")
        _task, copied = _copy_task(by, source, new, source.title, texts=texts)
        copies, left_out = copies + copied.items, left_out + copied.left_out
    told = {"key": str(key)} if key else {}
    record(by=by, project=new, action="project.copy", on=new, source=project.pk, **told)
    return new, Copied(copies, left_out)


def _copy_task(
    by: User,
    source: TaskVersion,
    project: Project,
    title: str,
    *,
    items: bool = True,
    texts: Mapping[int, int] | None = None,
    key: UUID | None = None,
) -> tuple[Task, Copied]:
    """Copy a version as a task's first draft; ``texts``: ids in another project by those here."""
    task = source.task
    quotas.require_project_quota("tasks", project)
    new = Task.objects.create(
        project=project, type=task.type, created_by=by, domain=task.domain, form_key=key
    )
    settings = _settings(source, items=items, texts=texts)
    TaskVersion.objects.create(
        task=new,
        number=1,
        title=title,
        settings=get_type(task.type).clean_settings(settings),
        **{name: getattr(source, name) for name in VERSION},
    )
    copied = _copy_items(source, new, texts) if items else Copied(0, 0)
    record(by=by, project=project, action="task.copy", on=new, source=task.pk, items=copied.items)
    return new, copied


def _settings(
    source: TaskVersion, *, items: bool, texts: Mapping[int, int] | None
) -> dict[str, Any]:
    """The settings without people, and without rows that are not copied."""
    settings = dict(source.settings)
    if get_type(source.task.type).has_checklist:  # its questions name whose words they came from
        settings["questions"] = [{**row, "attributes": []} for row in settings["questions"]]
    if items and texts is None:
        return settings
    known = texts if items and texts is not None else {}
    elsewhere = {
        "left_out": [known[pk] for pk in settings.get("left_out", []) if pk in known],
        "made": "",  # what pairs were made of
        "version": 0,  # of a frozen checklist
    }
    return settings | {name: value for name, value in elsewhere.items() if name in settings}


def _copy_items(source: TaskVersion, new: Task, texts: Mapping[int, int] | None) -> Copied:
    task = source.task
    live = task.items.in_version(source.number).exclude(ERASED).order_by("position", "pk")
    rows = [row for row in live if texts is None or _texts_of(row) <= texts.keys()]
    groups = list(task.groups.in_version(source.number).order_by("position", "pk"))
    made = ItemGroup.objects.bulk_create(
        [ItemGroup(task=new, since=1, **{n: getattr(one, n) for n in GROUP}) for one in groups],
        batch_size=BATCH,
    )
    at = {old.pk: fresh.pk for old, fresh in zip(groups, made, strict=True)}
    files = _copy_files(new, {row.media_id for row in rows if row.media_id})
    chats = _copy_chats(new.project, {row.chat_id for row in rows if row.chat_id})
    Item.objects.bulk_create(
        [
            Item(
                task=new,
                since=1,
                group_id=at[row.group_id],
                **{name: getattr(row, name) for name in ITEM},
                **_judged(row, texts),
                media_id=files.get(row.media_id, row.media_id),
                chat_id=chats.get(row.chat_id, row.chat_id),
            )
            for row in rows
        ],
        batch_size=BATCH,
    )
    return Copied(len(rows), len(live) - len(rows))


def _copy_files(new: Task, wanted: set[int]) -> dict[int, int]:
    """Copy files that another project has; ids in the new task's project by those asked for."""
    found: dict[int, int] = {}
    rows = MediaFile.objects.filter(pk__in=wanted).exclude(project=new.project_id)
    for file in rows.select_related("content__stored"):
        held = file.content
        media = Media(
            file.type, content(held.stored), file.width, file.height, bytes(held.thumbnail)
        )
        by, project = new.created_by, new.project
        found[file.pk] = store_media(by=by, project=project, media=media, name=file.name).pk
    return found


def _copy_chats(project: Project, wanted: set[int]) -> dict[int, int]:
    """Copy conversations that another project has; ids in this project by those asked for."""
    rows = ChatContent.objects.filter(pk__in=wanted).exclude(project=project)
    return {row.pk: keep_chat(project, chat_of(row)).pk for row in rows.iterator(chunk_size=100)}


def _texts_of(row: Item) -> set[int]:
    return {pk for pk in (row.first_id, row.second_id) if pk is not None}


def _judged(row: Item, texts: Mapping[int, int] | None) -> dict[str, Any]:
    """The key and the texts of an item; a key that ends in the ids of its texts gets the new ones.

    New ids have the order of the old ones, so that a pair stays in its canonical order.
    """
    first, second = row.first_id, row.second_id
    if texts is None or first is None:
        return {"key": row.key, "first_id": first, "second_id": second}
    old = "".join(f"-{pk}" for pk in (first, second) if pk)
    first, second = texts[first], texts[second] if second else None
    fresh = "".join(f"-{pk}" for pk in (first, second) if pk)
    topic, found, rest = row.key.rpartition(old)
    key = f"{topic}{fresh}{rest}" if found else row.key
    return {"key": key, "first_id": first, "second_id": second}


def _copy_texts(project: Project, source: Project) -> dict[int, int]:
    """Copy the texts that no person wrote, with their systems; new ids by old ones."""
    rows = source.candidates.exclude(BY_PEOPLE).exclude(text="").select_related("system")
    texts = list(rows.order_by("pk"))
    systems = {
        system.pk: System.objects.create(
            project=project, name=system.name, prompt_strategy=system.prompt_strategy
        )
        for system in {text.system_id: text.system for text in texts}.values()
    }
    chats = _copy_chats(project, {text.chat_id for text in texts if text.chat_id})
    made = Candidate.objects.bulk_create(
        [
            Candidate(
                project=project,
                system=systems[text.system_id],
                chat_id=chats.get(text.chat_id) if text.chat_id else None,
                **{name: getattr(text, name) for name in TEXT},
            )
            for text in texts
        ],
        batch_size=BATCH,
    )
    return {old.pk: new.pk for old, new in zip(texts, made, strict=True)}
