"""Images and sound of items: taken in once, made into items, deleted when nothing shows them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.utils.translation import gettext

from annotation.accounts import quotas
from annotation.authoring.actions.drafts import lock_draft
from annotation.authoring.actions.examples import remove_examples
from annotation.authoring.actions.items import STEP, default_group, supersede
from annotation.authoring.selectors.examples import has_examples
from annotation.files.reading.media import (
    KINDS,
    MAX_BYTES,
    MAX_PIXELS,
    Media,
    pixels_of,
    read_media,
    refused,
    taking_turns,
)
from annotation.files.stored.actions import forget, store
from annotation.models import Item, MediaContent, MediaFile, Project, Task, User
from annotation.records.actions.audit import record
from annotation.task_types.labels.content import FILES
from crowdqc import limits, outbound, queue
from crowdqc.errors import Conflict, Invalid

MAX_FILES = 100  # in one upload
# A page waits while an upload is decoded: 25 million pixels of a few kB take up to 4 seconds.
MAX_PIXELS_AT_ONCE = 4 * MAX_PIXELS
MAX_PIXELS_OF_JOB = 80 * MAX_PIXELS  # in one archive, which a job decodes within its minutes


def check_kind(task: Task, media: Media | MediaFile, name: str) -> None:
    """Raise Invalid if the task's items show no files of this kind."""
    content = task.versions.latest("number").settings.get("content", "")
    if content not in FILES:
        raise Invalid(
            gettext("The items of this task show no files."),
            fields={"file": gettext("Choose Image or Audio as the content of its items.")},
        )
    if not media.type.startswith(FILES[content]):
        if content == "image":
            why = gettext("is no image, as the items of this task are")
        else:
            why = gettext("is no sound, as the items of this task are")
        raise refused(name, why, KINDS)


def store_media(
    *, by: User, project: Project, media: Media, name: str, address: str = ""
) -> MediaFile:
    """Store a file in a project; if the same bytes are stored already, return that row."""
    sha256 = hashlib.sha256(media.data).hexdigest()
    with transaction.atomic():
        file, new = MediaFile.objects.get_or_create(
            project=project,
            sha256=sha256,
            defaults={
                "name": name[:160],
                "type": media.type,
                "size": len(media.data),
                "width": media.width,
                "height": media.height,
                "address": address,
                "by": by,
            },
        )
        if new:
            stored = store([media.data], kind="media")
            MediaContent.objects.create(file=file, stored=stored, thumbnail=media.thumbnail)
            said = {"name": file.name, "sha256": sha256, "size": file.size}
            record(by=by, project=project, action="media.add", on=file, **said)
    return file


def upload_media(
    *, by: User, task: Task, files: Iterable[tuple[str, bytes]], make_items: bool = True
) -> list[MediaFile]:
    """Store files (name, bytes), all or none, and make an item for each that is not shown yet.

    Those of a template go, as with an import. Without ``make_items`` the files wait for a table of
    items that names them. Invalid names the file
    that cannot be taken.
    """
    named = [(_bare_name(given), data) for given, data in files]
    _check_amount(by, task.project, named)
    read = []
    with taking_turns():
        for name, data in named:
            media = read_media(data, name)
            check_kind(task, media, name)
            read.append((name, media))
    if not read:
        raise Invalid(gettext("No file was chosen."), fields={"file": gettext("Choose files.")})
    with transaction.atomic():
        kept = [
            store_media(by=by, project=task.project, media=media, name=name) for name, media in read
        ]
        if make_items:
            _make_items(by, task, kept)
            if has_examples(task):
                remove_examples(by=by, task=task)
    return kept


def store_files(
    *, by: User, task: Task, files: Iterable[tuple[str, bytes]], size: int
) -> list[tuple[str, MediaFile]]:
    """Store files (name, bytes) that a job reads one by one, all or none, and make no items.

    Returns each given name with what is stored: one file for equal bytes. ``size`` are their bytes
    together. Invalid names the file that cannot be taken.
    """
    quotas.require_storage(task.project, size)
    kept, pixels = [], 0
    with transaction.atomic():
        for name, data in files:
            pixels += pixels_of(data)
            if pixels > MAX_PIXELS_OF_JOB:
                raise _too_many_pixels(name, MAX_PIXELS_OF_JOB)
            media = read_media(data, name)
            check_kind(task, media, name)
            stored = store_media(by=by, project=task.project, media=media, name=name)
            kept.append((name, stored))
    return kept


def _too_many_pixels(name: str, most: int) -> Invalid:
    return refused(
        name,
        gettext("is one too many: an upload has %(most)s million pixels at most")
        % {"most": most // 10**6},
        gettext("Upload fewer at once."),
    )


def _bare_name(given: str) -> str:
    """A file's name without the folders that a browser may send."""
    return PurePath(given.replace("\\", "/")).name.replace("\x00", "")


def _check_amount(by: User, project: Project, files: Sequence[tuple[str, bytes]]) -> None:
    """Refuse more files or pixels than are read at once, or than one person may have read for now.

    By the heads of the files: no pixel is decoded.
    """
    if len(files) > MAX_FILES:
        raise Invalid(
            gettext("Too many files."),
            fields={"file": gettext("%(most)s at a time at most.") % {"most": MAX_FILES}},
        )
    pixels = 0
    for name, data in files:
        pixels += pixels_of(data)
        if pixels > MAX_PIXELS_AT_ONCE:
            raise _too_many_pixels(name, MAX_PIXELS_AT_ONCE)
    quotas.require_storage(project, sum(len(data) for _, data in files))
    limits.require_try(
        limits.PIXELS,
        by.pk,
        gettext("You have uploaded many images within a few minutes."),
        units=-(-pixels // 10**6),
    )


def _make_items(by: User, task: Task, files: list[MediaFile]) -> None:
    """An item at the end of the draft for each file that none of its items shows."""
    draft, group = lock_draft(task, by=by), default_group(task, by=by)
    last = task.items.order_by("-position").values_list("position", flat=True).first() or 0
    Item.objects.bulk_create(
        Item(
            task=task,
            group=group,
            key=key,
            question="",
            media=file,
            position=last + STEP * number,
            since=draft.number,
        )
        for number, (key, file) in enumerate(propose_keys(task, draft.number, files), 1)
    )


def propose_keys(
    task: Task, version: int, files: Iterable[MediaFile]
) -> list[tuple[str, MediaFile]]:
    """Return each file that no item of the version shows, with an id after its name."""
    items = task.items.in_version(version).filter(media__isnull=False)
    shown = set(items.values_list("media_id", flat=True))
    taken = set(task.items.values_list("key", flat=True))
    found = {}
    for file in files:
        if file.pk in shown or file.pk in found:
            continue
        key = PurePath(file.name).stem.strip()[:80]
        if not key or key in taken:
            key = f"{key[:60]}-{file.sha256[:12]}".lstrip("-")
        taken.add(key)
        found[file.pk] = (key, file)
    return list(found.values())


@transaction.atomic
def attach_media(*, by: User, task: Task, item: Item, name: str, data: bytes) -> Item:
    """Give an item of the draft this file instead of what it shows."""
    _check_amount(by, task.project, [(name, data)])
    with taking_turns():
        media = read_media(data, name)
    check_kind(task, media, name)
    file = store_media(by=by, project=task.project, media=media, name=name)
    draft = lock_draft(task, by=by)
    live = task.items.filter(key=item.key, until__isnull=True).select_related("group").first()
    if live is None:
        raise Conflict(
            gettext("Item %(key)s was removed meanwhile. Reload the page.") % {"key": item.key}
        )
    return live if live.media_id == file.pk else supersede(live, draft, media_id=file.pk)


@transaction.atomic
def delete_unused(*, by: User, project: Project) -> int:
    """Delete the project's files that no item of any version shows; returns how many."""
    files = project.media_files.select_for_update(of=("self",)).filter(items__isnull=True)
    names = list(files.values_list("pk", "name"))
    ids = [pk for pk, _ in names]
    stored = list(MediaContent.objects.filter(file__in=ids).values_list("stored", flat=True))
    MediaFile.objects.filter(pk__in=ids).delete()
    forget(stored)
    if names:
        listed = [name for _, name in names]
        record(by=by, project=project, action="media.delete", on=project, names=listed)
    return len(names)


# Fetched by address ------------------------------------------------------------------------------

FETCH = "fetch"  # of an item's settings, until its file is here: {address, by, error}
WAITING = {"media__isnull": True, "until__isnull": True, "settings__fetch__error": ""}
FETCH_SECONDS = 30.0
TURN_SECONDS = 120.0  # of one job, which calls of payments wait beside; the next one goes on


def to_fetch(address: str, by: User) -> dict[str, Any]:
    """Return the item settings that mark its file as still to be downloaded for ``by``."""
    return {FETCH: {"address": address, "by": by.pk, "error": ""}}


def is_due() -> bool:
    """Whether an item of a draft names a file that is not there yet."""
    return Item.objects.filter(**WAITING).exists()


def fetch_due() -> int:
    """Download the files that items of drafts name by address; return how many arrived.

    Each goes through the one client for other systems: no private network, no redirect, 30 seconds,
    10 MB. What is wrong with one stands with its item, until somebody asks for it again.
    """
    done, end = 0, time.monotonic() + TURN_SECONDS
    with outbound.Client(seconds=FETCH_SECONDS, most_bytes=MAX_BYTES) as client:
        for pk in list(Item.objects.filter(**WAITING).order_by("pk").values_list("pk", flat=True)):
            if time.monotonic() > end:
                break
            item = Item.objects.select_related("task__project").filter(pk=pk, **WAITING).first()
            done += bool(item and _fetched(client, item))
    return done


def _fetched(client: outbound.Client, item: Item) -> bool:
    """Whether the file of one item came; else the item says why not."""
    wanted = item.settings[FETCH]
    address = wanted["address"]
    name = PurePath(urlsplit(address).path).name or address
    try:
        answer = client.send("GET", address)
        if answer.status != HTTPStatus.OK:
            raise refused(
                name,
                gettext("was not given: %(address)s answered %(status)s")
                % {"address": address, "status": int(answer.status)},
                gettext("Upload it."),
            )
        media = read_media(answer.body, name)
        check_kind(item.task, media, name)
    except (outbound.OutboundError, Invalid) as error:
        said = error.message if isinstance(error, Invalid) else str(error)
        with transaction.atomic():
            _settle(item, settings=item.settings | {FETCH: wanted | {"error": said[:300]}})
        return False
    with transaction.atomic():
        by = User.objects.get(pk=wanted["by"])
        file = store_media(
            by=by, project=item.task.project, media=media, name=name, address=address
        )
        rest = {key: value for key, value in item.settings.items() if key != FETCH}
        return _settle(item, settings=rest, media=file)


def _settle(item: Item, **changes: Any) -> bool:
    """Change an item that still waits for the same file; one that was changed meanwhile stays."""
    same = Item.objects.filter(pk=item.pk, settings=item.settings, **WAITING)
    return bool(same.update(**changes))


@transaction.atomic
def fetch_again(*, by: User, task: Task) -> int:
    """Have the files fetched that could not be; returns how many."""
    draft = lock_draft(task, by=by)
    items = task.items.in_version(draft.number).filter(media__isnull=True)
    failed = list(items.filter(settings__has_key=FETCH).exclude(settings__fetch__error=""))
    for item in failed:
        item.settings = item.settings | to_fetch(item.settings[FETCH]["address"], by)
    Item.objects.bulk_update(failed, ["settings"])
    record(by=by, project=task.project, action="media.fetch", on=task, files=len(failed))
    queue.enqueue("annotation.jobs.fetch_media")
    return len(failed)
