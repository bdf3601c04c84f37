"""Find the installation: a checkout, or a package installed from a wheel.

Imported by the process that starts the others, so it imports next to nothing.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

BASE = Path(__file__).resolve().parents[2]
PROJECT = BASE / "pyproject.toml"
CHECKOUT = PROJECT.is_file()
# Templates and static files: beside the packages, or within one of them.
ASSETS = BASE if CHECKOUT else BASE / "crowdqc" / "assets"


@cache
def read_version() -> str:
    """Return the version, which only pyproject.toml holds."""
    if CHECKOUT:
        import tomllib

        return str(tomllib.loads(PROJECT.read_text())["project"]["version"])
    from importlib import metadata

    return metadata.version("crowdqc")


def default_home() -> Path:
    """Return the state folder: CROWDQC_HOME, ``var`` of the checkout, or user data."""
    if named := os.environ.get("CROWDQC_HOME"):
        return Path(named).resolve()
    if CHECKOUT:
        return BASE / "var"
    return Path.home().resolve() / ".local" / "share" / "crowdqc"
