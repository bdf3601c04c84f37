"""Begin a task from a file: its type, its fields and its texts are proposed from what it holds."""

from __future__ import annotations

import itertools
from uuid import UUID

from django.db import transaction

from annotation.accounts.projects.actions import create_project
from annotation.authoring.actions.drafts import as_title, edit_draft
from annotation.authoring.actions.tasks import create_task, find_task_of_form
from annotation.files.reading.media_files import open_media
from annotation.files.reading.rows import Row
from annotation.files.reading.sources import Source
from annotation.files.reading.tables import open_table
from annotation.formats.uploads.actions import keep_file
from annotation.gallery.proposals import Proposal, propose, propose_chats, propose_media
from annotation.models import ImportFile, Project, User
from crowdqc.numbers import plural

NOUNS = {"image": "image", "audio": "recording"}  # by what a task shows
LOOKED_AT = 500  # rows from which the proposal is made


@transaction.atomic
def begin_from_file(
    *, by: User, project: Project, name: str, content: Source, key: UUID | None = None
) -> ImportFile:
    """A draft for this file, and the upload, which waits for its import.

    The form of a ``key`` makes one task, however often it is sent. Raises Invalid where the file
    cannot be read.
    """
    there = find_task_of_form(by=by, project=project, key=key)
    upload = there.import_files.order_by("pk").first() if there is not None else None
    if upload is not None:
        return upload
    found = _propose_media(content, name) or propose_chats(content, name)
    found = found or _propose_table(content, name)
    title = _title_of_several(name, found) or title_of(name)
    task = create_task(by=by, project=project, type=found.type, title=title, key=key)
    if found.rules:
        edit_draft(by=by, task=task, fields=found.rules)
    return keep_file(
        by=by,
        task=task,
        kind=found.format,
        name=name,
        content=content,
        mapping=found.mapping,
    )


@transaction.atomic
def begin_project(
    *, by: User, file_name: str, content: Source, name: str, currency: str, also_manager: bool
) -> ImportFile:
    """A project with a draft for this file, and its name where it has none.

    Raises Invalid where the file cannot be read, and makes no project then.
    """
    project = create_project(
        by=by, name=name or title_of(file_name), currency=currency, also_manager=also_manager
    )
    return begin_from_file(by=by, project=project, name=file_name, content=content)


def _propose_media(content: Source, name: str) -> Proposal | None:
    """The task that images or recordings could become; None for other files."""
    with open_media(content, name) as files:
        if files is None:
            return None
        if files.table is None:
            return propose_media(list(files.names.values()))
        named, table = files.table
        found = _propose_table(table, named)
        return found if found.rules.get("settings", {}).get("content") else None


def _propose_table(content: Source, name: str) -> Proposal:
    table = open_table(content, name)
    events = itertools.islice(table.events, LOOKED_AT)
    rows = [event for event in events if isinstance(event, Row)]
    return propose([column for column in table.columns if column], rows)


def _title_of_several(name: str, found: Proposal) -> str:
    """Name several files by what they hold: "9 files" is "9 images"; "" for one with a name."""
    noun = NOUNS.get(found.rules.get("settings", {}).get("content", ""))
    number = name.partition(" ")[0]
    return plural(int(number), noun) if noun and "." not in name and number.isdecimal() else ""


def title_of(name: str) -> str:
    """A title made of a file's name: ``hotel_reviews-2.csv`` is "Hotel reviews 2"."""
    stem = name.replace("\\", "/").rpartition("/")[2].split(".")[0]
    words = " ".join(stem.replace("_", " ").replace("-", " ").split())
    return as_title(words[:1].upper() + words[1:]) or "Task"
