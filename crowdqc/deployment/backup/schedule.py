"""Backups by themselves: when one is due, how many are kept, and whether they can be restored."""

from __future__ import annotations

import datetime as dt
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from crowdqc.deployment.backup import records
from crowdqc.deployment.backup.envelope import read_passphrase
from crowdqc.deployment.backup.write import PARTIAL, Made, make_backup
from crowdqc.errors import DomainError

NAME = re.compile(r"crowdqc-\d{8}T\d{6}Z\.(?:backup|tar\.gz)")
STALE = 2 * 86_400  # seconds after which a file that is being written was given up


def back_up(folder: Path, *, passphrase: str = "", keys: bool = True) -> Made:
    """Make a backup and note it, or why it failed."""
    try:
        made = make_backup(folder, passphrase=passphrase, keys=keys)
    except (DomainError, OSError) as error:
        records.add_failure(str(error))
        raise
    records.add_made(made)
    return made


def is_due(state: records.BackupState) -> bool:
    """Whether the last backup is older than the hours between two."""
    hours = dt.timedelta(hours=settings.CROWDQC_BACKUP_HOURS)
    return state.made_at is None or state.made_at + hours <= timezone.now()


def is_test_due(state: records.BackupState) -> bool:
    """Whether a backup should be restored to see that it can be."""
    days = settings.CROWDQC_BACKUP_TEST_DAYS
    if not days:
        return False
    return state.tested_at is None or state.tested_at + dt.timedelta(days=days) <= timezone.now()


def prune(folder: Path, keep: int) -> list[str]:
    """Delete the oldest backups beyond ``keep``, and files given up; gives their names.

    Only files that are named like backups; their names sort by time.
    """
    names = sorted(path.name for path in folder.iterdir() if NAME.fullmatch(path.name))
    gone = names[: -max(keep, 1)]
    for partial in folder.glob(f"crowdqc-*{PARTIAL}"):
        if partial.stat().st_mtime < time.time() - STALE:
            gone.append(partial.name)
    for name in gone:
        (folder / name).unlink(missing_ok=True)
    return gone


def make_due_backup() -> str:
    """What the scheduler asks for every ten minutes: a backup where one is due; gives its name."""
    if not settings.CROWDQC_BACKUP_FOLDER or not is_due(records.last_backup()):
        return ""
    folder, file = Path(settings.CROWDQC_BACKUP_FOLDER), settings.CROWDQC_BACKUP_PASSPHRASE_FILE
    try:
        passphrase = read_passphrase(file) if file else ""
    except DomainError as error:
        records.add_failure(str(error))
        raise
    made = back_up(folder, passphrase=passphrase)
    prune(folder, settings.CROWDQC_BACKUP_KEEP)
    if is_test_due(records.last_backup()):
        _test(made.path)
    return made.path.name


def _test(path: Path) -> None:
    """In a process of its own, as a restore turns the whole connection to other tables."""
    command = [sys.executable, "-m", "django", "restore", str(path), "--test"]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "crowdqc.settings"}
    done = subprocess.run(  # noqa: S603 - our own argument list
        command, check=False, capture_output=True, text=True, cwd=settings.BASE_DIR, env=environment
    )
    if done.returncode and records.last_backup().test_error == "":
        records.add_test(path.name, done.stderr.strip()[-500:] or f"status {done.returncode}")
