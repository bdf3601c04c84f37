"""Bundles as files for these tests: written, and changed."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

from evaluation.bundles import writing as bundle
from evaluation.models import Run

Change = Callable[[dict[str, bytes]], None]


def written(run: Run, folder: Path) -> Path:
    path = folder / f"{run.method}.zip"
    path.write_bytes(b"".join(bundle.parts(run)))
    return path


def changed(path: Path, change: Change, *, mend: bool) -> Path:
    """A copy in which something was changed, and perhaps the manifest mended to fit it."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    if mend:
        manifest = json.loads(files["manifest.json"])
        for name in manifest["files"]:
            manifest["files"][name] = hashlib.sha256(files[name]).hexdigest()
        files["manifest.json"] = json.dumps(manifest).encode()
    copy = path.with_name(f"changed-{path.name}")
    with zipfile.ZipFile(copy, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return copy


def first_row(name: str, key: str, value: object) -> Change:
    """A change of one entry in the first line of a file."""

    def change(files: dict[str, bytes]) -> None:
        first, *others = files[name].splitlines()
        files[name] = b"\n".join([json.dumps({**json.loads(first), key: value}).encode(), *others])

    return change
