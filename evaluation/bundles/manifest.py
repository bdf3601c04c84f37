"""What every bundle says of itself: the names of its files, its manifest, what it was made with."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from annotation.files.writing.zips import zip_with_manifest
from crowdqc.deployment.installation import read_version

KIND, FORMAT = "crowdqc bundle", 1
README, RECIPE, ENVIRONMENT = "README.txt", "recipe.json", "environment.json"
FIGURES, NAMES = "results/figures.json", "names.json"
PSEUDONYMS = "pseudonyms"
LIBRARIES = ("numpy", "scipy", "Django")
Row = dict[str, Any]


def results_file(model: type) -> str:
    """Return the path in a bundle of a model's rows."""
    return f"results/{model.__name__}.jsonl"


def manifest_of(
    recipe: Row, *, task_type: str, result_hash: str, names: str = PSEUDONYMS, **about: Any
) -> Row:
    """Return the manifest of a bundle without the SHA-256 of its files."""
    return {
        "kind": KIND,
        "format": FORMAT,
        "task_type": task_type,
        "method": recipe["method"],
        "method_version": recipe["version"],
        "params": recipe["params"],
        "seed": recipe["seed"],
        "snapshot": recipe["snapshot"],
        "result_hash": result_hash,
        "app_version": read_version(),
        "names": names,
        **about,
    }


def zipped(
    files: Iterable[tuple[str, bytes]], manifest: Row, told: Row | None = None
) -> Iterator[bytes]:
    """Yield the bundle as pieces of a ZIP file; fills ``told`` with the whole manifest."""

    def ended(hashes: dict[str, str]) -> Row:
        whole = {**manifest, "files": hashes}
        if told is not None:
            told.update(whole)
        return whole

    return zip_with_manifest(((name, [content]) for name, content in files), ended)


def environment() -> Row:
    """Return the versions of all software here that can change a result's last digit."""
    return {
        "app": read_version(),
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "system": platform.system(),
        "machine": platform.machine(),
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
    }
