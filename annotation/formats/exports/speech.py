"""What people said, as an archive of sound files with a table of whose each is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from annotation.files.reading.recordings import EXTENSIONS
from annotation.files.writing.tables import Table
from annotation.formats.exports.tools.corpora import ZIP, Archive, Files
from annotation.models import Recording, Task
from annotation.work.selectors.recordings import read_recording_bytes, submitted_recordings

FORMATS = (ZIP,)
TABLE = "recordings.jsonl"


def recording_archive(task: Task, form: str, dimension: str = "") -> Table:
    """The recordings of submitted answers under the workers' pseudonyms.

    A voice can tell who somebody is: this is no anonymous export, and its title says so.
    """
    return Archive((), [], files=lambda archive: _files(task, archive))


def _files(task: Task, archive: Archive) -> Files:
    rows: list[dict[str, Any]] = []
    for kept in submitted_recordings(task):
        name = f"{kept.pk}.{EXTENSIONS[kept.type]}"
        rows.append(
            {
                "file": name,
                "item_id": kept.entry.item.key,
                "worker": kept.entry.assignment.worker.pseudonym,
                "assignment": kept.entry.assignment_id,
                "type": kept.type,
                "seconds": kept.seconds,
                "sha256": kept.sha256,
                **_transcript(kept),
            }
        )
        archive.count += 1
        yield name, iter([read_recording_bytes(kept)])
    yield TABLE, _lines(rows)


def _transcript(kept: Recording) -> dict[str, str]:
    """The transcript, and whose text it is: its speaker's, or a machine's nobody confirmed yet."""
    written = getattr(kept, "transcript", None)
    if written is None:
        return {"transcript": "", "transcript_by": ""}
    by = "speaker" if written.confirmed_at else "machine"
    return {"transcript": written.text, "transcript_by": by}


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False) + "\n"
