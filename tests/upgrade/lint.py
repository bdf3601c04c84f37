"""Migrations after the first release: safe while the old version still serves, and never changed.

``python -m tests.upgrade.lint`` checks what is not released yet; ``--release`` writes all
migrations into ``released.txt``, as a step of a release. While that file is empty nothing was
released, and the first migrations may still be made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import sys
from pathlib import Path

from tests.upgrade import ROOT

RELEASED = Path(__file__).with_name("released.txt")
APPS = ("annotation", "evaluation")
# Migrations that the linter refuses and that are safe all the same, with the reason.
ACCEPTED: dict[str, str] = {
    "evaluation/migrations/0005_longer_subjects.py": "a longer varchar rewrites no row",
    "evaluation/migrations/0012_shared_endpoints.py": "a few rows, whose new column is empty",
}


def migrations() -> dict[str, str]:
    """Each migration of ours with the checksum of its file."""
    return {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for app in APPS
        for path in sorted((ROOT / app / "migrations").glob("[0-9]*.py"))
    }


def released() -> dict[str, str]:
    """The same of those that were released, as ``sha256sum`` prints it."""
    lines = [line.split() for line in RELEASED.read_text().splitlines() if line[:1] != "#"]
    return {name: digest for digest, name in lines}


def changed(now: dict[str, str], then: dict[str, str]) -> list[str]:
    """Released migrations that were changed or taken away: databases exist that have them."""
    return [name for name, digest in then.items() if now.get(name) != digest]


def unsafe(names: list[str]) -> str:
    """What the linter says of these migrations; empty where they are safe."""
    from django_migration_linter import MigrationLinter

    linter = MigrationLinter(include_apps=list(APPS), no_cache=True, quiet=["ok", "ignore"])
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for name in names:
            app, _, file = name.split("/")
            linter.lint_migration(
                linter.migration_loader.get_migration(app, file.removesuffix(".py"))
            )
    return said.getvalue() if linter.has_errors else ""


def write() -> None:
    """Note all migrations as released."""
    head = "# Migrations of released versions, as sha256sum prints them: never changed again.\n"
    lines = [f"{digest}  {name}\n" for name, digest in migrations().items()]
    RELEASED.write_text(head + "".join(lines))


def main() -> int:
    """Check, and say what is wrong."""
    if "--release" in sys.argv:
        write()
        return 0
    now, then = migrations(), released()
    if not then:
        print("No version was released yet: no migration to check.")
        return 0
    if wrong := changed(now, then):
        print(f"Released migrations were changed: {', '.join(wrong)}. Add a new one instead.")
        return 1
    if fresh := [name for name in now if name not in then and name not in ACCEPTED]:
        import django

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
        if not os.environ.get("DATABASE_URL"):
            from crowdqc.devstack import ensure_database

            ensure_database()
        django.setup()
        if said := unsafe(fresh):
            print(said, "docs/admin/upgrade.md says what is safe.", sep="\n")
            return 1
    print(f"{len(fresh)} new migrations are safe while the old version still serves.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
