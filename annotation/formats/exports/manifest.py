"""manifest.json: what the exported files beside it hold, and what it takes to get them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from annotation.files.writing.tables import WrittenFile, write
from annotation.formats.exports import free_text
from annotation.models import Task
from crowdqc.errors import Conflict

NAME = "manifest.json"
KIND = "crowdqc export"


def describe(task: Task, what: str, *, uncounted: bool = False) -> dict[str, Any]:
    """The task behind an export: its versions, and what was left out."""
    versions = task.versions.filter(published_at__isnull=False).order_by("number")
    told: dict[str, Any] = {
        "what": what,
        "project": task.project_id,
        "task": task.pk,
        "task_type": task.type,
        "task_versions": [
            {"number": v.number, "title": v.title, "published_at": v.published_at.isoformat()}
            for v in versions
            if v.published_at
        ],
        "names": "pseudonyms",
    }
    if what in ("answers", "system_answers"):
        told["left_out"] = dict(free_text.count_left_out(task, uncounted=uncounted))
    if what in ("items", "answers", "system_answers"):
        told["questions_of_version"] = free_text.version_number(task)
    return told


def add(path: Path, written: WrittenFile, told: Mapping[str, Any]) -> Path:
    """Write what is told of the file ``path`` into the manifest of its folder.

    Other files' entries stay. Conflict where the folder has a manifest.json that is not ours.
    """
    manifest = path.parent / NAME
    files = read(manifest)
    files[path.name] = {"rows": written.rows, "sha256": written.sha256, **told}
    body = {"kind": KIND, "files": dict(sorted(files.items()))}
    write(manifest, [json.dumps(body, ensure_ascii=False, indent=2) + "\n"])
    return manifest


def read(manifest: Path) -> dict[str, Any]:
    """The files that a folder's manifest knows; none where there is no manifest."""
    try:
        body = json.loads(manifest.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        body = None
    if not isinstance(body, dict) or body.get("kind") != KIND:
        raise Conflict(f"{manifest} is not one of ours; export into another folder.")
    files = body.get("files")
    return dict(files) if isinstance(files, dict) else {}
