"""Uploads of images or sound: the files are stored, and what is read on is a table of them."""

from __future__ import annotations

from dataclasses import replace

from django.utils.translation import gettext as _

from annotation.authoring.actions.media import propose_keys, store_files
from annotation.files.reading.media_files import open_media
from annotation.files.reading.sources import Source, of_bytes
from annotation.files.reading.tables import Reading, Table
from annotation.formats.registry import Format
from annotation.models import MediaFile, Task, User
from annotation.task_types.labels.content import FILES
from crowdqc.errors import Invalid
from crowdqc.files.cells import csv_text
from crowdqc.numbers import plural

MOST_NAMED = 20  # files with the content of another one


def open_upload(
    format: Format, *, by: User, task: Task, source: Source, name: str, reading: Reading | None
) -> Table:
    """Open an upload as a table; where it holds files of items, store these in the project.

    Without a table of its own, the files become one: a row each, with an id after its name.
    Invalid names the file that cannot be taken.
    """
    version = task.versions.latest("number")
    if not format.names_files or version.settings.get("content") not in FILES:
        return format.open_table(source, name, reading)
    with open_media(source, name) as files:
        if files is None:
            return format.open_table(source, name, reading)
        kept = store_files(by=by, task=task, files=files, size=files.size)
        if files.table is None:  # whose rows are the files
            made = format.open_table(
                _table_of(task, version.number, [file for _, file in kept]), "files.csv"
            )
            table = replace(made, kind="Files", encoding="", delimiter="")
        else:
            table = format.open_table(files.table[1], files.table[0], reading)
    table.notes.append(_("%(files)s uploaded.") % {"files": plural(len(kept), "file")})
    table.notes.extend(_identical(kept))
    return table


def _identical(kept: list[tuple[str, MediaFile]]) -> list[str]:
    """Name the files that hold the same bytes as an earlier or stored one: each is kept once."""
    same = [f"{name} = {file.name}" for name, file in kept if name[:160] != file.name]
    if not same:
        return []
    listed = ", ".join(same[:MOST_NAMED]) + (", ..." if len(same) > MOST_NAMED else "")
    note = _("%(files)s with the same content as another one: %(names)s. Each is kept once.")
    return [note % {"files": plural(len(same), "file"), "names": listed}]


def _table_of(task: Task, version: int, kept: list[MediaFile]) -> Source:
    proposed = propose_keys(task, version, kept)
    if not proposed:
        raise Invalid(
            _("The items of the task show these files already."),
            fields={"file": _("Choose other files.")},
        )
    rows = [["item_id", "file"], *([key, file.name] for key, file in proposed)]
    return of_bytes(csv_text(rows).encode())
