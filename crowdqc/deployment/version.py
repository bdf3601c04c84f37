"""Which version of crowdqc this is: written in pyproject.toml and nowhere else."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path


@cache
def version() -> str:
    """The version of the checkout that runs, or of the installed package."""
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if project.exists():
        return str(tomllib.loads(project.read_text())["project"]["version"])
    return metadata.version("crowdqc")
